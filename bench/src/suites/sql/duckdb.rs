//! The 22 queries of TPC-H with our settings against DuckDB, on the same files with as many threads.
//!
//! Question: how far is DataFusion, with the settings that suit it, from the engine that is known for this? Expected bottleneck: decoding
//! Parquet and grouping. Ceiling: DuckDB, whose scan and hash tables are its own. It comes as its Python package, which is
//! installed into an environment in the bench's cache folder when it is not there yet; it computes in its own threads, and
//! its Python only passes statements and rows. Bars: 0.6 of its speed on the total from settings alone; 0.77 is the aim.

use super::answer::Answer;
use super::engine::{Engine, Ours};
use super::queries::{QUERIES, name};
use super::{SUITE, THREADS, files, tpch};
use crate::harness::{Effort, Times};
use crate::python::{self, Packages, Script};
use crate::report::Report;
use filbert_sql::SqlSettings;
use serde::Deserialize;
use std::path::Path;
use std::time::Instant;

const BAR: f64 = 0.6;
const AIM: f64 = 0.77;
const SCRIPT: &str = include_str!("duckdb.py");
const PACKAGES: Packages = Packages { environment: "duckdb", install: &["duckdb==2.*"], import: "duckdb" };

/// DuckDB in a process of Python.
struct DuckDb {
    script: Script,
}

#[derive(Deserialize)]
struct Said {
    seconds: f64,
    rows: Vec<Vec<serde_json::Value>>,
}

impl DuckDb {
    fn start(folder: &Path) -> Result<Self, String> {
        let mut duckdb = Self { script: Script::start(SCRIPT, &PACKAGES, &[])? };
        duckdb.ask(&format!("SET threads = {THREADS}"));
        for table in files::NAMES {
            let file = files::path(folder, table);
            duckdb.ask(&format!("CREATE VIEW {table} AS SELECT * FROM read_parquet('{}')", file.display()));
        }
        Ok(duckdb)
    }

    /// The seconds and the rows.
    fn ask(&mut self, text: &str) -> (f64, Answer) {
        let said = self.script.ask(&serde_json::json!({ "sql": text }));
        let said: Said = serde_json::from_value(said).expect("the script answers with seconds and rows");
        (said.seconds, Answer::of_json(&said.rows))
    }
}

/// The settings that suit such queries: larger batches, and room for the columns that they ask for again and again.
fn settings() -> SqlSettings {
    SqlSettings { batch_rows: 16_384, cache_bytes: 3 << 30, ..Default::default() }
}

pub(super) fn run(effort: Effort, report: &mut Report) {
    let scale = effort.pick(0.001, 0.1, 1.0);
    let rounds = effort.pick(1, 3, 5);
    let folder = files::ready(&python::cache(), scale).expect("the tables can be made");
    let mut duckdb = match DuckDb::start(&folder) {
        Ok(duckdb) => duckdb,
        Err(reason) => {
            eprintln!(
                "sql: without DuckDB, because {reason}; it needs python3 with venv, and the network once"
            );
            return;
        }
    };
    let ours = Ours::new(settings());
    tpch::declare(&ours, &folder);

    let mut totals = (0.0, 0.0);
    let mut ratios = Vec::new();
    for (index, query) in QUERIES.iter().enumerate() {
        let mut nanos = (Vec::new(), Vec::new());
        for round in 0..=rounds {
            let begin = Instant::now();
            let batches = ours.ask(query);
            let took = begin.elapsed().as_nanos() as f64;
            let (seconds, answer) = duckdb.ask(query);
            if round == 0 {
                // Warms up, and is checked.
                assert_eq!(Answer::of(batches), answer, "{} answers differently", name(index));
                continue;
            }
            nanos.0.push(took);
            nanos.1.push(seconds * 1e9);
        }
        let (one, other) = (Times::from_nanos("filbert", nanos.0), Times::from_nanos("DuckDB", nanos.1));
        let (ours_ms, their_ms) = (one.median() / 1e6, other.median() / 1e6);
        let spread = one.spread() + other.spread();
        report.row(SUITE, &name(index), "ms", ours_ms, Some((other.name, their_ms)), true, spread);
        totals = (totals.0 + ours_ms, totals.1 + their_ms);
        ratios.push((their_ms / ours_ms, name(index)));
    }
    let case = format!("TPC-H scale {scale} with our settings, all queries");
    report.row(SUITE, &case, "ms", totals.0, Some(("DuckDB", totals.1)), true, 0.0);
    report.bar(SUITE, &case, totals.1 / totals.0, BAR, 0.0);
    report.bar(SUITE, &format!("{case}: the aim"), totals.1 / totals.0, AIM, 0.0);
    ratios.sort_by(|one, other| one.0.total_cmp(&other.0));
    for (ratio, name) in ratios.iter().take(5) {
        report.bar(SUITE, &format!("one of the five worst, {name}"), *ratio, BAR, 0.0);
    }
}
