//! What a second thread brings on this machine, whoever uses it: about the ceiling of a speed-up that is measured beside it. Work that waits for
//! memory may gain more than this, which waits for the processor.
//!
//! Two processors are not always two: they may be the two halves of one core, or have guests of other machines. Then one thread alone is faster
//! than each of two, and how much changes from minute to minute. So the same rounds that measure a speed-up also time threads that share
//! nothing at all: each sorts numbers of its own, which fit its first caches.

use crate::harness::{Draw, Times};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Numbers that are sorted at a time.
const NUMBERS: usize = 4_096;

/// Some milliseconds of it.
const SORTS: usize = 80;

/// Times of one thread, and of two that have as much to do each.
#[derive(Debug, Default)]
pub(super) struct Ceiling {
    nanos: [Vec<f64>; 2],
}

impl Ceiling {
    /// Measures both, at least once and for about so long.
    pub(super) fn measure(&mut self, about: Duration) {
        let begin = Instant::now();
        while self.nanos[0].is_empty() || begin.elapsed() < about {
            for threads in 1..=2 {
                let begin = Instant::now();
                std::thread::scope(|scope| {
                    for seed in 1..threads {
                        scope.spawn(move || sort(seed));
                    }
                    sort(0);
                });
                self.nanos[threads - 1].push(begin.elapsed().as_nanos() as f64);
            }
        }
    }

    /// The times that one thread and two of them take for as much.
    pub(super) fn times(self) -> [Times; 2] {
        let [one, two] = self.nanos;
        [Times::from_nanos("1 thread", one), Times::from_nanos("2 threads", two).per(2.0)]
    }
}

fn sort(seed: usize) {
    let mut draw = Draw::new(seed as u64 + 1);
    let mut numbers = vec![0; NUMBERS];
    for _ in 0..SORTS {
        numbers.fill_with(|| draw.below(usize::MAX));
        numbers.sort_unstable();
        black_box(&numbers);
    }
}
