//! Queries that wait: for a table, for a turn, for a worker. They hold no thread, and end at once when nobody wants them any more.

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use arrow::datatypes::SchemaRef;
use filbert_cube::{
    Aggregator, BatchStream, Cube, CubeError, Custom, CustomMeasure, Forest, Position, Query, QueryHandle,
    Table, TableQuery,
};
use filbert_pool::{Shutdown, Stages};
use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::{BoxFuture, Shared};
use futures::stream::{self, StreamExt};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// Longer than anything here takes on the slowest machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// Waits until something is so, or fails.
fn until(stages: &Stages, what: &str, is_so: impl Fn() -> bool) {
    let clock = stages.clock();
    let end = clock.now() + DEADLINE;
    while !is_so() {
        assert!(clock.now() < end, "not in time: {what}");
        std::thread::yield_now();
    }
}

/// A door that threads wait at until it is opened.
#[derive(Default)]
struct Door {
    is_open: Mutex<bool>,
    opened: Condvar,
    /// How many wait, or waited.
    came: AtomicUsize,
}

impl Door {
    fn pass(&self) {
        self.came.fetch_add(1, Ordering::SeqCst);
        let mut is_open = self.is_open.lock().unwrap();
        while !*is_open {
            is_open = self.opened.wait(is_open).unwrap();
        }
    }

    fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.opened.notify_all();
    }

    fn came(&self) -> usize {
        self.came.load(Ordering::SeqCst)
    }
}

/// How a table that was opened waits before its only batch.
#[derive(Clone)]
enum Waits {
    /// Not at all.
    Not,
    /// Without a thread, until this is sent.
    For(Shared<oneshot::Receiver<()>>),
    /// On a thread of its own of `mixed`.
    At(Arc<Door>),
}

/// A table of one batch, which writes down how many of its streams were open at the same time.
#[derive(Clone)]
struct Slow {
    waits: Waits,
    open: Arc<AtomicUsize>,
    most_open: Arc<AtomicUsize>,
    /// Streams that were read to their end.
    read: Arc<AtomicUsize>,
}

impl Slow {
    fn new(waits: Waits) -> Self {
        Self { waits, open: Arc::default(), most_open: Arc::default(), read: Arc::default() }
    }

    fn batch() -> RecordBatch {
        let keys: ArrayRef = Arc::new(Int64Array::from_iter_values((0..100).map(|row| row % 7)));
        RecordBatch::try_from_iter([
            ("key", keys),
            ("value", Arc::new(Float64Array::from(vec![1.0; 100])) as _),
        ])
        .unwrap()
    }
}

impl Table for Slow {
    fn name(&self) -> &str {
        "slow"
    }

    fn schema(&self) -> SchemaRef {
        Self::batch().schema()
    }

    fn open(&self, stages: &Stages, query: TableQuery) -> BoxFuture<'static, Result<BatchStream, CubeError>> {
        let open = self.open.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_open.fetch_max(open, Ordering::SeqCst);
        let batch = Self::batch();
        let positions: Vec<usize> =
            query.columns.iter().map(|column| batch.schema().index_of(column).unwrap()).collect();
        let batch = batch.project(&positions).unwrap();
        let read = Arc::clone(&self.read);
        let end = stream::poll_fn(move |_| {
            read.fetch_add(1, Ordering::SeqCst);
            std::task::Poll::Ready(None)
        });
        let opened = match self.waits.clone() {
            Waits::Not => BatchStream::new(stream::iter([Ok(batch)]).chain(end)),
            Waits::For(sent) => BatchStream::new(stream::once(sent.map(|_| Ok(batch))).chain(end)),
            Waits::At(door) => BatchStream::blocking(
                stages,
                std::iter::once_with(move || {
                    door.pass();
                    Ok(batch)
                }),
            ),
        };
        let open = Arc::clone(&self.open);
        let opened = opened.on_close(move || {
            open.fetch_sub(1, Ordering::SeqCst);
        });
        futures::future::ready(Ok(opened)).boxed()
    }
}

/// A measure that stands at a door, on a worker of `cpu`, in its query's turn.
struct Stands(Arc<Door>);

impl CustomMeasure for Stands {
    fn produce(&self, _: &Position, inputs: &[RecordBatch]) -> Result<RecordBatch, String> {
        self.0.pass();
        Ok(inputs[0].clone())
    }
}

fn forest(door: &Arc<Door>) -> Forest {
    Forest::builder()
        .custom("stands", Stands(Arc::clone(door)))
        .measure("sum", Aggregator::sum("value"))
        .measure("stands", Custom::new(&["sum"], "stands"))
        .build()
        .unwrap()
}

fn nothing_is_left(stages: &Stages) {
    let report = stages.shutdown(Shutdown::Drain).unwrap();
    assert!(report.left_behind.is_empty() && report.cut_short.is_empty(), "{report:?}");
}

/// One worker, four turns, all taken by queries that stand at the door.
fn taken(stages: &Stages, cube: &Cube, door: &Door) -> Vec<QueryHandle> {
    let all: Vec<_> = (0..4).map(|_| cube.query(Query::new(["stands"])).unwrap()).collect();
    until(stages, "a query stands at the door", || door.came() > 0);
    all
}

/// It ended only when it got a turn.
#[test]
fn a_query_that_waits_for_a_turn_ends_when_it_is_cancelled() {
    let stages = Stages::builder().set("cpu.threads", 1).start().unwrap();
    let (door, (send, sent)) = (Arc::<Door>::default(), oneshot::channel());
    let table = Slow::new(Waits::For(sent.shared()));
    let cube = Cube::builder(&stages, forest(&door), table.clone()).build().unwrap();
    // Planned while the worker is free; its batch comes when it is not.
    let all: Vec<_> = (0..12).map(|_| cube.query(Query::new(["stands"])).unwrap()).collect();
    until(&stages, "all tables are open", || table.open.load(Ordering::SeqCst) == all.len());
    send.send(()).unwrap();
    until(&stages, "all tables are read", || table.read.load(Ordering::SeqCst) == all.len());
    until(&stages, "one stands at the door", || door.came() > 0);
    all.iter().for_each(QueryHandle::cancel);
    // Four have turns, and end when the door opens. The others need not wait for it.
    until(&stages, "those without a turn end", || all.iter().filter(|query| query.is_done()).count() >= 8);
    assert!(door.came() <= 4 && all.iter().any(|query| !query.is_done()));
    door.open();
    for query in all {
        assert_eq!(query.wait().unwrap_err(), CubeError::Cancelled);
    }
    nothing_is_left(&stages);
}

/// It ended only when a worker had planned it.
#[test]
fn a_query_that_waits_for_its_plan_ends_when_its_time_is_over() {
    let stages = Stages::builder().set("cpu.threads", 1).start().unwrap();
    let door = Arc::<Door>::default();
    let cube = Cube::builder(&stages, forest(&door), Slow::new(Waits::Not)).build().unwrap();
    let standing = taken(&stages, &cube, &door);
    let limit = Duration::from_millis(20);
    let late = cube.query(Query::new(["sum"]).timeout(limit)).unwrap();
    until(&stages, "its time is over", || late.is_done());
    assert_eq!(late.wait().unwrap_err(), CubeError::TimedOut { limit });
    assert!(standing.iter().all(|query| !query.is_done()));
    door.open();
    standing.into_iter().for_each(|query| assert_eq!(query.wait().unwrap().rows(), 1));
    nothing_is_left(&stages);
}

/// 500 tables are open before any of them says a word, with four threads that may wait: were one of them taken by each table, four would be
/// open, and the others never.
#[test]
fn queries_that_wait_for_tables_take_no_thread_each() {
    const QUERIES: usize = 500;
    let stages = Stages::builder().set("mixed.blocking_threads", 4).start().unwrap();
    let (send, sent) = oneshot::channel();
    let table = Slow::new(Waits::For(sent.shared()));
    let quick = Cube::builder(&stages, forest(&Arc::default()), Slow::new(Waits::Not)).build().unwrap();
    let cube = Cube::builder(&stages, forest(&Arc::default()), table.clone()).build().unwrap();
    let query = |cube: &Cube| cube.query(Query::new(["sum"]).by(["key"]).no_cache()).unwrap();
    assert_eq!(query(&quick).wait().unwrap().rows(), 7);
    let all: Vec<_> = (0..QUERIES).map(|_| query(&cube)).collect();
    until(&stages, "all tables are open", || table.open.load(Ordering::SeqCst) == QUERIES);
    send.send(()).unwrap();
    for query in all {
        assert_eq!(query.wait().unwrap().rows(), 7);
    }
    assert_eq!((table.most_open.load(Ordering::SeqCst), table.open.load(Ordering::SeqCst)), (QUERIES, 0));
    nothing_is_left(&stages);
}

/// Tables that block take a thread of `mixed` each, as many as there may be; queries that wait without one pass them.
#[test]
fn tables_that_block_hold_up_no_other_and_take_a_thread_each_at_most() {
    const BLOCKED: usize = 40;
    let stages = Stages::builder().set("mixed.blocking_threads", BLOCKED as u64 + 8).start().unwrap();
    let door = Arc::<Door>::default();
    let blocking = Slow::new(Waits::At(Arc::clone(&door)));
    let forest = || forest(&Arc::default());
    let blocked = Cube::builder(&stages, forest(), blocking.clone()).build().unwrap();
    let free = Cube::builder(&stages, forest(), Slow::new(Waits::Not)).build().unwrap();
    let all: Vec<_> =
        (0..BLOCKED).map(|_| blocked.query(Query::new(["sum"]).by(["key"]).no_cache()).unwrap()).collect();
    until(&stages, "all tables stand at the door", || door.came() == BLOCKED);
    assert_eq!(blocking.most_open.load(Ordering::SeqCst), BLOCKED);
    for _ in 0..10 {
        assert_eq!(free.query(Query::new(["sum"]).by(["key"]).no_cache()).unwrap().wait().unwrap().rows(), 7);
    }
    assert!(all.iter().all(|query| !query.is_done()));
    door.open();
    all.into_iter().for_each(|query| assert_eq!(query.wait().unwrap().rows(), 7));
    nothing_is_left(&stages);
}
