//! Hostile texts, memory, rows, time, slow readers. Each gets an error that says what to do, and nothing is left behind.

use crate::asking::{PATIENCE, ask, idle, number, started};
use filbert_sql::{SqlError, SqlSettings};
use futures::StreamExt;
use futures::executor::block_on;
use std::time::{Duration, Instant};

/// Every shape that makes a tree as deep as its text is long, with a million levels where the text allows it.
fn deep_texts() -> Vec<(&'static str, String)> {
    let (many, some, few) = (1_000_000, 100_000, 20_000);
    let nested = |open: &str, inner: &str, close: &str, times: usize| {
        format!("SELECT {}{inner}{}", open.repeat(times), close.repeat(times))
    };
    vec![
        ("parentheses", nested("(", "1", ")", many)),
        ("flat OR", format!("SELECT 1 WHERE {}", vec!["1 = 2"; many].join(" OR "))),
        ("flat AND", format!("SELECT 1 WHERE {}", vec!["true"; some].join(" AND "))),
        ("flat sum", format!("SELECT {}", vec!["1"; some].join(" + "))),
        ("flat concatenation", format!("SELECT {}", vec!["'a'"; some].join(" || "))),
        ("NOT", format!("SELECT {}true", "NOT ".repeat(some))),
        ("minus", format!("SELECT {}1", "- ".repeat(some))),
        ("casts", format!("SELECT 1{}", "::BIGINT".repeat(some))),
        ("CASE", nested("CASE WHEN true THEN ", "1", " END", few)),
        ("CASE with some branches", format!("SELECT CASE {} END", "WHEN 1 = 2 THEN 3 ".repeat(few))),
        ("functions", nested("abs(", "1", ")", some)),
        ("arrays", nested("[", "1", "]", some)),
        ("subqueries", nested("(SELECT ", "1", ")", few)),
        (
            "derived tables",
            format!("SELECT * FROM {}(SELECT 1){}", "(SELECT * FROM ".repeat(few), ")".repeat(few)),
        ),
        ("set operations", vec!["SELECT 1"; few].join(" UNION ALL ")),
        (
            "joins",
            format!(
                "SELECT 1 FROM generate_series(1, 2) a {}",
                "CROSS JOIN generate_series(1, 2) ".repeat(few)
            ),
        ),
        ("IS NULL", format!("SELECT 1{}", " IS NULL".repeat(few))),
        ("BETWEEN", format!("SELECT 1{}", " BETWEEN 0 AND 1".repeat(few))),
        ("AT TIME ZONE", format!("SELECT now(){}", " AT TIME ZONE 'UTC'".repeat(few))),
        ("subscripts", format!("SELECT a{} FROM t", "[1]".repeat(some))),
        ("JSON arrows", format!("SELECT a{} FROM t", "->'b'".repeat(some))),
        ("types", format!("SELECT CAST(NULL AS {}INT{})", "ARRAY<".repeat(few), ">".repeat(few))),
        ("array types", format!("SELECT CAST(NULL AS INT{})", "[]".repeat(few))),
        ("WITH in WITH", format!("{}SELECT 1{}", "WITH a AS (".repeat(few), ") SELECT 1".repeat(few))),
        ("EXPLAIN", format!("{}SELECT 1", "EXPLAIN ".repeat(few))),
        ("COLLATE", format!("SELECT 'a'{}", " COLLATE \"C\"".repeat(few))),
        ("INTERVAL", format!("SELECT {}'1' DAY", "INTERVAL ".repeat(few))),
        ("lambda arrows", format!("SELECT {}1", "x -> ".repeat(few))),
        ("EXISTS", nested("EXISTS (SELECT ", "1", ")", few)),
        ("dots", format!("SELECT a{} FROM t", ".b".repeat(few))),
        ("tables", format!("SELECT 1 FROM {}", vec!["generate_series(1, 2)"; few].join(", "))),
        ("doubling", doubling(40)),
        (
            "cube",
            format!(
                "SELECT 1 FROM t GROUP BY CUBE({})",
                (0..64).map(|n| format!("c{n}")).collect::<Vec<_>>().join(", ")
            ),
        ),
        ("statements", "SELECT 1;".repeat(few)),
    ]
}

/// Common table expressions of which each names the one before twice.
fn doubling(levels: usize) -> String {
    let more =
        (1..levels).map(|n| format!(", a{n} AS (SELECT x.v FROM a{0} x, a{0} y)", n - 1)).collect::<String>();
    format!("WITH a0 AS (SELECT 1 AS v){more} SELECT count(*) FROM a{}", levels - 1)
}

#[test]
fn texts_of_a_million_levels_get_an_error_quickly() {
    let (_stages, sql) = started(SqlSettings { text_bytes: 64 << 20, ..Default::default() });
    let session = sql.session();
    for (name, text) in deep_texts() {
        let began = Instant::now();
        let end = ask(&session, &text).expect_err(name).to_string();
        let took = began.elapsed();
        println!("{name}: {} ms: {:.120}", took.as_millis(), end);
        // Seconds; what grows faster than its text would take hours.
        assert!(took < Duration::from_secs(300), "{name} took {took:?}");
    }
    assert_eq!(number(&session, "SELECT 1"), 1, "the member lives on");
}

#[test]
fn the_default_limit_of_a_text_is_checked_before_it_is_read() {
    let (_stages, sql) = started(SqlSettings::default());
    let long = format!("SELECT '{}'", "x".repeat(2 << 20));
    assert!(matches!(sql.session().query(&long), Err(SqlError::TextTooLong { limit: 1_048_576, .. })));
}

#[test]
fn wide_statements_are_answered() {
    // Planning takes as long as a busy machine makes it take.
    let settings = SqlSettings { text_bytes: 8 << 20, planning_ms: 0, ..Default::default() };
    let (_stages, sql) = started(settings);
    let session = sql.session();
    let list = (0..50_000).map(|n| n.to_string()).collect::<Vec<_>>().join(", ");
    let within = format!("SELECT count(*) FROM generate_series(1, 10) WHERE value IN ({list})");
    assert_eq!(number(&session, &within), 10);
    let values = (0..5_000).map(|n| format!("({n}, 'v{n}')")).collect::<Vec<_>>().join(", ");
    assert_eq!(number(&session, &format!("SELECT count(*) FROM (VALUES {values}) AS t(a, b)")), 5_000);
    let columns = (0..500).map(|n| format!("{n} AS c{n}")).collect::<Vec<_>>().join(", ");
    assert_eq!(ask(&session, &format!("SELECT {columns}")).unwrap()[0].num_columns(), 500);
    let conditions = vec!["value > 0"; 400].join(" AND ");
    assert_eq!(
        number(&session, &format!("SELECT count(*) FROM generate_series(1, 3) WHERE {conditions}")),
        3
    );
    assert_eq!(number(&session, &doubling(6)), 1);
    let nested = format!("SELECT {}7{}", "(".repeat(20), ")".repeat(20));
    assert_eq!(number(&session, &nested), 7);
    let unions = vec!["SELECT 1 AS n"; 100].join(" UNION ALL ");
    assert_eq!(number(&session, &format!("SELECT sum(n) FROM ({unions})")), 100);
}

#[test]
fn large_sorts_spill_and_give_the_right_answer() {
    let settings = SqlSettings { query_memory_bytes: 16 << 20, batch_rows: 1_024, ..Default::default() };
    let (stages, sql) = started(settings);
    let session = sql.session();
    let wide = "SELECT value, repeat('x', 200) AS pad FROM generate_series(1, 120000)";
    let sorted = format!(
        "SELECT count(*) FROM (SELECT row_number() OVER (ORDER BY value * 7919 % 60007) AS n, pad FROM ({wide})) WHERE n > 0"
    );
    assert_eq!(number(&session, &sorted), 120_000);
    let analyzed =
        ask(&session, &format!("EXPLAIN ANALYZE SELECT * FROM ({wide}) ORDER BY value * 7919 % 60007"))
            .unwrap();
    let text = arrow::util::pretty::pretty_format_batches(&analyzed).unwrap().to_string();
    assert!(text.split("spill_count=").skip(1).any(|rest| !rest.starts_with('0')), "{text}");
    idle(&stages, &sql);
}

#[test]
fn without_room_to_spill_the_error_names_the_setting() {
    let settings = SqlSettings { query_memory_bytes: 4 << 20, spill_bytes: 0, ..Default::default() };
    let (stages, sql) = started(settings);
    let session = sql.session();
    for text in [
        "SELECT count(*) FROM (SELECT DISTINCT value, repeat('x', 100) FROM generate_series(1, 200000))",
        "SELECT array_length(array_agg(repeat('x', 100) || value)) FROM generate_series(1, 200000)",
        "SELECT count(*) FROM generate_series(1, 300000) a JOIN generate_series(1, 300000) b ON a.value = b.value",
        "SELECT * FROM (SELECT value, repeat('x', 500) AS pad FROM generate_series(1, 50000)) ORDER BY pad, value DESC",
    ] {
        let end = ask(&session, text).unwrap_err().to_string();
        assert!(
            end.contains("sql.query_memory_bytes") || end.contains("sql.spill_bytes") || end.contains("temp"),
            "{text}: {end}"
        );
    }
    idle(&stages, &sql);
    assert_eq!(number(&session, "SELECT 1"), 1);
}

#[test]
fn all_queries_together_have_a_limit_too() {
    let settings = SqlSettings { memory_bytes: 4 << 20, spill_bytes: 0, ..Default::default() };
    let (stages, sql) = started(settings);
    let end = ask(
        &sql.session(),
        "SELECT count(*) FROM (SELECT DISTINCT value, repeat('x', 100) FROM generate_series(1, 200000))",
    );
    assert!(end.unwrap_err().to_string().contains("sql.memory_bytes"));
    idle(&stages, &sql);
}

#[test]
fn a_slow_reader_holds_little_however_much_there_is_to_read() {
    let settings = SqlSettings { exchange_batches: 4, ..Default::default() };
    let (stages, sql) = started(settings);
    let session = sql.session();
    let mut query =
        session.query("SELECT value, repeat('x', 100) AS pad FROM generate_series(1, 100000000)").unwrap();
    let first = block_on(query.next()).unwrap().unwrap();
    let bytes = first.get_array_memory_size();
    // Nobody reads on; whoever produces must come to rest.
    let deadline = Instant::now() + PATIENCE;
    let mut at_rest = 0;
    let mut before = usize::MAX;
    while at_rest < 20 {
        let held = sql.snapshot().memory_bytes;
        assert!(held <= 64 * bytes, "{held} bytes wait for a reader of batches of {bytes}");
        // Nothing at all is no rest: on a busy machine who produces may not have had its turn.
        at_rest = if held == before && held > 0 { at_rest + 1 } else { 0 };
        before = held;
        assert!(Instant::now() < deadline, "still growing or shrinking: {held}");
        // sleeps because rest is the absence of events
        std::thread::sleep(Duration::from_millis(5));
    }
    for _ in 0..50 {
        assert!(block_on(query.next()).unwrap().unwrap().num_rows() > 0, "it goes on when it is read");
    }
    drop(query);
    idle(&stages, &sql);
}

#[test]
fn settings_of_a_session_cannot_use_the_member_up() {
    let (_stages, sql) = started(SqlSettings::default());
    let session = sql.session();
    for text in [
        "SET datafusion.runtime.memory_limit = '100G'",
        "SET datafusion.runtime.temp_directory = '/etc'",
        "SET datafusion.execution.target_partitions = 1000000000",
        "SET datafusion.execution.batch_size = 0",
        "SET datafusion.execution.batch_size = 100000000000",
    ] {
        assert!(matches!(ask(&session, text), Err(SqlError::Refused(_))), "{text}");
    }
    ask(&session, "SET datafusion.execution.target_partitions = 8").unwrap();
    assert_eq!(number(&session, "SELECT count(DISTINCT value % 10) FROM generate_series(1, 1000)"), 10);
}
