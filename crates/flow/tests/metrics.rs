//! What a job says of itself.
#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]

use filbert_flow::aggregate::count;
use filbert_flow::event_time::tumbling;
use filbert_flow::processors::{Collected, collect, filter, for_each, iterate};
use filbert_flow::{
    DagBuilder, Failure, Forwarding, Inbox, Many, Outbox, Pipeline, Processor, Share, Step, VertexMetrics,
};
use filbert_pool::Stages;
use std::sync::mpsc;
use std::time::{Duration, Instant};

#[test]
fn items_are_counted_per_vertex_and_edge() {
    let stages = Stages::simulated(7);
    let mut dag = DagBuilder::new("counted");
    let source = dag.vertex("source", iterate(|share: Share| share.part_of(0..1_000)));
    let odd = dag.vertex("odd", filter(|n: &u64| n % 2 == 1));
    let sink = dag.vertex("sink", for_each(|_: u64| {}));
    dag.local_parallelism(&sink, 3);
    dag.edge(source.output().to(odd.input()).queue_size(10));
    dag.edge(odd.output().to(sink.input()).broadcast().priority(2));
    let job = dag.build().unwrap().submit(&stages).unwrap();
    assert!(job.metrics().vertices.is_empty(), "nothing has started");
    job.wait().unwrap();
    let metrics = job.metrics();
    let counts: Vec<_> =
        metrics.vertices.iter().map(|v| (v.name.as_str(), v.items_in, v.items_out, v.processors)).collect();
    let workers = stages.flow().threads();
    assert_eq!(counts, [("source", 0, 1_000, workers), ("odd", 1_000, 500, workers), ("sink", 1_500, 0, 3)]);
    let [first, second] = &metrics.edges[..] else { panic!("two edges") };
    assert_eq!((first.from.as_str(), first.to.as_str(), first.items), ("source", "odd", 1_000));
    assert_eq!(first.capacity, (workers * workers * 10) as u64);
    assert_eq!((second.forwarding, second.priority, second.items), (Forwarding::Broadcast, 2, 1_500));
    assert_eq!((first.queued, first.held, second.queued, second.held), (0, 0, 0, 0));
    assert!(metrics.vertices.iter().all(|vertex| vertex.calls > 0));
}

/// Watermarks go to every consumer, and come from every producer: counted as items they would make more of them than there are.
#[test]
fn watermarks_are_no_items() {
    let stages = Stages::simulated(8);
    let windows = Collected::new();
    let dag = Pipeline::read(iterate(|share: Share| share.part_of(0..1_000)))
        .event_time(|number| *number as i64, 0)
        .group_by(|number| number % 3)
        .window(tumbling(100))
        .aggregate(count())
        .write(collect(&windows))
        .to_dag()
        .unwrap();
    let job = dag.submit(&stages).unwrap();
    job.wait().unwrap();
    let results = windows.take().len() as u64;
    let metrics = job.metrics();
    let mut counts: Vec<_> = metrics.vertices.iter().map(|v| (v.items_in, v.items_out)).collect();
    counts.sort_unstable();
    // The sink may be a part of the windows' vertex.
    assert!(counts.contains(&(0, 1_000)), "{counts:?}");
    assert!(counts.iter().any(|(items_in, _)| *items_in == 1_000), "{counts:?}");
    assert!(counts.iter().all(|(items_in, _)| [0, 1_000, results].contains(items_in)), "{counts:?}");
    assert_eq!(
        metrics.edges[0].items.max(metrics.edges[metrics.edges.len() - 1].items),
        1_000,
        "{metrics:?}"
    );
}

/// Takes as long as its master likes.
struct Slow(mpsc::Receiver<()>);

impl Processor for Slow {
    type In = Many<u64>;
    type Out = ();

    fn process(&mut self, inbox: &mut Inbox<Many<u64>>, _: &mut Outbox<()>) -> Result<Step, Failure> {
        inbox.pop();
        let _ = self.0.recv();
        Ok(Step::Again)
    }
}

#[test]
fn back_pressure_and_long_calls_are_seen_while_the_job_runs() {
    let stages = Stages::builder().threads(filbert_pool::StageKind::Flow, 2).start().unwrap();
    let (sender, receiver) = mpsc::channel();
    let receiver = std::sync::Arc::new(std::sync::Mutex::new(Some(receiver)));
    let mut dag = DagBuilder::new("slow");
    let source = dag.vertex("source", iterate(|_| 0..100_000_u64));
    let sink = dag.vertex("sink", move |_: Share| Slow(receiver.lock().unwrap().take().unwrap()));
    dag.local_parallelism(&source, 1);
    dag.local_parallelism(&sink, 1);
    dag.edge(source.output().to(sink.input()).queue_size(64).high_water_mark(8));
    let job = dag.build().unwrap().submit(&stages).unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    // The sink is in its call, the queue is full, and the source waits for room for ever longer.
    // Not only once: it may have been held up by a sink that had not begun, and have gone on.
    let metrics = loop {
        let metrics = job.metrics();
        let is_blocked = |source: &VertexMetrics| source.blocked >= Duration::from_millis(5);
        if metrics.vertices.first().is_some_and(is_blocked) && metrics.edges[0].held == 8 {
            break metrics;
        }
        assert!(Instant::now() < deadline, "never blocked: {metrics:?}");
        std::thread::yield_now();
    };
    let [busy, blocked, idle] =
        metrics.vertices[0].shares(metrics.vertices[0].busy + metrics.vertices[0].blocked);
    assert!(blocked > 0.0 && busy + blocked <= 1.0 + 1e-9 && idle == 0.0);
    drop(sender);
    job.wait().unwrap();
    // Whoever looks now sees empty queues, and knows that they were full.
    let edge = &job.metrics().edges[0];
    assert_eq!((edge.fill(), edge.fullest), (0.0, 1.0), "{edge:?}");
    let sink = &job.metrics().vertices[1];
    assert!(sink.long_calls >= 1 && sink.longest_call >= Duration::from_millis(1), "{sink:?}");
}
