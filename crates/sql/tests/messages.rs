//! What is said of a mistake: plain words, without the engine's own types, trees and trackers.

use arrow::array::AsArray;
use filbert_pool::Stages;
use filbert_sql::{Session, Sql, SqlSettings};
use futures::executor::block_on;

fn says(session: &Session, text: &str) -> Option<String> {
    match session.query(text) {
        Ok(query) => block_on(query.collect()).err().map(|error| error.to_string()),
        Err(error) => Some(error.to_string()),
    }
}

/// Nothing of this tells a user what to do.
const NEVER: [&str; 28] = [
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
    "https://",
    "Some(",
    "Arrow",
    "Utf8",
    "Float64",
    "Timestamp(",
    "Decimal128",
    "List(",
    "Struct(",
    "Interval(",
    "panicked",
    "TypeSignature",
    "bug in",
    "DFSchema",
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
        "TRUNCATE nothing".to_owned(),
        "DROP TABLE people, other".to_owned(),
        "CREATE TEMP TABLE x (a INT)".to_owned(),
        "CREATE TABLE x (a SERIAL DEFAULT 1)".to_owned(),
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

#[test]
fn what_the_planner_does_not_know_is_told_in_words_of_sql() {
    let stages = Stages::start().unwrap();
    let session = Sql::start(&stages, SqlSettings::default()).unwrap().session();
    assert_eq!(says(&session, "CREATE TABLE t (a BIGINT, b VARCHAR)"), None);
    let mut wrong = Vec::new();
    for (text, part) in [
        ("SELECT 3 > ALL (SELECT 1 UNION SELECT 2)", "ALL (SELECT ...)"),
        ("SELECT 'a' ~ '('", "unclosed group"),
        ("SELECT 'a' SIMILAR TO '('", "regular expression"),
        ("SELECT regexp_replace('a', '[', 'b')", "regular expression"),
        ("SELECT regexp_match('a', '(')", "unclosed group"),
        ("SELECT INTERVAL '1' YEAR TO MONTH", "INTERVAL '1 year 2 months'"),
        ("SELECT U&'\\0041'", "U&"),
        ("SELECT 5 # 3", "no operator"),
        ("SELECT sum(unnest(ARRAY[1, 2]))", "unnest"),
        ("CREATE UNIQUE INDEX u ON t (a)", "index"),
        ("CREATE FUNCTION f() RETURNS INT RETURN 1", "CREATE FUNCTION"),
        ("SET datafusion.nosuch = 1", "setting"),
    ] {
        let said = says(&session, text).unwrap_or_else(|| "it is taken".to_owned());
        if !said.contains(part) {
            wrong.push(format!("{text}\n  says nothing of {part:?}: {said}"));
        }
        let engine = NEVER.iter().chain(&[
            "Assertion",
            "infix",
            "factory",
            "ConfigOptions",
            "logical plan",
            "Optimizer rule",
        ]);
        for word in engine.filter(|word| said.contains(**word)) {
            wrong.push(format!("{text}\n  says {word:?}: {said}"));
        }
    }
    assert!(wrong.is_empty(), "{} mistakes:\n{}", wrong.len(), wrong.join("\n"));
}

/// The same choice in every run.
struct Choice(u64);

impl Choice {
    fn below(&mut self, number: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % number
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

/// Messages that say something of the engine, one for each word and function.
fn wrong(session: &Session, texts: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut wrong = Vec::new();
    for text in texts {
        if let Some(said) = says(session, &text)
            && let Some(word) = NEVER.iter().find(|word| said.contains(**word))
        {
            wrong.push(format!("{text}\n  says {word:?}: {said}"));
        }
    }
    wrong
}

fn with_columns_of_every_type() -> (Stages, Session) {
    let stages = Stages::builder().set("fragment.threads", 2).start().unwrap();
    let settings = SqlSettings { time_limit_ms: Some(5_000), ..Default::default() };
    let session = Sql::start(&stages, settings).unwrap().session();
    let text = "CREATE TABLE kinds AS SELECT 1 AS i, CAST(2 AS INT) AS n, 1.5 AS f, CAST(2.50 AS DECIMAL(10, 2)) AS d, 'text' AS s, true AS b, \
                DATE '2024-02-29' AS day, TIME '10:11:12' AS clock, TIMESTAMP '2024-02-29 10:11:12' AS at, \
                CAST('2024-02-29 10:11:12Z' AS TIMESTAMP WITH TIME ZONE) AS moment, INTERVAL '1 day' AS span, CAST('ab' AS BYTEA) AS bytes, \
                [1, 2] AS list, named_struct('a', 1) AS object, map(['k'], [1]) AS pairs, NULL AS nothing";
    assert_eq!(says(&session, text), None);
    (stages, session)
}

/// Columns of the table, and constants.
const ARGUMENTS: [&str; 20] = [
    "i", "n", "f", "d", "s", "b", "day", "clock", "at", "moment", "span", "bytes", "list", "object", "pairs",
    "nothing", "NULL", "'x'", "-1", "'2024'",
];

#[test]
fn functions_of_wrong_values_say_so_in_the_words_of_sql() {
    let (_stages, session) = with_columns_of_every_type();
    let query =
        session.query("SELECT DISTINCT routine_name FROM information_schema.routines ORDER BY 1").unwrap();
    let batches = block_on(query.collect()).unwrap();
    let names: Vec<String> = batches
        .iter()
        .flat_map(|batch| {
            batch.column(0).as_string::<i32>().iter().flatten().map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    assert!(names.len() > 200, "{}", names.len());
    let mut choice = Choice(7);
    let mut texts = Vec::new();
    for name in &names {
        for count in [0, 1, 1, 2, 2, 3] {
            let arguments: Vec<_> = (0..count).map(|_| choice.of(&ARGUMENTS)).collect();
            let over = choice.of(&["", "", "", " OVER ()"]);
            texts.push(format!("SELECT {name}({}){over} FROM kinds", arguments.join(", ")));
        }
    }
    let wrong = wrong(&session, texts);
    assert!(wrong.is_empty(), "{} mistakes:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn words_in_any_order_are_told_in_the_words_of_sql() {
    let (_stages, session) = with_columns_of_every_type();
    let words = [
        "SELECT",
        "FROM",
        "kinds",
        "WHERE",
        "GROUP BY",
        "ORDER BY",
        "HAVING",
        "LIMIT",
        "JOIN",
        "ON",
        "AND",
        "OR",
        "NOT",
        "IN",
        "(",
        ")",
        ",",
        "*",
        "+",
        "-",
        "/",
        "%",
        "||",
        "=",
        "<",
        "LIKE",
        "IS NULL",
        "BETWEEN",
        "CASE",
        "WHEN",
        "THEN",
        "END",
        "AS",
        "x",
        "i",
        "s",
        "at",
        "list",
        "object",
        "b",
        "1",
        "'a'",
        "NULL",
        "sum(",
        "max(",
        "count(*)",
        "UNION",
        "WITH",
        "INSERT INTO",
        "VALUES",
        "UPDATE",
        "SET",
        "DELETE FROM",
        "CREATE TABLE",
        "DROP TABLE IF EXISTS",
        "RETURNING",
        "OVER (",
        "PARTITION BY",
        "::INT",
        "::DATE",
        "[1]",
        ".a",
        ";",
        "EXISTS",
        "LATERAL",
        "INTERVAL '1 day'",
        "ARRAY[",
        "]",
        "CAST(",
        "EXTRACT(",
        "DISTINCT",
        "ALL",
        "ANY(",
        "$1",
        "->",
        "->>",
        "~",
        "^",
        "EXPLAIN",
        "SHOW",
        "ALTER",
        "RENAME TO",
    ];
    let operators = [
        "+",
        "-",
        "*",
        "/",
        "%",
        "||",
        "=",
        "<",
        ">=",
        "AND",
        "OR",
        "LIKE",
        "~",
        "^",
        "&",
        "->",
        "@>",
        "IN",
        "IS DISTINCT FROM",
    ];
    let types = [
        "INT",
        "BIGINT",
        "DOUBLE",
        "DECIMAL(5, 2)",
        "VARCHAR",
        "BOOLEAN",
        "DATE",
        "TIME",
        "TIMESTAMP",
        "INTERVAL",
        "BYTEA",
        "INT[]",
        "JSON",
        "UUID",
    ];
    let mut choice = Choice(11);
    let mut texts = Vec::new();
    for _ in 0..500 {
        let count = 2 + choice.below(9);
        let text: Vec<_> = (0..count).map(|_| choice.of(&words)).collect();
        texts.push(text.join(" "));
        let (left, right) = (choice.of(&ARGUMENTS), choice.of(&ARGUMENTS));
        texts.push(format!("SELECT {left} {} {right} FROM kinds", choice.of(&operators)));
        texts.push(format!("SELECT CAST({left} AS {}) FROM kinds", choice.of(&types)));
    }
    let wrong = wrong(&session, texts);
    assert!(wrong.is_empty(), "{} mistakes:\n{}", wrong.len(), wrong.join("\n"));
}
