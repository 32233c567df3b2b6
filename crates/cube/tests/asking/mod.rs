//! What tests of cubes over databases share: rows and answers of a table, and waiting for what happens elsewhere.

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use filbert_cube::{BatchStream, Cube, Filter, Query, Table, TableQuery};
use filbert_pool::Stages;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

pub(crate) fn stages() -> Stages {
    Stages::start().unwrap()
}

/// Waits until something is so.
pub(crate) fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "not within a minute: {what}");
        // sleeps because what it waits for happens in another process, or in a library
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The value of a future, which runs on `mixed`.
pub(crate) fn wait<T: Send + 'static>(
    stages: &Stages,
    future: impl Future<Output = T> + Send + 'static,
) -> T {
    stages.mixed().spawn("test", future).unwrap().wait().unwrap()
}

pub(crate) async fn all(stream: &mut BatchStream) -> Vec<RecordBatch> {
    let mut batches = Vec::new();
    while let Some(batch) = stream.next().await {
        batches.push(batch.unwrap());
    }
    batches
}

/// A stream that is open and has given its first batch, of so many rows, and how often it was closed.
pub(crate) fn begun(
    stages: &Stages,
    table: &impl Table,
    query: TableQuery,
) -> (BatchStream, usize, Arc<AtomicUsize>) {
    let closed = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&closed);
    let stream = table.open(stages, query);
    let (stream, rows) = wait(stages, async move {
        let closing = move || {
            counted.fetch_add(1, Ordering::Relaxed);
        };
        let mut stream = stream.await.unwrap().on_close(closing);
        let rows = stream.next().await.unwrap().unwrap().num_rows();
        (stream, rows)
    });
    (stream, rows, closed)
}

/// Closes a stream, and once more: its handlers run once.
pub(crate) fn close_twice(stages: &Stages, mut stream: BatchStream, closed: &AtomicUsize) {
    assert_eq!(closed.load(Ordering::Relaxed), 0);
    wait(stages, async move {
        stream.close();
        stream.close();
    });
    assert_eq!(closed.load(Ordering::Relaxed), 1);
}

/// All rows of a table.
pub(crate) fn rows(stages: &Stages, table: &impl Table) -> RecordBatch {
    let schema = table.schema();
    let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    let stream = table.open(stages, TableQuery::new(names, Filter::All));
    let batches = wait(stages, async move { all(&mut stream.await.unwrap()).await });
    concat_batches(&schema, &batches).unwrap()
}

/// An answer as CSV, and how it was computed.
pub(crate) fn answer(cube: &Cube, query: &Query) -> (String, String) {
    let result = cube.query(query.clone().explain()).unwrap().wait();
    let result = result.unwrap_or_else(|error| panic!("{query:?}: {error}"));
    (result.to_csv().unwrap(), result.explanation().unwrap().to_string())
}

/// Those of the measures that are called like none of the columns, for an answer has every name once; `trades` when none is left.
pub(crate) fn apart<'a>(measures: &[&'a str], columns: &[&str]) -> Vec<&'a str> {
    let left: Vec<&str> = measures.iter().copied().filter(|measure| !columns.contains(measure)).collect();
    if left.is_empty() { vec!["trades"] } else { left }
}

/// Every other number of a sequence that never repeats soon.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    /// Some of these, at least one.
    pub(crate) fn some<'a>(&mut self, of: &[&'a str], most: usize) -> Vec<&'a str> {
        let mut some: Vec<&str> = (0..=self.below(most)).map(|_| of[self.below(of.len())]).collect();
        some.sort_unstable();
        some.dedup();
        some
    }
}

/// Says that a test does nothing, and why. In CI, where everything is there that tests need, it fails instead.
#[track_caller]
pub(crate) fn skipped(why: &str) {
    let in_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
    assert!(!in_ci, "not to be skipped in CI: {why}");
    eprintln!("SKIPPED: {why}");
}
