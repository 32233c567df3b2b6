//! A map read by SQL, and by gets at the same time.
//!
//! Question: how many entries a second does a statement read that looks at all of them, and does a reader of single entries notice?
//! Expected bottleneck: a cache miss or two per entry, then decoding its fields. A page of the scan holds one partition for some
//! 50 microseconds and two are under way at a time, of 271: the bar for gets is 3 times their undisturbed 99th percentile.

use super::SUITE;
use super::engine::{Engine, Ours};
use super::entries::{GROUPS, averages, fill, key, x};
use crate::harness::{Draw, Effort, Latencies, Times};
use crate::report::Report;
use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::{Float64Type, Int32Type};
use filbert_grid::{Grid, Map};
use filbert_sql::SqlSettings;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const BAR: f64 = 3.0;

/// Checks every average: what is fast and wrong is not fast.
fn check(batches: &[RecordBatch], count: i64) {
    let mut expected = vec![(0_i64, 0_i64); GROUPS.min(count) as usize];
    for number in 0..count {
        let (sum, rows) = &mut expected[(number % GROUPS) as usize];
        (*sum, *rows) = (*sum + x(number), *rows + 1);
    }
    let mut groups = 0;
    for batch in batches {
        let (y, averages) =
            (batch.column(0).as_primitive::<Int32Type>(), batch.column(1).as_primitive::<Float64Type>());
        for (y, average) in y.values().iter().zip(averages.values()) {
            let (sum, rows) = expected[*y as usize];
            assert!((average - sum as f64 / rows as f64).abs() < 1e-6, "the average of group {y}");
            groups += 1;
        }
    }
    assert_eq!(groups, expected.len(), "every group is there once");
}

/// How long gets take until `is_over`.
fn gets(map: &Map, count: i64, is_over: impl FnMut() -> bool) -> Latencies {
    let mut draw = Draw::new(7);
    let get = |key| assert!(map.get(key).wait().expect("the grid runs").is_some(), "every key is there");
    Latencies::of_bystander(|| key(draw.below(count as usize) as i64), get, is_over)
}

pub(super) fn run(effort: Effort, report: &mut Report) {
    let count = effort.pick(2_000, 1_000_000, 10_000_000);
    let rounds = effort.pick(1, 3, 5);
    let ours = Ours::new(SqlSettings::default());
    let grid = Grid::new(&ours.stages);
    ours.sql.attach(&grid).expect("tables can be added");
    let map = fill(&grid, "points", count);
    let text = averages("points");

    let mut nanos = Vec::new();
    for _ in 0..rounds {
        let begin = Instant::now();
        let batches = ours.ask(&text);
        nanos.push(begin.elapsed().as_nanos() as f64);
        check(&batches, count);
    }
    let times = Times::from_nanos("filbert", nanos);
    let case = format!("scan of {count} entries");
    report.alone(SUITE, &case, "M/s", count as f64 * 1e3 / times.median());

    let alone_for = Duration::from_millis(effort.pick(10, 1_000, 3_000));
    let end = Instant::now() + alone_for;
    let undisturbed = gets(&map, count, || Instant::now() >= end);
    let is_over = AtomicBool::new(false);
    let (mut scans, begin) = (0_u32, Instant::now());
    let disturbed = std::thread::scope(|scope| {
        let reader = scope.spawn(|| gets(&map, count, || is_over.load(Ordering::Relaxed)));
        while scans == 0 || begin.elapsed() < alone_for {
            ours.ask(&text);
            scans += 1;
        }
        let took = begin.elapsed().as_secs_f64() * 1e6;
        is_over.store(true, Ordering::Relaxed);
        report.alone(SUITE, &format!("{case} beside gets"), "M/s", count as f64 * f64::from(scans) / took);
        reader.join().expect("the reader ends well")
    });
    for (label, share) in [("p50", 0.50), ("p99", 0.99), ("p99.9", 0.999)] {
        let case = format!("{label} of gets beside a scan of the map");
        let (ours, alone) = (disturbed.micros(share), undisturbed.micros(share));
        report.row(SUITE, &case, "us", ours, Some(("undisturbed", alone)), true, 0.0);
        if label == "p99" {
            report.bar(SUITE, &format!("{case} within 3 times"), BAR * alone / ours, 1.0, 0.0);
        }
    }
}
