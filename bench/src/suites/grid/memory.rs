//! What an entry takes beside the bytes of its key and value.
//!
//! Measured as what the process grows by, so allocator and table are in it; each size in a process of its own, because memory that was
//! freed does not go back. Averaged over sizes from one million to two, because a table that has just doubled is half empty.

use super::entries::{Entries, encode, fill, keys, value};
use crate::harness::{Effort, resident};
use crate::report::Report;
use filbert_grid::Grid;
use filbert_pool::Stages;
use std::process::Command;

const VALUE: usize = 32;

/// Bytes per entry over key and value.
fn overhead(entries: &dyn Entries, count: usize) -> f64 {
    let keys = keys(count);
    let data = encode(&keys[0]).as_bytes().len() + encode(&value(0, VALUE)[..]).as_bytes().len();
    let before = resident();
    fill(entries, &keys, VALUE);
    (resident() - before) / count as f64 - data as f64
}

fn of_filbert(count: usize) -> f64 {
    let stages = Stages::start().expect("the default settings fit");
    overhead(&Grid::new(&stages).map("memory"), count)
}

/// One measurement, in this process: what the suite starts itself for.
pub(crate) fn measure_and_print(count: usize, peer: bool) {
    #[cfg(feature = "peers")]
    if peer {
        println!("{}", overhead(&super::peers::dash(), count));
        return;
    }
    let _ = peer;
    println!("{}", of_filbert(count));
}

fn elsewhere(count: usize, peer: bool) -> f64 {
    let program = std::env::current_exe().expect("this program has a path");
    let mut command = Command::new(program);
    command.args(["memory", "--entries", &count.to_string()]);
    if peer {
        command.arg("--peer");
    }
    let output = command.output().expect("this program starts once more");
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().unwrap_or_else(|_| panic!("the measurement of {count} entries printed {text:?}"))
}

pub(super) fn run(effort: Effort, report: &mut Report) {
    if effort == Effort::Tiny {
        report.alone("grid", "memory per entry over key and value", "B", of_filbert(1_000));
        return;
    }
    let tenths = if effort == Effort::Quick { vec![10, 16] } else { (10..=20).collect() };
    let average = |peer: bool| {
        let all: Vec<f64> = tenths.iter().map(|tenth| elsewhere(tenth * 100_000, peer)).collect();
        all.iter().sum::<f64>() / all.len() as f64
    };
    let ours = average(false);
    let peer = cfg!(feature = "peers").then(|| ("dashmap", average(true)));
    report.row("grid", "memory per entry over key and value, 1-2 M", "B", ours, peer, true, 0.0);
}
