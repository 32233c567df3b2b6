//! Cancels while every fragment worker is busy.
//!
//! Question: how soon is a cancel heard, and how soon is nothing left of the query? Sixteen clients send cross joins, sorts and scans and
//! cancel each after 0 to 100 ms. Expected: stage `query` has threads of its own, so it answers at once (p99 under 5 ms) though two
//! cores serve everybody; fragments end with their turn, at the latest when the operator's call on one batch, or a sort of what
//! is in memory, returns (1 s at most). Afterwards memory, tasks and permits must be back where they were.

use super::SUITE;
use super::engine::Ours;
use super::entries::{averages, fill};
use crate::harness::{Draw, Effort, Latencies, resident};
use crate::report::Report;
use filbert_grid::Grid;
use filbert_sql::SqlSettings;
use std::sync::Mutex;
use std::time::{Duration, Instant};

const CLIENTS: usize = 16;
const LONGEST_MS: usize = 100;

/// The statement of a client's turn: a kind and a size.
fn statement(draw: &mut Draw) -> String {
    match draw.below(3) {
        0 => "SELECT sum(a.value + b.value) FROM generate_series(1, 1000000) a CROSS JOIN generate_series(1, 1000000) b".to_owned(),
        1 => {
            let rows = 100_000 << draw.below(5);
            format!("SELECT value FROM generate_series(1, {rows}) ORDER BY (value * 7919) % 1000003, value")
        }
        _ => averages("points"),
    }
}

/// What the cancels of one client took, in nanoseconds.
#[derive(Default)]
struct Cancels {
    acknowledged: Vec<u64>,
    /// Of queries that had fragments when they were cancelled.
    gone: Vec<u64>,
    /// Queries that had none: not begun, or at their end.
    without_fragments: usize,
}

fn client(ours: &Ours, seed: usize, queries: usize) -> Cancels {
    let (mut draw, mut cancels) = (Draw::new(seed as u64 + 1), Cancels::default());
    for _ in 0..queries {
        let text = statement(&mut draw);
        let query = ours.session.query(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let canceller = query.canceller();
        // sleeps because the cancel is to come at any moment of the query's life
        std::thread::sleep(Duration::from_micros(draw.below(LONGEST_MS * 1_000) as u64));
        let ran = canceller.fragments() > 0;
        let begin = Instant::now();
        let acknowledged = canceller.cancel().expect("the stages run");
        acknowledged.wait().expect("the strand answers");
        cancels.acknowledged.push(begin.elapsed().as_nanos() as u64);
        while canceller.fragments() > 0 {
            assert!(begin.elapsed() < Duration::from_secs(60), "fragments are left of {text}");
            // sleeps because the end of a cancelled task is seen by nobody
            std::thread::sleep(Duration::from_micros(50));
        }
        if ran {
            cancels.gone.push(begin.elapsed().as_nanos() as u64);
        } else {
            cancels.without_fragments += 1;
        }
        drop(query);
    }
    cancels
}

/// Waits until the engine holds nothing, and says how long that took.
fn until_idle(ours: &Ours) -> Duration {
    let begin = Instant::now();
    loop {
        let snapshot = ours.sql.snapshot();
        let tasks = ours
            .stages
            .snapshot()
            .iter()
            .find(|stage| stage.stage == "fragment")
            .map_or(0, |stage| stage.depth);
        if snapshot.running == 0 && snapshot.waiting == 0 && snapshot.memory_bytes == 0 && tasks == 0 {
            return begin.elapsed();
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "left behind: {snapshot:?}, {tasks} tasks");
        // sleeps because the last release of memory is seen by nobody
        std::thread::sleep(Duration::from_millis(1));
    }
}

pub(super) fn run(effort: Effort, report: &mut Report) {
    let queries = effort.pick(CLIENTS, 300, 10_000);
    let ours = Ours::new(SqlSettings::default());
    let grid = Grid::new(&ours.stages);
    ours.sql.attach(&grid).expect("tables can be added");
    fill(&grid, "points", effort.pick(2_000, 500_000, 500_000));
    until_idle(&ours);
    let before = resident();

    let all = Mutex::new(Cancels::default());
    std::thread::scope(|scope| {
        for seed in 0..CLIENTS {
            let (all, ours) = (&all, &ours);
            scope.spawn(move || {
                let one = client(ours, seed, queries.div_ceil(CLIENTS));
                let mut all = all.lock().expect("nobody panics");
                all.acknowledged.extend(one.acknowledged);
                all.gone.extend(one.gone);
                all.without_fragments += one.without_fragments;
            });
        }
    });
    let idle_after = until_idle(&ours);
    let all = all.into_inner().expect("nobody panics");
    let (cancelled, idle) = (all.gone.len(), all.without_fragments);
    let (acknowledged, gone) = (Latencies::from_nanos(all.acknowledged), Latencies::from_nanos(all.gone));
    for (what, times) in [("acknowledged", &acknowledged), ("fragments gone", &gone)] {
        for (label, share) in [("p50", 0.50), ("p99", 0.99), ("max", 1.0)] {
            report.alone(SUITE, &format!("cancel {what}, {label}"), "us", times.micros(share));
        }
    }
    report.alone(SUITE, "queries cancelled while they ran", "n", cancelled as f64);
    report.alone(SUITE, "queries not begun or at their end", "n", idle as f64);
    report.alone(SUITE, "all given back after the last cancel", "ms", idle_after.as_secs_f64() * 1e3);
    report.alone(SUITE, "memory of the process, more than before", "MB", (resident() - before) / 1e6);
    report.bar(SUITE, "cancel acknowledged, p99 under 5 ms", 5e3 / acknowledged.micros(0.99), 1.0, 0.0);
    report.bar(SUITE, "fragments gone, max under 1 s", 1e6 / gone.micros(1.0), 1.0, 0.0);
}
