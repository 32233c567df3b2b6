//! Numbers -> map -> filter -> count per key -> sink, with every item exchanged, or counted where it is made first.
//!
//! Expected bottleneck: with 1,024 keys the exchange, with a million the misses of the hash tables. All tables of ours, timely and rayon
//! are hashbrown with foldhash; renoir brings its own.

#[cfg(feature = "peers")]
use super::peers;
use super::tally::{Tally, mix};
#[cfg(feature = "peers")]
use super::threads;
use super::{completed, judge};
use crate::harness::{Contestant, Effort, alternate};
use crate::report::Report;
use filbert_flow::aggregate::count;
use filbert_flow::{MetaSupplier, Pipeline, Share, processors};
use filbert_pool::Stages;
use hashbrown::HashMap;

/// The table of all who may choose.
pub(super) type Counts<K> = HashMap<K, u64, foldhash::fast::RandomState>;

/// Three quarters of all items.
#[inline]
pub(super) fn keeps(item: u64) -> bool {
    item >> 62 != 0
}

/// What a result adds to the answer.
#[inline]
pub(super) fn weigh(key: u64, count: u64) -> u64 {
    mix(key ^ 0x5bd1_e995).wrapping_mul(count)
}

/// The mixed numbers that are kept: as much of a pipeline as both jobs share.
macro_rules! kept {
    ($count:expr) => {
        Pipeline::read(processors::iterate(move |share: Share| share.part_of(0..$count)))
            .map(mix)
            .filter(|item| keeps(*item))
    };
}

/// Every item goes to the processor that counts its key.
fn ours_exchanged(stages: &Stages, items: u64, mask: u64) -> u64 {
    let tally = Tally::new();
    let pipeline = kept!(items).group_by(move |item| item & mask).fold(count()).write(sink(&tally));
    completed(stages, pipeline);
    tally.total()
}

/// Items are counted where they are made, and the counts go to the processor of their key.
fn ours_counted(stages: &Stages, items: u64, mask: u64) -> u64 {
    let tally = Tally::new();
    let pipeline = kept!(items).group_by(move |item| item & mask).aggregate(count()).write(sink(&tally));
    completed(stages, pipeline);
    tally.total()
}

fn sink(
    tally: &Tally,
) -> impl MetaSupplier<
    Processor = processors::ForEach<(u64, u64), impl FnMut((u64, u64)) + Clone + Send + Sync + use<>>,
> + use<> {
    let mut sum = tally.clone();
    processors::for_each(move |(key, count)| sum.add(weigh(key, count)))
}

const KEYS: [(u64, &str); 2] = [(1 << 10, "1,024"), (1 << 20, "1 M")];

pub(super) fn exchange(effort: Effort, report: &mut Report) {
    let count = effort.pick(10_000, 5_000_000, 50_000_000);
    let stages = Stages::start().expect("the settings fit");
    for (keys, label) in KEYS {
        let mask = keys - 1;
        let contestants = vec![
            Contestant::new("ours", || ours_exchanged(&stages, count, mask)),
            #[cfg(feature = "peers")]
            Contestant::new("timely operators", || peers::timely::count(threads(), count, mask)),
            #[cfg(feature = "peers")]
            Contestant::new("timely fused", || peers::timely::count_fused(threads(), count, mask)),
            #[cfg(feature = "peers")]
            Contestant::new("renoir map.filter", || peers::renoir::count(threads(), count, mask)),
            #[cfg(feature = "peers")]
            Contestant::new("renoir filter_map", || peers::renoir::count_filter_map(threads(), count, mask)),
            #[cfg(feature = "peers")]
            Contestant::new("renoir source", || peers::renoir::count_source(threads(), count, mask)),
            Contestant::new("plain loop", || plain(count, mask)),
        ];
        let times = alternate(effort.pick(1, 3, 7), 1, contestants);
        let case = format!("{} M u64, {label} keys, exchanged", count / 1_000_000);
        judge(report, &case, count, &times, &["timely"], 1.2);
    }
}

pub(super) fn two_stage(effort: Effort, report: &mut Report) {
    let count = effort.pick(10_000, 5_000_000, 50_000_000);
    let stages = Stages::start().expect("the settings fit");
    for (keys, label) in KEYS {
        let mask = keys - 1;
        let contestants = vec![
            Contestant::new("ours", || ours_counted(&stages, count, mask)),
            #[cfg(feature = "peers")]
            Contestant::new("timely counted first", || peers::timely::count_twice(threads(), count, mask)),
            #[cfg(feature = "peers")]
            Contestant::new("renoir group_by_fold", || peers::renoir::count_twice(threads(), count, mask)),
            #[cfg(feature = "peers")]
            Contestant::new("renoir source", || peers::renoir::count_twice_source(threads(), count, mask)),
            #[cfg(feature = "peers")]
            Contestant::new("renoir fold_assoc", || peers::renoir::count_folded(threads(), count, mask)),
            #[cfg(feature = "peers")]
            Contestant::new("rayon fold", || peers::rayon::count(count, mask)),
            Contestant::new("plain loop", || plain(count, mask)),
        ];
        let times = alternate(effort.pick(1, 3, 7), 1, contestants);
        let case = format!("{} M u64, {label} keys, two stages", count / 1_000_000);
        judge(report, &case, count, &times, &["timely", "renoir"], 1.0);
    }
}

fn plain(count: u64, mask: u64) -> u64 {
    let mut counts = Counts::default();
    for item in (0..count).map(mix).filter(|item| keeps(*item)) {
        *counts.entry(item & mask).or_insert(0) += 1;
    }
    counts.into_iter().map(|(key, count)| weigh(key, count)).fold(0, u64::wrapping_add)
}
