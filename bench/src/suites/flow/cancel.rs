//! How long a busy job takes to be gone.
//!
//! Every tasklet ends before its next turn, so the expected bound is the longest call of a processor, which handles 1,024 items, and
//! the turn that it is a part of, a millisecond at most.

use super::SUITE;
use crate::harness::{Effort, Latencies};
use crate::report::Report;
use filbert_flow::{Dag, DagBuilder, JobError, processors};
use filbert_pool::Stages;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// A job without end, and how many items arrived so far.
fn endless() -> (Dag, Arc<AtomicU64>) {
    let arrived = Arc::new(AtomicU64::new(0));
    let mut dag = DagBuilder::new("endless");
    let numbers = dag.vertex("numbers", processors::iterate(|share| share.index as u64..));
    let map = dag.vertex("map", processors::map(|number: u64| number ^ 1));
    let seen = Arc::clone(&arrived);
    let sink = dag.vertex(
        "sink",
        processors::for_each(move |number: u64| {
            if black_box(number).is_multiple_of(1024) {
                seen.fetch_add(1, Ordering::Relaxed);
            }
        }),
    );
    dag.edge(numbers.output().to(map.input()));
    dag.edge(map.output().to(sink.input()).partitioned());
    (dag.build().expect("the graph is sound"), arrived)
}

pub(super) fn run(effort: Effort, report: &mut Report) {
    let times = effort.pick(3, 100, 100);
    let stages = Stages::start().expect("the settings fit");
    let (dag, arrived) = endless();
    let mut nanos = Vec::with_capacity(times);
    for _ in 0..times {
        let before = arrived.load(Ordering::Relaxed);
        let job = dag.submit(&stages).expect("the stages run");
        while arrived.load(Ordering::Relaxed) < before + 100 {
            std::thread::yield_now();
        }
        let begin = Instant::now();
        job.cancel();
        let ended = job.wait();
        nanos.push(begin.elapsed().as_nanos() as u64);
        assert!(matches!(ended, Err(JobError::Cancelled { .. })), "{ended:?}");
    }
    let took = Latencies::from_nanos(nanos);
    for (label, share) in [("median", 0.5), ("p99", 0.99), ("longest", 1.0)] {
        report.alone(
            SUITE,
            &format!("cancel of a busy job, {times} times, {label}"),
            "us",
            took.micros(share),
        );
    }
}
