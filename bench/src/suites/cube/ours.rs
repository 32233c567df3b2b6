//! The kernel, and the plainest thing that one would write instead: a map per thread, merged.

use super::THREADS;
use super::rows::{Answer, columns};
use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use filbert_cube::aggregate::{Aggregate, Block, Function, Grouped, Grouping, GroupingOptions};
use filbert_pool::WorkStealing;
use foldhash::fast::FixedState;
use hashbrown::HashMap;

pub(super) fn kernel(cpu: &WorkStealing, batches: &[RecordBatch]) -> Grouped {
    let mut options = GroupingOptions::new(cpu.clone());
    (options.parallelism, options.partitions) = (THREADS, 64);
    let sum = Aggregate::new(Function::Sum, 0, DataType::Float64);
    let mut grouping = Grouping::new(vec![DataType::Int64], vec![sum], options).expect("it can be grouped");
    for batch in batches {
        let (keys, inputs) = (vec![batch.column(0).clone()], vec![batch.column(1).clone()]);
        let block = Block { rows: batch.num_rows(), keys, inputs, filters: vec![] };
        grouping.push(block).expect("nothing is in the way");
    }
    grouping.finish().expect("nothing is in the way")
}

pub(super) fn answer_of(grouped: &Grouped) -> Answer {
    let mut answer = Answer::default();
    for partition in &grouped.partitions {
        answer.add(
            partition.keys[0].as_primitive::<Int64Type>(),
            partition.values[0].as_primitive::<Float64Type>(),
        );
    }
    answer
}

pub(super) type Sums = HashMap<i64, f64, FixedState>;

pub(super) fn maps(batches: &[RecordBatch]) -> Sums {
    let one = |batches: &[RecordBatch]| {
        let mut sums = Sums::default();
        for batch in batches {
            let (keys, values) = columns(batch);
            for (key, value) in keys.values().iter().zip(values.values()) {
                *sums.entry(*key).or_default() += value;
            }
        }
        sums
    };
    std::thread::scope(|scope| {
        let parts = batches.chunks(batches.len().div_ceil(THREADS).max(1));
        let parts: Vec<_> = parts.map(|part| scope.spawn(move || one(part))).collect();
        let mut parts = parts.into_iter().map(|part| part.join().expect("the thread ends well"));
        let mut all = parts.next().unwrap_or_default();
        for part in parts {
            part.into_iter().for_each(|(key, sum)| *all.entry(key).or_default() += sum);
        }
        all
    })
}

pub(super) fn answer_of_maps(sums: &Sums) -> Answer {
    let weighted = sums.iter().map(|(key, sum)| (key & 255) as f64 * sum).sum();
    Answer { groups: sums.len(), weighted }
}
