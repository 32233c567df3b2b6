//! One processor that works for seconds on every entry of a map, beside gets on the same map and on another.
//!
//! Question: do those who have nothing to do with a long operation notice it? A grid whose partition threads run one operation after
//! the other makes them wait until it ends. Expected bottleneck: the processor uses all cores, so a reader shares them; the
//! bar for the other map is 3 times the undisturbed 99th percentile.

use super::entries::{Entries, encode, fill, keys};
use crate::harness::{Draw, Effort, Latencies};
use crate::report::Report;
use filbert_grid::{Code, Entry, EntryProcessor, Grid, GridSettings, Map, Registry};
use filbert_pool::Stages;
use filbert_wire::Data;
use std::time::{Duration, Instant};

/// Computes for a fixed time on every entry.
struct Burn(Duration);

impl EntryProcessor for Burn {
    fn process(&self, _: &mut Entry<'_>) -> Result<Option<Data>, String> {
        let begin = Instant::now();
        while begin.elapsed() < self.0 {
            std::hint::spin_loop();
        }
        Ok(None)
    }
}

/// How long gets take until `is_over`.
fn gets(map: &Map, keys: &[String], is_over: impl FnMut() -> bool) -> Latencies {
    let mut draw = Draw::new(7);
    let get = |key: &String| assert!(Entries::get(map, key).is_some(), "every key is there");
    Latencies::of_bystander(|| &keys[draw.below(keys.len())], get, is_over)
}

pub(super) fn run(effort: Effort, report: &mut Report) {
    let wanted = Duration::from_millis(effort.pick(20, 1_000, 5_000));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let entries = effort.pick(500, 10_000, 50_000);
    let burn = wanted.mul_f64(cores as f64 / entries as f64);
    let registry = Registry::new().with_processor("burn", move |_| Ok(Burn(burn)));
    let stages = Stages::start().expect("the default settings fit");
    let grid = Grid::with(&stages, GridSettings::default(), registry);
    let (busy, other) = (grid.map("busy"), grid.map("other"));
    let keys = keys(entries);
    for map in [&busy, &other] {
        fill(map, &keys, 32);
    }
    for (map, bystander) in [("another map", &other), ("the same map", &busy)] {
        let end = Instant::now() + wanted;
        let undisturbed = gets(bystander, &keys, || Instant::now() >= end);
        let begin = Instant::now();
        let processing = busy.execute_on_entries(&Code::named("burn", encode(&())));
        let disturbed = gets(bystander, &keys, || processing.is_done());
        let took = begin.elapsed();
        assert_eq!(processing.wait().expect("the processor runs").len(), 0);
        report.alone(
            "grid",
            &format!("processor beside gets on {map}, whole"),
            "ms",
            took.as_secs_f64() * 1e3,
        );
        for (label, share) in [("p50", 0.50), ("p99", 0.99), ("p99.9", 0.999)] {
            let case = format!("{label} of gets on {map} beside it");
            let (ours, alone) = (disturbed.micros(share), undisturbed.micros(share));
            report.row("grid", &case, "us", ours, Some(("undisturbed", alone)), true, 0.0);
        }
    }
}
