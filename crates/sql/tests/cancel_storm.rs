//! Queries that are cancelled at any moment while every fragment worker is busy: how soon the cancel is acknowledged, how soon the last
//! fragment is gone, and that nothing is left behind.
//!
//! `FILBERT_SQL_CANCELS` says how many (a few hundred without it; `cargo xtask long --only sql-cancel` asks for 10,000).
#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]

use filbert_grid::Grid;
use filbert_pool::Stages;
use filbert_sql::{Session, Sql, SqlSettings};
use futures::StreamExt;
use futures::executor::block_on;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

const ENDLESS: &str = "SELECT count(*) FROM generate_series(1, 10000000) a, generate_series(1, 10000000) b WHERE a.value + b.value < 0";

/// Threads that cancel.
const DRIVERS: u64 = 16;

fn started(folder: &Path) -> (Stages, Sql) {
    let stages = Stages::builder().set("fragment.threads", 2).start().unwrap();
    let settings = SqlSettings {
        files: vec![folder.into()],
        write_files: vec![folder.into()],
        query_memory_bytes: 64 << 20,
        ..Default::default()
    };
    let sql = Sql::start(&stages, settings).unwrap();
    sql.attach(&Grid::new(&stages)).unwrap();
    (stages, sql)
}

fn done(session: &Session, text: &str) {
    block_on(session.query(text).unwrap().collect()).unwrap_or_else(|error| panic!("{text}: {error}"));
}

/// What is cancelled: joins, sorts, scans of maps and of files, writes.
fn statements(session: &Session, folder: &Path) -> Vec<String> {
    let folder = folder.display();
    done(session, "CREATE MAPPING m TYPE IMap OPTIONS ('keyFormat'='bigint', 'valueFormat'='bigint')");
    done(session, "SINK INTO m SELECT value, value % 1000 FROM generate_series(1, 50000)");
    for ending in ["csv", "parquet"] {
        let copy = format!(
            "COPY (SELECT value AS n, 'text ' || value AS t FROM generate_series(1, 100000)) TO '{folder}/f.{ending}'"
        );
        done(session, &copy);
    }
    vec![
        ENDLESS.to_owned(),
        "SELECT count(*) FROM generate_series(1, 10000000) a, generate_series(1, 10000000) b".to_owned(),
        "SELECT * FROM generate_series(1, 3000000) ORDER BY value * 7919 % 1000003".to_owned(),
        "SELECT a.this, count(*) FROM m a JOIN m b ON a.this = b.this GROUP BY a.this".to_owned(),
        format!(
            "SELECT a.t, max(b.n) FROM '{folder}/f.csv' a JOIN '{folder}/f.parquet' b ON a.n % 100 = b.n % 100 GROUP BY a.t"
        ),
        format!("SELECT count(DISTINCT t) FROM '{folder}/f.*'"),
        "SELECT count(*) FROM (SELECT DISTINCT value % 1000000 FROM generate_series(1, 10000000))".to_owned(),
        format!(
            "COPY (SELECT a.value FROM generate_series(1, 100000) a, generate_series(1, 100000) b) TO '{folder}/out.csv'"
        ),
        "SELECT this, sum(__key) OVER (PARTITION BY this ORDER BY __key) FROM m".to_owned(),
    ]
}

fn tasks(stages: &Stages) -> usize {
    let stages = stages.snapshot();
    stages.iter().filter(|stage| ["fragment", "query"].contains(&stage.stage)).map(|stage| stage.depth).sum()
}

/// Hidden files of COPY.
fn unfinished(folder: &Path) -> usize {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().ends_with(".part")).count()
}

fn percentile(sorted: &[Duration], percent: usize) -> f64 {
    sorted[(sorted.len() - 1) * percent / 100].as_secs_f64() * 1_000.0
}

fn told(what: &str, mut times: Vec<Duration>) -> Duration {
    times.sort();
    let (p50, p99, max) = (percentile(&times, 50), percentile(&times, 99), percentile(&times, 100));
    println!("{what}: p50 {p50:.2} ms, p99 {p99:.2} ms, max {max:.2} ms, of {}", times.len());
    times[times.len() - 1]
}

#[test]
fn cancels_are_acknowledged_while_all_workers_are_busy_and_leave_nothing_behind() {
    let count: u64 = std::env::var("FILBERT_SQL_CANCELS").map_or(300, |text| text.parse().expect("a number"));
    let folder = tempfile::tempdir().unwrap();
    let (stages, sql) = started(folder.path());
    let session = sql.session();
    let statements = statements(&session, folder.path());
    let busy: Vec<_> = (0..4).map(|_| sql.session().query(ENDLESS).unwrap()).collect();
    let (acknowledged, gone) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let (next, finished) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..DRIVERS {
            scope.spawn(|| {
                let session = sql.session();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return;
                    }
                    // Any order of both, the same in every run.
                    let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
                    let mut query =
                        session.query(&statements[(mixed % statements.len() as u64) as usize]).unwrap();
                    let canceller = query.canceller();
                    // sleeps because the moment of the cancel is what is varied
                    std::thread::sleep(Duration::from_micros(mixed / 97 % 100_000));
                    let began = Instant::now();
                    let was_there = canceller.cancel().unwrap().wait().unwrap();
                    acknowledged.lock().unwrap().push(began.elapsed());
                    while canceller.fragments() > 0 {
                        assert!(
                            began.elapsed() < Duration::from_secs(120),
                            "fragments of query {} go on",
                            query.id()
                        );
                        // sleeps because the end of a cancelled task is seen by nobody
                        std::thread::sleep(Duration::from_micros(100));
                    }
                    gone.lock().unwrap().push(began.elapsed());
                    // It is told, if it did not end before.
                    let mut last = None;
                    while let Some(batch) = block_on(query.next()) {
                        last = Some(batch.is_ok());
                    }
                    finished.fetch_add(u64::from(last != Some(false)), Ordering::Relaxed);
                    assert!(was_there, "nobody else ended it");
                }
            });
        }
    });
    println!("{count} cancels, {} queries ended before", finished.load(Ordering::Relaxed));
    let slowest = told("acknowledged by stage query", acknowledged.into_inner().unwrap());
    assert!(slowest < Duration::from_secs(30), "a cancel waits for nobody's work");
    told("last fragment gone", gone.into_inner().unwrap());
    let shown = block_on(session.query("SHOW QUERIES").unwrap().collect()).unwrap();
    assert_eq!(shown.iter().map(|batch| batch.num_rows()).sum::<usize>(), 5, "the busy ones and this one");
    drop(busy);
    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        let (now, tasks, parts) = (sql.snapshot(), tasks(&stages), unfinished(folder.path()));
        if (now.running, now.waiting, now.memory_bytes, tasks, parts) == (0, 0, 0, 0, 0) {
            break;
        }
        assert!(Instant::now() < deadline, "left behind: {now:?}, {tasks} tasks, {parts} unfinished files");
        // sleeps because the end of a cancelled task is seen by nobody
        std::thread::sleep(Duration::from_millis(1));
    }
    done(&session, "SELECT count(*) FROM m");
}
