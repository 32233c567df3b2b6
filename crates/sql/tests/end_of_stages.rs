//! The end of the stages while queries run, wait and are read: nobody hangs, every reader is told.
#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]

use filbert_grid::Grid;
use filbert_pool::{Shutdown, Stages};
use filbert_sql::{Query, Sql, SqlError, SqlSettings};
use futures::StreamExt;
use futures::executor::block_on;
use std::sync::mpsc;
use std::time::Duration;

const ENDLESS: &str = "SELECT count(*) FROM generate_series(1, 10000000) a, generate_series(1, 10000000) b WHERE a.value + b.value < 0";

/// Long enough for a busy machine, short of what a hang would take.
const PATIENCE: Duration = Duration::from_secs(120);

fn started(settings: SqlSettings) -> (Stages, Sql) {
    let stages = Stages::builder().set("fragment.threads", 2).set("shutdown.within_ms", 300).start().unwrap();
    let sql = Sql::start(&stages, settings).unwrap();
    sql.attach(&Grid::new(&stages)).unwrap();
    (stages, sql)
}

/// What its reader is told at the end.
fn read(mut query: Query) -> Result<u64, SqlError> {
    let mut rows = 0;
    while let Some(batch) = block_on(query.next()) {
        rows += batch?.num_rows() as u64;
    }
    Ok(rows)
}

fn is_typed(end: &SqlError) -> bool {
    matches!(end, SqlError::Cancelled | SqlError::Submit(_) | SqlError::Task(_))
}

/// Reads each query on a thread of its own, ends the stages, and gives what the readers were told.
fn ended(stages: &Stages, queries: Vec<Query>, how: Shutdown) -> Vec<Result<u64, SqlError>> {
    let count = queries.len();
    let (tell, told) = mpsc::channel();
    let tells = |query| {
        let tell = tell.clone();
        std::thread::spawn(move || tell.send(read(query)).unwrap())
    };
    let mut threads: Vec<_> = queries.into_iter().map(tells).collect();
    let ending = stages.clone();
    let (over, is_over) = mpsc::channel();
    threads.push(std::thread::spawn(move || over.send(ending.shutdown(how)).unwrap()));
    is_over.recv_timeout(PATIENCE).expect("the shutdown ends").unwrap();
    let ends = (0..count).map(|_| told.recv_timeout(PATIENCE).expect("every reader is told")).collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    ends
}

#[test]
fn running_queries_end_with_an_error_and_the_shutdown_ends() {
    for how in [Shutdown::Cancel, Shutdown::Drain] {
        let (stages, sql) = started(SqlSettings::default());
        let session = sql.session();
        let mut queries: Vec<_> = (0..4).map(|_| session.query(ENDLESS).unwrap()).collect();
        block_on(queries[0].schema()).unwrap();
        for end in ended(&stages, queries, how) {
            assert!(end.as_ref().is_err_and(is_typed), "{how:?}: {end:?}");
        }
        let late = session.query("SELECT 1").map(drop).unwrap_err();
        assert!(matches!(late, SqlError::Submit(_)), "{late}");
    }
}

#[test]
fn queries_that_wait_for_their_turn_are_told_as_well() {
    for how in [Shutdown::Cancel, Shutdown::Drain] {
        let (stages, sql) = started(SqlSettings { queries: 1, short_queries: 0, ..Default::default() });
        let session = sql.session();
        let mut running = session.query(ENDLESS).unwrap();
        block_on(running.schema()).unwrap();
        // Nobody reads the first one meanwhile: whoever waits behind it depends on nobody's reading.
        let waiting: Vec<_> = (0..3).map(|_| session.query("SELECT 1").unwrap()).collect();
        for end in ended(&stages, waiting, how) {
            assert!(end.as_ref().is_err_and(is_typed), "{how:?}: {end:?}");
        }
        assert!(block_on(running.next()).unwrap().is_err());
    }
}

#[test]
fn a_drain_lets_short_queries_of_files_end_well() {
    let folder = tempfile::tempdir().unwrap();
    let stages =
        Stages::builder().set("fragment.threads", 2).set("shutdown.within_ms", 100_000).start().unwrap();
    let settings = SqlSettings {
        files: vec![folder.path().into()],
        write_files: vec![folder.path().into()],
        ..Default::default()
    };
    let sql = Sql::start(&stages, settings).unwrap();
    let session = sql.session();
    let path = folder.path().join("n.csv").display().to_string();
    let copy = format!("COPY (SELECT value AS n FROM generate_series(1, 20000)) TO '{path}'");
    block_on(session.query(&copy).unwrap().collect()).unwrap();
    // Without an engagement the reactor ends first, and the reads of the file fail.
    let queries: Vec<_> = (0..4)
        .map(|_| session.query(&format!("SELECT n, count(*) FROM '{path}' GROUP BY n")).unwrap())
        .collect();
    for end in ended(&stages, queries, Shutdown::Drain) {
        assert_eq!(end.unwrap(), 20_000, "what was accepted is answered");
    }
}

#[test]
fn a_reader_that_does_not_read_holds_up_the_end_no_longer_than_allowed() {
    let (stages, sql) = started(SqlSettings::default());
    let mut query = sql.session().query("SELECT * FROM generate_series(1, 100000000)").unwrap();
    assert!(block_on(query.next()).unwrap().is_ok());
    let report = stages.shutdown(Shutdown::Drain).unwrap();
    assert_eq!(report.cut_short, ["fragment"], "it was waited for, and then cut");
    let end = loop {
        match block_on(query.next()) {
            Some(Ok(_)) => {}
            end => break end,
        }
    };
    assert!(
        end.is_some_and(|end| end.is_err_and(|error| is_typed(&error))),
        "a part is not taken for the whole"
    );
}
