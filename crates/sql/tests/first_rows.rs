//! `LIMIT` on files gives their first rows, every time.

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use filbert_pool::Stages;
use filbert_sql::{Session, Sql, SqlSettings};
use futures::executor::block_on;
use std::fmt::Write;

fn numbers(session: &Session, text: &str) -> Vec<i64> {
    let batches = block_on(session.query(text).unwrap().collect());
    let batches = batches.unwrap_or_else(|error| panic!("{text}: {error}"));
    batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec()).collect()
}

#[test]
fn a_limit_gives_the_first_rows_of_files() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, rows: std::ops::Range<i64>, filler: &str| {
        let mut text = String::from("id,filler\n");
        rows.for_each(|row| writeln!(text, "{row},{filler}").unwrap());
        std::fs::write(folder.path().join(name), text).unwrap();
    };
    // One that is large enough to be read in parts, and several small ones.
    write("large.csv", 0..120_000, &"x".repeat(100));
    for part in 0..8 {
        write(&format!("part-{part}.csv"), part * 100..(part + 1) * 100, "x");
    }
    let stages = Stages::start().unwrap();
    let (files, write_files) = (vec![folder.path().into()], vec![folder.path().into()]);
    let settings = SqlSettings { files, write_files, ..Default::default() };
    let session = Sql::start(&stages, settings).unwrap().session();
    block_on(session.query("SET datafusion.execution.target_partitions = 8").unwrap().collect()).unwrap();
    let path = folder.path().display();
    for round in 0..5 {
        let first = |rows: i64| (0..rows).collect::<Vec<_>>();
        for (text, rows) in [
            (format!("SELECT id FROM '{path}/large.csv' LIMIT 3"), 3),
            (format!("SELECT x.id FROM '{path}/large.csv' AS x LIMIT 2"), 2),
            (format!("SELECT id FROM (SELECT * EXCLUDE (filler) FROM '{path}/large.csv') AS s LIMIT 4"), 4),
            (format!("SELECT id FROM '{path}/part-*.csv' LIMIT 250"), 250),
        ] {
            assert_eq!(numbers(&session, &text), first(rows), "round {round}: {text}");
        }
        let copy = format!("COPY (SELECT id FROM '{path}/large.csv' LIMIT 5) TO '{path}/first-{round}.csv'");
        block_on(session.query(&copy).unwrap().collect()).unwrap();
        assert_eq!(numbers(&session, &format!("SELECT id FROM '{path}/first-{round}.csv'")), first(5));
    }
    let second = numbers(&session, &format!("SELECT id FROM '{path}/part-*.csv' LIMIT 2 OFFSET 99"));
    assert_eq!(second, [99, 100]);
}
