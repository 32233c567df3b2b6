//! What is said of a mistake: plain words, without the engine's own types, trees and trackers.

use arrow::array::AsArray;
use filbert_grid::Grid;
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

/// Statements that came after those above: of files by function, of rules, of rows that a change gives back.
#[test]
fn mistakes_in_newer_statements_are_told_in_the_words_of_sql() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bad.csv"), "a,b\n1,2\n3,4,5\n").unwrap();
    std::fs::write(folder.path().join("words.csv"), "a,b\n1,2\nx,4\n").unwrap();
    std::fs::write(folder.path().join("bad.json"), "{\"a\": 1}\n{\"a\": \n").unwrap();
    std::fs::write(folder.path().join("mixed.json"), "{\"a\": 1}\n{\"a\": [2]}\n").unwrap();
    std::fs::write(folder.path().join("no.parquet"), "PAR1 no").unwrap();
    std::fs::write(folder.path().join("no.csv.gz"), "a,b\n1,2\n").unwrap();
    let stages = Stages::start().unwrap();
    let files = vec![folder.path().into()];
    let settings = SqlSettings { files: files.clone(), write_files: files, ..Default::default() };
    let sql = Sql::start(&stages, settings).unwrap();
    sql.attach(&Grid::new(&stages)).unwrap();
    let session = sql.session();
    for text in [
        "CREATE TABLE people (id BIGINT NOT NULL, name VARCHAR, pay DECIMAL(10, 2), born DATE)",
        "INSERT INTO people VALUES (1, 'ann', 10, '2000-01-01'), (2, 'bob', 20, '2001-01-01')",
        "CREATE TABLE ruled (id SERIAL PRIMARY KEY, name VARCHAR(5) NOT NULL, mail VARCHAR UNIQUE, at TIMESTAMP)",
        "CREATE MAPPING items (__key BIGINT, n INT, s VARCHAR, at TIMESTAMP, d DECIMAL) TYPE IMap OPTIONS ('keyFormat'='bigint', 'valueFormat'='json-flat')",
        "INSERT INTO items VALUES (1, 2, 'a', NULL, 1.5)",
        "CREATE VIEW seen AS SELECT * FROM people",
    ] {
        assert_eq!(says(&session, text), None, "{text}");
    }
    let at = folder.path().display();
    let files = [
        "SELECT * FROM read_csv()",
        "SELECT * FROM read_csv(1)",
        "SELECT * FROM read_csv(NULL)",
        "SELECT * FROM read_csv('@/none.csv')",
        "SELECT * FROM read_csv('@/bad.csv')",
        "SELECT sum(b) FROM read_csv('@/bad.csv')",
        "SELECT * FROM read_csv('@/words.csv', 'x')",
        "SELECT * FROM read_csv('@/words.csv', delim => 5)",
        "SELECT * FROM read_csv('@/words.csv', no_such => 5)",
        "SELECT * FROM read_csv('@/words.csv', header => 'x')",
        "SELECT a + 'x' FROM read_csv('@/words.csv')",
        "SELECT c FROM read_csv('@/words.csv')",
        "SELECT * FROM read_json('@/bad.json')",
        "SELECT * FROM read_json('@/mixed.json')",
        "SELECT * FROM read_json('@/words.csv')",
        "SELECT * FROM read_parquet('@/no.parquet')",
        "SELECT * FROM read_parquet('@/words.csv')",
        "SELECT * FROM '@/no.parquet'",
        "SELECT * FROM '@/no.csv.gz'",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT read_csv('@/words.csv')",
        "SUMMARIZE nothing",
        "SUMMARIZE SELECT",
        "SUMMARIZE SELECT nme FROM people",
        "SUMMARIZE people, seen",
        "SUMMARIZE SELECT 1 / 0",
        "SUMMARIZE '@/bad.csv'",
        "SUMMARIZE INSERT INTO people VALUES (1)",
        "SUMMARIZE",
        "COPY nothing TO '@/x.csv'",
        "COPY people TO '@/x.zip'",
        "COPY people TO '@/no/such/folder/x.csv'",
        "COPY people TO '/etc/x.csv'",
        "COPY people TO 5",
        "COPY people TO '@/x.parquet' OPTIONS (compression 'x')",
        "COPY people TO '@/x.csv' OPTIONS (delimiter 'long')",
        "COPY people TO '@/x.csv' STORED AS AVRO",
        "COPY people TO '@/x.csv' PARTITIONED BY (id)",
        "COPY (SELECT [1, 2] AS a) TO '@/x.csv'",
        "COPY (SELECT named_struct('a', 1) AS a) TO '@/x.csv'",
        "COPY (SELECT INTERVAL '1 day' AS a) TO '@/x.parquet'",
        "COPY (SELECT 1 / 0 AS a) TO '@/x.csv'",
        "COPY (INSERT INTO people VALUES (1)) TO '@/x.csv'",
        "COPY people FROM '@/words.csv'",
        "COPY people (id) TO '@/x.csv'",
    ];
    let changes = [
        "INSERT INTO items VALUES (1, 2, 'a', NULL, 1) ON CONFLICT (n) DO NOTHING",
        "INSERT INTO items VALUES (1, 2, 'a', NULL, 1) ON CONFLICT (nothing) DO NOTHING",
        "INSERT INTO items VALUES (1, 2, 'a', NULL, 1) ON CONFLICT DO UPDATE SET n = 1",
        "INSERT INTO items VALUES (1, 2, 'a', NULL, 1) ON CONFLICT (__key) DO UPDATE SET nothing = 1",
        "INSERT INTO items VALUES (1, 2, 'a', NULL, 1) ON CONFLICT (__key) DO UPDATE SET __key = 1",
        "INSERT INTO items VALUES (1, 2, 'a', NULL, 1) ON CONFLICT (__key) DO UPDATE SET n = 'x'",
        "INSERT INTO items VALUES (1, 2, 'a', NULL, 1) ON CONFLICT (__key) DO UPDATE SET n = excluded.nothing",
        "INSERT INTO items VALUES (1, 2, 'a', NULL, 1) ON CONFLICT (__key) DO UPDATE SET n = excluded.s",
        "INSERT INTO items VALUES (1, 2, 'a', NULL, 1) ON CONFLICT (__key) DO UPDATE SET n = (SELECT 1)",
        "INSERT INTO items VALUES (1, 2, 'a', NULL, 1) ON CONFLICT (__key) DO UPDATE SET n = count(*)",
        "INSERT INTO items VALUES (1, 2, 'a', NULL, 1) ON CONFLICT (__key) DO UPDATE SET n = 1 WHERE s",
        "INSERT INTO items VALUES (1, 2, 'a', NULL, 1) ON CONFLICT (__key) DO UPDATE SET n = 1 / 0",
        "INSERT INTO items VALUES (1, 2, 'a', NULL, 1) ON CONFLICT (__key) DO UPDATE SET n = n + 1",
        "INSERT INTO items VALUES (1, 2, 'a', NULL, 1) ON CONFLICT (__key) DO UPDATE SET (n, s) = (1, 'a')",
        "INSERT INTO items VALUES (1, 2, 'a', NULL, 1) ON CONFLICT ON CONSTRAINT pk DO NOTHING",
        "INSERT INTO items VALUES (1, 2, 'a', NULL, 1) ON DUPLICATE KEY UPDATE n = 1",
        "INSERT INTO items VALUES (1, 2, 'a', NULL, 1)",
        "INSERT INTO items VALUES ('x', 2, 'a', NULL, 1)",
        "INSERT INTO items VALUES (9, 'x', 'a', NULL, 1)",
        "INSERT INTO items VALUES (9, 3000000000, 'a', NULL, 1)",
        "INSERT INTO items VALUES (9, 1, 'a', 'x', 1)",
        "INSERT INTO items VALUES (9, 1, [1], NULL, 1)",
        "INSERT INTO items VALUES (9, 1, 'a', NULL, 'x')",
        "INSERT INTO items VALUES (NULL, 1, 'a', NULL, 1)",
        "UPDATE items SET n = 'x'",
        "UPDATE items SET n = 3000000000",
        "UPDATE items SET at = 5",
        "UPDATE items SET d = 'x'",
        "UPDATE items SET n = n / 0",
        "DELETE FROM items WHERE s",
        "DELETE FROM items WHERE nothing = 1",
        "INSERT INTO people VALUES (3, 'a', 1, '2000-01-01') RETURNING nothing",
        "INSERT INTO people VALUES (3, 'a', 1, '2000-01-01') RETURNING count(*)",
        "INSERT INTO people VALUES (3, 'a', 1, '2000-01-01') RETURNING rank() OVER ()",
        "INSERT INTO people VALUES (3, 'a', 1, '2000-01-01') RETURNING id / 0",
        "INSERT INTO people VALUES (3, 'a', 1, '2000-01-01') RETURNING name + id",
        "INSERT INTO people VALUES (3, 'a', 1, '2000-01-01') RETURNING (SELECT name FROM people)",
        "INSERT INTO people VALUES (3, 'a', 1, '2000-01-01') RETURNING people.*, other.*",
        "INSERT INTO people VALUES (NULL, 'a', 1, '2000-01-01')",
        "INSERT INTO people VALUES (1, 'a', 12345678901, '2000-01-01')",
        "INSERT INTO people VALUES (1, 'a', 1, '2000-02-31')",
        "INSERT INTO people VALUES (1, 'a', 1, '2000-01-01', 5)",
        "INSERT INTO people VALUES (1, 'a'), (1, 'a', 1)",
        "UPDATE people SET id = 1 RETURNING nothing",
        "UPDATE people SET id = name",
        "UPDATE people SET id = NULL",
        "UPDATE people SET pay = pay * 1000000000",
        "UPDATE people SET id = (SELECT id FROM people)",
        "UPDATE people SET id = 1, id = 2",
        "UPDATE seen SET id = 1",
        "DELETE FROM seen",
        "INSERT INTO seen VALUES (1)",
        "DELETE FROM people WHERE id = 1 RETURNING sum(id)",
        "INSERT INTO ruled (name) VALUES ('Roberta')",
        "INSERT INTO ruled (name) VALUES (NULL)",
        "INSERT INTO ruled (id) VALUES (1)",
        "INSERT INTO ruled VALUES (1, 'a', 'a', 'x')",
        "INSERT INTO ruled VALUES ('x', 'a', 'a', NULL)",
        "INSERT INTO ruled VALUES (1, 'a', 'a', NULL), (1, 'b', 'b', NULL)",
        "INSERT INTO ruled VALUES (1, 'a', 'a', NULL), (2, 'b', 'a', NULL)",
        "INSERT INTO ruled VALUES (DEFAULT, 'a', 'a')",
        "CREATE TABLE x (a INT PRIMARY KEY, b INT PRIMARY KEY)",
        "CREATE TABLE x (a INT, PRIMARY KEY (b))",
        "CREATE TABLE x (a INT, UNIQUE (a, b))",
        "CREATE TABLE x (a VARCHAR(0))",
        "CREATE TABLE x (a VARCHAR(99999999999999999999))",
        "CREATE TABLE x (a DECIMAL(99, 2))",
        "CREATE TABLE x (a DECIMAL(5, 9))",
        "CREATE TABLE x (a INT DEFAULT 'x')",
        "CREATE TABLE x (a INT CHECK (a > 0))",
        "CREATE TABLE x (a INT REFERENCES people (id))",
        "CREATE TABLE x (a INT GENERATED ALWAYS AS (1) STORED)",
        "CREATE TABLE x (a NONSENSE)",
        "CREATE TABLE x (a INT, a INT)",
        "CREATE TABLE people (a INT)",
        "CREATE TABLE x AS SELECT 1 / 0",
        "CREATE TABLE x AS SELECT nothing FROM people",
        "CREATE VIEW people AS SELECT 1",
        "ALTER TABLE nothing RENAME TO x",
        "ALTER TABLE people RENAME TO items",
        "ALTER TABLE people RENAME COLUMN id TO x",
        "ALTER TABLE seen RENAME TO y z",
        "TRUNCATE seen",
        "TRUNCATE people, nothing",
        "CREATE INDEX i ON people (id)",
        "DROP TABLE nothing",
        "DROP TABLE items",
        "DROP VIEW people",
        "PREPARE p AS SELECT $1 + 'x'",
        "EXECUTE nothing(1)",
        "SELECT TABLESAMPLE FROM people",
        "SELECT * FROM people TABLESAMPLE BERNOULLI (200)",
        "SELECT * FROM people TABLESAMPLE NONSENSE (2)",
        "SELECT * FROM unnest([1]) WITH ORDINALITY AS t(a, b, c)",
        "SELECT id FROM people INTERSECT ALL SELECT name, id FROM people",
        "SELECT (SELECT id FROM people q WHERE q.pay < p.pay) FROM people p",
        "SELECT (SELECT max(q.id) FROM people q WHERE q.pay < p.nothing) FROM people p",
        "SELECT JSON_VALUE(name, '$[') FROM people",
        "SELECT JSON_QUERY(id, '$') FROM people",
        "SELECT name -> 'a' -> 5 ->> born FROM people",
        "SELECT to_char(born, 5) FROM people",
        "SELECT name SIMILAR TO '(' FROM people",
        "SELECT name LIKE 'a' ESCAPE 'bb' FROM people",
        "SET TIME ZONE 'Mars/Olympus'",
        "SELECT sum(id) OVER (ROWS BETWEEN 'x' PRECEDING AND CURRENT ROW) FROM people",
        "SELECT sum(id) OVER (ORDER BY name RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM people",
        "SELECT count(*) FILTER (WHERE name) FROM people",
        "SELECT grouping(id) FROM people",
        "SELECT id FROM people GROUP BY ROLLUP (id, nothing)",
        "SELECT 'a'::INT[]",
        "SELECT ARRAY[1, 'x']",
        "SELECT [1] + 1",
        "SELECT ROW(1, 2) = 1",
        "SELECT id = ANY(name) FROM people",
        "SELECT CAST('x' AS UUID)",
        "SELECT INTERVAL 'x'",
        "SELECT DATE 'x' - 1",
        "SELECT 9999999999999999999999999999999999999999999999",
        "SELECT 1e999",
        "SELECT CAST(1e30 AS BIGINT)",
        "SELECT CAST(99999 AS SMALLINT)",
        "SELECT 99999999999.5::DECIMAL(5, 2)",
        "SELECT 'x'::DECIMAL(5, 2)",
        "SELECT 'x'::BOOLEAN",
        "SELECT 'x'::TIMESTAMP",
        "SELECT '25:00'::TIME",
    ];
    let files = files.iter().map(|text| text.replace('@', &at.to_string()));
    let texts: Vec<String> = files.chain(changes.iter().map(|text| (*text).to_owned())).collect();
    let taken: Vec<&String> = texts.iter().filter(|text| says(&session, text).is_none()).collect();
    let wrong = wrong(&session, texts.iter().cloned());
    assert!(wrong.is_empty(), "{} mistakes:\n{}\ntaken: {taken:#?}", wrong.len(), wrong.join("\n"));
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
