//! Jobs end to end: every forwarding pattern, real stages and simulated ones.
#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]

use filbert_flow::processors::{Collected, collect, filter, flat_map, iterate, map};
use filbert_flow::{Dag, DagBuilder, Edge, Failure, Inbox, Many, Outbox, Processor, Share, Step};
use filbert_pool::{Stages, simulate};

/// Numbers below `count` over `edge`, then to a sink; the sink's list.
fn numbers(count: u64, edge: impl FnOnce(Edge<u64>) -> Edge<u64>) -> (Dag, Collected<u64>) {
    let mut dag = DagBuilder::new("numbers");
    let source = dag.vertex("source", iterate(move |share| share.part_of(0..count)));
    let double = dag.vertex("double", map(|n: u64| n * 2));
    let list = Collected::new();
    let sink = dag.vertex("sink", collect(&list));
    dag.edge(source.output().to(double.input()));
    dag.edge(edge(double.output().to(sink.input())));
    (dag.build().unwrap(), list)
}

fn sorted(list: &Collected<u64>) -> Vec<u64> {
    let mut items = list.take();
    items.sort_unstable();
    items
}

fn evens(count: u64) -> Vec<u64> {
    (0..count).map(|n| n * 2).collect()
}

#[test]
fn every_pattern_brings_every_item_on_real_threads() {
    let stages = Stages::start().unwrap();
    let patterns: [fn(Edge<u64>) -> Edge<u64>; 5] = [
        |edge| edge.unicast(),
        |edge| edge.partitioned(),
        |edge| edge.partitioned_by(|n| n % 7).queue_size(3),
        |edge| edge.partitioned_with(|n| (n % 271) as u32),
        |edge| edge.all_to_one().high_water_mark(1),
    ];
    for pattern in patterns {
        let (dag, list) = numbers(20_000, pattern);
        dag.submit(&stages).unwrap().wait().unwrap();
        assert_eq!(sorted(&list), evens(20_000));
    }
}

#[test]
fn every_pattern_brings_every_item_in_simulation() {
    simulate::seeds("every_pattern_brings_every_item_in_simulation", 0..300, |seed| {
        let stages = Stages::simulated(seed);
        let size = 1 + (seed % 4) as usize;
        let (dag, list) = numbers(100, move |edge| {
            let edge = edge.queue_size(size).high_water_mark(1 + (seed % 3) as usize);
            match seed % 4 {
                0 => edge,
                1 => edge.partitioned(),
                2 => edge.all_to_one(),
                _ => edge.partitioned_by(|n| n % 3),
            }
        });
        dag.submit(&stages).unwrap().wait().unwrap();
        assert_eq!(sorted(&list), evens(100));
    });
}

#[test]
fn a_broadcast_reaches_every_processor() {
    let stages = Stages::simulated(1);
    let (dag, list) = numbers(100, |edge| edge.broadcast());
    dag.submit(&stages).unwrap().wait().unwrap();
    let workers = stages.flow().threads() as u64;
    assert_eq!(sorted(&list), (0..100 * workers).map(|n| n / workers * 2).collect::<Vec<_>>());
}

#[test]
fn the_same_dag_runs_many_times_also_at_once() {
    let stages = Stages::start().unwrap();
    let (dag, list) = numbers(1_000, |edge| edge.partitioned());
    let jobs: Vec<_> = (0..5).map(|_| dag.submit(&stages).unwrap()).collect();
    for job in jobs {
        job.wait().unwrap();
    }
    assert_eq!(sorted(&list), (0..5_000).map(|n| n / 5 * 2).collect::<Vec<u64>>());
}

/// Emits which processor saw which number.
struct Witness(usize);

impl Processor for Witness {
    type In = Many<u64>;
    type Out = Many<(usize, u64)>;
    fn process(
        &mut self,
        inbox: &mut Inbox<Many<u64>>,
        outbox: &mut Outbox<Self::Out>,
    ) -> Result<Step, Failure> {
        let index = self.0;
        outbox.emit_from(&mut inbox.take(outbox.room()).map(|n| (index, n)));
        Ok(Step::Again)
    }
}

/// An edge that gave all items to one processor brought every item, too.
#[test]
fn unicast_shares_items_out_equally() {
    for seed in 0..50 {
        let stages = Stages::simulated(seed);
        let mut dag = DagBuilder::new("shares");
        let source = dag.vertex("source", iterate(|share: Share| share.part_of(0..1_000_u64)));
        let witness = dag.vertex("witness", |share: Share| Witness(share.index));
        let list = Collected::new();
        let sink = dag.vertex("sink", collect(&list));
        dag.local_parallelism(&source, 1);
        dag.local_parallelism(&witness, 5);
        // Room for all of them: nobody gets more because another is full.
        dag.edge(source.output().to(witness.input()).unicast().queue_size(1_000));
        dag.edge(witness.output().to(sink.input()));
        dag.build().unwrap().submit(&stages).unwrap().wait().unwrap();
        let mut shares = [0; 5];
        list.take().iter().for_each(|(index, _)| shares[*index] += 1);
        assert_eq!(shares.iter().sum::<usize>(), 1_000);
        assert!(shares.iter().all(|share| (180..=220).contains(share)), "seed {seed}: {shares:?}");
    }
}

#[test]
fn equal_keys_meet_in_one_processor() {
    let stages = Stages::start().unwrap();
    let mut dag = DagBuilder::new("witness");
    let left = dag.vertex("left", iterate(|_| 0..1_000_u64));
    let right = dag.vertex("right", iterate(|_| 0..1_000_u64));
    let witness = dag.vertex("witness", |share: Share| Witness(share.index));
    let list = Collected::new();
    let sink = dag.vertex("sink", collect(&list));
    dag.local_parallelism(&witness, 5);
    dag.edge(left.output().to(witness.input()).partitioned());
    dag.edge(right.output().to(witness.input_number(1)).partitioned_by(|n| *n));
    dag.edge(witness.output().to(sink.input()));
    dag.build().unwrap().submit(&stages).unwrap().wait().unwrap();
    let mut seen = list.take();
    assert_eq!(seen.len(), 2 * 1_000 * stages.flow().threads());
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 1_000, "every number was seen by one processor");
    let used: std::collections::HashSet<_> = seen.iter().map(|(index, _)| index).collect();
    assert_eq!(used.len(), 5, "every processor has a share");
}

#[test]
fn a_fork_copies_items_and_a_flat_map_suspends() {
    simulate::seeds("a_fork_copies_items_and_a_flat_map_suspends", 0..200, |seed| {
        let stages = Stages::simulated(seed);
        let mut dag = DagBuilder::new("fork");
        let source = dag.vertex("source", iterate(|share: Share| share.part_of(0..50)));
        let triple = dag.vertex("triple", flat_map(|n: u64| [n; 3]));
        let odd = dag.vertex("odd", filter(|n: &u64| n % 2 == 1));
        let list = Collected::new();
        let sink = dag.vertex("sink", collect(&list));
        dag.edge(source.output().to(triple.input()).queue_size(2));
        dag.edge(source.output_number(1).to(odd.input()).queue_size(1));
        dag.edge(triple.output().to(sink.input()).queue_size(1).high_water_mark(1));
        dag.edge(odd.output().to(sink.input_number(1)).queue_size(1));
        dag.build().unwrap().submit(&stages).unwrap().wait().unwrap();
        let mut expected: Vec<u64> =
            (0..50).flat_map(|n| [n; 3]).chain((0..50).filter(|n| n % 2 == 1)).collect();
        expected.sort_unstable();
        assert_eq!(sorted(&list), expected);
    });
}

/// What finds room in the very moment that its processor is about to sleep for the last time must not be slept for.
#[test]
fn a_last_flush_that_finds_room_ends_its_processor() {
    let stages = Stages::start().unwrap();
    let (dag, list) = numbers(200, |edge| edge.partitioned().queue_size(16));
    for round in 0..1_000 {
        dag.submit(&stages).unwrap().wait().unwrap_or_else(|error| panic!("round {round}: {error}"));
        assert_eq!(list.take().len(), 200, "round {round}");
    }
}
