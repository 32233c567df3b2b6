//! Short statements with large results: refused before they take what a query may not have, and the engine goes on.

use crate::asking::{ask, idle, number, started};
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
