//! A hash join: a large stream looks every item up in a table made of a small one.
//!
//! Expected bottleneck: the lookups in a table of 100,000 entries. The small side is consumed whole before the first item of the large one.

#[cfg(feature = "peers")]
use super::peers;
use super::tally::{Tally, mix};
#[cfg(feature = "peers")]
use super::threads;
use super::{completed, judge};
use crate::harness::{Contestant, Effort, alternate};
use crate::report::Report;
use filbert_flow::{Pipeline, Share, processors};
use filbert_pool::Stages;
use hashbrown::HashMap;

/// A key and something beside it.
pub(super) type Pair = (u64, u64);

/// The table of all who may choose.
pub(super) type Table = HashMap<u64, u64, foldhash::fast::RandomState>;

/// How many items the small side has; every key is there once.
pub(super) const SMALL: u64 = 100_000;

/// An item of the large side.
#[inline]
pub(super) fn fact(number: u64) -> Pair {
    // A tenth finds nothing.
    (((mix(number) >> 32) * (SMALL + SMALL / 10)) >> 32, number)
}

/// An item of the small side.
#[inline]
pub(super) fn small(key: u64) -> Pair {
    (key, mix(key))
}

/// What a pair that was found adds to the answer.
#[inline]
pub(super) fn weigh(value: u64, payload: u64) -> u64 {
    mix(value ^ payload)
}

pub(super) fn run(effort: Effort, report: &mut Report) {
    let facts = effort.pick(10_000, 2_000_000, 10_000_000);
    let stages = Stages::start().expect("the settings fit");
    let contestants = vec![
        Contestant::new("ours", || ours(&stages, facts)),
        #[cfg(feature = "peers")]
        Contestant::new("timely broadcast", || peers::timely::join(threads(), facts, false)),
        #[cfg(feature = "peers")]
        Contestant::new("timely exchange", || peers::timely::join(threads(), facts, true)),
        #[cfg(feature = "peers")]
        Contestant::new("renoir ship_broadcast", || peers::renoir::join_broadcast(threads(), facts)),
        #[cfg(feature = "peers")]
        Contestant::new("renoir ship_hash", || peers::renoir::join_hash(threads(), facts)),
        #[cfg(feature = "peers")]
        Contestant::new("rayon", || peers::rayon::join(facts)),
        Contestant::new("plain loop", || plain(facts)),
    ];
    let times = alternate(effort.pick(1, 3, 7), 1, contestants);
    let case = format!("join of {} M with 100 k", facts / 1_000_000);
    judge(report, &case, facts, &times, &["timely", "renoir"], 1.0);
}

fn ours(stages: &Stages, facts: u64) -> u64 {
    let tally = Tally::new();
    let mut sum = tally.clone();
    let small = Pipeline::read(processors::iterate(|share: Share| share.part_of(0..SMALL))).map(small);
    let pipeline = Pipeline::read(processors::iterate(move |share: Share| share.part_of(0..facts)))
        .map(fact)
        .hash_join(small, |fact| fact.0, |small| small.0, |fact, small| (fact.1, small.1))
        .write(processors::for_each(move |(value, payload)| sum.add(weigh(value, payload))));
    completed(stages, pipeline);
    tally.total()
}

fn plain(facts: u64) -> u64 {
    let table: Table = (0..SMALL).map(small).collect();
    let found = |(key, value)| table.get(&key).map(|payload| weigh(value, *payload));
    (0..facts).map(fact).filter_map(found).fold(0, u64::wrapping_add)
}
