//! What one partitioned edge costs: numbers from every source processor to the sink processor that their hash points to.
//!
//! `cargo run --release -p filbert-flow --example exchange [millions of items, 100] [threads, 2]`
#![expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]

use filbert_flow::processors::{for_each, iterate};
use filbert_flow::{DagBuilder, Share};
use filbert_pool::{StageKind, Stages};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Adds its part to the whole when its processor is gone.
struct Sum {
    part: u64,
    whole: Arc<AtomicU64>,
}

impl Clone for Sum {
    fn clone(&self) -> Self {
        Self { part: 0, whole: Arc::clone(&self.whole) }
    }
}

impl Drop for Sum {
    fn drop(&mut self) {
        self.whole.fetch_add(self.part, Ordering::Relaxed);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let number = |index: usize, default: u64| {
        std::env::args().nth(index).map_or(Ok(default), |text| text.parse::<u64>())
    };
    let (items, threads) = (number(1, 100)? * 1_000_000, number(2, 2)? as usize);
    let stages = Stages::builder().threads(StageKind::Flow, threads).start()?;
    for _ in 0..5 {
        let whole = Arc::new(AtomicU64::new(0));
        let mut sum = Sum { part: 0, whole: Arc::clone(&whole) };
        let mut dag = DagBuilder::new("exchange");
        let source = dag.vertex("source", iterate(move |share: Share| share.part_of(0..items)));
        let sink = dag.vertex(
            "sink",
            for_each(move |n: u64| {
                let sum = &mut sum;
                sum.part = sum.part.wrapping_add(n);
            }),
        );
        dag.edge(source.output().to(sink.input()).partitioned());
        let dag = dag.build()?;
        let began = Instant::now();
        dag.submit(&stages)?.wait()?;
        let took = began.elapsed();
        assert_eq!(whole.load(Ordering::Relaxed), (0..items).fold(0, u64::wrapping_add));
        println!("{items} items in {took:.3?}: {:.0} M/s", items as f64 / took.as_secs_f64() / 1e6);
    }
    Ok(())
}
