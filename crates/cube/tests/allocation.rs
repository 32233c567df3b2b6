//! What a query takes from the system's allocator, counted: partitions cost nothing while they are empty.
//!
//! A file of its own, because an allocator is the whole process's, and one test, because others beside it would be counted too. The unsafe
//! code is the allocator's contract, handed on to the system's word for word; only counters stand in between.

use arrow::array::{Float64Array, Int64Array, RecordBatch};
use filbert_cube::{Aggregator, Cube, Forest, MemoryTable, Query};
use filbert_pool::Stages;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// All bytes that were ever asked for.
static ASKED: AtomicUsize = AtomicUsize::new(0);

struct Counting;

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: `place` came from `System` with this layout.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ASKED.fetch_add(size, Ordering::Relaxed);
        // SAFETY: `place` came from `System` with this layout.
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_hundred_rows_in_32_partitions_take_less_than_a_megabyte() {
    let keys: Int64Array = (0..100).collect::<Vec<i64>>().into();
    let batch = RecordBatch::try_from_iter([
        ("key", Arc::new(keys) as _),
        ("value", Arc::new(Float64Array::from(vec![1.0; 100])) as _),
    ])
    .unwrap();
    let stages = Stages::start().unwrap();
    let table = MemoryTable::new("t", batch.schema(), vec![batch]).unwrap();
    let forest = Forest::builder().measure("sum", Aggregator::sum("value")).build().unwrap();
    let cube = Cube::builder(&stages, forest, table).build().unwrap();
    let query = || Query::new(["sum"]).by(["key"]).partitions(32).no_cache();
    // The first one makes what all queries share: threads, the tables of the cache.
    assert_eq!(cube.query(query()).unwrap().wait().unwrap().rows(), 100);
    let before = ASKED.load(Ordering::Relaxed);
    assert_eq!(cube.query(query()).unwrap().wait().unwrap().rows(), 100);
    let asked = ASKED.load(Ordering::Relaxed) - before;
    assert!(asked < 1 << 20, "{asked} bytes");
}
