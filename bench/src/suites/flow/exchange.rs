//! Numbers over one partitioned edge, summed up where they arrive.
//!
//! Expected bottleneck: every item is hashed, copied into a buffer for its consumer and read from there by another core.

use super::judge;
#[cfg(feature = "peers")]
use super::peers;
use super::tally::{Tally, mix};
#[cfg(feature = "peers")]
use super::threads;
use crate::harness::{Contestant, Effort, alternate};
use crate::report::Report;
use filbert_flow::{DagBuilder, processors};
use filbert_pool::Stages;

pub(super) fn ours(stages: &Stages, count: u64) -> u64 {
    let tally = Tally::new();
    let mut dag = DagBuilder::new("exchange");
    let numbers = dag.vertex("numbers", processors::iterate(move |share| share.part_of(0..count)));
    let mut sum = tally.clone();
    let sink = dag.vertex("sum", processors::for_each(move |number: u64| sum.add(mix(number))));
    dag.edge(numbers.output().to(sink.input()).partitioned());
    let dag = dag.build().expect("the graph is sound");
    dag.submit(stages).and_then(|job| job.wait()).expect("the job completes");
    tally.total()
}

pub(super) fn run(effort: Effort, report: &mut Report) {
    let count = effort.pick(10_000, 10_000_000, 100_000_000);
    let stages = Stages::builder().start().expect("the settings fit");
    let contestants = vec![
        Contestant::new("ours", || ours(&stages, count)),
        #[cfg(feature = "peers")]
        Contestant::new("timely exchange", || peers::timely::exchange(threads(), count)),
        #[cfg(feature = "peers")]
        Contestant::new("renoir repartition_by", || peers::renoir::repartition(threads(), count)),
        #[cfg(feature = "peers")]
        Contestant::new("renoir group_by", || peers::renoir::group(threads(), count)),
        #[cfg(feature = "peers")]
        Contestant::new("rayon sum", || peers::rayon::sum(count)),
        Contestant::new("plain loop", || (0..count).map(mix).fold(0, u64::wrapping_add)),
    ];
    let times = alternate(effort.pick(1, 5, 7), 1, contestants);
    let case = format!("{} M u64 over a partitioned edge", count / 1_000_000);
    judge(report, &case, count, &times, &["timely", "renoir"], 1.0);
}
