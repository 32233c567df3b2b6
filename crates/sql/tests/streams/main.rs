//! Streams: journals of maps as tables, windows over them, jobs.
#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]

mod jobs;
mod journal;
mod windows;

use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use filbert_grid::{Grid, GridSettings, JournalSettings, MapSettings, Registry};
use filbert_pool::Stages;
use filbert_sql::{Query, QueryCanceller, Session, Sql, SqlError, SqlSettings};
use filbert_wire::{Json, ToData};
use futures::StreamExt;
use futures::executor::block_on;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Long enough for a busy machine, short of what a hang would take.
const PATIENCE: Duration = Duration::from_secs(120);

struct Member {
    stages: Stages,
    grid: Grid,
    sql: Sql,
    session: Session,
}

/// A member whose maps `j...` have journals.
fn started() -> Member {
    with(SqlSettings::default(), 10_000)
}

fn with(settings: SqlSettings, journal_capacity: u64) -> Member {
    let stages =
        Stages::builder().set("fragment.threads", 2).set("shutdown.within_ms", 100_000).start().unwrap();
    let mut maps = GridSettings::default();
    let journal = Some(JournalSettings { capacity: journal_capacity, ..Default::default() });
    maps.maps.set("j*", MapSettings { journal, ..Default::default() });
    let grid = Grid::with(&stages, maps, Registry::new());
    let sql = Sql::start(&stages, settings).unwrap();
    sql.attach(&grid).unwrap();
    let session = sql.session();
    Member { stages, grid, sql, session }
}

impl Member {
    fn put(&self, map: &str, key: impl ToData, value: impl ToData) {
        self.grid.map(map).set(key.to_data().unwrap(), value.to_data().unwrap()).wait().unwrap();
    }

    fn put_json(&self, map: &str, key: i64, value: serde_json::Value) {
        self.put(map, key, Json(value));
    }

    fn remove(&self, map: &str, key: impl ToData) {
        self.grid.map(map).remove(key.to_data().unwrap()).wait().unwrap();
    }

    fn ask(&self, text: &str) -> Result<Vec<String>, SqlError> {
        let batches = block_on(self.session.query(text)?.collect())?;
        Ok(batches.iter().flat_map(rows_of).collect())
    }

    fn rows(&self, text: &str) -> Vec<String> {
        let mut rows = self.ask(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        rows.sort();
        rows
    }

    fn says(&self, text: &str) -> String {
        let mut query = match self.session.query(text) {
            Ok(query) => query,
            Err(error) => return error.to_string(),
        };
        match block_on(query.schema()) {
            Ok(_) => panic!("{text}: is planned"),
            Err(error) => error.to_string(),
        }
    }

    /// Begins a query that has no end; it is planned when this returns.
    fn stream(&self, text: &str) -> Reading {
        let mut query = self.session.query(text).unwrap();
        block_on(query.schema()).unwrap_or_else(|error| panic!("{text}: {error}"));
        Reading::of(query)
    }
}

/// Nothing is left of any query.
fn idle(sql: &Sql) {
    wait_until("queries are gone", || {
        let now = sql.snapshot();
        (now.running, now.waiting, now.memory_bytes) == (0, 0, 0)
    });
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "{what}");
        // sleeps because nobody tells of it
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn rows_of(batch: &RecordBatch) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let columns: Vec<_> =
        batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).unwrap()).collect();
    (0..batch.num_rows())
        .map(|row| columns.iter().map(|column| column.value(row).to_string()).collect::<Vec<_>>().join("; "))
        .collect()
}

/// A query that is read by a thread of its own.
struct Reading {
    rows: mpsc::Receiver<Result<String, SqlError>>,
    canceller: QueryCanceller,
}

impl Reading {
    fn of(mut query: Query) -> Self {
        let canceller = query.canceller();
        let (tell, rows) = mpsc::channel();
        std::thread::spawn(move || {
            while let Some(batch) = block_on(query.next()) {
                let sent = match batch {
                    Ok(batch) => rows_of(&batch).into_iter().try_for_each(|row| tell.send(Ok(row))),
                    Err(error) => tell.send(Err(error)),
                };
                if sent.is_err() {
                    break;
                }
            }
        });
        Self { rows, canceller }
    }

    fn next(&self) -> Result<String, SqlError> {
        self.rows.recv_timeout(PATIENCE).expect("a row comes")
    }

    fn take(&self, count: usize) -> Vec<String> {
        (0..count).map(|_| self.next().unwrap()).collect()
    }

    /// True when it has nothing to read now.
    fn is_silent(&self) -> bool {
        matches!(self.rows.try_recv(), Err(mpsc::TryRecvError::Empty))
    }

    fn cancel(self) {
        self.canceller.cancel().unwrap().detach();
        let end = std::iter::from_fn(|| self.rows.recv_timeout(PATIENCE).ok()).last();
        assert!(end.is_none_or(|end| end.is_ok() || matches!(end, Err(SqlError::Cancelled))));
    }
}
