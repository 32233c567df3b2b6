//! A kernel of cheap operations: the sum of fnv(i) % 5 over the ints below 150, which half of them are.

use super::SUITE;
use crate::harness::{Contestant, Effort, Times, alternate};
use crate::report::Report;
use filbert_pool::WorkStealing;
use std::cell::Cell;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// FNV-1a over the four bytes of an int.
#[inline(always)]
pub(super) fn fnv(value: i32) -> u32 {
    value
        .to_le_bytes()
        .iter()
        .fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[inline(always)]
pub(super) fn plain(values: &[i32]) -> u64 {
    let mut sum = 0;
    for value in values {
        if *value < 150 {
            sum += u64::from(fnv(*value) % 5);
        }
    }
    sum
}

fn ours(pool: &WorkStealing, values: &[i32]) -> u64 {
    pool.slice(values).filter(|value| **value < 150).map(|value| u64::from(fnv(*value) % 5)).sum()
}

#[cfg(feature = "peers")]
mod peers {
    use super::{fnv, plain};
    use rayon::prelude::*;

    pub(super) fn rayon(values: &[i32]) -> u64 {
        values.par_iter().filter(|value| **value < 150).map(|value| u64::from(fnv(*value) % 5)).sum()
    }

    pub(super) fn rayon_min_len(values: &[i32]) -> u64 {
        values
            .par_iter()
            .with_min_len(10_000)
            .filter(|value| **value < 150)
            .map(|value| u64::from(fnv(*value) % 5))
            .sum()
    }

    pub(super) fn chili(scope: &mut chili::Scope<'_>, values: &[i32]) -> u64 {
        if values.len() <= 1024 {
            return plain(values);
        }
        let (left, right) = values.split_at(values.len() / 2);
        let (left, right) = scope.join(|scope| chili(scope, left), |scope| chili(scope, right));
        left + right
    }
}

/// Ints uniform in 0..300, from a fixed seed.
pub(super) fn ints(count: usize) -> Vec<i32> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            ((state >> 33) % 300) as i32
        })
        .collect()
}

/// A body that goes through many arrays in turn, or the branch predictor learns the one answer. Every contestant
/// sees the same arrays in the same order, and answers with the sum of a whole round.
fn rotating<'a>(
    name: &'static str,
    data: &'a [i32],
    size: usize,
    mut body: impl FnMut(&[i32]) -> u64 + 'a,
) -> Contestant<'a, u64> {
    let arrays = data.len() / size;
    let next = Cell::new(0);
    Contestant::new(name, move || {
        let array = next.get();
        next.set(if array + 1 == arrays { 0 } else { array + 1 });
        body(&data[array * size..][..size])
    })
}

pub(super) fn sizes(effort: Effort, report: &mut Report, pool: &WorkStealing) {
    let most = effort.pick(100_000, 50_000_000, 50_000_000);
    let data = ints(most);
    for size in [100, 1_000, 30_000, 100_000, 1_000_000, 3_000_000, 50_000_000] {
        if size > most {
            break;
        }
        // A round takes some milliseconds, so that the first call's wake-up does not count for all of it.
        let calls = (effort.pick(20_000, 1_000_000, 3_000_000) / size).max(1);
        let rounds =
            effort.pick(1, if size >= 50_000_000 { 4 } else { 15 }, if size >= 50_000_000 { 15 } else { 41 });
        let arrays = &data[..(most / size).min(calls.max(1)) * size];
        #[cfg_attr(not(feature = "peers"), expect(unused_mut, reason = "the peers are added"))]
        let mut contestants = vec![
            rotating("ours", arrays, size, |values| ours(pool, black_box(values))),
            rotating("plain loop", arrays, size, |values| plain(black_box(values))),
        ];
        #[cfg(feature = "peers")]
        contestants.extend([
            rotating("rayon par_iter", arrays, size, |values| peers::rayon(black_box(values))),
            rotating("rayon min_len(10_000)", arrays, size, |values| peers::rayon_min_len(black_box(values))),
            rotating("chili grain 1024", arrays, size, |values| {
                peers::chili(&mut chili::Scope::global(), black_box(values))
            }),
        ]);
        let times = alternate(rounds, calls, contestants);
        for peer in &times[1..] {
            report.time(SUITE, &format!("kernel {size}"), &times[0], peer);
        }
    }
}

/// One call after every worker had 3 ms to fall asleep.
pub(super) fn after_a_gap(effort: Effort, report: &mut Report, pool: &WorkStealing) {
    let gap = effort.pick(Duration::from_micros(100), Duration::from_millis(3), Duration::from_millis(3));
    let rounds = effort.pick(2, 60, 300);
    let data = ints(100_000);
    let expected = plain(&data);
    let mut times = [Vec::new(), Vec::new()];
    type Body<'a> = Box<dyn Fn() -> u64 + 'a>;
    let mut contestants: Vec<(&str, Body<'_>)> = vec![("ours", Box::new(|| ours(pool, &data)))];
    #[cfg(feature = "peers")]
    contestants.push(("rayon par_iter", Box::new(|| peers::rayon(&data))));
    #[cfg(not(feature = "peers"))]
    contestants.push(("plain loop", Box::new(|| plain(&data))));
    for _ in 0..rounds {
        for (index, (name, body)) in contestants.iter().enumerate() {
            // sleeps because the idle gap is what is measured.
            std::thread::sleep(gap);
            let start = Instant::now();
            let answer = black_box(body());
            times[index].push(start.elapsed().as_nanos() as f64);
            assert_eq!(answer, expected, "{name} answers differently");
        }
    }
    let [ours, peer] = times;
    let (ours, peer) = (Times::from_nanos("ours", ours), Times::from_nanos(contestants[1].0, peer));
    report.time(SUITE, "kernel 100000 after 3 ms idle", &ours, &peer);
}

/// Elements whose cost grows a thousandfold along the range: equal parts are unequal work.
fn costly(index: usize, count: usize) -> u64 {
    let rounds = 1 + index * 1_000 / count;
    (0..rounds).fold(index as u64, |hash, _| (hash ^ 0x5bd1).wrapping_mul(0x0100_0000_01b3))
}

pub(super) fn irregular(effort: Effort, report: &mut Report, pool: &WorkStealing) {
    let count = effort.pick(200, 20_000, 20_000);
    let rounds = effort.pick(1, 25, 101);
    #[cfg(feature = "peers")]
    use rayon::prelude::*;
    let contestants = vec![
        Contestant::new("ours", || {
            pool.range(0..count).adaptive().map(|i| costly(i, count)).reduce(|| 0, u64::wrapping_add)
        }),
        #[cfg(feature = "peers")]
        Contestant::new("rayon par_iter", || {
            (0..count).into_par_iter().map(|i| costly(i, count)).reduce(|| 0, u64::wrapping_add)
        }),
        Contestant::new("plain loop", || (0..count).map(|i| costly(i, count)).fold(0, u64::wrapping_add)),
    ];
    let times = alternate(rounds, 1, contestants);
    for peer in &times[1..] {
        report.time(SUITE, &format!("irregular {count}"), &times[0], peer);
    }
}
