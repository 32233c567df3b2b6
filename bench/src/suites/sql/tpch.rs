//! The 22 queries of TPC-H: our stages against tokio, the same operators, settings and files on both sides.
//!
//! Bars: on the total at least 0.98 of stock's speed, and no query below 0.87, which is the noise of a single query.

use super::answer::Answer;
use super::engine::{Engine, Ours, Stock};
use super::queries::{QUERIES, name};
use super::{SUITE, files};
use crate::harness::{Contestant, Effort, alternate};
use crate::report::Report;
use filbert_sql::SqlSettings;
use std::path::Path;

const TOTAL_BAR: f64 = 0.98;
const QUERY_BAR: f64 = 0.87;

/// Makes the files known as tables.
pub(super) fn declare(engine: &dyn Engine, folder: &Path) {
    for table in files::NAMES {
        let file = files::path(folder, table);
        engine.ask(&format!("CREATE EXTERNAL TABLE {table} STORED AS PARQUET LOCATION '{}'", file.display()));
    }
}

pub(super) fn run(effort: Effort, report: &mut Report) {
    if effort == Effort::Tiny {
        let folder = std::env::temp_dir().join(format!("filbert-bench-tpch-{}", std::process::id()));
        compare(&folder, 0.001, 1, report);
        std::fs::remove_dir_all(folder).expect("the folder was made");
    } else {
        compare(&crate::python::cache(), effort.pick(0.0, 0.1, 1.0), effort.pick(0, 3, 7), report);
    }
}

fn compare(parent: &Path, scale: f64, rounds: usize, report: &mut Report) {
    let folder = files::ready(parent, scale).expect("the tables can be made");
    // Both sides decode what they read: a cache would not compare the ways to run a plan.
    let settings = SqlSettings { cache_bytes: 0, ..Default::default() };
    let stock = Stock::new(settings.batch_rows);
    let ours = Ours::new(settings);
    declare(&ours, &folder);
    declare(&stock, &folder);

    let (mut totals, mut spreads, mut worst) = ((0.0, 0.0), 0.0, (f64::INFINITY, String::new(), 0.0));
    for (index, query) in QUERIES.iter().enumerate() {
        let contestants = vec![
            Contestant::new("filbert", || Answer::of(ours.ask(query))),
            Contestant::new("DataFusion on tokio", || Answer::of(stock.ask(query))),
        ];
        let times = alternate(rounds, 1, contestants);
        let (one, other) = (&times[0], &times[1]);
        let spread = one.spread() + other.spread();
        let (ours_ms, stock_ms) = (one.median() / 1e6, other.median() / 1e6);
        report.row(SUITE, &name(index), "ms", ours_ms, Some((other.name, stock_ms)), true, spread);
        totals = (totals.0 + ours_ms, totals.1 + stock_ms);
        spreads += spread / QUERIES.len() as f64;
        if stock_ms / ours_ms < worst.0 {
            worst = (stock_ms / ours_ms, name(index), spread);
        }
    }
    let case = format!("TPC-H scale {scale}, all queries");
    report.row(SUITE, &case, "ms", totals.0, Some(("DataFusion on tokio", totals.1)), true, spreads);
    report.bar(SUITE, &case, totals.1 / totals.0, TOTAL_BAR, spreads);
    report.bar(SUITE, &format!("the worst query, {}", worst.1), worst.0, QUERY_BAR, worst.2);
}
