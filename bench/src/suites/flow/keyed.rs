//! Numbers -> map -> filter -> count per key -> sink, with every item exchanged, or counted where it is made first.
//!
//! Expected bottleneck: with 1,024 keys the exchange, with a million the misses of the hash tables. All tables of ours, timely and rayon
//! are hashbrown with foldhash; renoir brings its own.

#[cfg(feature = "peers")]
use super::peers;
use super::tally::{Tally, mix};
use super::{judge, threads};
use crate::harness::{Contestant, Effort, alternate};
use crate::report::Report;
use filbert_flow::{DagBuilder, Failure, Inbox, Many, Outbox, Processor, Step, processors};
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

/// Counts items by key and emits the counts in the end.
struct CountByKey {
    mask: u64,
    counts: Counts<u64>,
    results: Option<hashbrown::hash_map::IntoIter<u64, u64>>,
}

impl Processor for CountByKey {
    type In = Many<u64>;
    type Out = Many<(u64, u64)>;

    fn process(&mut self, inbox: &mut Inbox<Self::In>, _: &mut Outbox<Self::Out>) -> Result<Step, Failure> {
        for item in inbox.drain() {
            *self.counts.entry(item & self.mask).or_insert(0) += 1;
        }
        Ok(Step::Again)
    }

    fn complete(&mut self, outbox: &mut Outbox<Self::Out>) -> Result<Step, Failure> {
        let results = self.results.get_or_insert_with(|| std::mem::take(&mut self.counts).into_iter());
        Ok(if outbox.emit_from(results) { Step::Done } else { Step::Again })
    }
}

/// Every item goes to the processor that counts its key.
fn ours_exchanged(stages: &Stages, count: u64, mask: u64) -> u64 {
    let tally = Tally::new();
    let mut dag = DagBuilder::new("keyed count");
    let numbers = move |share: filbert_flow::Share| share.part_of(0..count).map(mix).filter(|item| keeps(*item));
    let numbers = dag.vertex("numbers", processors::iterate(numbers));
    let counts = dag.vertex("count", move |_| CountByKey { mask, counts: Counts::default(), results: None });
    let mut sum = tally.clone();
    let sink = dag.vertex("sink", processors::for_each(move |(key, count)| sum.add(weigh(key, count))));
    dag.edge(numbers.output().to(counts.input()).partitioned_by(move |item| item & mask));
    dag.edge(counts.output().to(sink.input()));
    let dag = dag.build().expect("the graph is sound");
    dag.submit(stages).and_then(|job| job.wait()).expect("the job completes");
    tally.total()
}

const KEYS: [(u64, &str); 2] = [(1 << 10, "1,024"), (1 << 20, "1 M")];

pub(super) fn exchange(effort: Effort, report: &mut Report) {
    let count = effort.pick(10_000, 10_000_000, 50_000_000);
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
        let times = alternate(effort.pick(1, 5, 9), 1, contestants);
        let case = format!("{} M u64, {label} keys, exchanged", count / 1_000_000);
        judge(report, &case, count, &times, &["timely"], 1.2);
    }
}

pub(super) fn two_stage(effort: Effort, report: &mut Report) {
    let count = effort.pick(10_000, 10_000_000, 50_000_000);
    let stages = Stages::start().expect("the settings fit");
    for (keys, label) in KEYS {
        let mask = keys - 1;
        let contestants = vec![
            Contestant::new("ours", || ours_exchanged(&stages, count, mask)),
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
        let times = alternate(effort.pick(1, 5, 9), 1, contestants);
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
