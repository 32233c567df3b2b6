//! SUM by key over rows in memory: the kernel beside two plain maps of hashbrown that are merged.
//!
//! `cargo run --release -p filbert-cube --example group_by [rows in millions] [keys ...]`

#![expect(
    clippy::disallowed_methods,
    reason = "an example that measures reads the clock and makes its peer's threads"
)]

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use filbert_cube::CubeError;
use filbert_cube::aggregate::{Aggregate, Block, Function, Grouping, GroupingOptions};
use filbert_pool::WorkStealing;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

const THREADS: usize = 2;
const BLOCK_ROWS: usize = 32_768;
const ROUNDS: usize = 3;

fn blocks(rows: usize, keys: u64) -> Vec<Block> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut draw = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 11
    };
    let mut blocks = Vec::new();
    for start in (0..rows).step_by(BLOCK_ROWS) {
        let rows = BLOCK_ROWS.min(rows - start);
        // Keys lie anywhere, values are whole: sums are exact in any order.
        let keys: Int64Array =
            (0..rows).map(|_| Some((draw() % keys).wrapping_mul(0x9e37_79b9_7f4a_7c15) as i64)).collect();
        let keys = Int64Array::new(keys.values().clone(), None);
        let values = Float64Array::from_iter_values((0..rows).map(|_| (draw() % 1_000) as f64));
        blocks.push(Block {
            rows,
            keys: vec![Arc::new(keys)],
            inputs: vec![Arc::new(values)],
            filters: vec![],
        });
    }
    blocks
}

/// The time that all threads of this process have computed, in ms.
fn computed() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks =
        |field: usize| stat.split(' ').nth(field).and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(13) + ticks(14)) * 10.0
}

/// How many groups, and a sum over groups that no group can hide from.
type Answer = (usize, f64);

fn mixed(key: i64, sum: f64) -> f64 {
    sum * ((key as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as f64
}

fn kernel(cpu: &WorkStealing, blocks: &[Block]) -> Result<Vec<(ArrayRef, ArrayRef)>, CubeError> {
    let mut options = GroupingOptions::new(cpu.clone());
    options.partitions = 64;
    let sum = Aggregate::new(Function::Sum, 0, DataType::Float64);
    let mut grouping = Grouping::new(vec![DataType::Int64], vec![sum], options)?;
    for block in blocks {
        grouping.push(block.clone())?;
    }
    let grouped = grouping.finish()?;
    Ok(grouped.partitions.into_iter().map(|mut it| (it.keys.remove(0), it.values.remove(0))).collect())
}

fn maps(blocks: &[Block]) -> HashMap<i64, f64, foldhash::fast::FixedState> {
    let one = |blocks: &[Block]| {
        let mut sums: HashMap<i64, f64, foldhash::fast::FixedState> = HashMap::default();
        for block in blocks {
            let keys = block.keys[0].as_primitive::<Int64Type>().values();
            let values = block.inputs[0].as_primitive::<Float64Type>().values();
            for (key, value) in keys.iter().zip(values) {
                *sums.entry(*key).or_default() += value;
            }
        }
        sums
    };
    std::thread::scope(|scope| {
        let parts: Vec<_> = blocks
            .chunks(blocks.len().div_ceil(THREADS))
            .map(|part| scope.spawn(move || one(part)))
            .collect();
        let mut parts = parts.into_iter().map(|part| part.join().expect("no panic"));
        let mut all = parts.next().unwrap_or_default();
        for part in parts {
            part.into_iter().for_each(|(key, sum)| *all.entry(key).or_default() += sum);
        }
        all
    })
}

fn main() -> Result<(), CubeError> {
    let mut arguments = std::env::args().skip(1).filter_map(|text| text.parse::<u64>().ok());
    let rows = arguments.next().unwrap_or(50) as usize * 1_000_000;
    let mut keys: Vec<u64> = arguments.collect();
    if keys.is_empty() {
        keys = vec![100, 10_000, 10_000_000];
    }
    let cpu = WorkStealing::standalone(THREADS);
    for keys in keys {
        let blocks = blocks(rows, keys);
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let (mut ours_cpu, mut theirs_cpu) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let (begin, before) = (Instant::now(), computed());
            let partitions = kernel(&cpu, &blocks)?;
            ours.push(begin.elapsed().as_secs_f64() * 1e3);
            ours_cpu.push(computed() - before);
            let mut answer: Answer = (0, 0.0);
            for (keys, sums) in &partitions {
                answer.0 += keys.len();
                let pairs = keys
                    .as_primitive::<Int64Type>()
                    .values()
                    .iter()
                    .zip(sums.as_primitive::<Float64Type>().values());
                answer.1 += pairs.map(|(key, sum)| mixed(*key, *sum)).sum::<f64>();
            }
            drop(partitions);
            let (begin, before) = (Instant::now(), computed());
            let map = maps(&blocks);
            theirs.push(begin.elapsed().as_secs_f64() * 1e3);
            theirs_cpu.push(computed() - before);
            let expected: Answer = (map.len(), map.iter().map(|(key, sum)| mixed(*key, *sum)).sum());
            assert_eq!(answer, expected, "both give the same sums");
        }
        let best = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
        println!(
            "{keys:>10} keys: kernel {ours:.0?} ms, two maps {theirs:.0?} ms; best {:.0} against {:.0}, computed {:.0} against {:.0}",
            best(&ours),
            best(&theirs),
            best(&ours_cpu),
            best(&theirs_cpu)
        );
    }
    Ok(())
}
