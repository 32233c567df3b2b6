//! A statement that names a map twice, or reads the map that it writes, beside others that change it.

use super::{Member, started, started_with};
use filbert_grid::Map;
use filbert_sql::{SqlError, SqlSettings};
use filbert_wire::{Data, Json, ToData};
use serde_json::json;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

fn data(number: i64) -> Data {
    number.to_data().unwrap()
}

/// A map of numbers that has no entry yet.
fn empty(member: &Member, name: &str) {
    let mapping = format!(
        "CREATE MAPPING {name} (__key BIGINT, this BIGINT) TYPE IMap OPTIONS ('keyFormat'='bigint', 'valueFormat'='bigint')"
    );
    member.ask(&mapping).unwrap();
}

/// A map of numbers to themselves.
fn numbers(member: &Member, name: &str, count: i64) -> Map {
    let map = member.grid.map(name);
    map.put_all((0..count).map(|key| (data(key), data(key))).collect::<Vec<_>>()).wait().unwrap();
    map
}

/// The rows and the groups of their values were two readings: a row whose value changed in between found no group, and was lost.
/// Tells a writer to stop when it is dropped.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_correlated_subquery_loses_no_row_that_changes() {
    let member = started();
    let map = numbers(&member, "moving", 3_000);
    let (stop, next) = (AtomicBool::new(false), AtomicI64::new(3_000));
    let queries = [
        "SELECT count(*) FROM (SELECT a.__key, (SELECT count(*) FROM generate_series(1, 3) x(v) WHERE x.v < a.this) c FROM moving a)",
        "SELECT count(*) FROM moving a WHERE (SELECT count(*) FROM generate_series(1, 3) x(v) WHERE x.v < a.this) >= 0",
        // What is asked of the rows is not asked of the groups.
        "SELECT 2970 + count(*) FROM (SELECT a.__key AS k, (SELECT count(*) FROM generate_series(1, 3) x(v) WHERE x.v < a.this) c FROM moving a) \
         WHERE k BETWEEN 50 AND 79",
    ];
    let lost: Vec<String> = std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let number = next.fetch_add(1, Ordering::Relaxed);
                map.set(data(number % 3_000), data(number)).wait().unwrap();
            }
        });
        // Also when a query fails, the writer must end.
        let _stop = StopAtEnd(&stop);
        let lost = (0..5).flat_map(|_| queries).filter_map(|text| {
            let before = next.load(Ordering::Relaxed);
            while next.load(Ordering::Relaxed) == before && !writer.is_finished() {
                std::hint::spin_loop();
            }
            let rows = member.number(text);
            (rows != 3_000).then(|| format!("{rows}: {text}"))
        });
        lost.collect()
    });
    assert!(lost.is_empty(), "{lost:#?}");
}

#[test]
fn scans_that_read_together_agree_whatever_each_wants() {
    let member = started_with(SqlSettings { batch_rows: 50, ..Default::default() });
    numbers(&member, "numbers", 2_000);
    let below = "(SELECT count(*) FROM numbers x WHERE x.this < a.this)";
    let all = format!("SELECT a.__key AS k, {below} AS c FROM numbers a");
    assert_eq!(member.number(&format!("SELECT count(*) FROM ({all}) WHERE k = c")), 2_000);
    assert_eq!(member.number(&format!("SELECT c FROM ({all}) WHERE k = 1234")), 1_234);
    assert_eq!(member.number(&format!("SELECT c FROM ({all} WHERE a.__key = 77)")), 77);
    assert_eq!(member.number(&format!("SELECT count(*) FROM ({all} LIMIT 3)")), 3, "one stops early");
    assert_eq!(
        member.number(&format!("SELECT count(*) FROM ({all} WHERE a.__key IN (5, 6, 7000)) WHERE k = 6")),
        1
    );
    assert_eq!(member.sql.snapshot().memory_bytes, 0);
    let few = started_with(SqlSettings { query_memory_bytes: 100_000, ..Default::default() });
    numbers(&few, "numbers", 20_000);
    let said = few.says(&all);
    assert!(said.contains("sql.query_memory_bytes"), "{said}");
}

/// Rows that the statement had written itself were read again, and written once more.
#[test]
fn a_statement_does_not_read_what_it_writes() {
    let member = started_with(SqlSettings { batch_rows: 50, ..Default::default() });
    numbers(&member, "n", 5_000);
    assert_eq!(member.changed("INSERT INTO n SELECT __key + 1000000, this FROM n"), 5_000);
    assert_eq!(member.number("SELECT count(*) FROM n"), 10_000);
    assert_eq!(member.changed("SINK INTO n SELECT __key + 10000000, this FROM n"), 10_000);
    let more = "INSERT INTO n SELECT a.__key + 100000000, a.this FROM n a JOIN n b ON a.__key = b.__key \
                ON CONFLICT DO NOTHING";
    assert_eq!(member.changed(more), 20_000);
    assert_eq!(member.number("SELECT count(*) FROM n"), 40_000);
    assert_eq!(member.number("SELECT sum(this) FROM n"), 8 * (0..5_000).sum::<i64>());
    assert_eq!(member.sql.snapshot().memory_bytes, 0);
}

#[test]
fn what_a_statement_reads_before_it_writes_is_memory_of_its_query() {
    let few = started_with(SqlSettings { query_memory_bytes: 200_000, ..Default::default() });
    numbers(&few, "n", 30_000);
    let said = few.says("INSERT INTO n SELECT __key + 1000000, this FROM n");
    assert!(said.contains("sql.query_memory_bytes"), "{said}");
    assert_eq!(few.number("SELECT count(*) FROM n"), 30_000, "nothing was written");
    empty(&few, "other");
    assert_eq!(few.changed("INSERT INTO other SELECT __key, this FROM n"), 30_000, "of another map");
}

/// An index is read from its least value on, and the statement makes values greater.
#[test]
fn an_update_changes_each_entry_once_though_its_index_moves_it() {
    let member = started();
    for number in 0..3_000 {
        member.put("items", number, Json(json!({"size": number})));
    }
    member.ask("CREATE INDEX by_size ON items (size) TYPE SORTED").unwrap();
    let update = "UPDATE items SET size = size + 100 WHERE size >= 0";
    assert!(member.table(&format!("EXPLAIN {update}")).contains("by index"));
    assert_eq!(member.changed(update), 3_000);
    assert_eq!(member.number("SELECT count(*) FROM items WHERE size = __key + 100"), 3_000);
}

/// A statement that is run again after it was begun writes some entries twice: its user must know how many there are.
#[test]
fn a_statement_that_fails_says_how_many_entries_it_has_written() {
    let member = started_with(SqlSettings { batch_rows: 50, ..Default::default() });
    numbers(&member, "n", 5_000);
    empty(&member, "copy");
    let begun = |text: &str| match member.ask(text) {
        Err(SqlError::PartlyDone { cause, entries }) => (cause.to_string(), entries as i64),
        other => panic!("{text}: {:?}", other.map(|_| ())),
    };
    let (cause, entries) =
        begun("SINK INTO copy SELECT value, 10 / (4999 - value) FROM generate_series(1, 5000)");
    assert!(cause.contains("ivide by zero"), "{cause}");
    assert_eq!(member.number("SELECT count(*) FROM copy"), entries);
    let (cause, entries) = begun("INSERT INTO n SELECT 9000 - value, 5 FROM generate_series(1, 5000)");
    assert!(cause.contains("has the key"), "{cause}");
    assert_eq!(member.number("SELECT count(*) FROM n"), 5_000 + entries);
    let (_, entries) = begun("UPDATE n SET this = 10000000 / (this - 4000) + 20000000 WHERE __key < 5000");
    assert_eq!(member.number("SELECT count(*) FROM n WHERE this > 5000"), entries);
    let none = member.ask("INSERT INTO n VALUES (0, 5)").unwrap_err();
    assert!(matches!(none, SqlError::Taken(_)), "{none}");
}
