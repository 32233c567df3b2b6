//! What a chain of vertices costs: throughput over unicast edges, and the time an item takes through three vertices.
//!
//! `cargo run --release -p filbert-flow --example chain [millions of items, 50] [threads, 2]`
#![expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]

use filbert_flow::processors::{for_each, iterate, map};
use filbert_flow::{DagBuilder, Failure, Many, Outbox, Processor, ProcessorContext, Share, Step};
use filbert_pool::{Clock, StageKind, Stages};
use std::sync::{Arc, Mutex};
use std::task::Waker;
use std::time::{Duration, Instant};

/// Emits the time, once per millisecond.
struct Ticks {
    clock: Clock,
    waker: Option<Waker>,
    left: usize,
    is_due: bool,
}

impl Processor for Ticks {
    type In = ();
    type Out = Many<Instant>;

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.waker = Some(context.waker().clone());
        Ok(())
    }

    fn complete(&mut self, outbox: &mut Outbox<Many<Instant>>) -> Result<Step, Failure> {
        self.is_due = !self.is_due;
        if self.is_due {
            let waker = self.waker.clone().ok_or("init comes first")?;
            self.clock.after(Duration::from_millis(1), move || waker.wake());
            return Ok(Step::Wait);
        }
        outbox.emit(Instant::now());
        self.left -= 1;
        Ok(if self.left == 0 { Step::Done } else { Step::Again })
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let number = |index: usize, default: u64| {
        std::env::args().nth(index).map_or(Ok(default), |text| text.parse::<u64>())
    };
    let (items, threads) = (number(1, 50)? * 1_000_000, number(2, 2)? as usize);
    let stages = Stages::builder().threads(StageKind::Flow, threads).start()?;
    for _ in 0..3 {
        let mut dag = DagBuilder::new("chain");
        let source = dag.vertex("source", iterate(move |share: Share| share.part_of(0..items)));
        let one = dag.vertex("one", map(|n: u64| n + 1));
        let two = dag.vertex("two", map(|n: u64| n ^ 5));
        let sink = dag.vertex(
            "sink",
            for_each(|n: u64| {
                std::hint::black_box(n);
            }),
        );
        dag.edge(source.output().to(one.input()));
        dag.edge(one.output().to(two.input()));
        dag.edge(two.output().to(sink.input()));
        let dag = dag.build()?;
        let began = Instant::now();
        dag.submit(&stages)?.wait()?;
        let took = began.elapsed();
        println!(
            "{items} items over 3 edges in {took:.3?}: {:.0} M/s",
            items as f64 / took.as_secs_f64() / 1e6
        );
    }
    let took = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&took);
    let mut dag = DagBuilder::new("latency");
    let clock = stages.clock();
    let source = dag.vertex("source", move |_: Share| Ticks {
        clock: clock.clone(),
        waker: None,
        left: 2_000,
        is_due: false,
    });
    let steps = ["one", "two", "three"].map(|name| dag.vertex(name, map(|then: Instant| then)));
    let sink = dag.vertex(
        "sink",
        for_each(move |then: Instant| {
            let elapsed = then.elapsed();
            kept.lock().unwrap_or_else(|broken| broken.into_inner()).push(elapsed);
        }),
    );
    dag.edge(source.output().to(steps[0].input()));
    dag.edge(steps[0].output().to(steps[1].input()));
    dag.edge(steps[1].output().to(steps[2].input()));
    dag.edge(steps[2].output().to(sink.input()));
    dag.local_parallelism(&source, 1);
    steps.iter().for_each(|step| dag.local_parallelism(step, 1));
    dag.local_parallelism(&sink, 1);
    dag.build()?.submit(&stages)?.wait()?;
    let mut took = took.lock().unwrap_or_else(|broken| broken.into_inner());
    took.sort_unstable();
    println!(
        "an item through 3 vertices: p50 {:?}, p99 {:?}",
        took[took.len() / 2],
        took[took.len() * 99 / 100]
    );
    Ok(())
}
