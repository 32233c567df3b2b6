//! Random DAGs in simulation: forks that rejoin, random priorities, queues of 1 to 4 items, consumers that close early, processors that fail,
//! sleep or hoard, buffers that keep a few items and spill the rest to disk. Each ends with the right items or is refused at planning;
//! none hangs.
//!
//! A simulation in which nothing can run while someone waits panics by itself: that is how a hang is seen.

mod node;
mod shape;

use filbert_flow::{DagError, JobError, JobStatus};
use filbert_pool::{StageKind, Stages, StagesBuilder, simulate};
use node::Trouble;
use shape::Shape;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Few workers for all stages but `flow`: the simulator looks at each of them for every step.
fn stages(seed: u64) -> Stages {
    let few = |builder: StagesBuilder, kind| builder.threads(kind, 1);
    let kinds =
        [StageKind::Partition, StageKind::Query, StageKind::Fragment, StageKind::Cpu, StageKind::Event];
    let builder = kinds.into_iter().fold(Stages::builder(), few);
    builder.threads(StageKind::Generic, 1).threads(StageKind::Flow, 3).simulated(seed).unwrap()
}

/// Returns how many bytes its buffers have written to disk.
fn run(seed: u64) -> u64 {
    let shape = Shape::random(seed);
    let built = match shape.build() {
        Ok(built) => built,
        Err(DagError::Rejoin { .. }) => {
            assert!(shape.refuses, "refused although buffers are allowed");
            return 0;
        }
        Err(other) => panic!("{other}"),
    };
    let stages = stages(seed);
    let clock = stages.clock();
    built.clock.set(clock).unwrap_or_else(|_| unreachable!("set once"));
    let job = built.dag.submit(&stages).unwrap();
    let outcome = job.wait();
    let found = built.found();
    match outcome {
        Ok(()) => {
            assert_eq!(job.status(), JobStatus::Completed);
            shape.check(&found);
        }
        Err(JobError::Failed(failure)) => {
            let culprit = shape.nodes.iter().position(|node| node.name() == failure.vertex);
            let trouble = culprit.map(|node| shape.nodes[node].trouble);
            let Some(Trouble::Fails { panics, .. }) = trouble else { panic!("{failure} was not planned") };
            assert_eq!(failure.panicked, panics);
            assert_eq!(job.status(), JobStatus::Failed);
        }
        Err(other) => panic!("{other}"),
    }
    assert_eq!(built.alive(), 0, "processors are left behind");
    let depth: usize = stages.snapshot().iter().map(|stage| stage.depth).sum();
    assert_eq!(depth, 0, "tasks are left behind");
    job.metrics().edges.iter().map(|edge| edge.spilled_bytes).sum()
}

#[test]
fn random_dags_end_with_the_right_items() {
    let (ran, spilled) = (AtomicUsize::new(0), AtomicUsize::new(0));
    simulate::seeds("random_dags_end_with_the_right_items", 0..10_000, |seed| {
        ran.fetch_add(1, Ordering::Relaxed);
        spilled.fetch_add(usize::from(run(seed) > 0), Ordering::Relaxed);
    });
    let (ran, spilled) = (ran.into_inner(), spilled.into_inner());
    // A few seeds, asked for by number, may spill nothing.
    assert!(ran < 1_000 || spilled * 20 > ran, "of {ran} DAGs only {spilled} have spilled to disk");
}

#[test]
fn the_dags_are_of_all_kinds() {
    // What is drawn must include what is to be tested.
    let shapes: Vec<Shape> = (0..500).map(Shape::random).collect();
    let share =
        |what: fn(&Shape) -> bool| shapes.iter().filter(|shape| what(shape)).count() * 100 / shapes.len();
    let refused = shapes.iter().filter(|shape| shape.build().is_err()).count() * 100 / shapes.len();
    assert!((2..30).contains(&refused), "{refused} % are refused");
    let planned = |shape: &Shape| {
        let strict = Shape { refuses: true, ..shape.clone() };
        strict.build().is_err()
    };
    assert!(share(planned) > 20, "{} % need a buffer", share(planned));
    let fails = |shape: &Shape| shape.nodes.iter().any(|node| matches!(node.trouble, Trouble::Fails { .. }));
    assert!((5..40).contains(&share(fails)), "{} % fail", share(fails));
    let closes =
        |shape: &Shape| shape.nodes.iter().any(|node| matches!(node.trouble, Trouble::Closes { .. }));
    assert!((5..60).contains(&share(closes)), "{} % close early", share(closes));
}
