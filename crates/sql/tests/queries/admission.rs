//! Who may run when: permits belong to work that goes on, not to whoever reads; descriptions need none; whoever is over waits for nothing.

use crate::asking::{ENDLESS, ask, idle, number, soon, started, table, until};
use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use arrow::util::pretty::pretty_format_batches;
use async_trait::async_trait;
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::error::DataFusionError;
use filbert_pool::Stages;
use filbert_sql::{Query, Sql, SqlError, SqlSettings};
use futures::executor::block_on;
use futures::{FutureExt, StreamExt};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

/// More batches than exchanges take, at 100 rows each.
const MANY: &str = "SELECT value FROM generate_series(1, 3000)";

fn few(queries: usize) -> SqlSettings {
    let (batch_rows, exchange_batches, resting_after_ms) = (100, 2, 5);
    SqlSettings {
        queries,
        short_queries: 0,
        batch_rows,
        exchange_batches,
        resting_after_ms,
        ..Default::default()
    }
}

fn next(query: &mut Query) -> Option<RecordBatch> {
    block_on(query.next()).map(Result::unwrap)
}

/// `SELECT 1` of a new session, which must not hang.
fn one(sql: &Sql) {
    let session = sql.session();
    assert_eq!(soon("SELECT 1", move || number(&session, "SELECT 1")), 1);
}

/// With the settings as they come: more open cursors than queries may run at a time.
#[test]
fn cursors_that_nobody_reads_stop_nobody() {
    let (stages, sql) = started(SqlSettings::default());
    let limit = SqlSettings::default().queries;
    let open = |sql: &Sql| {
        let session = sql.session();
        soon("a cursor", move || {
            let mut query = session.query("SELECT value FROM generate_series(1, 100000000)").unwrap();
            assert!(next(&mut query).is_some());
            query
        })
    };
    let mut cursors: Vec<_> = (0..limit + 10).map(|_| open(&sql)).collect();
    one(&sql);
    assert!(sql.snapshot().open >= limit + 10, "all of them are open");
    for cursor in &mut cursors {
        // All rows that wait for the reader, and some that nobody had made when it rested.
        for _ in 0..20 {
            assert!(next(cursor).is_some(), "a cursor goes on when it is read");
        }
    }
    one(&sql);
    drop(cursors);
    idle(&stages, &sql);
}

#[test]
fn cursors_that_take_turns_are_complete() {
    let (stages, sql) = started(few(2));
    let session = sql.session();
    let mut cursors: Vec<_> = (0..12).map(|_| (session.query(MANY).unwrap(), 0_i64)).collect();
    let whole: i64 = (1..=3_000).sum();
    soon("reading in turn", move || {
        while !cursors.is_empty() {
            cursors.retain_mut(|(cursor, sum)| match next(cursor) {
                Some(batch) => {
                    *sum += batch.column(0).as_primitive::<Int64Type>().values().iter().sum::<i64>();
                    true
                }
                None => {
                    assert_eq!(*sum, whole);
                    false
                }
            });
        }
    });
    idle(&stages, &sql);
}

#[test]
fn answers_that_nobody_fetches_and_streams_without_rows_stop_nobody() {
    let (stages, sql) = started(few(2));
    let session = sql.session();
    let mut waiting: Vec<_> = (0..6).map(|_| session.query("SELECT 5").unwrap()).collect();
    let mut streams: Vec<_> =
        (0..4).map(|_| session.query("SELECT v FROM TABLE(generate_stream(20))").unwrap()).collect();
    one(&sql);
    let streams = soon("rows of streams", move || {
        for stream in &mut streams {
            assert!(next(stream).is_some(), "a stream goes on beside others");
        }
        streams
    });
    for answer in &mut waiting {
        assert_eq!(next(answer).unwrap().num_rows(), 1);
    }
    drop((waiting, streams));
    idle(&stages, &sql);
}

#[test]
fn what_rests_is_shown_and_what_works_keeps_its_permit() {
    let (stages, sql) = started(few(1));
    let session = sql.session();
    let mut busy = session.query(ENDLESS).unwrap();
    block_on(busy.schema()).unwrap();
    let mut waits = session.query("SELECT 1").unwrap();
    // sleeps because what is shown is that nothing happens, for as long as several looks at who rests
    std::thread::sleep(Duration::from_millis(200));
    let begun = sql.snapshot();
    assert_eq!((begun.running, begun.waiting), (1, 1), "a query that works is not sent to rest");
    drop(busy);
    assert!(next(&mut waits).is_some());
    drop(waits);
    let mut cursor = session.query(MANY).unwrap();
    next(&mut cursor);
    until("the cursor rests", || {
        let shown = table(&session, "SHOW QUERIES");
        (shown.contains("resting"), shown)
    });
    drop(cursor);
    idle(&stages, &sql);
}

#[test]
fn open_queries_have_a_bound_of_their_own() {
    let settings = SqlSettings { open_queries: 5, session_open_queries: 3, ..few(2) };
    let (stages, sql) = started(settings);
    let (one, other) = (sql.session(), sql.session());
    let mut kept: Vec<_> = (0..3).map(|_| one.query(MANY).unwrap()).collect();
    let of_session = one.query("SELECT 1").unwrap_err();
    assert!(
        matches!(of_session, SqlError::TooManyOpen { open: 3, setting: "sql.session_open_queries", .. }),
        "{of_session}"
    );
    kept.extend((0..2).map(|_| other.query(MANY).unwrap()));
    let of_all = other.query("SELECT 1").unwrap_err();
    assert!(matches!(of_all, SqlError::TooManyOpen { open: 5, setting: "sql.open_queries", .. }), "{of_all}");
    kept.truncate(2);
    until("closed queries do not count", || {
        let open = sql.snapshot().open;
        (open == 2, open)
    });
    assert_eq!(number(&one, "SELECT 1"), 1);
    drop(kept);
    idle(&stages, &sql);
}

#[test]
fn who_is_cancelled_stands_in_no_line() {
    let (stages, sql) =
        started(SqlSettings { queries: 1, waiting_queries: 1, short_queries: 0, ..Default::default() });
    let session = sql.session();
    let busy = session.query(ENDLESS).unwrap();
    let second = session.query("SELECT 2").unwrap();
    assert!(matches!(session.query("SELECT 3"), Err(SqlError::Overloaded { running: 1, waiting: 1 })));
    assert_eq!(second.canceller().cancel().unwrap().wait(), Ok(true));
    assert_eq!(sql.snapshot().waiting, 0, "its place is free when the cancel is acknowledged");
    let third = session.query("SELECT 3").unwrap();
    drop(busy);
    assert_eq!(block_on(third.collect()).unwrap().len(), 1);
    assert!(matches!(block_on(second.collect()), Err(SqlError::Cancelled)));
    idle(&stages, &sql);
}

/// A person who asked for one row waited for minutes while three hundred reports of a second each took turns.
#[test]
fn a_short_query_does_not_wait_for_the_end_of_long_ones() {
    // In tests planning takes a hundred times as long as in a member.
    let settings = SqlSettings { queries: 1, short_queries: 2, short_ms: 3_000, ..Default::default() };
    let (stages, sql) = started(settings);
    let mut busy = sql.session().query(ENDLESS).unwrap();
    block_on(busy.schema()).unwrap();
    one(&sql);
    let long = sql.session().query(ENDLESS).unwrap();
    let left = long.canceller();
    let stands = |running, waiting| {
        let shown = sql.snapshot();
        ((shown.running, shown.waiting) == (running, waiting) && left.fragments() > 0, shown)
    };
    until("a long one has begun, and stands in line when it has worked for a while", || stands(1, 1));
    one(&sql);
    drop(busy);
    until("it has the permit", || stands(1, 0));
    one(&sql);
    drop(long);
    until("its fragments go", || (left.fragments() == 0, left.fragments()));
    idle(&stages, &sql);
}

#[test]
fn who_waits_too_long_is_told_so() {
    for short_queries in [0, 1] {
        let settings = SqlSettings { queries: 1, short_queries, waiting_ms: 50, ..Default::default() };
        let (stages, sql) = started(settings);
        let mut busy = sql.session().query(ENDLESS).unwrap();
        block_on(busy.schema()).unwrap();
        let waits = sql.session().query(ENDLESS).unwrap();
        let left = waits.canceller();
        let end = soon("who waits in line", || block_on(waits.collect())).unwrap_err();
        assert!(matches!(end, SqlError::WaitedTooLong { limit_ms: 50, running: 1 }), "{end}");
        assert_eq!(sql.snapshot().waiting, 0);
        until("its fragments go", || (left.fragments() == 0, left.fragments()));
        assert!(busy.canceller().fragments() > 0, "who runs goes on");
        drop(busy);
        idle(&stages, &sql);
    }
}

/// A statement that had written some rows on a short permit was told to be tried again, and who did so wrote them twice.
#[test]
fn a_statement_that_may_have_changed_something_is_not_told_to_be_tried_again() {
    let settings = SqlSettings {
        queries: 1,
        short_queries: 2,
        short_ms: 3_000,
        waiting_ms: 50,
        // The one with the permit keeps it, though nobody reads its rows.
        resting_after_ms: 1_000_000,
        ..Default::default()
    };
    let (stages, sql) = started(settings);
    let session = sql.session();
    ask(&session, "CREATE TABLE kept AS SELECT 0 AS a").unwrap();
    let mut busy = session.query("SELECT value FROM generate_series(1, 1000000000)").unwrap();
    block_on(busy.schema()).unwrap();
    let changes = [
        format!("INSERT INTO kept {ENDLESS} RETURNING a"),
        format!("EXPLAIN ANALYZE UPDATE kept SET a = ({ENDLESS})"),
    ];
    let changing: Vec<_> = changes.iter().map(|text| sql.session().query(text).unwrap()).collect();
    until("both have begun, and stand in line", || {
        let shown = pretty_format_batches(&[sql.queries().unwrap()]).unwrap().to_string();
        (shown.matches("resting").count() == 2, shown)
    });
    // Who came later and only reads is told.
    let reading = sql.session().query(ENDLESS).unwrap();
    let end = soon("who only reads", || block_on(reading.collect())).unwrap_err();
    assert!(matches!(end, SqlError::WaitedTooLong { .. }), "{end}");
    for (text, mut query) in changes.iter().zip(changing) {
        let told = query.next().now_or_never().map(|row| row.map(|row| row.map(|row| row.num_rows())));
        assert!(told.is_none(), "{text}: {told:?}");
    }
    drop(busy);
    idle(&stages, &sql);
}

/// Whoever looks up a table waits for ever, or finds a defect.
#[derive(Debug, Default)]
struct Trap {
    /// Nobody is woken; but who cannot be woken is forgotten.
    waiting: Mutex<Vec<Waker>>,
}

#[async_trait]
impl SchemaProvider for Trap {
    fn table_names(&self) -> Vec<String> {
        Vec::new()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>, DataFusionError> {
        assert_ne!(name, "broken", "a trap");
        std::future::poll_fn(|context| {
            self.waiting.lock().unwrap().push(context.waker().clone());
            Poll::Pending
        })
        .await
    }

    fn table_exist(&self, _: &str) -> bool {
        true
    }
}

#[test]
fn descriptions_need_no_permit_and_can_be_cancelled() {
    let (stages, sql) = started(SqlSettings { queries: 1, waiting_queries: 0, ..Default::default() });
    sql.add_schema("trap", Arc::<Trap>::default()).unwrap();
    let session = sql.session();
    let mut busy = session.query(ENDLESS).unwrap();
    block_on(busy.schema()).unwrap();
    let described = block_on(session.describe("SELECT 1 AS one")).unwrap();
    assert_eq!(described.columns.field(0).name(), "one");
    // The one before may still be on its way out.
    let mut stuck = None;
    until("a description begins", || {
        let begun = session.describe("SELECT * FROM trap.slow");
        let is_begun = begun.canceller().is_some();
        stuck = is_begun.then_some(begun);
        (is_begun, ())
    });
    let stuck = stuck.unwrap();
    assert!(
        matches!(block_on(session.describe("SELECT 1")), Err(SqlError::Overloaded { running: 1, .. })),
        "they have a bound of their own"
    );
    let canceller = stuck.canceller().unwrap();
    assert_eq!(canceller.cancel().unwrap().wait(), Ok(true));
    assert!(matches!(soon("a cancelled description", || block_on(stuck)), Err(SqlError::Cancelled)));
    until("its permit is free", || {
        let described = block_on(session.describe("SELECT 1"));
        (described.is_ok(), described)
    });
    drop(busy);
    idle(&stages, &sql);
    let refused = session.describe(&"x".repeat(2 << 20));
    assert!(refused.canceller().is_none());
    assert!(matches!(block_on(refused), Err(SqlError::TextTooLong { .. })));
}

#[test]
fn a_time_limit_holds_for_planning() {
    let (stages, sql) = started(SqlSettings { time_limit_ms: Some(50), ..Default::default() });
    sql.add_schema("trap", Arc::<Trap>::default()).unwrap();
    let session = sql.session();
    let stuck = session.describe("SELECT * FROM trap.slow");
    let end = soon("a description with a time limit", || block_on(stuck)).unwrap_err();
    assert!(matches!(end, SqlError::TimedOut { limit_ms: 50 }), "{end}");
    let end = ask(&session, "SELECT * FROM trap.slow").unwrap_err();
    assert!(matches!(end, SqlError::TimedOut { limit_ms: 50 }), "{end}");
    idle(&stages, &sql);
}

/// A statement with so many columns that planning them takes a while.
fn wide(columns: usize) -> String {
    let columns: Vec<String> = (0..columns).map(|column| format!("value + {column}")).collect();
    format!("SELECT {} FROM generate_series(1, 10)", columns.join(", "))
}

#[test]
fn planning_has_a_budget() {
    let (stages, sql) = started(SqlSettings { planning_ms: 5, ..Default::default() });
    let end = ask(&sql.session(), &wide(1_000)).unwrap_err();
    assert!(matches!(end, SqlError::PlansTooLong { limit_ms: 5 }), "{end}");
    idle(&stages, &sql);
    let (stages, sql) = started(SqlSettings { planning_ms: 0, ..Default::default() });
    assert_eq!(ask(&sql.session(), &wide(300)).unwrap()[0].num_columns(), 300, "any time");
    idle(&stages, &sql);
}

/// Whoever asked for one row waited until another statement was planned, as long as that took.
#[test]
fn planning_lets_others_have_their_turn() {
    let builder = Stages::builder().set("fragment.threads", 1).set("fragment.spare_threads", 0);
    let stages = builder.start().unwrap();
    let sql = Sql::start(&stages, SqlSettings::default()).unwrap();
    let session = sql.session();
    let mut large = session.query(&wide(2_000)).unwrap();
    assert_eq!(number(&session, "SELECT 1"), 1);
    let planned = large.schema().now_or_never();
    assert!(planned.is_none(), "the small question was answered before the large one was planned");
    drop(large);
    idle(&stages, &sql);
}

#[test]
fn a_panic_while_planning_is_told_as_what_it_is() {
    let (stages, sql) = started(SqlSettings::default());
    sql.add_schema("trap", Arc::<Trap>::default()).unwrap();
    let session = sql.session();
    for end in [
        ask(&session, "SELECT * FROM trap.broken").unwrap_err(),
        block_on(session.describe("SELECT * FROM trap.broken")).unwrap_err(),
    ] {
        let said = end.to_string();
        assert!(matches!(end, SqlError::Panicked { .. }), "{said}");
        assert!(said.starts_with("internal error") && said.contains("a trap"), "{said}");
    }
    assert_eq!(number(&session, "SELECT 1"), 1, "the engine goes on");
    idle(&stages, &sql);
}
