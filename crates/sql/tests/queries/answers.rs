//! Right answers through exchanges, errors that reach the reader, nothing left behind.

use crate::asking::{ENDLESS, ask, idle, number, soon, started, table, until};
use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use filbert_pool::Shutdown;
use filbert_sql::{SqlError, SqlSettings};
use futures::StreamExt;
use futures::executor::block_on;

#[test]
fn answers_are_right_through_splits_gathers_and_merges() {
    let (stages, sql) = started(SqlSettings::default());
    let session = sql.session();
    assert_eq!(number(&session, "SELECT 41 + 1"), 42);
    assert_eq!(number(&session, "SELECT count(*) FROM generate_series(1, 100000)"), 100_000);
    let grouped = "SELECT count(*) FROM (SELECT value % 1000 AS k, count(*) AS n, sum(value) AS s \
                   FROM generate_series(1, 100000) GROUP BY k) WHERE n = 100";
    assert_eq!(number(&session, grouped), 1_000);
    let joined = "SELECT sum(a.value * b.value) FROM generate_series(1, 1000) a JOIN generate_series(1, 1000) b \
                  ON a.value = b.value";
    assert_eq!(number(&session, joined), (1..=1000_i64).map(|n| n * n).sum::<i64>());
    let sorted =
        ask(&session, "SELECT (value * 7919) % 10007 AS n FROM generate_series(1, 10006) ORDER BY n")
            .unwrap();
    let values: Vec<i64> = sorted
        .iter()
        .flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec())
        .collect();
    assert_eq!(values, (1..=10_006).collect::<Vec<_>>());
    assert_eq!(
        number(&session, "SELECT count(*) FROM (SELECT * FROM generate_series(1, 10000000) LIMIT 10)"),
        10
    );
    idle(&stages, &sql);
    stages.shutdown(Shutdown::Drain).unwrap();
}

#[test]
fn an_explained_plan_shows_exchanges_and_an_analyzed_one_their_figures() {
    let (_stages, sql) = started(SqlSettings::default());
    let session = sql.session();
    ask(&session, "CREATE TABLE t AS SELECT value AS v, value % 10 AS k FROM generate_series(1, 50000)")
        .unwrap();
    let query = "SELECT k, count(*) FROM t GROUP BY k ORDER BY k";
    let plan = table(&session, &format!("EXPLAIN {query}"));
    assert!(plan.contains("ExchangeExec: split by Hash"), "{plan}");
    assert!(plan.contains("ExchangeExec: forward"), "{plan}");
    for eager in ["RepartitionExec", "CoalescePartitionsExec", "CooperativeExec"] {
        assert!(!plan.contains(eager), "{plan}");
    }
    let analyzed = table(&session, &format!("EXPLAIN ANALYZE {query}"));
    for figure in ["fragment_time", "turns=", "steals=", "waits_for_input=", "sent_rows="] {
        assert!(analyzed.contains(figure), "{figure} in {analyzed}");
    }
}

#[test]
fn errors_reach_the_reader_and_leave_nothing_behind() {
    let (stages, sql) = started(SqlSettings::default());
    let session = sql.session();
    let says = |text: &str| ask(&session, text).unwrap_err().to_string();
    assert!(says("SELECT nonsense FROM generate_series(1, 2)").contains("nonsense"));
    assert!(says("SELEC 1").contains("SELEC"));
    assert!(says("").contains("one statement"));
    assert!(says("SELECT 1; SELECT 2").contains("one statement"));
    let divided = says("SELECT 1 / (value - 50000) FROM generate_series(1, 100000) ORDER BY 1");
    assert!(divided.contains("ivide by zero"), "{divided}");
    idle(&stages, &sql);
    assert_eq!(number(&session, "SELECT 1"), 1, "the session lives on");
}

#[test]
fn deep_statements_get_an_error_and_allowed_ones_an_answer() {
    let (_stages, sql) = started(SqlSettings { text_bytes: 64 << 20, ..Default::default() });
    let session = sql.session();
    let nested = format!("SELECT {}1{}", "(".repeat(1_000_000), ")".repeat(1_000_000));
    assert!(matches!(ask(&session, &nested), Err(SqlError::TooDeep { .. })));
    let flat = format!("SELECT 1 WHERE {}", vec!["1 = 2"; 1_000_000].join(" OR "));
    assert!(matches!(ask(&session, &flat), Err(SqlError::TooDeep { .. })));
    let many = format!("SELECT 7 WHERE {}", vec!["1 = 1"; 450].join(" OR "));
    assert_eq!(number(&session, &many), 7);
    let list = format!(
        "SELECT count(*) FROM generate_series(1, 10) WHERE value IN ({})",
        (0..20_000).map(|n| n.to_string()).collect::<Vec<_>>().join(", ")
    );
    assert_eq!(number(&session, &list), 10);
}

#[test]
fn a_dropped_or_cancelled_query_stops_its_fragments_though_all_workers_are_busy() {
    let (stages, sql) = started(SqlSettings::default());
    let session = sql.session();
    let mut queries: Vec<_> = (0..4).map(|_| session.query(ENDLESS).unwrap()).collect();
    for query in &mut queries {
        assert_eq!(block_on(query.schema()).unwrap().fields().len(), 1, "it has begun");
    }
    assert_eq!(number(&session, "SELECT 1"), 1, "a short query has its turn between long ones");
    let mut cancelled = queries.pop().unwrap();
    assert_eq!(cancelled.canceller().cancel().unwrap().wait(), Ok(true));
    let end = block_on(cancelled.next()).unwrap().unwrap_err();
    assert!(matches!(end, SqlError::Cancelled), "{end}");
    let left: Vec<_> = queries.iter().map(filbert_sql::Query::canceller).collect();
    assert!(left.iter().all(|left| left.fragments() > 0), "the others run on");
    drop(queries);
    // A fragment that is in its last turn is in no queue any more.
    until("fragments go on", || {
        let fragments: usize = left.iter().map(filbert_sql::QueryCanceller::fragments).sum();
        (fragments == 0, fragments)
    });
    idle(&stages, &sql);
}

#[test]
fn queries_wait_their_turn_and_too_many_are_refused() {
    let (stages, sql) =
        started(SqlSettings { queries: 1, waiting_queries: 2, short_queries: 0, ..Default::default() });
    let session = sql.session();
    let first = session.query(ENDLESS).unwrap();
    let second = session.query("SELECT 2").unwrap();
    let third = sql.session().query("SELECT 3").unwrap();
    let refused = session.query("SELECT 4").unwrap_err();
    assert!(matches!(refused, SqlError::Overloaded { running: 1, waiting: 2 }), "{refused}");
    drop(first);
    for query in [second, third] {
        assert_eq!(block_on(query.collect()).unwrap().len(), 1);
    }
    idle(&stages, &sql);
}

#[test]
fn limits_of_time_rows_and_memory_are_typed_errors() {
    let (_stages, hasty) = started(SqlSettings { time_limit_ms: Some(300), ..Default::default() });
    let end = ask(&hasty.session(), ENDLESS).unwrap_err();
    assert!(matches!(end, SqlError::TimedOut { limit_ms: 300 }), "{end}");
    let small =
        SqlSettings { rows: Some(1_000), query_memory_bytes: 4 << 20, spill_bytes: 0, ..Default::default() };
    let (stages, sql) = started(small);
    let session = sql.session();
    assert!(matches!(
        ask(&session, "SELECT * FROM generate_series(1, 100000)"),
        Err(SqlError::TooManyRows { limit: 1_000 })
    ));
    let large = ask(
        &session,
        "SELECT count(*) FROM (SELECT DISTINCT value, repeat('x', 100) FROM generate_series(1, 200000))",
    );
    let says = large.unwrap_err().to_string();
    assert!(says.contains("sql.query_memory_bytes"), "{says}");
    idle(&stages, &sql);
}

#[test]
fn a_session_keeps_what_it_sets_and_others_do_not_see_it() {
    let (_stages, sql) = started(SqlSettings::default());
    let (one, other) = (sql.session(), sql.session());
    ask(&one, "SET datafusion.execution.batch_size = 100").unwrap();
    assert!(table(&one, "SHOW datafusion.execution.batch_size").contains("100"));
    assert!(table(&other, "SHOW datafusion.execution.batch_size").contains("8192"));
    ask(&one, "PREPARE add(BIGINT) AS SELECT $1 + 1").unwrap();
    assert_eq!(number(&one, "EXECUTE add(41)"), 42);
    ask(&one, "CREATE VIEW v AS SELECT 5 AS five").unwrap();
    assert_eq!(number(&other, "SELECT five FROM v"), 5);
}

/// At twenty rows a second, a batch of them would take minutes.
#[test]
fn rows_of_a_stream_are_handed_on_at_once() {
    let (_stages, sql) = started(SqlSettings::default());
    let stream = "SELECT v FROM TABLE(generate_stream(20))";
    for text in [
        stream.to_owned(),
        format!("{stream} WHERE v % 2 = 0"),
        format!("SELECT v + 1 FROM ({stream}) WHERE v % 2 = 0 AND v >= 0"),
        format!("SELECT s.v FROM ({stream}) s JOIN generate_series(0, 100000) t ON s.v = t.value"),
        format!("{stream} UNION ALL SELECT v * 2 FROM ({stream}) WHERE v % 2 = 0"),
    ] {
        let session = sql.session();
        let asked = text.clone();
        let rows = soon(&text, move || {
            let mut query = session.query(&asked).unwrap();
            let batches = (0..3).map(|_| block_on(query.next()).unwrap().unwrap().num_rows());
            batches.sum::<usize>()
        });
        assert!(rows < 1_000, "{text}: {rows} rows at once");
    }
}

#[test]
fn an_early_end_stops_inputs_that_sleep() {
    let (_stages, sql) = started(SqlSettings::default());
    // Nobody ever wakes the second part.
    let text = "SELECT * FROM (SELECT 1 AS v UNION ALL SELECT v FROM TABLE(generate_stream(0))) LIMIT 1";
    let mut query = sql.session().query(text).unwrap();
    assert_eq!(block_on(query.next()).unwrap().unwrap().num_rows(), 1);
    let canceller = query.canceller();
    until("the query is open, and its fragments are gone", || {
        let left = canceller.fragments();
        (left == 0, left)
    });
}
