//! Random queries, answered by us over maps and by SQLite over tables with the same rows; both must say the same.
//!
//! `FILBERT_SQL_QUERIES` says how many (a few hundred without it; `cargo xtask long --only sql-random` asks for 20,000), `FILBERT_SEED` the
//! first seed. One that fails prints its seed, the query and the two answers; `FILBERT_SEED=<seed> FILBERT_SQL_QUERIES=1` runs it alone.
#![allow(clippy::disallowed_methods, reason = "tests make deadlines of their own")]

mod generator;
mod newer;

use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use filbert_grid::Grid;
use filbert_pool::Stages;
use filbert_sql::{Session, Sql, SqlError, SqlSettings};
use futures::executor::block_on;
use generator::{Random, Table, query, tables};
use rusqlite::Connection;
use rusqlite::types::ValueRef;

/// Queries with one set of rows.
const QUERIES_OF_A_WORLD: u64 = 20;

fn number(name: &str) -> Option<u64> {
    std::env::var(name)
        .ok()
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text:?}")))
}

fn ask(session: &Session, text: &str) -> Result<Vec<RecordBatch>, SqlError> {
    block_on(session.query(text)?.collect())
}

/// Rows as texts, sorted.
fn ours(batches: &[RecordBatch]) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL").with_display_error(true);
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<_> =
            batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).unwrap()).collect();
        rows.extend((0..batch.num_rows()).map(|row| {
            columns.iter().map(|column| column.value(row).to_string()).collect::<Vec<_>>().join("|")
        }));
    }
    rows.sort();
    rows
}

/// The same query with its subquery evaluated first. SQLite 3.40 to 3.50 gives rows that the subquery alone does not, when it is a UNION ALL with a
/// RIGHT JOIN in it and becomes a part of the query around it.
fn for_sqlite(text: &str) -> String {
    match text.strip_prefix("SELECT * FROM (").and_then(|rest| rest.rsplit_once(") AS q ")) {
        Some((subquery, rest)) => format!("WITH q AS MATERIALIZED ({subquery}) SELECT * FROM q {rest}"),
        None => text.to_owned(),
    }
}

fn theirs(sqlite: &Connection, text: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = sqlite.prepare(&for_sqlite(text))?;
    let columns = statement.column_count();
    let mut answer = statement.query([])?;
    let mut rows = Vec::new();
    while let Some(row) = answer.next()? {
        let cell = |column| {
            Ok(match row.get_ref(column)? {
                ValueRef::Null => "NULL".to_owned(),
                ValueRef::Integer(number) => number.to_string(),
                ValueRef::Real(number) => format!("{number:?}"),
                ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
                ValueRef::Blob(bytes) => format!("{bytes:?}"),
            })
        };
        rows.push((0..columns).map(cell).collect::<rusqlite::Result<Vec<_>>>()?.join("|"));
    }
    rows.sort();
    Ok(rows)
}

fn load(session: &Session, sqlite: &Connection, tables: &[Table]) {
    for table in tables {
        let Table { name, .. } = table;
        let mapping = format!(
            "CREATE OR REPLACE MAPPING {name} (__key BIGINT, a BIGINT, b BIGINT, s VARCHAR) TYPE IMap \
             OPTIONS ('keyFormat'='bigint', 'valueFormat'='json-flat')"
        );
        ask(session, &mapping).unwrap();
        ask(session, &format!("DELETE FROM {name}")).unwrap();
        sqlite.execute_batch(&format!("DROP TABLE IF EXISTS {name}; CREATE TABLE {name} (__key INTEGER, a INTEGER, b INTEGER, s TEXT)")).unwrap();
        if !table.rows.is_empty() {
            let values = table.values();
            ask(session, &format!("SINK INTO {name} VALUES {values}")).unwrap();
            sqlite.execute_batch(&format!("INSERT INTO {name} VALUES {values}")).unwrap();
        }
    }
}

/// True for what we do not claim to do, and for the one plan that DataFusion 55 is known to find that it made wrongly (a window over a column that
/// a condition makes constant), which is better than a wrong answer; these are counted, and must be few.
fn is_unsupported(error: &SqlError) -> bool {
    let text = error.to_string();
    [
        "not supported",
        "NotImplemented",
        "does not support",
        "All partition by columns should have an ordering",
    ]
    .iter()
    .any(|words| text.contains(words))
}

/// Seeds that found mistakes beyond those that are tried every time: a condition moved to the wrong side of a join, lists of columns that
/// were compared by their names.
const FOUND: [u64; 3] = [591, 6950, 8479];

#[test]
fn random_queries_agree_with_sqlite() {
    let stages = Stages::builder().set("fragment.threads", 2).start().unwrap();
    // Small batches: rows go through exchanges in many pieces.
    let sql = Sql::start(&stages, SqlSettings { batch_rows: 7, ..Default::default() }).unwrap();
    sql.attach(&Grid::new(&stages)).unwrap();
    let session = sql.session();
    let sqlite = Connection::open_in_memory().unwrap();
    sqlite.execute_batch("PRAGMA case_sensitive_like = ON").unwrap();
    let first = number("FILBERT_SEED").unwrap_or(1);
    let count = number("FILBERT_SQL_QUERIES").unwrap_or(300);
    println!("seeds {first} to {}", first + count - 1);
    let (mut world, mut rows, mut unsupported) = (None, 0, Vec::new());
    for seed in FOUND.into_iter().chain(first..first + count) {
        let of = seed / QUERIES_OF_A_WORLD;
        if world != Some(of) {
            let tables = tables(&mut Random::new(of));
            load(&session, &sqlite, &tables);
            if count == 1 {
                tables.iter().for_each(|table| println!("{} {}", table.name, table.values()));
            }
            world = Some(of);
        }
        let text = query(&mut Random::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        let expected =
            theirs(&sqlite, &text).unwrap_or_else(|error| panic!("seed {seed}: SQLite: {error}\n{text}"));
        match ask(&session, &text) {
            Err(error) if is_unsupported(&error) => unsupported.push((seed, error.to_string())),
            Err(error) => panic!("seed {seed}: {error}\n{text}"),
            Ok(batches) => {
                rows += expected.len();
                let answer = ours(&batches);
                assert!(
                    answer == expected,
                    "seed {seed} disagrees (FILBERT_SEED={seed} FILBERT_SQL_QUERIES=1)\n{text}\nours ({}):\n{}\nSQLite's ({}):\n{}",
                    answer.len(),
                    answer.join("\n"),
                    expected.len(),
                    expected.join("\n")
                );
            }
        }
    }
    println!("{count} queries, {rows} rows, {} not supported", unsupported.len());
    for (seed, error) in unsupported.iter().take(5) {
        println!("not supported, seed {seed}: {error}");
    }
    assert!(unsupported.len() as u64 * 10 <= count, "more than a tenth is not supported");
    assert!(count < 100 || rows as u64 > count, "queries that find nothing prove nothing: {rows} rows");
}

/// Windows with an order, subqueries in select lists, `INTERSECT ALL` and `EXCEPT ALL`.
#[test]
fn random_newer_queries_agree_with_sqlite() {
    let stages = Stages::builder().set("fragment.threads", 2).start().unwrap();
    let sql = Sql::start(&stages, SqlSettings { batch_rows: 7, ..Default::default() }).unwrap();
    sql.attach(&Grid::new(&stages)).unwrap();
    let (session, sqlite) = (sql.session(), Connection::open_in_memory().unwrap());
    sqlite.execute_batch("PRAGMA case_sensitive_like = ON").unwrap();
    let first = number("FILBERT_SEED").unwrap_or(1);
    let count = number("FILBERT_SQL_QUERIES").unwrap_or(150);
    let (mut world, mut rows, mut unsupported) = (None, 0, Vec::new());
    for seed in first..first + count {
        let of = seed / QUERIES_OF_A_WORLD;
        if world != Some(of) {
            load(&session, &sqlite, &tables(&mut Random::new(of)));
            world = Some(of);
        }
        let newer::Both { ours: text, theirs: other } = newer::query(&mut Random::new(seed.wrapping_mul(31)));
        let expected =
            theirs(&sqlite, &other).unwrap_or_else(|error| panic!("seed {seed}: SQLite: {error}\n{other}"));
        rows += expected.len();
        match ask(&session, &text) {
            Err(error) if is_unsupported(&error) => unsupported.push(error.to_string()),
            Err(error) => panic!("seed {seed}: {error}\n{text}"),
            Ok(batches) => assert_eq!(ours(&batches), expected, "seed {seed} disagrees\n{text}\n{other}"),
        }
    }
    println!("{count} queries, {rows} rows, {} not supported", unsupported.len());
    assert!(unsupported.len() as u64 * 10 <= count, "{:#?}", unsupported.first());
    assert!(rows as u64 > count, "queries that find nothing prove nothing: {rows} rows");
}

/// `ON CONFLICT` and `RETURNING` of a map: the same rows are given back, and the same are there afterwards.
#[test]
fn random_changes_agree_with_sqlite() {
    let stages = Stages::builder().set("fragment.threads", 2).start().unwrap();
    let sql = Sql::start(&stages, SqlSettings { batch_rows: 7, ..Default::default() }).unwrap();
    sql.attach(&Grid::new(&stages)).unwrap();
    let (session, sqlite) = (sql.session(), Connection::open_in_memory().unwrap());
    let mapping = "CREATE MAPPING changed (__key BIGINT, a BIGINT, b BIGINT) TYPE IMap \
                   OPTIONS ('keyFormat'='bigint', 'valueFormat'='json-flat')";
    ask(&session, mapping).unwrap();
    sqlite.execute_batch("CREATE TABLE changed (__key INTEGER PRIMARY KEY, a INTEGER, b INTEGER)").unwrap();
    let first = number("FILBERT_SEED").unwrap_or(1);
    let count = number("FILBERT_SQL_QUERIES").unwrap_or(150);
    let mut rows = 0;
    for seed in first..first + count {
        let text = newer::change(&mut Random::new(seed.wrapping_mul(17)));
        let expected =
            theirs(&sqlite, &text).unwrap_or_else(|error| panic!("seed {seed}: SQLite: {error}\n{text}"));
        let given = ask(&session, &text).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{text}"));
        assert_eq!(ours(&given), expected, "seed {seed} gives other rows back\n{text}");
        rows += expected.len();
        let all = "SELECT __key, a, b FROM changed";
        let there = ours(&ask(&session, all).unwrap());
        assert_eq!(there, theirs(&sqlite, all).unwrap(), "seed {seed} leaves other rows\n{text}");
    }
    println!("{count} changes, {rows} rows");
    assert!(rows as u64 > count / 2, "changes of nothing prove nothing: {rows} rows");
}
