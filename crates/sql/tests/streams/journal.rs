//! `TABLE(journal('map'))`.

use super::*;
use filbert_sql::{Access, Object, TableRights};
use serde_json::json;
use std::sync::Arc;

const PLAIN: &str = "SELECT __event, __key, this, __old, __sequence, __lost FROM TABLE(journal('j'))";

#[test]
fn changes_are_rows_from_the_oldest_on() {
    let member = started();
    member.put("j", 7_i64, 70_i64);
    member.put("j", 7_i64, 71_i64);
    let stream = member.stream(PLAIN);
    assert_eq!(stream.take(2), ["ADDED; 7; 70; NULL; 0; 0", "UPDATED; 7; 71; 70; 1; 0"]);
    assert!(stream.is_silent());
    member.remove("j", 7_i64);
    assert_eq!(stream.take(1), ["REMOVED; 7; NULL; 71; 2; 0"]);
    stream.cancel();
    idle(&member.sql);
}

#[test]
fn from_the_newest_on_only_what_comes_later_is_read() {
    let member = started();
    (0..100_i64).for_each(|key| member.put("j", key, key));
    let stream = member.stream("SELECT __key FROM TABLE(journal('j', 'newest'))");
    member.put("j", 1_000_i64, 1_i64);
    assert_eq!(stream.take(1), ["1000"]);
    stream.cancel();
}

#[test]
fn what_is_there_comes_in_the_order_of_time_over_all_partitions() {
    let member = started();
    for key in 0..2_000_i64 {
        member.put("j", key, key);
        if key % 400 == 0 {
            // sleeps because changes of the same millisecond have no order
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    let stream = member.stream("SELECT CAST(__time AS BIGINT), __key FROM journal('j')");
    let mut keys = Vec::new();
    let mut last = 0;
    for row in stream.take(2_000) {
        let (time, key) = row.split_once("; ").unwrap();
        let time: i64 = time.parse().unwrap();
        assert!(time >= last, "{time} after {last}");
        last = time;
        keys.push(key.parse::<i64>().unwrap());
    }
    keys.sort_unstable();
    assert_eq!(keys, (0..2_000).collect::<Vec<_>>());
    stream.cancel();
}

#[test]
fn fields_are_columns_and_the_value_before_is_text() {
    let member = started();
    member.put_json("j", 1, json!({"symbol": "HAZ", "price": 10}));
    member.put_json("j", 1, json!({"symbol": "HAZ", "price": 12}));
    let stream = member.stream("SELECT * FROM TABLE(journal('j')) AS t WHERE t.price > 11");
    let row = stream.take(1).remove(0);
    let mut cells = row.split("; ");
    assert_eq!(cells.next(), Some("UPDATED"));
    assert_eq!(cells.next(), Some("1"));
    assert!(row.contains("HAZ; 12;") || row.contains("12; HAZ;"), "{row}");
    assert!(
        row.contains(r#"{"price":10,"symbol":"HAZ"}"#) || row.contains(r#"{"symbol":"HAZ","price":10}"#),
        "{row}"
    );
    let columns =
        block_on(member.session.query("SELECT * FROM TABLE(journal('j'))").unwrap().schema()).unwrap();
    let names: Vec<_> = columns.fields().iter().map(|field| field.name().as_str()).collect();
    assert!(names.starts_with(&["__event", "__key"]), "{names:?}");
    assert!(names.ends_with(&["__old", "__sequence", "__partition", "__time", "__lost"]), "{names:?}");
    stream.cancel();
}

#[test]
fn a_row_comes_when_its_change_does_although_a_condition_is_in_between() {
    let member = started();
    let numbers = "CREATE MAPPING j TYPE IMap OPTIONS ('keyFormat' = 'bigint', 'valueFormat' = 'bigint')";
    member.ask(numbers).unwrap();
    let stream =
        member.stream("SELECT __key * 2, upper(__event) FROM TABLE(journal('j')) WHERE this % 2 = 0");
    for round in 0..20_i64 {
        member.put("j", round, round);
        if round % 2 == 0 {
            assert_eq!(stream.take(1), [format!("{}; ADDED", round * 2)]);
        }
    }
    stream.cancel();
}

#[test]
fn a_reader_that_was_lapped_is_told_how_much_it_missed() {
    let member = lapped();
    let (mut seen, mut lost) = (0, 0);
    let stream = unread(&member, "SELECT this, __sequence, __lost FROM TABLE(journal('j', 'newest'))");
    loop {
        let row = stream.take(1).remove(0);
        let cells: Vec<i64> = row.split("; ").map(|cell| cell.parse().unwrap()).collect();
        seen += 1;
        lost += cells[2];
        assert_eq!(cells[1], seen + lost, "{row}");
        if cells[0] == CHANGES {
            break;
        }
    }
    assert_eq!(seen + lost, CHANGES);
    assert!(lost > 0, "a test that loses nothing shows nothing");
    stream.cancel();
}

const CHANGES: i64 = 2_000;

/// Some two changes for each partition, and little room between a stream and its reader.
fn lapped() -> Member {
    let member = with(SqlSettings { exchange_batches: 1, ..Default::default() }, 600);
    member.put("j", 1_i64, 0_i64);
    member
}

/// A stream that nobody reads before all is written.
fn unread(member: &Member, text: &str) -> Reading {
    let mut query = member.session.query(text).unwrap();
    block_on(query.schema()).unwrap();
    (1..=CHANGES).for_each(|value| member.put("j", 1_i64, value));
    Reading::of(query)
}

#[test]
fn a_reader_that_was_lapped_and_does_not_look_gets_an_error_that_says_what_to_do() {
    let member = lapped();
    let stream = unread(&member, "SELECT this FROM TABLE(journal('j', 'newest'))");
    let error = loop {
        if let Err(error) = stream.next() {
            break error;
        }
    };
    assert!(matches!(&error, SqlError::JournalOverrun { map, changes, .. } if map == "j" && *changes > 0));
    let text = error.to_string();
    assert!(text.contains("larger capacity") && text.contains("__lost"), "{text}");
    drop(stream);
    idle(&member.sql);
}

#[test]
fn what_is_gone_before_the_first_read_was_never_promised() {
    let member = lapped();
    (1..=CHANGES).for_each(|value| member.put("j", 1_i64, value));
    let stream = member.stream("SELECT this, __lost FROM TABLE(journal('j'))");
    let rows = stream.take(2);
    assert!(rows.iter().all(|row| row.ends_with("; 0")), "{rows:?}");
    stream.cancel();
}

#[test]
fn a_view_that_hides_a_map_hides_its_journal_too() {
    let member = started();
    // Made before the map: a name that is taken cannot be given to a view.
    member.ask("CREATE VIEW j AS SELECT 'ann' AS name").unwrap();
    member.put_json("j", 1, json!({"name": "ann", "pay": 10}));
    assert_eq!(member.rows("SELECT * FROM j"), ["ann"]);
    assert!(member.says("SELECT * FROM TABLE(journal('j'))").contains("table or view"));
}

/// A task that nobody can wake is over; a stream that has nothing to give is not.
#[test]
fn a_stream_that_never_gives_a_row_does_not_end() {
    let member = started();
    let stream = member.stream("SELECT 1 AS v UNION ALL SELECT v FROM TABLE(generate_stream(0))");
    assert_eq!(stream.take(1), ["1"]);
    // What ran beside it is over as well.
    member.rows("SELECT count(*) FROM TABLE(generate_series(1, 100000))");
    assert!(stream.is_silent());
    stream.cancel();
    idle(&member.sql);
}

#[test]
fn what_cannot_be_read_is_said() {
    let member = started();
    member.put("plain", 1_i64, 1_i64);
    let text = member.says("SELECT * FROM TABLE(journal('plain'))");
    assert!(text.contains("no journal") && text.contains("journal.capacity"), "{text}");
    let text = member.says("SELECT * FROM TABLE(journal('nothing'))");
    assert!(text.contains("no map \"nothing\""), "{text}");
    assert!(member.says("SELECT * FROM journal(7)").contains("journal('trades', 'newest')"));
}

struct Only(&'static str);

impl TableRights for Only {
    fn check(&self, access: Access, object: &Object) -> Result<(), String> {
        match *object == Object::table(self.0) {
            true => Ok(()),
            false => Err(format!("guest has no right to {access:?} {object}")),
        }
    }
}

#[test]
fn whoever_may_read_the_map_may_read_its_journal() {
    let member = started();
    member.put("j", 1_i64, 1_i64);
    member.put("j2", 1_i64, 1_i64);
    let guest = member.sql.session_as(Arc::new(Only("j")));
    let mut allowed = guest.query("SELECT * FROM TABLE(journal('j', 'newest'))").unwrap();
    block_on(allowed.schema()).unwrap();
    for text in [
        "SELECT * FROM TABLE(journal('j2'))",
        "SELECT * FROM journal.\"oldest/j2\"",
        "SELECT * FROM TABLE(TUMBLE(TABLE(journal('j2')), DESCRIPTOR(__time), INTERVAL '1' SECOND))",
        "SELECT * FROM TABLE(TUMBLE(TABLE j2, DESCRIPTOR(__key), 10))",
    ] {
        let refused = block_on(guest.query(text).unwrap().schema()).unwrap_err();
        assert!(
            matches!(&refused, SqlError::Denied(text) if text == "guest has no right to Read j2"),
            "{text}: {refused}"
        );
    }
}

#[test]
fn a_limit_ends_a_stream_and_then_everything_is_allowed() {
    let member = started();
    (0..50_i64).for_each(|key| member.put("j", key, key));
    let text = "SELECT count(*), sum(this) FROM (SELECT this FROM TABLE(journal('j')) LIMIT 50)";
    assert_eq!(member.rows(text), ["50; 1225"]);
    let text =
        "SELECT __key FROM (SELECT __key FROM TABLE(journal('j')) LIMIT 50) ORDER BY __key DESC LIMIT 2";
    assert_eq!(member.ask(text).unwrap(), ["49", "48"]);
    idle(&member.sql);
}

#[test]
fn a_stream_is_joined_with_a_table() {
    let member = started();
    member.put("names", 1_i64, "one");
    member.put("j", 1_i64, 10_i64);
    let text = "SELECT n.this, t.this FROM (SELECT * FROM TABLE(journal('j')) LIMIT 1) AS t JOIN names n ON n.__key = t.__key";
    assert_eq!(member.rows(text), ["one; 10"]);
    let text = "SELECT n.this, t.this FROM TABLE(journal('j')) AS t JOIN names n ON n.__key = t.__key";
    let stream = member.stream(text);
    assert_eq!(stream.take(1), ["one; 10"]);
    for value in 11..20_i64 {
        member.put("j", 1_i64, value);
        assert_eq!(stream.take(1), [format!("one; {value}")], "each as it comes");
    }
    stream.cancel();
}

#[test]
fn what_needs_the_end_of_a_stream_is_refused_in_words() {
    let member = started();
    member.put("j", 1_i64, 1_i64);
    let stream = "TABLE(journal('j'))";
    for (text, word) in [
        (format!("CREATE TABLE t AS SELECT * FROM {stream}"), "never be whole"),
        ("CREATE TABLE t AS SELECT * FROM TABLE(generate_stream(1))".to_owned(), "never be whole"),
        (format!("SELECT count(*) FROM {stream}"), "TUMBLE"),
        (format!("SELECT __key, sum(this) FROM {stream} GROUP BY __key"), "TUMBLE"),
        (format!("SELECT DISTINCT this FROM {stream}"), "TUMBLE"),
        (format!("SELECT * FROM {stream} ORDER BY this"), "cannot be sorted"),
        (format!("SELECT rank() OVER (ORDER BY this) FROM {stream}"), "a stream has no end"),
        (
            format!("SELECT * FROM {stream} a JOIN {stream} b ON a.this = b.this"),
            "two streams cannot be joined",
        ),
        (format!("SELECT * FROM {stream} a, {stream} b"), "joined"),
    ] {
        let said = member.says(&text);
        assert!(said.contains(word), "{text}: {said}");
    }
}

#[test]
fn an_idle_stream_wakes_nobody() {
    let member = started();
    member.put("j", 1_i64, 1_i64);
    let stream = member.stream("SELECT this FROM TABLE(journal('j')) WHERE this > 0");
    stream.take(1);
    // A worker that is woken, whatever for, goes to sleep again.
    let sleeps = || {
        let stages = member.stages.snapshot();
        stages.iter().find(|stage| stage.stage == "fragment").map(|stage| stage.parked).unwrap()
    };
    let mut before = sleeps();
    wait_until("the stream is idle", || {
        // sleeps because silence is what is looked for; turns that were under way end meanwhile
        std::thread::sleep(Duration::from_millis(200));
        let now = sleeps();
        std::mem::replace(&mut before, now) == now
    });
    stream.cancel();
}
