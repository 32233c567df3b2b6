//! `UPDATE` and `DELETE` of tables that `CREATE TABLE` made: the same rows as in SQLite, whatever the condition is.

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::UInt64Type;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use filbert_pool::Stages;
use filbert_sql::{Session, Sql, SqlError};
use futures::executor::block_on;
use rusqlite::Connection;
use rusqlite::types::ValueRef;

const TABLES: [&str; 4] = [
    "CREATE TABLE t (id BIGINT NOT NULL, name VARCHAR, n BIGINT)",
    "INSERT INTO t VALUES (1, 'a', 10), (2, 'b', NULL), (3, NULL, 30), (4, 'd', 40)",
    "CREATE TABLE other (id BIGINT, n BIGINT)",
    "INSERT INTO other VALUES (2, 10), (3, 30), (NULL, NULL)",
];

/// Conditions that PostgreSQL and SQLite understand alike.
const CONDITIONS: [&str; 48] = [
    "true",
    "false",
    "NULL",
    "1 = 0",
    "1 = 1",
    "NOT true",
    "id = 2",
    "id <> 2",
    "id = NULL",
    "n <> NULL",
    "name = NULL",
    "id IS NULL",
    "id IS NOT NULL",
    "name IS NULL",
    "n IS NOT NULL",
    "id = 1 AND 1 = 0",
    "id = 1 OR 1 = 1",
    "id = 1 OR NULL",
    "id = 1 AND NULL",
    "id IN (1, 3)",
    "id NOT IN (1, NULL)",
    "n IN (10, NULL)",
    "id BETWEEN 2 AND 3",
    "name LIKE '%b%'",
    "name || 'x' = 'ax'",
    "length(name) = 1 AND n > 10",
    "id IN (SELECT 7)",
    "id IN (SELECT id FROM other)",
    "id NOT IN (SELECT 1)",
    "id NOT IN (SELECT id FROM other)",
    "id NOT IN (SELECT id FROM other WHERE id IS NOT NULL)",
    "n NOT IN (SELECT n FROM other WHERE n = 10)",
    "id IN (SELECT id FROM t WHERE n > 10)",
    "id = 1 AND id IN (SELECT 9)",
    "id = 1 OR id IN (SELECT id FROM other)",
    "id = 4 OR name IN (SELECT 'b')",
    "EXISTS (SELECT 1)",
    "NOT EXISTS (SELECT 1)",
    "EXISTS (SELECT 1 FROM other WHERE other.id = 99)",
    "EXISTS (SELECT 1 FROM other WHERE other.id = t.id)",
    "NOT EXISTS (SELECT 1 FROM other WHERE other.id = t.id)",
    "EXISTS (SELECT 1 FROM other WHERE other.id = t.id AND other.n = t.n)",
    "id = (SELECT max(id) FROM other)",
    "id > (SELECT min(id) FROM t)",
    "n = (SELECT max(n) FROM other WHERE other.id = t.id)",
    "n > (SELECT avg(n) FROM t)",
    "(SELECT count(*) FROM other) = 3",
    "CASE WHEN id = 2 THEN true ELSE false END",
];

fn session(stages: &Stages) -> Session {
    Sql::start(stages, Default::default()).unwrap().session()
}

fn ask(session: &Session, text: &str) -> Result<Vec<RecordBatch>, SqlError> {
    block_on(session.query(text)?.collect())
}

fn done(session: &Session, text: &str) -> u64 {
    let batches = ask(session, text).unwrap_or_else(|error| panic!("{text}: {error}"));
    batches[0].column(0).as_primitive::<UInt64Type>().value(0)
}

fn rows(session: &Session, table: &str) -> Vec<String> {
    let batches = ask(session, &format!("SELECT * FROM {table}")).unwrap();
    let options = FormatOptions::default().with_null("NULL");
    let mut rows = Vec::new();
    for batch in &batches {
        let columns: Vec<_> =
            batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).unwrap()).collect();
        rows.extend((0..batch.num_rows()).map(|row| {
            columns.iter().map(|column| column.value(row).to_string()).collect::<Vec<_>>().join("|")
        }));
    }
    rows.sort();
    rows
}

fn rows_of_sqlite(sqlite: &Connection) -> Vec<String> {
    let mut statement = sqlite.prepare("SELECT * FROM t").unwrap();
    let mut answer = statement.query([]).unwrap();
    let mut rows = Vec::new();
    while let Some(row) = answer.next().unwrap() {
        let values = (0..3).map(|column| match row.get_ref(column).unwrap() {
            ValueRef::Null => "NULL".to_owned(),
            ValueRef::Integer(number) => number.to_string(),
            ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
            other => panic!("{other:?}"),
        });
        rows.push(values.collect::<Vec<_>>().join("|"));
    }
    rows.sort();
    rows
}

#[test]
fn conditions_choose_the_rows_that_sqlite_chooses() {
    let stages = Stages::start().unwrap();
    let session = session(&stages);
    let mut wrong = Vec::new();
    for change in ["DELETE FROM t", "UPDATE t SET name = 'zz', n = coalesce(n, 0) + id"] {
        for condition in CONDITIONS {
            let sqlite = Connection::open_in_memory().unwrap();
            for text in TABLES {
                ask(&session, &text.replace("CREATE TABLE", "CREATE OR REPLACE TABLE")).unwrap();
                sqlite.execute(text, []).unwrap();
            }
            let text = format!("{change} WHERE {condition}");
            let theirs = (sqlite.execute(&text, []).unwrap() as u64, rows_of_sqlite(&sqlite));
            match ask(&session, &text) {
                Ok(answer) => {
                    let count = answer[0].column(0).as_primitive::<UInt64Type>().value(0);
                    let ours = (count, rows(&session, "t"));
                    if ours != theirs {
                        wrong.push(format!("{text}\n  ours {ours:?}\n  theirs {theirs:?}"));
                    }
                }
                Err(error) => wrong.push(format!("{text}: {error}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), 2 * CONDITIONS.len(), wrong.join("\n"));
}

fn made(session: &Session) {
    for text in TABLES {
        ask(session, &text.replace("CREATE TABLE", "CREATE OR REPLACE TABLE")).unwrap();
    }
}

#[test]
fn explain_changes_nothing() {
    let stages = Stages::start().unwrap();
    let session = session(&stages);
    made(&session);
    let before = rows(&session, "t");
    for text in [
        "EXPLAIN DELETE FROM t",
        "EXPLAIN DELETE FROM t WHERE id = 1",
        "EXPLAIN VERBOSE DELETE FROM t WHERE id IN (SELECT id FROM other)",
        "EXPLAIN UPDATE t SET name = 'zz'",
        "EXPLAIN UPDATE t SET name = 'zz' WHERE id = 1",
        "PREPARE gone AS DELETE FROM t WHERE id = $1",
    ] {
        ask(&session, text).unwrap_or_else(|error| panic!("{text}: {error}"));
        block_on(session.describe(text)).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(rows(&session, "t"), before, "{text}");
    }
    block_on(session.describe("DELETE FROM t")).unwrap();
    assert_eq!(rows(&session, "t"), before);
    assert_eq!(done(&session, "EXECUTE gone(1)"), 1);
    assert_eq!(rows(&session, "t").len(), 3);
    ask(&session, "EXPLAIN ANALYZE DELETE FROM t WHERE id = 2").unwrap();
    assert_eq!(rows(&session, "t").len(), 2, "it runs the statement");
}

#[test]
fn a_limit_bounds_what_is_deleted() {
    let stages = Stages::start().unwrap();
    let session = session(&stages);
    made(&session);
    assert_eq!(done(&session, "DELETE FROM t LIMIT 1"), 1);
    assert_eq!(rows(&session, "t").len(), 3);
    assert_eq!(done(&session, "DELETE FROM t WHERE id > 0 LIMIT 2"), 2);
    assert_eq!(done(&session, "DELETE FROM t LIMIT 0"), 0);
    assert_eq!(rows(&session, "t").len(), 1);
}

#[test]
fn values_may_be_subqueries_and_all_rows_change_or_none() {
    let stages = Stages::start().unwrap();
    let session = session(&stages);
    made(&session);
    assert_eq!(
        done(&session, "UPDATE t SET n = (SELECT max(n) FROM other), name = name || '!' WHERE id < 3"),
        2
    );
    assert_eq!(rows(&session, "t"), ["1|a!|30", "2|b!|30", "3|NULL|30", "4|d|40"]);
    assert_eq!(done(&session, "UPDATE t AS x SET n = x.id WHERE x.id = 4"), 1);
    let said = ask(&session, "UPDATE t SET id = NULL WHERE id = 3").unwrap_err().to_string();
    assert!(said.contains("\"id\" is NOT NULL"), "{said}");
    let said = ask(&session, "UPDATE t SET n = 1 / (id - 3)").unwrap_err().to_string();
    assert!(said.contains("ivide by zero"), "{said}");
    assert_eq!(rows(&session, "t"), ["1|a!|30", "2|b!|30", "3|NULL|30", "4|d|4"]);
}

/// What is inserted while a statement runs is not lost, and two that change the same rows do not mix them up.
#[test]
fn statements_at_the_same_time_keep_every_row() {
    let stages = Stages::start().unwrap();
    let session = session(&stages);
    ask(&session, "CREATE TABLE c (id BIGINT, n BIGINT)").unwrap();
    ask(&session, "INSERT INTO c SELECT value, 0 FROM generate_series(1, 1000)").unwrap();
    let mut updated = 0;
    for round in 0..40 {
        let insert = session.query(&format!("INSERT INTO c VALUES ({}, 0)", 2_000 + round)).unwrap();
        let one = session.query("UPDATE c SET n = n + 1 WHERE id <= 1000").unwrap();
        let two = session.query("UPDATE c SET n = n + 1 WHERE id <= 1000").unwrap();
        for (index, query) in [insert, one, two].into_iter().enumerate() {
            match block_on(query.collect()) {
                Ok(_) => updated += i64::from(index > 0),
                Err(error) => assert!(error.to_string().contains("at the same time"), "{error}"),
            }
        }
    }
    let of = |text: &str| rows(&session, &format!("({text})"));
    assert_eq!(of("SELECT count(*), count(DISTINCT id) FROM c"), ["1040|1040"]);
    assert_eq!(of("SELECT min(n), max(n) FROM c WHERE id <= 1000"), [format!("{updated}|{updated}")]);
    assert!(updated >= 40, "one of two succeeds");
}
