//! Forks that rejoin with different priorities, buffered edges, and edges with codecs.
#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]

use filbert_flow::processors::{Collected, collect, iterate, map};
use filbert_flow::{
    Dag, DagBuilder, DataCodec, Edge, Failure, Inbox, JobError, JobSettings, Many, Outbox, Processor, Rejoin,
    Share, Step,
};
use filbert_pool::{Stages, simulate};

/// Emits (ordinal, item), and fails when ordinal 0 gives an item after ordinal 1.
struct InOrder {
    later: bool,
}

impl Processor for InOrder {
    type In = Many<i64>;
    type Out = Many<(usize, i64)>;

    fn process(
        &mut self,
        inbox: &mut Inbox<Many<i64>>,
        outbox: &mut Outbox<Self::Out>,
    ) -> Result<Step, Failure> {
        let ordinal = inbox.ordinal();
        if ordinal == 0 && self.later {
            return Err("an edge of lower priority came first".into());
        }
        self.later |= ordinal == 1;
        outbox.emit_from(&mut inbox.take(outbox.room()).map(|item| (ordinal, item)));
        Ok(Step::Again)
    }
}

type Found = Collected<(usize, i64)>;

/// The scenario of the fork: one vertex feeds two edges, whose branches rejoin at a vertex that consumes one of them first.
fn fork(
    items: i64,
    rejoin: Rejoin,
    late: impl FnOnce(Edge<i64>) -> Edge<i64>,
) -> Result<(Dag, Found), filbert_flow::DagError> {
    let list = Collected::new();
    let mut dag = DagBuilder::new("fork and rejoin");
    dag.on_rejoin(rejoin);
    let source = dag.vertex(
        "source",
        iterate(move |share: Share| {
            let part = share.part_of(0..items as u64);
            part.start as i64..part.end as i64
        }),
    );
    let left = dag.vertex("left", map(|n: i64| n));
    let right = dag.vertex("right", map(|n: i64| -n));
    let join = dag.vertex("join", |_: Share| InOrder { later: false });
    let sink = dag.vertex("sink", collect(&list));
    dag.edge(source.output().to(left.input()).queue_size(4));
    dag.edge(source.output_number(1).to(right.input()).queue_size(4));
    dag.edge(left.output().to(join.input()).priority(0).queue_size(4));
    dag.edge(late(right.output().to(join.input_number(1)).priority(1).queue_size(4)));
    dag.edge(join.output().to(sink.input()));
    Ok((dag.build()?, list))
}

fn check(list: &Found, items: i64) {
    let mut found = list.take();
    found.sort_unstable();
    let mut expected: Vec<_> = (0..items).flat_map(|n| [(0, n), (1, -n)]).collect();
    expected.sort_unstable();
    assert_eq!(found.len(), expected.len());
    assert!(found == expected);
}

#[test]
fn a_fork_that_rejoins_with_different_priorities_does_not_hang() {
    let (dag, list) = fork(20_000, Rejoin::Buffer, |edge| edge).unwrap();
    assert!(dag.to_mermaid().contains("v2 -- \"priority 1, buffered\" --> v3"), "{}", dag.to_mermaid());
    assert!(dag.to_mermaid().contains("v1 --> v3"), "only the late edge is buffered: {}", dag.to_mermaid());
    let stages = Stages::start().unwrap();
    dag.submit(&stages).unwrap().wait().unwrap();
    check(&list, 20_000);
}

#[test]
fn or_it_is_refused_by_name() {
    let refused = fork(10, Rejoin::Refuse, |edge| edge).map(|_| ()).unwrap_err().to_string();
    assert!(
        refused.contains("the edge right -> join is held up until what it holds up itself has ended"),
        "{refused}"
    );
    assert!(fork(10, Rejoin::Refuse, |edge| edge.buffered(DataCodec)).is_ok());
    assert!(fork(10, Rejoin::Refuse, |edge| edge.priority(0)).is_ok());
}

/// A held edge stops what is above it only as far as the next buffer: planning gave the late edge a second one.
#[test]
fn a_branch_that_is_buffered_already_needs_no_second_buffer() {
    let mut dag = DagBuilder::new("buffered early");
    dag.on_rejoin(Rejoin::Refuse);
    let source = dag.vertex("source", iterate(|share: Share| share.part_of(0..5_000).map(|n| n as i64)));
    let late = dag.vertex("late", map(|n: i64| n));
    let join = dag.vertex("join", map(|n: i64| n));
    let list = Collected::new();
    let sink = dag.vertex("sink", collect(&list));
    dag.edge(source.output().to(join.input()).priority(0).queue_size(2));
    dag.edge(source.output_number(1).to(late.input()).queue_size(2).buffered(DataCodec).spill_beyond(16));
    dag.edge(late.output().to(join.input_number(1)).priority(1).queue_size(2));
    dag.edge(join.output().to(sink.input()));
    let stages = Stages::simulated(7);
    let job = dag.build().unwrap().submit(&stages).unwrap();
    job.wait().unwrap();
    assert_eq!(list.take().len(), 10_000);
    assert!(job.metrics().edges.iter().any(|edge| edge.spilled_bytes > 0));
}

#[test]
fn two_joins_in_opposite_order_are_found() {
    let mut dag = DagBuilder::new("crossed");
    dag.on_rejoin(Rejoin::Refuse);
    let [a, b] = ["a", "b"].map(|name| dag.vertex(name, iterate(|_| 0..100_u64)));
    let [v, w] = ["v", "w"].map(|name| dag.vertex(name, filbert_flow::processors::for_each(|_: u64| {})));
    dag.edge(a.output().to(v.input()).priority(0));
    dag.edge(b.output().to(v.input_number(1)).priority(1));
    dag.edge(b.output_number(1).to(w.input()).priority(0));
    dag.edge(a.output_number(1).to(w.input_number(1)).priority(1));
    let refused = dag.build().unwrap_err().to_string();
    assert!(refused.contains("the edges b -> v, a -> w hold each other up"), "{refused}");
}

#[test]
fn a_buffer_spills_to_disk_and_gives_everything_back() {
    let folder = std::env::temp_dir().join(format!("filbert-spill-test-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let stages = Stages::start().unwrap();
    let (dag, list) = fork(300_000, Rejoin::Buffer, |edge| edge.with_codec(DataCodec)).unwrap();
    let job = dag.submit_with(&stages, JobSettings::new().spill_folder(&folder)).unwrap();
    job.wait().unwrap();
    check(&list, 300_000);
    let late = &job.metrics().edges[3];
    assert_eq!((late.from.as_str(), late.items, late.buffered), ("right", 300_000, 0));
    assert!(late.spilled_bytes > 100_000, "{late:?}");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0, "a file is left");
    std::fs::remove_dir(&folder).unwrap();
}

/// What was on disk comes before what is in memory, and each as it came.
#[test]
fn a_buffer_keeps_the_order_of_its_items() {
    const ITEMS: i64 = 60_000;
    for seed in 0..3 {
        let list = Collected::new();
        let mut dag = DagBuilder::new("in order");
        let source = dag.vertex("source", iterate(|_| 0..ITEMS));
        let right = dag.vertex("right", map(|n: i64| n));
        let join = dag.vertex("join", |_: Share| InOrder { later: false });
        let sink = dag.vertex("sink", collect(&list));
        dag.local_parallelism(&source, 1);
        dag.local_parallelism(&right, 1);
        dag.local_parallelism(&join, 1);
        dag.local_parallelism(&sink, 1);
        dag.edge(source.output().to(join.input()).priority(0).queue_size(4));
        dag.edge(source.output_number(1).to(right.input()).queue_size(4));
        let late = right.output().to(join.input_number(1)).priority(1).queue_size(4);
        dag.edge(late.buffered(DataCodec).spill_beyond(1_000));
        dag.edge(join.output().to(sink.input()));
        let job = dag.build().unwrap().submit(&Stages::simulated(seed)).unwrap();
        job.wait().unwrap();
        assert!(job.metrics().edges.iter().any(|edge| edge.spilled_bytes > 0), "{:?}", job.metrics());
        let late = list.take().into_iter().filter(|(ordinal, _)| *ordinal == 1).map(|(_, item)| item);
        assert!(late.eq(0..ITEMS), "out of order with seed {seed}");
    }
}

#[test]
fn a_buffer_without_a_codec_fails_its_job_at_its_limit() {
    let stages = Stages::start().unwrap();
    let (dag, _) = fork(100_000, Rejoin::Buffer, |edge| edge.buffered_in_memory(1_000)).unwrap();
    let Err(JobError::Failed(failure)) = dag.submit(&stages).unwrap().wait() else { panic!("it must fail") };
    assert_eq!(failure.vertex, "right -> join");
    assert!(failure.message.contains("has reached its limit of 1000 items in memory"), "{failure}");
}

#[test]
fn a_disk_that_fails_fails_the_job() {
    let stages = Stages::start().unwrap();
    let (dag, _) = fork(300_000, Rejoin::Buffer, |edge| edge.with_codec(DataCodec)).unwrap();
    let settings = JobSettings::new().spill_folder("/no/such/folder");
    let Err(JobError::Failed(failure)) = dag.submit_with(&stages, settings).unwrap().wait() else {
        panic!("it must fail")
    };
    assert_eq!(failure.vertex, "right -> join");
    assert!(failure.message.contains("/no/such/folder"), "{failure}");
}

#[test]
fn a_buffer_spills_in_simulation_too() {
    simulate::seeds("a_buffer_spills_in_simulation_too", 0..20, |seed| {
        let stages = Stages::simulated(seed);
        let (dag, list) = fork(20_000, Rejoin::Buffer, |edge| edge.with_codec(DataCodec)).unwrap();
        dag.submit(&stages).unwrap().wait().unwrap();
        check(&list, 20_000);
    });
}

#[test]
fn items_of_distributed_edges_go_through_their_codec() {
    /// Adds one when it reads: so that the test sees that it was used.
    fn codec() -> impl filbert_flow::ItemCodec<i64> {
        (
            |item: &i64, bytes: &mut Vec<u8>| bytes.extend(item.to_le_bytes()),
            |bytes: &[u8]| -> Result<i64, Failure> { Ok(i64::from_le_bytes(bytes.try_into()?) + 1) },
        )
    }
    let stages = Stages::simulated(1);
    for (is_encoded, more) in [(false, 0), (true, 1)] {
        let list = Collected::new();
        let mut dag = DagBuilder::new("distributed");
        let source = dag.vertex("source", iterate(|share: Share| (0..10_i64).skip(10 * share.index)));
        let sink = dag.vertex("sink", collect(&list));
        dag.edge(source.output().to(sink.input()).partitioned().distributed(codec()));
        let settings = JobSettings::new().encode_distributed(is_encoded);
        dag.build().unwrap().submit_with(&stages, settings).unwrap().wait().unwrap();
        let mut found = list.take();
        found.sort_unstable();
        assert_eq!(found, (more..10 + more).collect::<Vec<_>>());
    }
}

#[test]
fn a_buffer_of_any_size_but_none_is_a_buffer() {
    let refused = fork(10, Rejoin::Buffer, |edge| edge.buffered_in_memory(0)).map(|_| ()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the buffer of the edge from \"right\" to \"join\" is 0; it must be at least 1"
    );
    let (dag, list) = fork(1_000, Rejoin::Buffer, |edge| edge.buffered_in_memory(usize::MAX)).unwrap();
    dag.submit(&Stages::simulated(1)).unwrap().wait().unwrap();
    check(&list, 1_000);
}
