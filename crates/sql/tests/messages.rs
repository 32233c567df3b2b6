//! What is said of a mistake: plain words, without the engine's own types, trees and trackers.

use filbert_pool::Stages;
use filbert_sql::{Session, Sql, SqlSettings};
use futures::executor::block_on;

fn says(session: &Session, text: &str) -> Option<String> {
    let query = session.query(text).ok()?;
    block_on(query.collect()).err().map(|error| error.to_string())
}

/// Nothing of this tells a user what to do.
const NEVER: [&str; 14] = [
    "DataFusion",
    "Internal error",
    "Ident {",
    "Span(",
    "span:",
    "issue tracker",
    "bug report",
    "github.com",
    "Utf8(",
    "Int64(",
    "Field {",
    "OuterReferenceColumn",
    "quote_style",
    "caused by",
];

#[test]
fn mistakes_are_told_in_the_words_of_sql() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bad.csv"), "a,b\n1,2\n3,4,5\n").unwrap();
    std::fs::write(folder.path().join("words.csv"), "a,b\n1,2\nx,4\n").unwrap();
    let stages = Stages::start().unwrap();
    let files = vec![folder.path().into()];
    let session = Sql::start(&stages, SqlSettings { files, ..Default::default() }).unwrap().session();
    for text in [
        "CREATE TABLE people (id BIGINT, name VARCHAR, pay BIGINT, born DATE)",
        "INSERT INTO people VALUES (1, 'ann', 10, '2000-01-01'), (2, 'bob', 20, '2001-01-01')",
    ] {
        assert_eq!(says(&session, text), None, "{text}");
    }
    let folder = folder.path().display();
    let mut wrong = Vec::new();
    for text in [
        "SELECT sum(name) FROM people".to_owned(),
        "SELECT avg(name) FROM people".to_owned(),
        "SELECT round(name, 2) FROM people".to_owned(),
        "SELECT abs(name) FROM people".to_owned(),
        "SELECT substr(name) FROM people".to_owned(),
        "SELECT substring(name) FROM people".to_owned(),
        "SELECT name, count(*) FROM people".to_owned(),
        "SELECT name FROM people GROUP BY id".to_owned(),
        "SELECT name FROM people HAVING pay > 1".to_owned(),
        "SELECT * FROM people ORDER BY agee".to_owned(),
        "SELECT name + pay FROM people".to_owned(),
        "SELECT * FROM people WHERE born > now() - '1 day'".to_owned(),
        "SELECT * FROM people WHERE pay = 'ten'".to_owned(),
        "SELECT CAST(name AS integr) FROM people".to_owned(),
        "SELECT CAST(name AS INT) FROM people".to_owned(),
        "SELECT * FROM people PIVOT (sum(pay) FOR name IN ('ann'))".to_owned(),
        "SELECT * FROM people UNPIVOT (v FOR n IN (id, pay))".to_owned(),
        "SELECT * FROM people p, LATERAL (SELECT p.pay + 1 AS x) l".to_owned(),
        "SELECT * FROM people p, LATERAL (SELECT max(q.pay) AS x FROM people q WHERE q.pay < p.pay) l"
            .to_owned(),
        "SELECT id, EXISTS (SELECT 1 FROM people q WHERE q.id < p.id) FROM people p".to_owned(),
        "SELECT (SELECT count(*) FROM people q WHERE q.id < p.id) FROM people p".to_owned(),
        "SELECT (SELECT name FROM people q WHERE q.id = p.id) FROM people p".to_owned(),
        "SELECT (SELECT id, name FROM people)".to_owned(),
        "SELECT (SELECT id FROM people)".to_owned(),
        "SELECT id FROM people UNION SELECT id, name FROM people".to_owned(),
        "SELECT a FROM (SELECT id AS a, pay AS a FROM people) x".to_owned(),
        "CREATE TABLE twice AS SELECT 1 AS a, 2 AS a".to_owned(),
        "INSERT INTO people VALUES (1)".to_owned(),
        "INSERT INTO people (id, nothing) VALUES (1, 2)".to_owned(),
        "INSERT INTO people SELECT 1 RETURNING id".to_owned(),
        "INSERT INTO people VALUES (1, 'a', 1, '2000-01-01') ON CONFLICT DO NOTHING".to_owned(),
        "UPDATE people SET nothing = 1".to_owned(),
        "UPDATE people SET id = 1 FROM people p".to_owned(),
        "DELETE FROM people USING people p WHERE p.id = 1".to_owned(),
        "SELECT lag(id) FROM people".to_owned(),
        "SELECT sum(id) OVER (ORDER BY name ROWS BETWEEN UNBOUNDED FOLLOWING AND CURRENT ROW) FROM people"
            .to_owned(),
        "SELECT * FROM generate_series('a', 'b')".to_owned(),
        "SELECT * FROM no_such_function(1)".to_owned(),
        "SELECT * FROM people MATCH_RECOGNIZE (PATTERN (a) DEFINE a AS true)".to_owned(),
        "SELECT name COLLATE \"de_DE\" FROM people".to_owned(),
        "SELECT name IS NORMALIZED FROM people".to_owned(),
        "SELECT id #> '{a}' FROM people".to_owned(),
        "SELECT id @> name FROM people".to_owned(),
        "SELECT CONVERT(name USING utf8) FROM people".to_owned(),
        "SELECT name MEMBER OF (id) FROM people".to_owned(),
        "SELECT * FROM people ASOF JOIN people q MATCH_CONDITION (people.id >= q.id)".to_owned(),
        "SELECT make_date(2020, 13, 1)".to_owned(),
        "SELECT to_timestamp('x')".to_owned(),
        "SELECT date '2020-02-31'".to_owned(),
        "SELECT 1 / 0".to_owned(),
        "SELECT 9223372036854775807 + 1".to_owned(),
        "SELECT sqrt('x')".to_owned(),
        "SELECT named_struct('a')".to_owned(),
        "SELECT array_agg(DISTINCT name ORDER BY id) FROM people".to_owned(),
        "SELECT name FROM people LIMIT 'a'".to_owned(),
        "SELECT name FROM people LIMIT -1".to_owned(),
        "MERGE INTO people USING people q ON people.id = q.id WHEN MATCHED THEN DELETE".to_owned(),
        "ALTER TABLE people ADD COLUMN x INT".to_owned(),
        "TRUNCATE people".to_owned(),
        "DROP TABLE people, other".to_owned(),
        "CREATE TEMP TABLE x (a INT)".to_owned(),
        "CREATE TABLE x (a SERIAL)".to_owned(),
        "CREATE SEQUENCE s".to_owned(),
        "CREATE FUNCTION f() RETURNS INT RETURN 1".to_owned(),
        "DROP FUNCTION abs".to_owned(),
        "SHOW tabels".to_owned(),
        "SET no.such = 1".to_owned(),
        format!("SELECT * FROM '{folder}/bad.csv'"),
        format!("SELECT sum(a) FROM '{folder}/words.csv'"),
        format!(
            "CREATE EXTERNAL TABLE w (a INT, b INT) STORED AS CSV WITH ORDER (c) LOCATION '{folder}/words.csv'"
        ),
        format!("COPY people TO '{folder}/x.csv' OPTIONS ('no_such' 'x')"),
    ] {
        match says(&session, &text) {
            None => wrong.push(format!("{text}\n  is taken")),
            Some(said) => {
                if let Some(word) = NEVER.iter().find(|word| said.contains(**word)) {
                    wrong.push(format!("{text}\n  says {word:?}: {said}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} mistakes:\n{}", wrong.len(), wrong.join("\n"));
}
