//! Source -> three vertices -> sink, one item per millisecond: how long an item is under way.
//!
//! Question: what does being woken by data cost, hop by hop, when everybody sleeps between two items? Expected bottleneck: waking a thread,
//! once per item if the hops stay on the worker that was woken. The peer is the same chain of tokio tasks with bounded channels.
//! Both chains get their items from a thread that sleeps a millisecond at a time, through a queue that wakes them.

use super::SUITE;
#[cfg(feature = "peers")]
use super::threads;
use crate::harness::{Effort, Latencies};
use crate::report::Report;
use filbert_flow::{DagBuilder, Failure, Many, Outbox, Processor, ProcessorContext, Step, processors};
use filbert_pool::Stages;
use filbert_sync::conveyor::{self, Closed, Receiver};
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::time::{Duration, Instant};

/// What goes through the chain: when it was sent.
type Item = Instant;

const QUEUE: usize = 1024;

/// A source of what another thread sends.
struct FromThread {
    items: Receiver<Item>,
    ready: Vec<Item>,
    waker: Option<Waker>,
}

impl Processor for FromThread {
    type In = ();
    type Out = Many<Item>;

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.waker = Some(context.waker().clone());
        Ok(())
    }

    fn complete(&mut self, outbox: &mut Outbox<Self::Out>) -> Result<Step, Failure> {
        match self.items.receive_into(&mut self.ready, outbox.room()) {
            Err(Closed) => return Ok(Step::Done),
            Ok(_) => outbox.emit_from(&mut self.ready.drain(..)),
        };
        let waker = self.waker.as_ref().expect("init came first");
        Ok(if self.items.ready_or_wake(waker) { Step::Again } else { Step::Wait })
    }
}

/// Sends an item a millisecond.
fn pace(items: usize, mut send: impl FnMut(Item)) {
    for _ in 0..items {
        // sleeps because the pace is the load
        std::thread::sleep(Duration::from_millis(1));
        send(Instant::now());
    }
}

fn ours(stages: &Stages, items: usize) -> Vec<u64> {
    let (mut sender, receiver) = conveyor::lane(QUEUE);
    let receiver = Arc::new(Mutex::new(Some(receiver)));
    let mut dag = DagBuilder::new("chain");
    let source = dag.vertex("source", move |_| FromThread {
        items: receiver.lock().expect("nobody panics").take().expect("there is one source"),
        ready: Vec::new(),
        waker: None,
    });
    dag.local_parallelism(&source, 1);
    let mut last = source.output();
    for name in ["first", "second", "third"] {
        let vertex = dag.vertex(name, processors::map(|item: Item| item));
        dag.local_parallelism(&vertex, 1);
        dag.edge(last.to(vertex.input()));
        last = vertex.output();
    }
    let nanos = Arc::new(Mutex::new(Vec::with_capacity(items)));
    let arrived = Arc::clone(&nanos);
    let sink = dag.vertex(
        "sink",
        processors::for_each(move |sent: Item| {
            arrived.lock().expect("nobody panics").push(sent.elapsed().as_nanos() as u64);
        }),
    );
    dag.local_parallelism(&sink, 1);
    dag.edge(last.to(sink.input()));
    let job = dag.build().expect("the graph is sound").submit(stages).expect("the stages run");
    pace(items, |item| assert!(sender.try_send(item).is_ok(), "there is room"));
    drop(sender);
    job.wait().expect("the job completes");
    std::mem::take(&mut *nanos.lock().expect("nobody panics"))
}

#[cfg(feature = "peers")]
fn of_tokio(runtime: &tokio::runtime::Runtime, items: usize) -> Vec<u64> {
    use tokio::sync::mpsc;
    let (sender, mut last) = mpsc::channel::<Item>(QUEUE);
    // The source, which takes from outside, and three vertices.
    for _ in 0..4 {
        let (next, receiver) = mpsc::channel(QUEUE);
        let mut from = std::mem::replace(&mut last, receiver);
        runtime.spawn(async move {
            while let Some(item) = from.recv().await {
                if next.send(item).await.is_err() {
                    break;
                }
            }
        });
    }
    let sink = runtime.spawn(async move {
        let mut nanos = Vec::with_capacity(items);
        while let Some(sent) = last.recv().await {
            nanos.push(sent.elapsed().as_nanos() as u64);
        }
        nanos
    });
    pace(items, |item| assert!(sender.try_send(item).is_ok(), "there is room"));
    drop(sender);
    runtime.block_on(sink).expect("the sink ends well")
}

pub(super) fn run(effort: Effort, report: &mut Report) {
    let (rounds, items) = effort.pick((1, 5), (4, 500), (10, 1_000));
    let stages = Stages::start().expect("the settings fit");
    #[cfg(feature = "peers")]
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads())
        .build()
        .expect("the runtime starts");
    let mut all = [Vec::new(), Vec::new()];
    for _ in 0..rounds {
        all[0].extend(ours(&stages, items));
        #[cfg(feature = "peers")]
        all[1].extend(of_tokio(&runtime, items));
    }
    let [ours, peer] = all;
    let ours = Latencies::from_nanos(ours);
    let peer = (!peer.is_empty()).then(|| Latencies::from_nanos(peer));
    assert_eq!(ours.count(), rounds * items, "every item arrives");
    for (label, share) in [("p50", 0.50), ("p99", 0.99)] {
        let case = format!("source, three vertices, sink, 1 item/ms, {label}");
        let us = ours.micros(share);
        let Some(peer) = &peer else {
            report.alone(SUITE, &case, "us", us);
            continue;
        };
        let them = peer.micros(share);
        report.row(SUITE, &case, "us", us, Some(("tokio tasks", them)), true, 0.0);
        report.bar(SUITE, &case, them / us, 1.0, 0.0);
    }
}
