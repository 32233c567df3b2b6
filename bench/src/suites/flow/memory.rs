//! A gigabyte of items from a fast source through a slow sink: what the process grows to.
//!
//! Measured as the most that was resident, in a process of its own. The bar is 100 MB: queues and outboxes are bounded, so the source waits.

use super::SUITE;
use crate::harness::Effort;
use crate::report::Report;
use filbert_flow::{DagBuilder, processors};
use filbert_pool::Stages;
use std::process::Command;
use std::time::{Duration, Instant};

const ITEM: usize = 1024;
const BAR_MB: f64 = 100.0;

/// The most memory that this process has had, in MB.
fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|kilobytes| kilobytes.trim().trim_end_matches("kB").trim().parse::<f64>().ok())
        .unwrap_or(0.0)
        / 1024.0
}

fn slow_job(items: u64) {
    let stages = Stages::start().expect("the settings fit");
    let mut dag = DagBuilder::new("slow sink");
    let blocks =
        move |share: filbert_flow::Share| share.part_of(0..items).map(|number| vec![number as u8; ITEM]);
    let source = dag.vertex("blocks", processors::iterate(blocks));
    let sink = dag.vertex(
        "slow",
        processors::for_each(|block: Vec<u8>| {
            // Slower than memory can be filled, by far; a sleep would end the sink's right to be called cooperative.
            let end = Instant::now() + Duration::from_micros(4);
            while Instant::now() < end {
                std::hint::spin_loop();
            }
            drop(block);
        }),
    );
    dag.edge(source.output().to(sink.input()));
    let dag = dag.build().expect("the graph is sound");
    dag.submit(&stages).and_then(|job| job.wait()).expect("the job completes");
}

/// One measurement, in this process: what the suite starts itself for.
pub(crate) fn measure_and_print(items: u64) {
    slow_job(items);
    println!("{}", peak_mb());
}

pub(super) fn run(effort: Effort, report: &mut Report) {
    if effort == Effort::Tiny {
        slow_job(100);
        return;
    }
    let items = (1 << 30) / ITEM as u64;
    let program = std::env::current_exe().expect("this program has a path");
    let output = Command::new(program)
        .args(["flow-memory", "--items", &items.to_string()])
        .output()
        .expect("this program starts once more");
    let text = String::from_utf8_lossy(&output.stdout);
    let peak: f64 = text.trim().parse().unwrap_or_else(|_| panic!("the measurement printed {text:?}"));
    let case = "1 GB of items into a slow sink, most memory";
    report.row(SUITE, case, "MB", peak, Some(("bar", BAR_MB)), true, 0.0);
    report.bar(SUITE, case, BAR_MB / peak, 1.0, 0.0);
}
