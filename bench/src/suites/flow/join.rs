//! A hash join: a large stream looks every item up in a table made of a small one.
//!
//! Expected bottleneck: the lookups in a table of 100,000 entries. The small side is consumed whole before the first item of the large one.

#[cfg(feature = "peers")]
use super::peers;
use super::tally::{Tally, mix};
use super::{judge, threads};
use crate::harness::{Contestant, Effort, alternate};
use crate::report::Report;
use filbert_flow::{DagBuilder, Failure, Inbox, Many, Outbox, Processor, Step, processors};
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
    let facts = effort.pick(10_000, 10_000_000, 10_000_000);
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
    ];
    let times = alternate(effort.pick(1, 5, 9), 1, contestants);
    let case = format!("join of {} M with 100 k", facts / 1_000_000);
    judge(report, &case, facts, &times, &["timely", "renoir"], 1.0);
}

/// The small side is broadcast and comes first.
struct HashJoin {
    table: Table,
}

const SMALL_SIDE: usize = 1;

impl Processor for HashJoin {
    type In = (Pair, Pair);
    type Out = Many<Pair>;

    fn process(&mut self, inbox: &mut Inbox<Self::In>, outbox: &mut Outbox<Self::Out>) -> Result<Step, Failure> {
        if inbox.ordinal() == SMALL_SIDE {
            self.table.extend(inbox.at::<SMALL_SIDE>().drain());
            return Ok(Step::Again);
        }
        let large = inbox.at::<0>().take(outbox.room());
        let find = |(key, value)| self.table.get(&key).map(|payload| (value, *payload));
        outbox.emit_from(&mut large.filter_map(find));
        Ok(Step::Again)
    }
}

fn ours(stages: &Stages, facts: u64) -> u64 {
    let tally = Tally::new();
    let mut dag = DagBuilder::new("join");
    let large = dag.vertex("large", processors::iterate(move |share| share.part_of(0..facts).map(fact)));
    let small = dag.vertex("small", processors::iterate(|share| share.part_of(0..SMALL).map(small)));
    let join = dag.vertex("join", |_| HashJoin { table: Table::default() });
    let mut sum = tally.clone();
    let sink = dag.vertex("sink", processors::for_each(move |(value, payload)| sum.add(weigh(value, payload))));
    dag.edge(large.output().to(join.input_at::<0>()));
    dag.edge(small.output().to(join.input_at::<SMALL_SIDE>()).broadcast().priority(-1));
    dag.edge(join.output().to(sink.input()));
    let dag = dag.build().expect("the graph is sound");
    dag.submit(stages).and_then(|job| job.wait()).expect("the job completes");
    tally.total()
}
