//! One look at a member: what its page `/status` says, as tables, with rates since the look before.

use super::section::{Cell, Column, Kind, Row, Section};
use crate::cli::readable::{size, span};
use crate::cli::text::grouped;
use serde_json::Value;
use std::collections::HashMap;

/// A snapshot of a member at one moment.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Look {
    /// Two lines, each in parts; the last parts are left out where there is no room.
    pub(super) head: [Vec<String>; 2],
    /// The alerts above the tables.
    pub(super) alerts: Vec<String>,
    pub(super) sections: Vec<Section>,
}

/// The counters of the look before, from which rates are made.
#[derive(Debug, Default)]
pub(super) struct History {
    /// By what they count.
    counters: HashMap<String, f64>,
    looked_at: Option<f64>,
}

/// The rates of one look.
struct Rates<'a> {
    before: &'a HashMap<String, f64>,
    now: HashMap<String, f64>,
    /// Seconds since the look before; none on the first.
    seconds: Option<f64>,
}

impl Rates<'_> {
    /// Returns how often a second something was counted since the look before.
    fn of(&mut self, what: String, count: f64) -> Option<f64> {
        let before = self.before.get(&what).copied();
        self.now.insert(what, count);
        let seconds = self.seconds.filter(|seconds| *seconds > 0.0)?;
        Some((count - before?).max(0.0) / seconds)
    }

    /// A cell with the rate of a counter, or on the first look with all that was counted.
    fn cell(&mut self, what: String, count: f64) -> Cell {
        match self.of(what, count) {
            Some(rate) => Cell::number(rate, format!("{}/s", grouped(rate.round() as u64))),
            None => counter(count),
        }
    }
}

impl History {
    /// Reads the next look at a member out of its status page.
    pub(super) fn next(&mut self, status: &str) -> Result<Look, String> {
        let status: Value =
            serde_json::from_str(status).map_err(|_| "what answers there is no member of Filbert")?;
        let now = figure(&status, "uptime_seconds");
        let seconds = self.looked_at.map(|before| now - before);
        let mut rates = Rates { before: &self.counters, now: HashMap::new(), seconds };
        let head = head(&status, &mut rates);
        let sections = vec![
            stages(&status, &mut rates),
            maps(&status, &mut rates),
            doors(&status, &mut rates),
            queries(&status),
            jobs(&status, &mut rates),
        ];
        let alerts = alerts(&status, &sections);
        (self.counters, self.looked_at) = (rates.now, Some(now));
        Ok(Look { head, alerts, sections })
    }
}

fn figure(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or(0.0)
}

fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

/// A text of the member; names that clients chose do nothing to a terminal.
fn text(value: &Value, key: &str) -> Cell {
    match &value[key] {
        Value::String(text) => Cell::text(text),
        Value::Null => Cell::text(""),
        other => Cell::text(&other.to_string()),
    }
}

fn counter(count: f64) -> Cell {
    Cell::number(count, grouped(count as u64))
}

fn bytes(count: f64) -> Cell {
    Cell::number(count, size(count))
}

fn column(name: &'static str, kind: Kind, leaves: u8) -> Column {
    Column { name, kind, leaves: Some(leaves).filter(|leaves| *leaves > 0) }
}

fn head(status: &Value, rates: &mut Rates<'_>) -> [Vec<String>; 2] {
    let cores = rates.of("cpu".to_owned(), figure(status, "cpu_seconds"));
    let resident = status["resident_bytes"].as_f64();
    let process = [
        Some(format!("Filbert {}", text(status, "version").text)),
        Some(format!("up {}", uptime(figure(status, "uptime_seconds")))),
        cores.map(|cores| format!("{cores:.2} cores busy")),
        resident.map(|resident| format!("memory {}", size(resident))),
    ];
    let (memory, sql) = (&status["memory"], &status["sql"]);
    let limit = figure(memory, "limit_bytes");
    let data =
        (limit > 0.0).then(|| format!("data {} of {}", size(figure(memory, "used_bytes")), size(limit)));
    let queries = format!(
        "SQL {} running, {} waiting",
        grouped(figure(sql, "running") as u64),
        grouped(figure(sql, "waiting") as u64)
    );
    let figures = [data, Some(queries), Some(format!("SQL memory {}", size(figure(sql, "memory_bytes"))))];
    [process.into_iter().flatten().collect(), figures.into_iter().flatten().collect()]
}

/// The age of a member; nobody asks for parts of a second.
fn uptime(seconds: f64) -> String {
    if seconds < 60.0 { format!("{seconds:.0} s") } else { span(seconds.floor()) }
}

/// Lines for what an operator has to know at once.
fn alerts(status: &Value, sections: &[Section]) -> Vec<String> {
    let memory = &status["memory"];
    let (used, limit) = (figure(memory, "used_bytes"), figure(memory, "limit_bytes"));
    let full = (limit > 0.0 && limit - used < NEARLY_FULL_BYTES).then(|| {
        let refused = grouped(figure(memory, "refused_writes") as u64);
        format!("WRITES ARE REFUSED: the memory for data is full (grid.memory_bytes); {refused} so far")
    });
    let maps = sections.iter().filter(|section| section.name == "maps").flat_map(|section| &section.rows);
    let bad = maps.filter(|row| row.is_alert).count();
    let maps = (bad > 0).then(|| {
        let maps = if bad == 1 { "1 map is" } else { "maps are" };
        let count = if bad == 1 { String::new() } else { format!("{} ", grouped(bad as u64)) };
        format!("{count}{maps} not served in full: see `state` below")
    });
    full.into_iter().chain(maps).collect()
}

/// With less room, a member says of itself that writes are refused.
const NEARLY_FULL_BYTES: f64 = 4096.0;

fn stages(status: &Value, rates: &mut Rates<'_>) -> Section {
    let row = |stage: &Value| {
        let name = text(stage, "stage");
        let (executed, depth) = (figure(stage, "executed"), figure(stage, "depth"));
        let running = items(stage, "running").len();
        let rate = rates.of(format!("stage {}", name.text), executed);
        let waited = figure(stage, "oldest_ms");
        let waited = match stage["oldest_ms"].is_null() {
            true => Cell::number(0.0, String::new()),
            false => Cell::number(waited, span(waited / 1e3)),
        };
        let is_idle = running == 0 && depth == 0.0 && rate.map_or(executed == 0.0, |rate| rate == 0.0);
        let rate = match rate {
            Some(rate) => Cell::number(rate, format!("{}/s", grouped(rate.round() as u64))),
            None => Cell::number(0.0, String::new()),
        };
        let [threads, slow, refused, dropped] =
            ["threads", "slow", "refused", "dropped"].map(|key| counter(figure(stage, key)));
        let (running, queued) = (counter(running as f64), counter(depth));
        let cells =
            vec![name, threads, running, queued, waited, rate, counter(executed), slow, refused, dropped];
        Row { cells, is_idle, is_alert: false }
    };
    Section {
        name: "stages",
        columns: vec![
            column("stage", Kind::Text, 0),
            column("threads", Kind::Number, 7),
            column("running", Kind::Number, 1),
            column("queued", Kind::Number, 2),
            column("oldest", Kind::Number, 4),
            column("rate", Kind::Number, 3),
            column("executed", Kind::Number, 9),
            column("slow", Kind::Number, 6),
            column("refused", Kind::Number, 5),
            column("dropped", Kind::Number, 8),
        ],
        rows: items(status, "stages").iter().map(row).collect(),
        sorted_by: None,
    }
}

/// Describes what is wrong with a map.
fn state(map: &Value) -> String {
    let damaged = figure(map, "damaged_partitions");
    let damaged = (damaged > 0.0).then(|| format!("DAMAGED: {damaged} partitions"));
    let refuses = match &map["refuses_writes"] {
        Value::String(why) if !why.is_empty() => Some(format!("REFUSES WRITES: {why}")),
        _ => None,
    };
    damaged.into_iter().chain(refuses).collect::<Vec<_>>().join(", ")
}

fn maps(status: &Value, rates: &mut Rates<'_>) -> Section {
    let maps = items(status, "maps");
    let is_bad = maps.iter().any(|map| !state(map).is_empty());
    let row = |map: &Value| {
        let name = text(map, "name");
        let (gets, hits) = (figure(map, "gets"), figure(map, "hits"));
        let hits = match gets {
            0.0 => Cell::number(-1.0, String::new()),
            gets => Cell::number(hits / gets, format!("{:.0}%", hits / gets * 100.0)),
        };
        let state = Cell::text(&state(map));
        let is_alert = !state.text.is_empty();
        let mut rate = |key: &str| rates.cell(format!("map {key} {}", name.text), figure(map, key));
        let [gets, puts, removes] = ["gets", "puts", "removes"].map(&mut rate);
        let [evicted, expired] = ["evictions", "expirations"].map(|key| counter(figure(map, key)));
        let (entries, memory) = (counter(figure(map, "entries")), bytes(figure(map, "bytes")));
        let mut cells = vec![name, entries, memory, gets, hits, puts, removes, evicted, expired];
        if is_bad {
            cells.insert(1, state);
        }
        Row { cells, is_idle: false, is_alert }
    };
    let rows = maps.iter().map(row).collect();
    let mut columns = vec![
        column("map", Kind::Text, 0),
        column("entries", Kind::Number, 1),
        column("memory", Kind::Number, 0),
        column("gets", Kind::Number, 2),
        column("hits", Kind::Number, 5),
        column("puts", Kind::Number, 3),
        column("removes", Kind::Number, 4),
        column("evicted", Kind::Number, 6),
        column("expired", Kind::Number, 7),
    ];
    if is_bad {
        columns.insert(1, column("state", Kind::Text, 0));
    }
    let memory = columns.iter().position(|column| column.name == "memory");
    Section { name: "maps", columns, rows, sorted_by: memory }
}

fn doors(status: &Value, rates: &mut Rates<'_>) -> Section {
    let row = |door: &Value| {
        let name = text(door, "door");
        let mut traffic = |key: &str| {
            let count = figure(door, key);
            match rates.of(format!("door {key} {}", name.text), count) {
                Some(rate) => Cell::number(rate, format!("{}/s", size(rate))),
                None => bytes(count),
            }
        };
        let [received, sent] = ["bytes_in", "bytes_out"].map(&mut traffic);
        let [connections, accepted, refused] =
            ["connections", "accepted", "refused"].map(|key| counter(figure(door, key)));
        let in_flight = bytes(figure(door, "in_flight_bytes"));
        let cells =
            vec![name, text(door, "address"), connections, received, sent, in_flight, accepted, refused];
        Row { cells, ..Row::default() }
    };
    Section {
        name: "doors",
        columns: vec![
            column("door", Kind::Text, 0),
            column("address", Kind::Text, 2),
            column("clients", Kind::Number, 0),
            column("received", Kind::Number, 1),
            column("sent", Kind::Number, 1),
            column("in flight", Kind::Number, 5),
            column("accepted", Kind::Number, 4),
            column("refused", Kind::Number, 3),
        ],
        rows: items(status, "doors").iter().map(row).collect(),
        sorted_by: None,
    }
}

fn queries(status: &Value) -> Section {
    let row = |query: &Value| {
        let milliseconds = figure(query, "ms");
        let cells = vec![
            text(query, "id"),
            text(query, "state"),
            Cell::number(milliseconds, span(milliseconds / 1e3)),
            bytes(figure(query, "memory_bytes")),
            counter(figure(query, "fragments")),
            text(query, "session"),
            text(query, "statement"),
        ];
        Row { cells, ..Row::default() }
    };
    Section {
        name: "queries",
        columns: vec![
            column("query", Kind::Number, 4),
            column("state", Kind::Text, 2),
            column("time", Kind::Number, 0),
            column("memory", Kind::Number, 1),
            column("fragments", Kind::Number, 6),
            column("session", Kind::Number, 5),
            column("statement", Kind::Text, 0),
        ],
        rows: items(status, "queries").iter().map(row).collect(),
        sorted_by: Some(2),
    }
}

fn jobs(status: &Value, rates: &mut Rates<'_>) -> Section {
    let row = |job: &Value| {
        let name = text(job, "name");
        let written = rates.cell(format!("job {}", name.text), figure(job, "written"));
        let is_alert = !job["error"].is_null();
        let [late, lost] = ["late", "lost"].map(|key| counter(figure(job, key)));
        let cells = vec![name, text(job, "status"), written, late, lost, text(job, "error")];
        Row { cells, is_idle: false, is_alert }
    };
    Section {
        name: "jobs",
        columns: vec![
            column("job", Kind::Text, 0),
            column("status", Kind::Text, 0),
            column("written", Kind::Number, 1),
            column("late", Kind::Number, 3),
            column("lost", Kind::Number, 2),
            column("error", Kind::Text, 4),
        ],
        rows: items(status, "jobs").iter().map(row).collect(),
        sorted_by: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn status(seconds: u64, gets: u64) -> Value {
        json!({
            "version": "1", "uptime_seconds": seconds, "cpu_seconds": seconds, "resident_bytes": 7_200_000,
            "memory": {"used_bytes": 70, "limit_bytes": 3_200_000_000_u64, "refused_writes": 0},
            "sql": {"running": 1, "waiting": 0, "open": 1, "memory_bytes": 20_000},
            "stages": [
                {"stage": "io", "threads": 2, "running": [], "depth": 3, "oldest_ms": null, "executed": gets},
                {"stage": "flow", "threads": 2, "running": [], "depth": 0, "oldest_ms": null, "executed": 7},
            ],
            "maps": [{"name": "cities", "entries": 7, "bytes": 70, "gets": gets, "hits": gets, "puts": 7}],
            "doors": [{"door": "hazelcast", "address": "127.0.0.1:5701", "connections": 2, "bytes_in": gets * 100}],
            "queries": [{"id": 4, "statement": "SELECT 1", "ms": 2_500}], "jobs": [],
        })
    }

    fn cells(section: &Section, row: usize) -> Vec<&str> {
        section.rows[row].cells.iter().map(|cell| cell.text.as_str()).collect()
    }

    #[test]
    fn the_second_look_has_rates_and_other_pages_are_refused() {
        let mut history = History::default();
        let first = history.next(&status(10, 100).to_string()).unwrap();
        assert_eq!(first.head[0], ["Filbert 1", "up 10 s", "memory 7.2 MB"]);
        assert_eq!(first.head[1], ["data 70 B of 3.2 GB", "SQL 1 running, 0 waiting", "SQL memory 20.0 kB"]);
        assert_eq!(cells(&first.sections[1], 0), ["cities", "7", "70 B", "100", "100%", "7", "0", "0", "0"]);
        assert!(!first.sections[0].rows[1].is_idle, "nobody knows on the first look");
        let second = history.next(&status(12, 300).to_string()).unwrap();
        assert_eq!(second.head[0][2], "1.00 cores busy");
        assert_eq!(cells(&second.sections[0], 0)[3..7], ["3", "", "100/s", "300"]);
        assert!(second.sections[0].rows[1].is_idle && !second.sections[0].rows[0].is_idle);
        assert_eq!(cells(&second.sections[1], 0)[3], "100/s");
        assert_eq!(cells(&second.sections[2], 0)[3], "10.0 kB/s");
        assert_eq!(cells(&second.sections[3], 0)[2], "2.5 s");
        assert_eq!(history.next("hello"), Err("what answers there is no member of Filbert".to_owned()));
    }

    #[test]
    fn maps_that_are_not_served_in_full_are_marked() {
        let mut status = status(1, 1);
        let look = |status: &Value| History::default().next(&status.to_string()).unwrap();
        assert!(look(&status).alerts.is_empty());
        assert!(look(&status).sections[1].columns.iter().all(|column| column.name != "state"));
        status["maps"][0]["damaged_partitions"] = json!(3);
        let damaged = look(&status);
        assert_eq!(cells(&damaged.sections[1], 0)[1], "DAMAGED: 3 partitions");
        assert!(damaged.sections[1].rows[0].is_alert);
        assert_eq!(damaged.alerts, ["1 map is not served in full: see `state` below"]);
        status["maps"][0]["refuses_writes"] = json!("disk full");
        assert_eq!(
            cells(&look(&status).sections[1], 0)[1],
            "DAMAGED: 3 partitions, REFUSES WRITES: disk full"
        );
        status["memory"]["used_bytes"] = json!(3_199_999_000_u64);
        assert!(look(&status).alerts[0].starts_with("WRITES ARE REFUSED"), "{:?}", look(&status).alerts);
    }
}
