//! How all these tests ask: an engine of its own for each, a statement, what it says, and whether anything was left behind.

use arrow::array::{AsArray, RecordBatch};
use arrow::datatypes::Int64Type;
use arrow::util::pretty::pretty_format_batches;
use filbert_pool::Stages;
use filbert_sql::{Session, Sql, SqlError, SqlSettings};
use futures::executor::block_on;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Long enough for a busy machine, short of what a hang would take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Keeps every worker busy for as long as it is let.
pub(crate) const ENDLESS: &str = "SELECT count(*) FROM generate_series(1, 10000000) a, generate_series(1, 10000000) b WHERE a.value + b.value < 0";

pub(crate) fn started(settings: SqlSettings) -> (Stages, Sql) {
    let stages = Stages::builder().set("fragment.threads", 2).start().unwrap();
    let sql = Sql::start(&stages, settings).unwrap();
    (stages, sql)
}

pub(crate) fn ask(session: &Session, text: &str) -> Result<Vec<RecordBatch>, SqlError> {
    block_on(session.query(text)?.collect())
}

pub(crate) fn number(session: &Session, text: &str) -> i64 {
    let batches = ask(session, text).unwrap_or_else(|error| panic!("{text:.200}: {error}"));
    let batch = batches.iter().find(|batch| batch.num_rows() > 0).expect("a row");
    batch.column(0).as_primitive::<Int64Type>().value(0)
}

pub(crate) fn table(session: &Session, text: &str) -> String {
    let batches = ask(session, text).unwrap_or_else(|error| panic!("{text}: {error}"));
    pretty_format_batches(&batches).unwrap().to_string()
}

/// What a thread of its own does, within the patience of a test.
pub(crate) fn soon<T: Send + 'static>(what: &str, act: impl FnOnce() -> T + Send + 'static) -> T {
    let (tell, told) = mpsc::channel();
    let acts = std::thread::spawn(move || tell.send(act()));
    let done = told.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{what} takes too long"));
    acts.join().unwrap().unwrap();
    done
}

/// Waits until something is as it should be.
pub(crate) fn until<T: std::fmt::Debug>(what: &str, mut look: impl FnMut() -> (bool, T)) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let (is_so, seen) = look();
        if is_so {
            return;
        }
        assert!(Instant::now() < deadline, "{what}: {seen:?}");
        // sleeps because what is waited for tells nobody
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Waits until the engine holds nothing: what a query left behind shows here.
pub(crate) fn idle(stages: &Stages, sql: &Sql) {
    until("left behind", || {
        let now = sql.snapshot();
        let tasks =
            stages.snapshot().iter().find(|stage| stage.stage == "fragment").map_or(0, |stage| stage.depth);
        let is_idle = (now.running, now.waiting, now.open, now.memory_bytes, tasks) == (0, 0, 0, 0, 0);
        (is_idle, (now, tasks))
    });
}
