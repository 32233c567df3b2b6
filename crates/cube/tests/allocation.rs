//! What a query takes from the system's allocator, counted: partitions cost nothing while they are empty, and a memory limit is the whole
//! truth: what a query holds stays near it, and beyond it is a typed error.
//!
//! A file of its own, because an allocator is the whole process's; its tests run one at a time, because others beside them would be counted too.
//! The unsafe code is the allocator's contract, handed on to the system's word for word; only counters stand in between.

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::SchemaRef;
use filbert_cube::{
    Aggregator, BatchStream, Combinator, Cube, CubeError, Forest, MemoryTable, Query, Table, TableQuery,
};
use filbert_pool::Stages;
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// All bytes that were ever asked for.
static ASKED: AtomicUsize = AtomicUsize::new(0);

/// What is held now, and the most that was.
static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

/// Who has it is alone.
static ALONE: Mutex<()> = Mutex::new(());

fn took(bytes: usize) {
    ASKED.fetch_add(bytes, Ordering::Relaxed);
    let held = HELD.fetch_add(bytes, Ordering::Relaxed) + bytes;
    MOST.fetch_max(held, Ordering::Relaxed);
}

struct Counting;

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: `place` came from `System` with this layout.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both are there while one is copied to the other.
        took(size);
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: `place` came from `System` with this layout.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_hundred_rows_in_32_partitions_take_less_than_a_megabyte() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let keys: Int64Array = (0..100).collect::<Vec<i64>>().into();
    let batch = RecordBatch::try_from_iter([
        ("key", Arc::new(keys) as _),
        ("text", Arc::new(StringArray::from_iter_values((0..100).map(|row| format!("text {row}")))) as _),
        ("value", Arc::new(Float64Array::from(vec![1.0; 100])) as _),
    ])
    .unwrap();
    let stages = Stages::start().unwrap();
    let table = MemoryTable::new("t", batch.schema(), vec![batch]).unwrap();
    let forest = Forest::builder().measure("sum", Aggregator::sum("value")).build().unwrap();
    let cube = Cube::builder(&stages, forest, table).build().unwrap();
    // Keys of a word, of a code, and of any length.
    for level in [vec!["key"], vec!["text"], vec!["key", "text", "value"]] {
        let query = || Query::new(["sum"]).by(level.clone()).partitions(32).no_cache();
        // The first one makes what all queries share: threads, the tables of the cache, texts.
        assert_eq!(cube.query(query()).unwrap().wait().unwrap().rows(), 100);
        let before = ASKED.load(Ordering::Relaxed);
        assert_eq!(cube.query(query()).unwrap().wait().unwrap().rows(), 100);
        let asked = ASKED.load(Ordering::Relaxed) - before;
        assert!(asked < 1 << 20, "{asked} bytes by {level:?}");
    }
}

/// Rows that are made when they are read, with a text of so many letters and one of so many.
struct Made {
    rows: usize,
    texts: usize,
    letters: usize,
}

const BATCH: usize = 8_192;

impl Made {
    fn batch(&self, first: usize, rows: usize) -> RecordBatch {
        let text = |row: usize| format!("{:0>1$}", row % self.texts, self.letters);
        RecordBatch::try_from_iter([
            ("text", Arc::new(StringArray::from_iter_values((first..first + rows).map(text))) as ArrayRef),
            ("key", Arc::new(Int64Array::from_iter_values((first..first + rows).map(|row| row as i64)))),
            ("value", Arc::new(Float64Array::from(vec![1.0; rows]))),
        ])
        .unwrap()
    }
}

impl Table for Made {
    fn name(&self) -> &str {
        "made"
    }

    fn schema(&self) -> SchemaRef {
        self.batch(0, 0).schema()
    }

    fn open(&self, _: &Stages, query: TableQuery) -> BoxFuture<'static, Result<BatchStream, CubeError>> {
        let Self { rows, texts, letters } = *self;
        let batches = (0..rows).step_by(BATCH).map(move |first| {
            let batch = Self { rows, texts, letters }.batch(first, BATCH.min(rows - first));
            let positions: Vec<usize> =
                query.columns.iter().map(|column| batch.schema().index_of(column).unwrap()).collect();
            Ok(batch.project(&positions).unwrap())
        });
        futures::future::ready(Ok(BatchStream::new(stream::iter(batches)))).boxed()
    }
}

/// What a query of a fresh cube comes to: its rows, and the most that was held beyond what was before.
fn asked(stages: &Stages, table: Made, query: Query) -> (Result<usize, CubeError>, usize) {
    let forest = Forest::builder()
        .function("fails", |_| Err("x".repeat(1_500)))
        .measure("sum", Aggregator::sum("value"))
        .measure("fails", Combinator::function(&["sum"], "fails"));
    let cube = Cube::builder(stages, forest.build().unwrap(), table).build().unwrap();
    let before = HELD.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let answer = cube.query(query).unwrap().wait();
    let rows = answer.map(|answer| answer.rows());
    (rows, MOST.load(Ordering::Relaxed) - before)
}

#[test]
fn what_a_query_takes_stays_near_its_limit() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    const MEGABYTE: usize = 1 << 20;
    let stages = Stages::start().unwrap();
    // What is read but not grouped yet is not counted: twice 32 MB of batches, and what is made of one of these.
    let batches = 128 * MEGABYTE;
    let by_text = || Query::new(["sum"]).by(["text"]).no_cache();
    // Different texts: three million of 100 letters are half a gigabyte.
    let texts = |rows: usize| Made { rows, texts: usize::MAX, letters: 100 };
    let (answer, most) = asked(&stages, texts(3_000_000), by_text().memory_limit(24 * MEGABYTE));
    assert!(matches!(answer, Err(CubeError::OverMemory { .. })), "{answer:?}");
    assert!(most < 24 * MEGABYTE + batches, "{} MB", most / MEGABYTE);
    // What fits is not refused: twenty thousand of them are two megabytes, in the dictionary and in the answer.
    let (answer, most) = asked(&stages, texts(20_000), by_text().memory_limit(24 * MEGABYTE));
    assert_eq!(answer.unwrap(), 20_000);
    assert!(most < 24 * MEGABYTE, "{} MB", most / MEGABYTE);
    // Few long texts in many rows: groups of two megabytes, and an answer of half a gigabyte.
    let long = || Made { rows: 100_000, texts: 2, letters: 5_000 };
    let by_both = || Query::new(["sum"]).by(["key", "text"]).no_cache();
    let (answer, most) = asked(&stages, long(), by_both().memory_limit(64 * MEGABYTE));
    assert!(matches!(answer, Err(CubeError::OverMemory { .. })), "{answer:?}");
    assert!(most < 64 * MEGABYTE + batches, "{} MB", most / MEGABYTE);
    let (answer, most) = asked(&stages, long(), by_both().totals(["key"]).memory_limit(64 * MEGABYTE));
    assert!(matches!(answer, Err(CubeError::OverMemory { .. })), "{answer:?}");
    assert!(most < 64 * MEGABYTE + batches, "{} MB", most / MEGABYTE);
}

/// What a measure said that failed was written to all rows of all partitions before anybody counted it.
#[test]
fn what_failed_measures_say_stays_near_the_limit_too() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    const MEGABYTE: usize = 1 << 20;
    let stages = Stages::start().unwrap();
    let table = |rows| Made { rows, texts: 1, letters: 1 };
    let query = || Query::new(["sum", "fails"]).by(["key"]).no_cache().errors_are_values();
    // Groups of some megabytes, and an answer of 150.
    let (answer, most) = asked(&stages, table(100_000), query().memory_limit(64 * MEGABYTE));
    assert!(matches!(answer, Err(CubeError::OverMemory { .. })), "{answer:?}");
    assert!(most < 80 * MEGABYTE, "{} MB", most / MEGABYTE);
    // What fits is not refused: 15 megabytes, as ranges and as one.
    let (answer, most) = asked(&stages, table(10_000), query().memory_limit(40 * MEGABYTE));
    assert_eq!(answer.unwrap(), 10_000);
    assert!(most < 40 * MEGABYTE, "{} MB", most / MEGABYTE);
}
