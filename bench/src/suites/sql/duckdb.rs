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
use crate::report::Report;
use filbert_sql::SqlSettings;
use serde::Deserialize;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

const BAR: f64 = 0.6;
const AIM: f64 = 0.77;
const SCRIPT: &str = include_str!("duckdb.py");
const PACKAGE: &str = "duckdb==2.*";

/// DuckDB in a process of Python.
struct DuckDb {
    child: Child,
    statements: ChildStdin,
    answers: BufReader<ChildStdout>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Said {
    Answer { seconds: f64, rows: Vec<Vec<serde_json::Value>> },
    Error { error: String },
}

/// A Python that has the package.
fn python(cache: &Path) -> Result<PathBuf, String> {
    let environment = cache.join("duckdb");
    let python = environment.join("bin/python");
    let has_it = |python: &Path| {
        let asked = Command::new(python).args(["-c", "import duckdb"]).stderr(Stdio::null()).status();
        asked.is_ok_and(|status| status.success())
    };
    if !has_it(&python) {
        eprintln!("sql: installs {PACKAGE} in {}", environment.display());
        step(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
        step(Command::new(&python).args(["-m", "pip", "install", "--quiet", PACKAGE]))?;
    }
    Ok(python)
}

fn step(command: &mut Command) -> Result<(), String> {
    match command.stdout(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?} ended with {status}")),
        Err(error) => Err(format!("{command:?}: {error}")),
    }
}

impl DuckDb {
    fn start(cache: &Path, folder: &Path) -> Result<Self, String> {
        let mut child = Command::new(python(cache)?)
            .args(["-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let (Some(statements), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the pipes were asked for".to_owned());
        };
        let mut duckdb = Self { child, statements, answers: BufReader::new(answers) };
        duckdb.ask(&format!("SET threads = {THREADS}"));
        for table in files::NAMES {
            let file = files::path(folder, table);
            duckdb.ask(&format!("CREATE VIEW {table} AS SELECT * FROM read_parquet('{}')", file.display()));
        }
        Ok(duckdb)
    }

    /// The seconds and the rows.
    fn ask(&mut self, text: &str) -> (f64, Answer) {
        let line = serde_json::json!({ "sql": text }).to_string();
        writeln!(self.statements, "{line}").expect("DuckDB's process lives");
        let mut said = String::new();
        self.answers.read_line(&mut said).expect("DuckDB's process lives");
        match serde_json::from_str(&said) {
            Ok(Said::Answer { seconds, rows }) => (seconds, Answer::of_json(&rows)),
            Ok(Said::Error { error }) => panic!("DuckDB: {error}: {text}"),
            Err(error) => panic!("DuckDB said {said:?}: {error}"),
        }
    }
}

impl Drop for DuckDb {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The settings that suit such queries: larger batches, and room for the columns that they ask for again and again.
fn settings() -> SqlSettings {
    SqlSettings { batch_rows: 16_384, cache_bytes: 3 << 30, ..Default::default() }
}

pub(super) fn run(effort: Effort, report: &mut Report) {
    let scale = effort.pick(0.001, 0.1, 1.0);
    let rounds = effort.pick(1, 3, 5);
    let cache = files::cache();
    let folder = files::ready(&cache, scale).expect("the tables can be made");
    let mut duckdb = match DuckDb::start(&cache, &folder) {
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
