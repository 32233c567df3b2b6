//! Pages of a member that has more than any screen has room for.

use super::*;
use crate::cli::top::look::History;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

const SMALL: Size = Size { columns: 80, lines: 24 };
const LARGE: Size = Size { columns: 120, lines: 40 };
const TINY: Size = Size { columns: 40, lines: 10 };

fn status(second: u64) -> Value {
    let stage = |number: u64| {
        let name = if number == 3 {
            "executor/a very long name of reports".into()
        } else {
            format!("stage-{number}")
        };
        json!({"stage": name, "threads": 4, "running": [], "depth": number % 2 * 1_234, "oldest_ms": 12_345,
               "executed": number % 2 * second * 1_234_567, "slow": 3, "refused": 12_345, "dropped": 7})
    };
    let map = |number: u64| {
        json!({"name": format!("map 日本 number {number}"), "entries": number * 1_000_000, "bytes": number * 7_200_000,
               "gets": second * number * 10, "hits": second, "puts": 5, "removes": 1, "damaged_partitions": 0})
    };
    let door = |name: &str| {
        json!({"door": name, "address": "127.0.0.1:57010", "connections": 300, "accepted": 5, "refused": 1,
               "bytes_in": second * 7_200_000, "bytes_out": second * 9_000_000, "in_flight_bytes": 9})
    };
    let query = |number: u64| {
        json!({"id": number, "session": 7, "state": "running", "ms": number * 1_500, "fragments": 9,
               "memory_bytes": 7_200_000, "statement": format!("SELECT {number}, {}", "x, ".repeat(100))})
    };
    let job = |number: u64| {
        json!({"name": format!("job-{number}"), "status": "running", "written": second * 50, "late": 0, "lost": 0,
               "error": null})
    };
    json!({
        "version": "0.1.0", "uptime_seconds": 7_980 + second, "cpu_seconds": second, "resident_bytes": 123_456_789,
        "memory": {"used_bytes": 7_200_000, "limit_bytes": 3_200_000_000_u64, "refused_writes": 0},
        "sql": {"running": 30, "waiting": 2, "open": 40, "memory_bytes": 20_000_000},
        "stages": (0..20).map(stage).collect::<Vec<_>>(),
        "maps": (0..60).map(map).collect::<Vec<_>>(),
        "doors": Vec::from(["hazelcast", "postgres", "http"].map(door)),
        "queries": (0..30).map(query).collect::<Vec<_>>(),
        "jobs": (0..9).map(job).collect::<Vec<_>>(),
    })
}

fn look_at(change: impl Fn(&mut Value)) -> Look {
    let mut history = History::default();
    let mut next = |second| {
        let mut status = status(second);
        change(&mut status);
        history.next(&status.to_string()).unwrap()
    };
    next(1);
    next(2)
}

fn look() -> Look {
    look_at(|_| {})
}

fn texts(lines: &[Line]) -> Vec<&str> {
    lines.iter().map(|line| line.text.as_str()).collect()
}

/// Draws a screen, and looks that it fits.
fn drawn(look: &Look, view: &mut View, size: Size) -> Vec<String> {
    let lines = screen(look, view, size);
    assert_eq!(lines.len(), size.lines);
    for line in &lines {
        assert!(line.text.width() <= size.columns, "{size:?}: {:?}", line.text);
    }
    texts(&lines).into_iter().map(str::to_owned).collect()
}

fn position(lines: &[String], begin: &str) -> usize {
    lines
        .iter()
        .position(|line| line.starts_with(begin))
        .unwrap_or_else(|| panic!("no {begin} in {lines:#?}"))
}

/// The head scrolled away and lines wrapped at the size that every terminal begins with.
#[test]
fn all_tables_share_a_screen_of_80x24() {
    let lines = drawn(&look(), &mut View::default(), SMALL);
    assert_eq!(lines[0], "Filbert 0.1.0, up 2 h 13 min, 1.00 cores busy, memory 123.5 MB");
    assert_eq!(lines[1], "data 7.2 MB of 3.2 GB, SQL 30 running, 2 waiting, SQL memory 20.0 MB");
    for begin in ["stage ", "map ", "door ", "query ", "job "] {
        let at = position(&lines, begin);
        assert!(!lines[at + 1].is_empty() && !lines[at + 1].starts_with("..."), "{begin}: {lines:#?}");
    }
    assert!(lines[23].starts_with("q quits, "), "{lines:#?}");
    assert!(lines.iter().all(|line| !line.contains(" kB ") && !line.contains("7200")), "{lines:#?}");
}

#[test]
fn each_table_says_how_many_rows_it_leaves_out() {
    let lines = drawn(&look(), &mut View::default(), LARGE);
    let (map, door) = (position(&lines, "map "), position(&lines, "door "));
    let shown = door - map - 2;
    assert_eq!(lines[door - 1], format!("... and {} more", 60 - shown), "{lines:#?}");
    assert!(lines[map + 1].starts_with("map 日本 number 59"), "the one with most memory comes first");
    assert!(lines[map].contains("memory▼"));
}

#[test]
fn a_tiny_screen_shows_the_table_in_focus_and_counts_the_others() {
    let mut view = View::default();
    let lines = drawn(&look(), &mut view, TINY);
    assert!(lines[2].starts_with("stage "), "{lines:#?}");
    for line in ["maps: 60", "doors: 3", "queries: 30", "jobs: 9"] {
        assert!(lines.contains(&line.to_owned()), "{line} is not in {lines:#?}");
    }
    view.press(Key::Next, &look());
    let lines = drawn(&look(), &mut view, TINY);
    assert!(lines.contains(&"stages: 20".to_owned()), "{lines:#?}");
    let map = position(&lines, "map ");
    assert!(lines[map].contains("memory▼") && lines[map + 1].contains("MB"), "{lines:#?}");
}

#[test]
fn every_size_is_drawn() {
    let look = look_at(|status| status["maps"][5]["damaged_partitions"] = json!(271));
    for columns in (0..130).step_by(13) {
        for lines in (0..45).step_by(3) {
            let mut view = View { trouble: Some("NOT NOW (1 of 5): nobody".to_owned()), ..View::default() };
            for key in [Key::Last, Key::Next, Key::Help, Key::Help, Key::Last, Key::Sort, Key::Previous] {
                drawn(&look, &mut view, Size { columns, lines });
                view.press(key, &look);
            }
        }
    }
}

#[test]
fn idle_stages_are_one_line_until_they_are_asked_for() {
    let (look, mut view) = (look(), View::default());
    let size = Size { lines: 200, ..LARGE };
    let lines = drawn(&look, &mut view, size);
    let idle = |line: &String| line.contains("10 idle: stage-0, stage-2");
    assert!(lines.iter().any(idle), "{lines:#?}");
    assert!(!lines.iter().any(|line| line.starts_with("stage-2 ")));
    view.press(Key::Idle, &look);
    let lines = drawn(&look, &mut view, size);
    assert!(lines.iter().any(|line| line.starts_with("stage-2 ")) && !lines.iter().any(idle), "{lines:#?}");
}

#[test]
fn keys_scroll_and_sort_the_table_in_focus() {
    let (look, mut view) = (look(), View::default());
    drawn(&look, &mut view, SMALL);
    view.press(Key::Next, &look);
    view.press(Key::Down, &look);
    let lines = drawn(&look, &mut view, SMALL);
    let map = position(&lines, "map ");
    assert!(lines[map + 1].starts_with("map 日本 number 58"), "{lines:#?}");
    assert!(lines.iter().any(|line| line.starts_with("... 1 above, ")), "{lines:#?}");
    view.press(Key::Last, &look);
    let lines = drawn(&look, &mut view, SMALL);
    assert!(lines.iter().any(|line| line.starts_with("map 日本 number 0 ")), "{lines:#?}");
    view.press(Key::Up, &look);
    let lines = drawn(&look, &mut view, SMALL);
    assert!(lines.iter().any(|line| line.ends_with(" above, 1 below")), "up goes up at once: {lines:#?}");
    view.press(Key::First, &look);
    view.press(Key::PageDown, &look);
    let page = view.tables[1].shown;
    assert_eq!(view.tables[1].first, page);
    // From memory to gets: the order is the same, the mark is another.
    view.press(Key::Sort, &look);
    let lines = drawn(&look, &mut view, SMALL);
    assert!(lines[position(&lines, "map ")].contains("gets▼") && view.tables[1].first == 0, "{lines:#?}");
}

#[test]
fn a_damaged_map_comes_first_and_is_named_above() {
    let look = look_at(|status| status["maps"][5]["damaged_partitions"] = json!(271));
    let lines = screen(&look, &mut View::default(), SMALL);
    assert_eq!(lines[2].style, Style::Alert);
    assert_eq!(lines[2].text, "1 map is not served in full: see `state` below");
    let row = lines.iter().find(|line| line.text.starts_with("map 日本 number 5 ")).unwrap();
    assert!(row.style == Style::Alert && row.text.contains("DAMAGED: 2"), "{row:?}");
}

#[test]
fn help_and_pause_are_shown() {
    let (look, mut view) = (look(), View::default());
    view.press(Key::Pause, &look);
    assert!(drawn(&look, &mut view, SMALL)[23].starts_with("PAUSED, q quits"));
    view.press(Key::Help, &look);
    assert!(drawn(&look, &mut view, SMALL).iter().any(|line| line.starts_with("PgUp, PgDn")));
    view.press(Key::Help, &look);
    assert!(!drawn(&look, &mut view, SMALL).iter().any(|line| line.starts_with("PgUp, PgDn")));
}

#[test]
fn one_page_for_a_pipe_has_all_rows_and_no_keys() {
    let lines = once(&look(), None);
    let text = texts(&lines).join("\n");
    assert_eq!(text.matches("map 日本 number").count(), 60);
    assert!(!text.contains("... and") && !text.contains("q quits"), "{text}");
    assert!(text.contains("\n\nmap "), "a blank line between tables");
}
