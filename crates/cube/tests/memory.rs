//! What the cubes of a process hold together: queries, caches and dictionaries under one limit.

#![allow(clippy::disallowed_methods, reason = "tests have deadlines of their own")]

use arrow::array::{Float64Array, Int64Array, RecordBatch, StringArray};
use filbert_cube::{Aggregator, Cube, CubeError, CubeMemory, Forest, MemoryTable, Query};
use filbert_pool::Stages;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn batch(rows: i64) -> RecordBatch {
    RecordBatch::try_from_iter([
        ("key", Arc::new(Int64Array::from_iter_values(0..rows)) as _),
        ("text", Arc::new(StringArray::from_iter_values((0..rows).map(|row| format!("text {row}")))) as _),
        ("value", Arc::new(Float64Array::from_iter_values((0..rows).map(|row| row as f64))) as _),
    ])
    .unwrap()
}

fn forest() -> Forest {
    Forest::builder().measure("sum", Aggregator::sum("value")).build().unwrap()
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "not within a minute: {what}");
        std::thread::yield_now();
    }
}

/// Each query had a limit of its own, and there was none for all of them.
#[test]
fn a_query_beyond_the_total_is_refused_until_another_ends() {
    let stages = Stages::start().unwrap();
    let memory = CubeMemory::new(64 << 20);
    let rows = batch(100_000);
    let table = MemoryTable::new("rows", rows.schema(), vec![rows]).unwrap();
    let builder = Cube::builder(&stages, forest(), table).memory(&memory).memory_limit(64 << 20);
    let cube = builder.cache_bytes(0).build().unwrap();
    let asked = || cube.query(Query::new(["sum"]).by(["key"])).unwrap().wait();
    assert_eq!(asked().unwrap().rows(), 100_000);
    until("all is given back", || memory.held() == 0);
    let other = memory.account(usize::MAX).try_reserve(memory.limit() - 100_000).unwrap();
    let refused = asked().unwrap_err();
    assert!(matches!(refused, CubeError::OverMemory { is_total: true, .. }), "{refused:?}");
    assert!(refused.is_retryable() && refused.to_string().contains("memory.cube_bytes"), "{refused}");
    until("what was refused is given back", || memory.held() == other.bytes());
    drop(other);
    assert_eq!(asked().unwrap().rows(), 100_000);
}

/// Caches and dictionaries counted nowhere: each cube had 64 MiB and 256 MiB of its own.
#[test]
fn what_cubes_keep_counts_and_is_bounded() {
    let stages = Stages::start().unwrap();
    let memory = CubeMemory::new(64 << 20);
    let rows = batch(100_000);
    let cubes: Vec<Cube> = (0..12)
        .map(|number| {
            let table = MemoryTable::new(&format!("rows{number}"), rows.schema(), vec![rows.clone()]);
            Cube::builder(&stages, forest(), table.unwrap()).memory(&memory).build().unwrap()
        })
        .collect();
    let mut most = 0;
    for cube in &cubes {
        let asked = cube.query(Query::new(["sum"]).by(["text"]).memory_limit(48 << 20)).unwrap();
        assert_eq!(asked.wait().unwrap().rows(), 100_000);
        until("only what is kept is held", || memory.held() <= memory.limit() / 4);
        most = most.max(memory.held());
    }
    assert!(most > 1 << 20, "{most} bytes were kept at most");
    drop(cubes);
    until("all is given back", || memory.held() == 0);
}
