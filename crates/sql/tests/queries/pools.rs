//! Pools: heavy reports have workers, permits and memory of their own, and hold up nobody else.

use crate::asking::{ask, idle, number, soon, started, table, until};
use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::streaming::StreamingTable;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use filbert_pool::Stages;
use filbert_sql::{PoolSettings, Sql, SqlSettings};
use futures::executor::block_on;
use futures::stream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::task::Poll;

fn with_reports() -> SqlSettings {
    let reports = PoolSettings { workers: 1, queries: 1, ..Default::default() };
    SqlSettings {
        queries: 1,
        short_queries: 0,
        pools: [("reports".to_owned(), reports)].into(),
        ..Default::default()
    }
}

/// An operator that does not come back: it keeps the worker that polls it until it is let go.
#[derive(Debug)]
struct Stuck {
    schema: SchemaRef,
    door: Arc<Door>,
}

#[derive(Debug, Default)]
pub(crate) struct Door {
    pub(crate) inside: AtomicUsize,
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Door {
    pub(crate) fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.opened.notify_all();
    }
}

impl PartitionStream for Stuck {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let door = Arc::clone(&self.door);
        let rows = stream::poll_fn(move |_| -> Poll<Option<datafusion::error::Result<RecordBatch>>> {
            door.inside.fetch_add(1, Ordering::SeqCst);
            let is_open = door.is_open.lock().unwrap();
            drop(door.opened.wait_while(is_open, |is_open| !*is_open).unwrap());
            Poll::Ready(None)
        });
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), rows))
    }
}

/// A table `stuck` that keeps so many workers.
pub(crate) fn add_stuck(sql: &Sql, workers: usize) -> Arc<Door> {
    let schema: SchemaRef = Arc::new(Schema::new(vec![Field::new("a", DataType::Int64, false)]));
    let door = Arc::<Door>::default();
    let part = || {
        let part: Arc<dyn PartitionStream> =
            Arc::new(Stuck { schema: Arc::clone(&schema), door: Arc::clone(&door) });
        part
    };
    let parts = (0..workers).map(|_| part()).collect();
    sql.register("stuck", Arc::new(StreamingTable::try_new(Arc::clone(&schema), parts).unwrap())).unwrap();
    door
}

fn depth(stages: &Stages, name: &str) -> u64 {
    stages.snapshot().iter().find(|stage| stage.stage == name).map_or(0, |stage| stage.depth as u64)
}

/// All workers of the one are stuck; the other answers, and a cancel is heard.
fn one_stuck_one_free(stuck_in: &str, workers: usize, free_in: &str) {
    let (stages, sql) = started(with_reports());
    let door = add_stuck(&sql, workers);
    let stuck = sql.session().in_pool(stuck_in).unwrap();
    let query = stuck.query("SELECT a FROM stuck").unwrap();
    until("all workers are stuck", || {
        let inside = door.inside.load(Ordering::SeqCst);
        (inside == workers, inside)
    });
    let free = sql.session().in_pool(free_in).unwrap();
    let rows = soon("a query elsewhere", move || {
        number(
            &free,
            "SELECT count(*) FROM generate_series(1, 1000) a JOIN generate_series(1, 1000) b ON a.value = b.value",
        )
    });
    assert_eq!(rows, 1_000);
    let canceller = query.canceller();
    let cancelled = soon("a cancel", move || canceller.cancel().unwrap().wait().unwrap());
    assert!(cancelled, "there was something to cancel");
    door.open();
    drop(query);
    idle(&stages, &sql);
    until("nothing is left there", || (depth(&stages, "fragment/reports") == 0, ()));
}

#[test]
fn a_pool_that_is_stuck_holds_up_no_other() {
    one_stuck_one_free("reports", 1, "default");
    one_stuck_one_free("default", 2, "reports");
}

#[test]
fn pools_have_permits_of_their_own_and_are_shown() {
    let (stages, sql) = started(with_reports());
    let door = add_stuck(&sql, 1);
    let (analyst, user) = (sql.session().in_pool("reports").unwrap(), sql.session());
    let report = analyst.query("SELECT a FROM stuck").unwrap();
    until("it is stuck", || (door.inside.load(Ordering::SeqCst) == 1, ()));
    let next = analyst.query("SELECT 1").unwrap();
    let asked = soon("a query with the one permit of the others", move || {
        (number(&user, "SELECT count(*) FROM generate_series(1, 1000)"), table(&user, "SHOW POOLS"))
    });
    assert_eq!(asked.0, 1_000);
    for cell in [
        "| name    | workers | running | waiting |",
        "| default | 2       | 1       | 0       |",
        "| reports | 1       | 1       | 1       |",
    ] {
        assert!(asked.1.contains(cell), "{cell} in {}", asked.1);
    }
    assert!(stages.snapshot().iter().any(|stage| stage.stage == "fragment/reports" && stage.threads == 1));
    door.open();
    assert_eq!(block_on(report.collect()).unwrap().len(), 0);
    assert_eq!(block_on(next.collect()).unwrap().len(), 1);
    idle(&stages, &sql);
}

#[test]
fn a_session_has_the_pool_that_it_asks_for() {
    let (_stages, sql) = started(with_reports());
    let session = sql.session().in_pool("reports").unwrap();
    assert!(table(&session, "SHOW filbert.pool").contains("| filbert.pool | reports |"));
    let partitions = |session| table(session, "SHOW datafusion.execution.target_partitions");
    assert!(
        partitions(&session).contains("| 1     |"),
        "as many as it has workers: {}",
        partitions(&session)
    );
    ask(&session, "RESET filbert.pool").unwrap();
    assert!(table(&session, "SHOW filbert.pool").contains("| filbert.pool | default |"));
    ask(&session, "SET filbert.pool = reports").unwrap();
    ask(&session, "SET filbert.pool TO 'default'").unwrap();
    assert!(partitions(&session).contains("| 2     |"), "{}", partitions(&session));
    let unknown = ask(&session, "SET filbert.pool = 'nonsense'").unwrap_err().to_string();
    assert!(unknown.contains("default, reports") && unknown.contains("[sql.pools.<name>]"), "{unknown}");
    assert!(table(&session, "SHOW filbert.pool").contains("default"), "it has the pool that it had");
    assert!(ask(&session, "SET filbert.nonsense = 1").unwrap_err().to_string().contains("filbert.pool"));
    assert!(sql.session().in_pool("nonsense").is_err());
    assert!(table(&sql.session(), "SHOW filbert.pool").contains("default"), "other sessions have theirs");
}

#[test]
fn a_pool_has_its_part_of_the_memory() {
    let small = PoolSettings { memory_bytes: Some(1 << 20), ..Default::default() };
    let settings =
        SqlSettings { pools: [("small".to_owned(), small)].into(), spill_bytes: 0, ..Default::default() };
    let (stages, sql) = started(settings);
    let joined = "SELECT count(*) FROM generate_series(1, 300000) a JOIN generate_series(1, 300000) b ON a.value = b.value";
    assert_eq!(number(&sql.session(), joined), 300_000);
    let refused = ask(&sql.session().in_pool("small").unwrap(), joined).unwrap_err().to_string();
    assert!(refused.contains("sql.pools.small.memory_bytes"), "{refused}");
    idle(&stages, &sql);
}
