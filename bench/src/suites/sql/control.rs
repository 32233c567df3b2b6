//! Short queries beside long ones: who is answered, and how soon.
//!
//! Question: what does a user wait who asks something small while others keep every worker busy? Expected bottleneck: the longest time
//! that a worker stays in one piece of work; a turn of ours is a millisecond, a poll of a cross join on tokio has no end. Every
//! measurement is a process of its own, because stock queries cannot be stopped otherwise; one without an answer is ended after 8 s.

use super::SUITE;
#[cfg(feature = "sql-peers")]
use super::engine::Stock;
use super::engine::{Engine, Ours};
use crate::harness::{Effort, Latencies};
use crate::report::Report;
use filbert_sql::SqlSettings;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What runs beside the short queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Load {
    /// Four queries without end, on which everybody waits.
    CrossJoins,
    /// Four clients that send long queries one after the other, and four that send short ones.
    Mixed,
}

/// The two figures of one measurement, in microseconds.
#[derive(Debug, Clone, Copy)]
struct Waited {
    p50: f64,
    p99: f64,
}

/// How long nobody has to wait for an answer.
const PATIENCE: Duration = Duration::from_secs(8);

const ENDLESS: &str = "SELECT sum(a.value + b.value) FROM generate_series(1, 1000000) a CROSS JOIN generate_series(1, 1000000) b";

/// Rows that a long query handles.
const LONG_ROWS: u64 = 2_000_000;

/// Queries that handle so many rows or, the second, a hundred times as many.
fn long(rows: u64) -> [String; 4] {
    let (few, half, quarter) = (rows / 100, rows / 2, rows / 4);
    [
        format!(
            "SELECT count(*) FROM (SELECT value % 100000 AS k, avg(value) FROM generate_series(1, {rows}) GROUP BY k)"
        ),
        format!(
            "SELECT sum(a.value + b.value) FROM generate_series(1, {few}) a CROSS JOIN generate_series(1, 10000) b"
        ),
        format!(
            "SELECT max(n) FROM (SELECT row_number() OVER (ORDER BY value * 7919 % 1000003) AS n FROM generate_series(1, {quarter}))"
        ),
        format!(
            "SELECT count(*) FROM generate_series(1, {half}) a JOIN generate_series(1, {half}) b ON a.value = b.value + 1"
        ),
    ]
}

const SHORT: &str = "SELECT sum(value) FROM generate_series(1, 1000) WHERE value % 7 = 0";

/// Asks one after the other, with a pause, until `is_over`; nanoseconds each.
fn probe(engine: &dyn Engine, text: &str, mut is_over: impl FnMut() -> bool) -> Vec<u64> {
    let mut nanos = Vec::new();
    while !is_over() {
        let begin = Instant::now();
        let rows: usize = engine.ask(text).iter().map(|batch| batch.num_rows()).sum();
        nanos.push(begin.elapsed().as_nanos() as u64);
        assert_eq!(rows, 1, "{text}");
        // sleeps because a user who never pauses is one more load, and not a bystander
        std::thread::sleep(Duration::from_millis(1));
    }
    nanos
}

/// Four endless queries, which end with the process.
fn beside_cross_joins(engine: &Arc<dyn Engine>, time: Duration) -> Latencies {
    for _ in 0..4 {
        let engine = Arc::clone(engine);
        std::thread::spawn(move || engine.ask(ENDLESS));
    }
    // sleeps because nobody says when a query has begun to multiply
    std::thread::sleep(Duration::from_millis(300));
    let end = Instant::now() + time;
    Latencies::from_nanos(probe(&**engine, "SELECT 1", || Instant::now() >= end))
}

/// Four clients with long queries, four with short ones.
fn beside_long_queries(engine: &Arc<dyn Engine>, rows: u64, time: Duration) -> Latencies {
    let long = long(rows);
    let (is_over, nanos) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for client in 0..4 {
            let (is_over, long) = (&is_over, &long);
            scope.spawn(move || {
                for round in client.. {
                    if is_over.load(Ordering::Relaxed) {
                        return;
                    }
                    engine.ask(&long[round % long.len()]);
                }
            });
        }
        for _ in 0..4 {
            scope.spawn(|| {
                let waited = probe(&**engine, SHORT, || is_over.load(Ordering::Relaxed));
                nanos.lock().expect("nobody panics").extend(waited);
            });
        }
        // sleeps because the load is to last that long
        std::thread::sleep(time);
        is_over.store(true, Ordering::Relaxed);
    });
    Latencies::from_nanos(nanos.into_inner().expect("nobody panics"))
}

fn measured(engine: &Arc<dyn Engine>, load: Load, time: Duration) -> Latencies {
    match load {
        Load::CrossJoins => beside_cross_joins(engine, time),
        Load::Mixed => beside_long_queries(engine, LONG_ROWS, time),
    }
}

/// One measurement, in this process: what the suite starts itself for. Ends the process, whatever still runs in it.
pub(crate) fn measure_and_print(load: Load, stock: bool, time: Duration) -> ! {
    #[cfg(feature = "sql-peers")]
    let engine: Arc<dyn Engine> = if stock {
        Arc::new(Stock::new(SqlSettings::default().batch_rows))
    } else {
        Arc::new(Ours::new(SqlSettings::default()))
    };
    #[cfg(not(feature = "sql-peers"))]
    let engine: Arc<dyn Engine> = {
        assert!(!stock, "stock DataFusion is a peer: build with --features sql-peers");
        Arc::new(Ours::new(SqlSettings::default()))
    };
    let waited = measured(&engine, load, time);
    println!("{} {}", waited.micros(0.50), waited.micros(0.99));
    std::process::exit(0)
}

/// A measurement in a process of its own; `None` when somebody there waited longer than 8 s.
fn elsewhere(load: Load, stock: bool, time: Duration) -> Option<Waited> {
    let program = std::env::current_exe().expect("this program has a path");
    let load = if load == Load::CrossJoins { "cross-joins" } else { "mixed" };
    let mut command = Command::new(program);
    command.args(["sql-clients", "--load", load, "--ms", &time.as_millis().to_string()]);
    if stock {
        command.arg("--stock");
    }
    let mut child = command.stdout(Stdio::piped()).spawn().expect("this program starts once more");
    let deadline = Instant::now() + time + PATIENCE;
    while child.try_wait().expect("the child can be asked").is_none() {
        if Instant::now() >= deadline {
            child.kill().and_then(|()| child.wait()).expect("the child can be ended");
            return None;
        }
        // sleeps because waiting for a process has no deadline
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().expect("the child printed");
    let text = String::from_utf8_lossy(&output.stdout);
    let figures: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match figures[..] {
        [p50, p99] => Some(Waited { p50, p99 }),
        _ => panic!("the measurement printed {text:?}"),
    }
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// Who waited how long, by side: the median over the runs of each figure.
fn compare(load: Load, runs: usize, time: Duration) -> (Waited, Option<Waited>) {
    let mut sides = [Vec::new(), Vec::new()];
    for run in 0..runs {
        for turn in 0..2 {
            let side = (run + turn) % 2;
            if side == 0 || cfg!(feature = "sql-peers") {
                sides[side].push(elsewhere(load, side == 1, time));
            }
        }
    }
    let never = PATIENCE.as_micros() as f64;
    let middle = |side: &[Option<Waited>]| {
        let figures = |figure: fn(Waited) -> f64| side.iter().map(|run| run.map_or(never, figure)).collect();
        Waited { p50: median(figures(|run| run.p50)), p99: median(figures(|run| run.p99)) }
    };
    let stock = (!sides[1].is_empty()).then(|| middle(&sides[1]));
    (middle(&sides[0]), stock)
}

pub(super) fn run(effort: Effort, report: &mut Report) {
    if effort == Effort::Tiny {
        let engine: Arc<dyn Engine> = Arc::new(Ours::new(SqlSettings::default()));
        let waited = beside_long_queries(&engine, 2_000, Duration::from_millis(50));
        report.alone(SUITE, "short queries beside long ones, p99", "us", waited.micros(0.99));
        return;
    }
    let never = PATIENCE.as_micros() as f64;
    let named =
        |figure: f64| (if figure >= never { "DataFusion (>8 s)" } else { "DataFusion on tokio" }, figure);
    let time = Duration::from_millis(effort.pick(50, 500, 3_000));
    let cases = [
        (Load::CrossJoins, "SELECT 1 beside 4 cross joins", effort.pick(1, 1, 3)),
        (Load::Mixed, "short beside long queries, 8 clients", effort.pick(1, 1, 5)),
    ];
    for (load, case, runs) in cases {
        let (ours, stock) = compare(load, runs, time);
        for (label, ours, stock) in
            [("p50", ours.p50, stock.map(|stock| stock.p50)), ("p99", ours.p99, stock.map(|stock| stock.p99))]
        {
            report.row(SUITE, &format!("{case}, {label}"), "us", ours, stock.map(named), true, 0.0);
        }
        match load {
            Load::CrossJoins => {
                report.bar(SUITE, &format!("{case}, p50 under 1 ms"), 1e3 / ours.p50, 1.0, 0.0);
                report.bar(SUITE, &format!("{case}, p99 under 10 ms"), 1e4 / ours.p99, 1.0, 0.0);
            }
            Load::Mixed => {
                if let Some(stock) = stock {
                    report.bar(SUITE, &format!("{case}, p99"), stock.p99 / ours.p99, 2.0, 0.0);
                }
            }
        }
    }
}
