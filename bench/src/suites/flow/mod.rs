//! The dataflow engine against timely, renoir and a plain parallel fold.
//!
//! Question: what does an engine cost that can be cancelled, measured and simulated, and that blocks nobody, beside engines that own their
//! threads? Expected bottleneck: hash tables and allocations where there are any, else the copy of every item through a queue between
//! two cores. Ceiling: rayon's fold and reduce, which move no item at all. All contestants do the same work on the same items with
//! the same allocator and must give the same answer; renoir and timely are written in several ways, and the best one counts.

mod cancel;
mod exchange;
mod idle;
mod join;
mod keyed;
mod latency;
mod memory;
#[cfg(feature = "peers")]
mod peers;
mod tally;
mod text;
mod words;

pub(crate) use memory::measure_and_print;

use crate::harness::{Effort, Times};
use crate::report::Report;
use filbert_flow::Pipeline;
use filbert_pool::Stages;

const SUITE: &str = "flow";

/// Runs the parts of the suite whose name contains `only`.
pub(crate) fn run(effort: Effort, only: &str, report: &mut Report) {
    type Part = fn(Effort, &mut Report);
    let parts: [(&str, Part); 9] = [
        ("words", words::run),
        ("keyed exchange", keyed::exchange),
        ("keyed two-stage", keyed::two_stage),
        ("exchange", exchange::run),
        ("join", join::run),
        ("idle", idle::run),
        ("latency", latency::run),
        ("memory", memory::run),
        ("cancel", cancel::run),
    ];
    for (name, part) in parts {
        if name.contains(only) {
            part(effort, report);
        }
    }
}

/// How many threads every contestant has.
#[cfg(feature = "peers")]
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Runs a pipeline to its end.
fn completed(stages: &Stages, pipeline: Pipeline) {
    let dag = pipeline.to_dag().expect("the graph is sound");
    dag.submit(stages).and_then(|job| job.wait()).expect("the job completes");
}

/// A row for every peer, and the bar over the best of those whose name begins with one of `judges`.
///
/// `times` begins with ours.
fn judge(report: &mut Report, case: &str, items: u64, times: &[Times], judges: &[&str], bar: f64) {
    let (ours, peers) = (&times[0], &times[1..]);
    for peer in peers {
        report.rate(SUITE, case, items as f64, ours, peer);
    }
    let judging = |peer: &&Times| judges.iter().any(|judge| peer.name.starts_with(judge));
    let best = peers.iter().filter(judging).min_by(|a, b| a.median().total_cmp(&b.median()));
    if let Some(best) = best {
        let spread = ours.spread() + best.spread();
        report.bar(SUITE, &format!("{case}: {}", best.name), best.median() / ours.median(), bar, spread);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_runs_at_a_tiny_size() {
        run(Effort::Tiny, "", &mut Report::new(true));
    }
}
