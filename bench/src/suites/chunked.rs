//! What does a list cost that never copies and never reserves, against `Vec`?
//!
//! Push: a growing `Vec` copies itself, one that was reserved does not; the list allocates log n chunks and copies nothing.
//! Scan by chunk should equal a slice; by index it pays for finding the chunk (a leading-zero count and one more load).
//! Large sizes are bound by memory, small ones by instructions. Memory: 32 partitions of 100 elements each, as the
//! list holds them, as a pre-allocation of 1,000,000 slots does, and as a growing `Vec`; counted from capacities.

use crate::harness::{Contestant, Effort, alternate};
use crate::report::Report;
use filbert_pool::ChunkedList;

const SUITE: &str = "chunked";
const PARTITIONS: usize = 32;

pub(crate) fn run(effort: Effort, report: &mut Report) {
    let rounds = effort.pick(1, 15, 21);
    for size in
        effort.pick(vec![1000], vec![100, 10_000, 1_000_000], vec![100, 10_000, 1_000_000, 10_000_000])
    {
        let calls = (effort.pick(1000, 4_000_000, 10_000_000) / size).max(1);
        push(report, rounds, calls, size);
        scan(report, rounds, calls, size);
    }
    memory(report);
}

fn push(report: &mut Report, rounds: usize, calls: usize, size: usize) {
    let times = alternate(
        rounds,
        calls,
        vec![
            Contestant::new("list", || {
                let mut list = ChunkedList::new();
                (0..size as u64).for_each(|element| list.push(element));
                (list.len(), list.get(size / 2).copied())
            }),
            Contestant::new("Vec growing", || {
                let mut list = Vec::new();
                (0..size as u64).for_each(|element| list.push(element));
                (list.len(), list.get(size / 2).copied())
            }),
            Contestant::new("Vec reserved", || {
                let mut list = Vec::with_capacity(size);
                (0..size as u64).for_each(|element| list.push(element));
                (list.len(), list.get(size / 2).copied())
            }),
        ],
    );
    for peer in &times[1..] {
        report.rate(SUITE, &format!("push {size}"), size as f64, &times[0], peer);
    }
}

fn scan(report: &mut Report, rounds: usize, calls: usize, size: usize) {
    // Values whose sum the compiler can not know, in an order that random access visits by a fixed stride.
    let vec: Vec<u64> = (0..size as u64).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let list: ChunkedList<u64> = vec.iter().copied().collect();
    let mut fixed = ChunkedList::with_fixed_chunks(4096);
    fixed.extend_from_slice(&vec);
    let sum = |slice: &[u64]| slice.iter().fold(0u64, |sum, &element| sum.wrapping_add(element));

    let times = alternate(
        rounds,
        calls,
        vec![
            Contestant::new("chunks", || list.chunks().map(sum).fold(0, u64::wrapping_add)),
            Contestant::new("iter", || list.iter().fold(0u64, |sum, &element| sum.wrapping_add(element))),
            Contestant::new("Vec slice", || sum(&vec)),
        ],
    );
    report.rate(SUITE, &format!("scan by chunk {size}"), size as f64, &times[0], &times[2]);
    report.rate(SUITE, &format!("scan by iterator {size}"), size as f64, &times[1], &times[2]);

    let indices = 0..size;
    let times = alternate(
        rounds,
        calls,
        vec![
            Contestant::new("list", || {
                indices.clone().fold(0u64, |sum, index| sum.wrapping_add(list[index]))
            }),
            Contestant::new("fixed", || {
                indices.clone().fold(0u64, |sum, index| sum.wrapping_add(fixed[index]))
            }),
            Contestant::new("Vec index", || {
                // The same kind of access as above: an index that the compiler does not know to be in range.
                let vec = std::hint::black_box(&vec);
                indices.clone().fold(0u64, |sum, index| sum.wrapping_add(vec[index]))
            }),
        ],
    );
    report.rate(SUITE, &format!("scan by index {size}"), size as f64, &times[0], &times[2]);
    report.rate(SUITE, &format!("scan by index, fixed chunks {size}"), size as f64, &times[1], &times[2]);

    let stride = |turn: usize| (turn.wrapping_mul(0x9e37_79b1) ^ (turn >> 3)) % size;
    let times = alternate(
        rounds,
        calls,
        vec![
            Contestant::new("list", || {
                (0..size).fold(0u64, |sum, turn| sum.wrapping_add(list[stride(turn)]))
            }),
            Contestant::new("Vec index", || {
                (0..size).fold(0u64, |sum, turn| sum.wrapping_add(vec[stride(turn)]))
            }),
        ],
    );
    report.rate(SUITE, &format!("random access {size}"), size as f64, &times[0], &times[1]);
}

fn memory(report: &mut Report) {
    let elements = 0..100u64;
    let lists: Vec<ChunkedList<u64>> = (0..PARTITIONS).map(|_| elements.clone().collect()).collect();
    let ours: usize = lists.iter().map(ChunkedList::allocated_bytes).sum();
    let reserved: Vec<Vec<u64>> = (0..PARTITIONS)
        .map(|_| {
            let mut list = Vec::with_capacity(1_000_000);
            list.extend(elements.clone());
            list
        })
        .collect();
    let growing: Vec<Vec<u64>> = (0..PARTITIONS)
        .map(|_| {
            let mut list = Vec::new();
            elements.clone().for_each(|element| list.push(element));
            list
        })
        .collect();
    let bytes = |lists: &[Vec<u64>]| {
        lists.iter().map(|list| list.capacity() * size_of::<u64>()).sum::<usize>() as f64
    };
    let case = format!("memory, {PARTITIONS} lists of 100 (from capacities)");
    for (name, peer) in [("Vec reserved 1 M", bytes(&reserved)), ("Vec growing", bytes(&growing))] {
        report.row(SUITE, &case, "bytes", ours as f64, Some((name, peer)), true, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_runs() {
        run(Effort::Tiny, &mut Report::new(true));
    }
}
