//! A fast source and a slow sink over a gigabyte of items; alone in its process, since it looks at the memory of it.
#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]
#![cfg(target_os = "linux")]

use filbert_flow::processors::{for_each, iterate, map};
use filbert_flow::{DagBuilder, Share};
use filbert_pool::{StageKind, Stages};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const ITEM: usize = 1_024;
const ITEMS: u64 = (1 << 30) / ITEM as u64;
const BOUND: usize = 100 << 20;

fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4_096
}

#[test]
fn a_fast_source_and_a_slow_sink_stay_within_their_queues() {
    let stages = Stages::builder().threads(StageKind::Flow, 2).start().unwrap();
    let bytes = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&bytes);
    let mut dag = DagBuilder::new("gigabyte");
    let source =
        dag.vertex("source", iterate(|share: Share| share.part_of(0..ITEMS).map(|_| vec![0_u8; ITEM])));
    let fill = dag.vertex(
        "fill",
        map(|mut item: Vec<u8>| {
            // Touches every page: memory that is only promised does not count.
            item.iter_mut().step_by(512).for_each(|byte| *byte = 1);
            item
        }),
    );
    let sink = dag.vertex(
        "sink",
        for_each(move |item: Vec<u8>| {
            let sum: u64 = item.iter().map(|byte| u64::from(*byte)).sum();
            seen.fetch_add(sum, Ordering::Relaxed);
        }),
    );
    dag.local_parallelism(&sink, 1);
    dag.edge(source.output().to(fill.input()));
    dag.edge(fill.output().to(sink.input()));
    let before = resident();
    let job = dag.build().unwrap().submit(&stages).unwrap();
    let (mut most, deadline) = (0, Instant::now() + Duration::from_secs(600));
    while !job.status().is_over() {
        most = most.max(resident().saturating_sub(before));
        assert!(Instant::now() < deadline, "never done: {:?}", job.metrics());
        // sleeps because memory is looked at again and again.
        std::thread::sleep(Duration::from_millis(1));
    }
    job.wait().unwrap();
    assert_eq!(bytes.load(Ordering::Relaxed), ITEMS * (ITEM / 512) as u64);
    println!("{ITEMS} items of {ITEM} bytes took {} MB at most", most >> 20);
    assert!(most < BOUND, "the job took {} MB", most >> 20);
}
