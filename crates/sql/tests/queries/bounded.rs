//! Short statements with large results: refused before they take what a query may not have, and the engine goes on.

use crate::asking::{ask, idle, number, started, until};
use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use filbert_sql::{Access, Object, SqlError, SqlSettings, TableRights};
use futures::StreamExt;
use futures::executor::block_on;
use std::sync::Arc;

const MEGABYTE: usize = 1 << 20;

fn small(bytes: usize) -> SqlSettings {
    SqlSettings { query_memory_bytes: bytes, memory_bytes: 4 * bytes, spill_bytes: 0, ..Default::default() }
}

#[test]
fn a_function_whose_result_is_too_large_is_refused_by_its_name() {
    let (stages, sql) = started(small(16 * MEGABYTE));
    let session = sql.session();
    for (function, text) in [
        ("range", "SELECT array_length(range(1, 25000000))"),
        ("generate_series", "SELECT array_length(generate_series(1, 25000000))"),
        ("range", "SELECT array_length(range(DATE '0001-01-01', DATE '9000-01-01', INTERVAL '1 hour'))"),
        ("repeat", "SELECT length(repeat('x', 200000000))"),
        ("rpad", "SELECT length(rpad('a', 200000000, 'x'))"),
        ("lpad", "SELECT length(lpad('a', 200000000, 'x'))"),
        ("array_repeat", "SELECT array_length(array_repeat(1, 25000000))"),
        ("array_resize", "SELECT array_length(array_resize(make_array(1), 25000000, 7))"),
        ("range", "SELECT sum(array_length(range(1, 4000000 + v % 2))) FROM generate_series(1, 100) t(v)"),
        ("range", "SELECT count(*) FROM (SELECT unnest(range(1, 25000000)))"),
        (
            "repeat",
            "SELECT sum(length(repeat('x', 20000000 + cast(v AS int) % 2))) FROM generate_series(1, 100) t(v)",
        ),
        ("replace", "SELECT length(replace(repeat('a', 20000), 'a', repeat('b', 20000)))"),
        ("regexp_replace", "SELECT length(regexp_replace(repeat('a', 20000), 'a', repeat('b', 20000), 'g'))"),
        ("array_to_string", "SELECT length(array_to_string(array_repeat('', 20000), repeat('b', 20000)))"),
        (
            "concat",
            "SELECT length(concat(s, s, s)) FROM (SELECT repeat('a', 6000000) AS s FROM generate_series(1, 1))",
        ),
        (
            "||",
            "SELECT length(s || s || s) FROM (SELECT repeat('a', 6000000) AS s FROM generate_series(1, 1))",
        ),
        ("to_char", "SELECT length(to_char(TIMESTAMP '2026-01-01 00:00:00', repeat('Month ', 1000000)))"),
        (
            "array_replace_all",
            "SELECT array_length(array_replace_all(array_repeat('a', 20000), 'a', repeat('b', 20000)))",
        ),
        (
            "array_replace_n",
            "SELECT array_length(array_replace_n(array_repeat('a', 20000), 'a', repeat('b', 20000), 10000))",
        ),
        (
            "make_array",
            "SELECT array_length([s, s, s]) FROM (SELECT repeat('a', 6000000) AS s FROM generate_series(1, 1))",
        ),
        (
            "array_concat",
            "SELECT array_length(l || l || l) FROM (SELECT array_repeat(1, 600000) AS l FROM generate_series(1, 1))",
        ),
        (
            "regexp_match",
            "SELECT array_length(regexp_match(s, '((((((((((((((((((((.*))))))))))))))))))))')) \
             FROM (SELECT repeat('a', 1000000) AS s FROM generate_series(1, 1))",
        ),
    ] {
        let said = ask(&session, text).map(|_| ()).expect_err(text).to_string();
        assert!(said.contains(&format!("function {function} asks for")), "{text}: {said}");
        assert!(said.contains("sql.query_memory_bytes"), "{text}: {said}");
        assert_eq!(number(&session, "SELECT 1"), 1);
    }
    assert!(ask(&session, "SELECT * FROM generate_series(1, length(repeat('x', 200000000)))").is_err());
    let slow = ask(&session, "SELECT levenshtein(repeat('a', 100000), repeat('b', 30000))").unwrap_err();
    assert!(slow.to_string().contains("levenshtein would take"), "{slow}");
    idle(&stages, &sql);
}

#[test]
fn large_rows_that_fit_one_by_one_are_answered() {
    let (stages, sql) = started(small(64 * MEGABYTE));
    let session = sql.session();
    for (answer, text) in [
        (
            200 * 1_000_000 + 100,
            "SELECT sum(length(repeat('x', 1000000 + cast(v AS int) % 2))) FROM generate_series(1, 200) t(v)",
        ),
        (
            15 * 99_999 + 15 * 100_000,
            "SELECT count(*) FROM (SELECT unnest(range(1, 100000 + v % 2)) FROM generate_series(1, 30) t(v))",
        ),
        (999_999, "SELECT max(u) FROM (SELECT unnest(range(1, 1000000)) AS u)"),
        (
            20_010,
            "SELECT count(a) + count(b) FROM (SELECT unnest(range(0, 20000)) a, unnest(range(0, 10)) b)",
        ),
        (3, "SELECT cast(levenshtein('kitten', 'sitting') AS bigint)"),
        (
            0,
            "SELECT count(*) FROM generate_series(1, 40) t(v) \
             WHERE regexp_like('aaaa', concat('(a{1,50}){1,50}', cast(v AS varchar)))",
        ),
        (
            3 * 10_000_000,
            "SELECT sum(length(replace(s, 'b', 'ccc'))) FROM (SELECT repeat('b', 100000) s FROM generate_series(1, 100))",
        ),
    ] {
        assert_eq!(number(&session, text), answer, "{text}");
    }
    idle(&stages, &sql);
}

#[test]
fn regular_expressions_of_a_column_are_charged() {
    let (stages, sql) = started(small(4 * MEGABYTE));
    let session = sql.session();
    let text = "SELECT count(*) FROM generate_series(1, 2) t(v) \
                WHERE regexp_like('aaaa', concat('(a{1,100}){1,100}', cast(v AS varchar)))";
    let said = ask(&session, text).map(|_| ()).unwrap_err().to_string();
    assert!(said.contains("regexp_like") && said.contains("sql.query_memory_bytes"), "{said}");
    for operator in ["~", "!~", "~*", "!~*", "SIMILAR TO", "NOT SIMILAR TO"] {
        let text = format!(
            "SELECT count(*) FROM generate_series(1, 2) t(v) \
             WHERE 'aaaa' {operator} concat('(a{{1,100}}){{1,100}}', cast(v AS varchar))"
        );
        let said = ask(&session, &text).map(|_| ()).expect_err(operator).to_string();
        assert!(
            said.contains("regexp_like") && said.contains("sql.query_memory_bytes"),
            "{operator}: {said}"
        );
    }
    // One that is written out is compiled once, however many rows there are.
    let text =
        "SELECT count(*) FROM generate_series(1, 100000) t(v) WHERE cast(v AS varchar) ~ '^(1{1,9}){1,9}$'";
    assert_eq!(number(&session, text), 5);
    idle(&stages, &sql);
}

#[test]
fn a_number_that_would_reserve_memory_is_refused_or_does_not() {
    let (stages, sql) = started(small(64 * MEGABYTE));
    let session = sql.session();
    for (says, text) in [
        (
            "approx_percentile_cont keeps at most 1000 centroids, not 1000000000000",
            "SELECT approx_percentile_cont(v, 0.5, 1000000000000) FROM generate_series(1, 10) t(v)",
        ),
        (
            "at most 1000 centroids",
            "SELECT approx_percentile_cont(v, 0.5, 1000000 * 1000000) FROM generate_series(1, 10) t(v)",
        ),
        (
            "approx_percentile_cont_with_weight keeps at most 1000 centroids",
            "SELECT approx_percentile_cont_with_weight(v, 1, 0.5, 1000000000000) FROM generate_series(1, 10) t(v)",
        ),
        ("a type of a fixed size", "SELECT CAST(NULL AS BIGINT[2000000000])"),
        ("a type of a fixed size", "SELECT NULL::BIGINT[2000000000]"),
        ("a type of a fixed size", "SELECT CAST(NULL AS BIGINT[100][100000])"),
        ("a type of a fixed size", "SELECT TRY_CAST(NULL AS BIGINT[2000000000])"),
        ("a type of a fixed size", "CREATE TABLE wide (a BIGINT[2000000000])"),
        ("a type of a fixed size", "SELECT arrow_cast(NULL, 'FixedSizeList(2000000000, Int64)')"),
        ("a type of a fixed size", "SELECT arrow_try_cast(NULL, 'FixedSizeBinary(2000000000)')"),
        (
            "a type of a fixed size",
            "SELECT * FROM generate_series(1, coalesce(array_length(arrow_cast(NULL, 'FixedSizeList(2000000000, Int64)')), 1))",
        ),
    ] {
        let said = ask(&session, text).map(|_| ()).expect_err(text).to_string();
        assert!(said.contains(says), "{text}: {said}");
        assert_eq!(number(&session, "SELECT 1"), 1);
    }
    for (answer, text) in [
        (6, "SELECT cast(approx_percentile_cont(v, 0.5, 1000) AS bigint) FROM generate_series(1, 11) t(v)"),
        (3, "SELECT CAST(array_length(CAST([1, 2, 3] AS BIGINT[3])) AS BIGINT)"),
        // Room for so many groups is not made before there are any.
        (
            10,
            "SELECT count(*) FROM (SELECT k, max(v) AS m FROM (SELECT v % 10 AS k, v FROM generate_series(1, 1000) t(v)) \
             GROUP BY k ORDER BY m DESC LIMIT 1000000000000)",
        ),
        (
            10,
            "SELECT count(*) FROM (SELECT DISTINCT v % 10 AS k FROM generate_series(1, 1000) t(v) ORDER BY k LIMIT 1000000000000)",
        ),
        (
            10,
            "SELECT count(*) FROM (SELECT v FROM generate_series(1, 10) t(v) ORDER BY v LIMIT 1000000000000)",
        ),
    ] {
        assert_eq!(number(&session, text), answer, "{text}");
    }
    idle(&stages, &sql);
}

#[test]
fn tables_in_memory_have_a_bound() {
    let settings = SqlSettings { table_bytes: Some(4 * MEGABYTE), ..small(64 * MEGABYTE) };
    let (stages, sql) = started(settings);
    let session = sql.session();
    let full = |text: &str| match ask(&session, text) {
        Err(SqlError::Full(said)) => said,
        other => panic!("{text}: {:?}", other.map(|_| ())),
    };
    let holds = |what: &str, is_so: &dyn Fn(usize) -> bool| {
        until(what, || {
            let bytes = sql.snapshot().table_bytes;
            (is_so(bytes), bytes)
        });
    };
    let endless = "CREATE TABLE t AS SELECT value AS v FROM generate_series(1, 1000000000)";
    let said = full(endless);
    assert!(said.contains("table \"t\" asks for") && said.contains("sql.table_bytes"), "{said}");
    assert!(ask(&session, "SELECT * FROM t").is_err(), "it is not there");
    assert_eq!(sql.snapshot().table_bytes, 0, "and holds nothing");

    ask(&session, "CREATE TABLE t AS SELECT value AS v FROM generate_series(1, 100000)").unwrap();
    let held = sql.snapshot().table_bytes;
    assert!((800_000..2_000_000).contains(&held), "{held}");
    full("INSERT INTO t SELECT value FROM generate_series(1, 1000000000)");
    full("CREATE TABLE u AS SELECT a.v, b.v AS w FROM t a CROSS JOIN t b");
    assert_eq!(sql.snapshot().table_bytes, held, "what was refused is gone");
    assert_eq!(number(&session, "SELECT count(*) FROM t"), 100_000);

    ask(&session, "INSERT INTO t SELECT value FROM generate_series(1, 100000)").unwrap();
    let both = sql.snapshot().table_bytes;
    assert!(both > held + 800_000, "{held}, then {both}");
    ask(&session, "UPDATE t SET v = v + 1 WHERE v <= 1000").unwrap();
    holds("new values take the place of the old ones", &|bytes| bytes.abs_diff(both) < 100_000);
    ask(&session, "DELETE FROM t WHERE v > 1000").unwrap();
    holds("few rows are left", &|bytes| bytes < 100_000);
    let few = sql.snapshot().table_bytes;
    full(endless.replace("TABLE t", "TABLE IF NOT EXISTS u").as_str());

    // A row at a time has a price as well.
    ask(&session, "CREATE TABLE single (a BIGINT, b VARCHAR)").unwrap();
    for row in 0..20 {
        ask(&session, &format!("INSERT INTO single VALUES ({row}, 'x')")).unwrap();
    }
    assert!(sql.snapshot().table_bytes >= few + 20 * 200);

    // Who reads a table that was dropped holds its rows.
    ask(&session, "CREATE TABLE read AS SELECT value AS v FROM generate_series(1, 300000)").unwrap();
    let mut reader = session.query("SELECT v FROM read").unwrap();
    block_on(reader.next()).unwrap().unwrap();
    ask(&session, "DROP TABLE read").unwrap();
    full("CREATE TABLE more AS SELECT value AS v FROM generate_series(1, 400000)");
    drop(reader);
    ask(&session, "DROP TABLE t").unwrap();
    ask(&session, "DROP TABLE single").unwrap();
    holds("nothing is left", &|bytes| bytes == 0);
    idle(&stages, &sql);
}

/// The keys of a table's rows counted in no account, and take as much as the rows.
#[test]
fn keys_of_tables_have_a_bound() {
    let settings = SqlSettings { table_bytes: Some(4 * MEGABYTE), ..small(64 * MEGABYTE) };
    let (stages, sql) = started(settings);
    let session = sql.session();
    let held = || sql.snapshot().table_bytes;
    let insert = |table: &str, from: u64, to: u64| {
        ask(&session, &format!("INSERT INTO {table} SELECT value FROM generate_series({from}, {to})"))
    };
    ask(&session, "CREATE TABLE free (k BIGINT)").unwrap();
    insert("free", 1, 20_000).unwrap();
    let rows = held();
    ask(&session, "CREATE TABLE keyed (k BIGINT PRIMARY KEY)").unwrap();
    insert("keyed", 1, 20_000).unwrap();
    let both = held();
    assert!(both > rows * 3, "{rows} without keys, {both} with those of as many rows");
    let full = insert("keyed", 20_001, 80_000);
    assert!(
        matches!(&full, Err(SqlError::Full(said)) if said.contains("\"keyed\"")),
        "{:?}",
        full.map(|_| ())
    );
    until("what was refused is gone", || (held() <= both, held()));
    assert!(insert("keyed", 1, 1).is_err_and(|error| matches!(error, SqlError::Taken(_))));
    insert("keyed", 20_001, 20_001).unwrap();
    ask(&session, "UPDATE keyed SET k = k + 1000000").unwrap();
    until("new keys take the place of old ones", || (held().abs_diff(both) < both / 10, held()));
    ask(&session, "DELETE FROM keyed WHERE k > 1000100").unwrap();
    until("few are left", || (held() < rows + 50_000, held()));
    ask(&session, "TRUNCATE keyed").unwrap();
    ask(&session, "DROP TABLE free").unwrap();
    ask(&session, "DROP TABLE keyed").unwrap();
    until("nothing is left", || (held() == 0, held()));
    idle(&stages, &sql);
}

#[test]
fn what_makes_a_table_is_charged_and_makes_no_constants() {
    let (stages, sql) = started(small(16 * MEGABYTE));
    let session = sql.session();
    let said = ask(
        &session,
        "CREATE TABLE t AS SELECT a.v % 7 AS k FROM generate_series(1, 1000000000) a(v) JOIN generate_series(1, 10000000) b(v) ON a.v = b.v",
    );
    let said = said.map(|_| ()).unwrap_err().to_string();
    assert!(said.contains("sql.query_memory_bytes"), "{said}");
    ask(&session, "CREATE TABLE texts AS SELECT repeat('x', 1000 + cast(value % 2 AS int)) AS s FROM generate_series(1, 6000)")
        .unwrap();
    assert_eq!(number(&session, "SELECT sum(length(s)) FROM texts"), 6_003_000);
    idle(&stages, &sql);
}

#[test]
fn batches_of_large_rows_are_small_and_a_reader_is_charged_for_the_one_it_has() {
    let (stages, sql) = started(SqlSettings::default());
    let session = sql.session();
    let mut query = session.query("SELECT repeat('x', 100000) AS t FROM generate_series(1, 100000)").unwrap();
    for _ in 0..20 {
        let batch = block_on(query.next()).unwrap().unwrap();
        let bytes = batch.num_rows() * 100_000;
        assert!(bytes <= 32 * MEGABYTE, "{} rows", batch.num_rows());
        let held = sql.snapshot().memory_bytes;
        assert!(held >= bytes.min(MEGABYTE), "{held} of {bytes}");
    }
    drop(query);
    idle(&stages, &sql);
}

#[test]
fn ways_to_group_and_steps_of_a_plan_have_a_bound() {
    let (stages, sql) = started(SqlSettings::default());
    let session = sql.session();
    let cube = |columns: usize| {
        let names = |alias: &dyn Fn(usize) -> String| (0..columns).map(alias).collect::<Vec<_>>().join(", ");
        let (values, columns) = (names(&|n| format!("{n} AS c{n}")), names(&|n| format!("c{n}")));
        format!("SELECT count(*) FROM (SELECT count(*) FROM (SELECT {values}) GROUP BY CUBE ({columns}))")
    };
    let said = ask(&session, &cube(30)).unwrap_err().to_string();
    assert!(said.contains("4096 ways"), "{said}");
    assert_eq!(number(&session, &cube(6)), 64);
    ask(&session, "CREATE VIEW v0 AS SELECT 1 AS a").unwrap();
    let refused = (1..40).find_map(|n| {
        let before = n - 1;
        let text = format!("CREATE VIEW v{n} AS SELECT x.a FROM v{before} x, v{before} y");
        ask(&session, &text).err()
    });
    let said = refused.expect("forty views are a plan of 2^40 steps").to_string();
    assert!(said.contains("20000 steps"), "{said}");
    assert_eq!(number(&session, "SELECT count(*) FROM v2"), 1);
    idle(&stages, &sql);
}

/// A user who may do nothing.
struct Nothing;

impl TableRights for Nothing {
    fn check(&self, _: Access, _: &Object) -> Result<(), String> {
        Err("nothing".to_owned())
    }

    fn may_ask(&self) -> Result<(), String> {
        Err("no right to run SQL".to_owned())
    }
}

#[test]
fn who_has_no_right_to_run_sql_runs_none() {
    let (_stages, sql) = started(SqlSettings::default());
    let session = sql.session_as(Arc::new(Nothing));
    for text in ["SELECT 1", "SELECT length(repeat('x', 1000000000))", "SET filbert.pool = 'default'"] {
        assert!(matches!(ask(&session, text), Err(SqlError::Denied(_))), "{text}");
    }
}

#[test]
fn columns_are_what_they_were_before_functions_had_a_bound() {
    let (_stages, sql) = started(SqlSettings::default());
    let session = sql.session();
    let batches = ask(
        &session,
        "SELECT concat('a', 'b', v) AS c, lpad('x', 3, 'ab') AS l, make_array(v, v)[2] AS e FROM generate_series(1, 2) t(v)",
    );
    let batch = &batches.unwrap()[0];
    assert_eq!(batch.column_by_name("e").unwrap().as_primitive::<Int64Type>().value(0), 1);
    let text = arrow::util::pretty::pretty_format_batches(std::slice::from_ref(batch)).unwrap().to_string();
    assert!(text.contains("ab1") && text.contains("abx"), "{text}");
}
