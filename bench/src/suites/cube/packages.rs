//! DuckDB and Polars, which come as Python packages and compute in threads of their own.

use super::THREADS;
use super::rows::{Answer, schema};
use crate::python::{Packages, Script, cache};
use arrow::array::RecordBatch;
use arrow::ipc::writer::FileWriter;
use serde::Deserialize;
use std::fs::File;

const SCRIPT: &str = include_str!("packages.py");
const PACKAGES: Packages = Packages {
    environment: "cube",
    install: &["duckdb==2.*", "polars==2.*", "pyarrow"],
    import: "duckdb, polars, pyarrow",
};

/// The names by which the script knows them.
pub(super) const ENGINES: [&str; 2] = ["DuckDB", "Polars"];

pub(super) struct PythonPeers {
    script: Script,
}

#[derive(Deserialize)]
struct Said {
    seconds: f64,
    groups: usize,
    weighted: f64,
}

impl PythonPeers {
    pub(super) fn start() -> Result<Self, String> {
        let threads = [("POLARS_MAX_THREADS", THREADS.to_string())];
        Ok(Self { script: Script::start(SCRIPT, &PACKAGES, &threads)? })
    }

    /// Gives them the rows, through a file that is gone afterwards.
    pub(super) fn load(&mut self, batches: &[RecordBatch]) {
        let path = cache().join(format!("rows-{}.arrow", std::process::id()));
        let file = File::create(&path).expect("the cache can be written");
        let mut writer = FileWriter::try_new(file, &schema()).expect("the file can be written");
        for batch in batches {
            writer.write(batch).expect("the file can be written");
        }
        writer.finish().expect("the file can be written");
        self.script.ask(&serde_json::json!({ "file": path }));
        // What stays there costs nothing but room.
        let _ = std::fs::remove_file(path);
    }

    /// The nanoseconds and the answer.
    pub(super) fn group(&mut self, engine: &str) -> (f64, Answer) {
        let said = self.script.ask(&serde_json::json!({ "engine": engine }));
        let said: Said = serde_json::from_value(said).expect("the script answers with seconds and groups");
        (said.seconds * 1e9, Answer { groups: said.groups, weighted: said.weighted })
    }
}
