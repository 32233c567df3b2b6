//! SUM by text keys over a Parquet file: 5,000 pairs of two keys in 10 million rows, and 20,000 of one key in 5 million.
//!
//! Question: what does a cube cost over the statement that it stands for, when rows come from a file and keys are texts? That is what users
//! run: reading, decoding, codes of texts, exact sums, and an answer in order. Expected bottleneck: decoding and grouping. Ceiling:
//! `filbert sql`, which decodes by the same readers and groups without a plan of measures; DuckDB, whose scan is its own (`--python`). All read
//! the same file with two threads, in turn, and must find the same sums. Bars: as fast as `filbert sql`, 0.8 of DuckDB.

use super::{SUITE, THREADS};
use crate::harness::{Effort, Times};
use crate::python::{Packages, Script};
use crate::report::Report;
use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Float64Type;
use filbert_cube::{Aggregator, Cube, Forest, Query, SqlTable};
use filbert_pool::Stages;
use filbert_sql::{Sql, SqlSettings};
use futures::executor::block_on;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::time::Instant;

const SQL_BAR: f64 = 1.0;
const DUCKDB_BAR: f64 = 0.8;

const SCRIPT: &str = include_str!("../sql/duckdb.py");
const PACKAGES: Packages = Packages { environment: "duckdb", install: &["duckdb==2.*"], import: "duckdb" };

/// A file, and what it is grouped by.
struct Case {
    name: &'static str,
    rows: usize,
    /// The key columns, each with the number of its texts.
    keys: &'static [(&'static str, usize)],
}

/// How many groups there are, and the sum of all: values are whole, so it is exact in any order.
type Answer = (usize, f64);

#[derive(Deserialize)]
struct Said {
    seconds: f64,
    rows: Vec<Vec<serde_json::Value>>,
}

/// A folder that is gone afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path = crate::python::cache().join(format!("cube-files-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("the cache can be written");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What stays there costs nothing but room.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(super) fn run(effort: Effort, python: bool, report: &mut Report) {
    let million = effort.pick(1_000, 100_000, 1_000_000);
    let rounds = effort.pick(1, 3, 7);
    let stages = Stages::builder().set("cpu.threads", THREADS as u64).set("fragment.threads", THREADS as u64);
    let stages = stages.start().expect("the settings fit");
    let folder = Folder::new();
    let files = vec![folder.0.clone()];
    let settings = SqlSettings { files: files.clone(), write_files: files, ..Default::default() };
    let sql = Sql::start(&stages, settings).expect("the stages run");
    let duckdb =
        if python { Script::start(SCRIPT, &PACKAGES, &[]) } else { Err("--python adds it".to_owned()) };
    let mut duckdb = duckdb.map_err(|reason| eprintln!("cube: files without DuckDB: {reason}")).ok();
    if let Some(script) = &mut duckdb {
        script.ask(&serde_json::json!({ "sql": format!("SET threads = {THREADS}") }));
    }
    for case in [
        Case { name: "file, two text keys", rows: 10 * million, keys: &[("desk", 100), ("book", 50)] },
        Case { name: "file, 20,000 texts", rows: 5 * million, keys: &[("trade", 20_000)] },
    ] {
        let path = folder.0.join(format!("{}.parquet", case.rows));
        write(&sql, &case, &path);
        compare(&stages, &sql, duckdb.as_mut(), (&case, &path), rounds, report);
    }
}

/// Makes the file, by SQL, with some hundred thousand rows in each of its groups.
fn write(sql: &Sql, case: &Case, path: &Path) {
    let keys: Vec<String> = case
        .keys
        .iter()
        .enumerate()
        .map(|(number, (name, count))| {
            format!("'{name} ' || ((value * 7919 + value / {}) % {count}) AS {name}", 3 + number * 8)
        })
        .collect();
    let rows = format!(
        "SELECT {}, CAST(value % 1000 AS DOUBLE) AS pnl FROM generate_series(1, {})",
        keys.join(", "),
        case.rows
    );
    let copy = format!("COPY ({rows}) TO '{}'", path.display());
    let written = sql.session().query(&copy).map(|query| block_on(query.collect()));
    written.and_then(|rows| rows).unwrap_or_else(|error| panic!("{copy}: {error}"));
}

fn compare(
    stages: &Stages,
    sql: &Sql,
    mut duckdb: Option<&mut Script>,
    (case, path): (&Case, &Path),
    rounds: usize,
    report: &mut Report,
) {
    let forest =
        Forest::builder().measure("total", Aggregator::sum("pnl")).build().expect("the forest is right");
    let table = block_on(SqlTable::open(sql.session(), &path.to_string_lossy())).expect("the file is there");
    let cube = Cube::builder(stages, forest, table).build().expect("the forest fits the file");
    let keys: Vec<&str> = case.keys.iter().map(|(name, _)| *name).collect();
    let statement = |from: &str| {
        let keys = keys.join(", ");
        format!("SELECT {keys}, SUM(pnl) AS total FROM {from} GROUP BY {keys} ORDER BY {keys}")
    };
    let (ours_sql, theirs_sql) = (
        statement(&format!("'{}'", path.display())),
        statement(&format!("read_parquet('{}')", path.display())),
    );
    let mut ask_cube = || {
        let query = Query::new(["total"]).by(keys.iter().copied()).no_cache();
        let answer = cube.query(query).and_then(filbert_cube::QueryHandle::wait);
        answer_of(&[answer.unwrap_or_else(|error| panic!("{}: {error}", case.name)).batch().clone()])
    };
    let mut ask_sql = || {
        let query = sql.session().query(&ours_sql).unwrap_or_else(|error| panic!("{ours_sql}: {error}"));
        answer_of(&block_on(query.collect()).unwrap_or_else(|error| panic!("{ours_sql}: {error}")))
    };
    let (mut cubes, mut sqls, mut ducks) = (Vec::new(), Vec::new(), Vec::new());
    // Round 0 warms up.
    for round in 0..=rounds {
        let timed = |ask: &mut dyn FnMut() -> Answer, nanos: &mut Vec<f64>| {
            let begin = Instant::now();
            let answer = ask();
            if round > 0 {
                nanos.push(begin.elapsed().as_nanos() as f64);
            }
            answer
        };
        let of_cube = timed(&mut ask_cube, &mut cubes);
        assert_eq!(of_cube, timed(&mut ask_sql, &mut sqls), "{}: SQL answers differently", case.name);
        if let Some(script) = duckdb.as_deref_mut() {
            let said: Said = serde_json::from_value(script.ask(&serde_json::json!({ "sql": theirs_sql })))
                .expect("the script answers with seconds and rows");
            let totals = said.rows.iter().filter_map(|row| row.last()?.as_f64());
            assert_eq!(of_cube, (said.rows.len(), totals.sum()), "{}: DuckDB answers differently", case.name);
            if round > 0 {
                ducks.push(said.seconds * 1e9);
            }
        }
    }
    let ours = Times::from_nanos("cube", cubes);
    let mut peers = vec![(Times::from_nanos("filbert sql", sqls), SQL_BAR)];
    if !ducks.is_empty() {
        peers.push((Times::from_nanos("DuckDB", ducks), DUCKDB_BAR));
    }
    for (peer, bar) in &peers {
        report.rate(SUITE, case.name, case.rows as f64, &ours, peer);
        let case = format!("{}: against {}", case.name, peer.name);
        report.bar(SUITE, &case, peer.median() / ours.median(), *bar, ours.spread() + peer.spread());
    }
}

/// The answer of batches whose last column has the sums.
fn answer_of(batches: &[RecordBatch]) -> Answer {
    let sums = batches.iter().flat_map(|batch| {
        batch.column(batch.num_columns() - 1).as_primitive::<Float64Type>().iter().flatten()
    });
    sums.fold((0, 0.0), |(groups, total), sum| (groups + 1, total + sum))
}
