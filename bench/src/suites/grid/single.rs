//! Gets and sets of one key at a time, by two threads, over a million keys in random order.

use super::entries::{Entries, Sum, fill, keys, number, stamp, value};
use crate::harness::{Contestant, Draw, Effort, alternate};
use crate::report::Report;
use filbert_grid::Grid;
use filbert_pool::Stages;

const THREADS: u64 = 2;

/// One thread's share: so many operations, of which `sets` in a hundred are sets.
fn work(
    entries: &dyn Entries,
    keys: &[String],
    size: usize,
    operations: usize,
    sets: usize,
    seed: u64,
) -> Sum {
    let mut draw = Draw::new(seed);
    let mut fresh = value(0, size);
    let mut sum: Sum = 0;
    for _ in 0..operations {
        let at = draw.below(keys.len());
        if draw.below(100) < sets {
            stamp(&mut fresh, at);
            entries.set(&keys[at], &fresh);
        } else {
            let found = entries.get(&keys[at]).expect("every key is there");
            assert_eq!(found.len(), size, "the value of {} is whole", keys[at]);
            sum = sum.wrapping_add(number(&found));
        }
    }
    sum
}

fn beside_each_other(
    entries: &dyn Entries,
    keys: &[String],
    size: usize,
    operations: usize,
    sets: usize,
) -> Sum {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (1..=THREADS)
            .map(|seed| scope.spawn(move || work(entries, keys, size, operations, sets, seed)))
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).fold(0, Sum::wrapping_add)
    })
}

pub(super) fn run(effort: Effort, report: &mut Report) {
    for (size, count) in
        [(32, effort.pick(1_000, 300_000, 1_000_000)), (1024, effort.pick(100, 50_000, 1_000_000))]
    {
        let keys = keys(count);
        let stages = Stages::start().expect("the default settings fit");
        let map = Grid::new(&stages).map("bench");
        #[cfg(feature = "peers")]
        let (dash, moka) = (super::peers::dash(), super::peers::Moka::new());
        let all: Vec<(&'static str, &dyn Entries)> = vec![
            ("filbert", &map),
            #[cfg(feature = "peers")]
            ("dashmap", &dash),
            #[cfg(feature = "peers")]
            ("moka", &moka),
        ];
        for (_, entries) in &all {
            fill(*entries, &keys, size);
        }
        let operations = effort.pick(1_000, 100_000, 500_000);
        for sets in [5, 50] {
            let keys = &keys;
            let contestants = all
                .iter()
                .map(|&(name, entries)| {
                    Contestant::new(name, move || beside_each_other(entries, keys, size, operations, sets))
                })
                .collect();
            let times = alternate(effort.pick(1, 3, 9), 1, contestants);
            let case = format!("{size} B, {}/{sets} get/set, {THREADS} threads", 100 - sets);
            let done = operations as f64 * THREADS as f64;
            for peer in &times[1..] {
                report.rate("grid", &case, done, &times[0], peer);
            }
            if times.len() == 1 {
                report.alone("grid", &case, "M/s", done * 1e3 / times[0].median());
            }
        }
    }
}
