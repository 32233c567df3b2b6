//! What the kernel could reach: a leaf without a branch, and the bandwidth of memory. These rows only report.

use super::SUITE;
use super::kernel::{fnv, ints, plain};
use crate::harness::{Contestant, Effort, alternate};
use crate::report::Report;
use filbert_pool::WorkStealing;

/// The kernel as the compiler can vectorise it: every element counts, some of them with zero.
fn branch_free(chunk: &[i32]) -> u64 {
    // A block's sum fits 32 bits, so the lanes stay narrow.
    chunk
        .chunks(4096)
        .map(|block| {
            let sum: u32 =
                block.iter().map(|value| (fnv(*value) % 5) & u32::from(*value < 150).wrapping_neg()).sum();
            u64::from(sum)
        })
        .sum()
}

pub(super) fn limits(effort: Effort, report: &mut Report, pool: &WorkStealing) {
    let count = effort.pick(50_000, 20_000_000, 50_000_000);
    let data = ints(count);
    let expected = plain(&data);
    let rounds = effort.pick(1, 5, 11);
    let leaf = alternate(
        rounds,
        1,
        vec![Contestant::new("ours", || pool.slice(&data).chunks(branch_free).reduce(|| 0, |a, b| a + b))],
    );
    let answer = pool.slice(&data).chunks(branch_free).reduce(|| 0, |a, b| a + b);
    assert_eq!(answer, expected, "the branch-free leaf answers differently");
    let read = alternate(
        rounds,
        1,
        vec![Contestant::new("ours", || {
            let sum = |chunk: &[i32]| chunk.iter().fold(0_i32, |sum, value| sum.wrapping_add(*value));
            pool.slice(&data).chunks(sum).reduce(|| 0, i32::wrapping_add)
        })],
    );
    report.alone(SUITE, &format!("kernel {count}, branch-free leaf"), "ns", leaf[0].median());
    report.alone(SUITE, &format!("reading {count} ints"), "ns", read[0].median());
    report.alone(SUITE, "reading", "GB/s", count as f64 * 4.0 / read[0].median());
}
