//! Parquet and Arrow files against the rows that were written.
#![cfg(feature = "columnar")]
#![allow(clippy::disallowed_methods, reason = "tests look at files themselves")]

use filbert_connect::columnar::arrow_array::{Array, Float64Array, Int64Array, RecordBatch, StringArray};
use filbert_connect::columnar::{self, ColumnarSink, ColumnarSource, Compression, column};
use filbert_connect::memory;
use filbert_flow::processors::{Collected, collect};
use filbert_flow::{DagBuilder, JobError, MetaSupplier, Supplier, TestSupport};
use filbert_pool::{Stages, simulate};
use std::path::Path;
use std::sync::Arc;

type Row = (i64, Option<String>, i64);

/// A sink and the source of what it writes.
type Make = (fn(&Path) -> ColumnarSink, fn(&Path) -> ColumnarSource);

fn batch(rows: std::ops::Range<i64>) -> RecordBatch {
    let names = rows.clone().map(|n| (n % 3 != 0).then(|| format!("name {}", n % 50)));
    RecordBatch::try_from_iter_with_nullable([
        ("id", Arc::new(Int64Array::from_iter_values(rows.clone())) as _, false),
        ("name", Arc::new(names.collect::<StringArray>()) as _, true),
        ("size", Arc::new(Float64Array::from_iter_values(rows.map(|n| n as f64 / 2.0))) as _, false),
    ])
    .unwrap()
}

/// The rows of a batch, whatever the order of its columns.
fn rows_of(batch: &RecordBatch) -> Result<impl Iterator<Item = Row> + use<>, filbert_flow::Failure> {
    let ids = column::<Int64Array>(batch, "id")?;
    let names = column::<StringArray>(batch, "name")?;
    let sizes = column::<Float64Array>(batch, "size")?;
    Ok((0..ids.len()).map(move |row| {
        let name = names.is_valid(row).then(|| names.value(row).to_owned());
        (ids.value(row), name, (sizes.value(row) * 2.0) as i64)
    }))
}

fn expected(rows: std::ops::Range<i64>) -> Vec<Row> {
    rows.map(|n| (n, (n % 3 != 0).then(|| format!("name {}", n % 50)), n)).collect()
}

fn write(
    stages: &Stages,
    batches: Vec<RecordBatch>,
    sink: ColumnarSink,
    writers: usize,
) -> Result<(), JobError> {
    let mut dag = DagBuilder::new("write");
    let source = dag.vertex("batches", memory::items(batches));
    let sink = dag.vertex("file", sink);
    dag.local_parallelism(&sink, writers);
    dag.edge(source.output().to(sink.input()).queue_size(2));
    dag.build().unwrap().submit(stages).unwrap().wait()
}

fn read(stages: &Stages, source: ColumnarSource, readers: usize) -> Result<Vec<Row>, JobError> {
    let list = Collected::new();
    let mut dag = DagBuilder::new("read");
    let source = dag.vertex("batches", source);
    dag.local_parallelism(&source, readers);
    let rows = dag.vertex("rows", columnar::rows(rows_of));
    let sink = dag.vertex("sink", collect(&list));
    dag.edge(source.output().to(rows.input()).queue_size(2));
    dag.edge(rows.output().to(sink.input()));
    dag.build().unwrap().submit(stages).unwrap().wait()?;
    let mut found = list.take();
    found.sort_unstable();
    Ok(found)
}

fn said<T: std::fmt::Debug>(result: Result<T, JobError>) -> String {
    result.unwrap_err().to_string()
}

fn batches() -> Vec<RecordBatch> {
    (0..20).map(|n| batch(n * 137..(n + 1) * 137)).collect()
}

#[test]
fn parquet_gives_back_what_was_written_whoever_reads_which_row_group() {
    let (stages, folder) = (Stages::start().unwrap(), tempfile::tempdir().unwrap());
    for compression in [Compression::None, Compression::Snappy, Compression::Zstd] {
        let parts = folder.path().join(format!("{compression:?}"));
        let sink = columnar::write_parquet(&parts).compression(compression).row_group_rows(100);
        write(&stages, batches(), sink.in_folder("parquet"), 3).unwrap();
        for readers in [1, 2, 5, 40] {
            let source = columnar::parquet(&parts).batch_rows(33);
            assert_eq!(read(&stages, source, readers).unwrap(), expected(0..20 * 137), "{readers} readers");
        }
    }
}

#[test]
fn arrow_gives_back_what_was_written_whoever_reads_which_batch() {
    let (stages, folder) = (Stages::start().unwrap(), tempfile::tempdir().unwrap());
    let parts = folder.path().join("parts");
    write(&stages, batches(), columnar::write_arrow(&parts).in_folder("arrow"), 2).unwrap();
    let pattern = parts.join("*.arrow");
    for readers in [1, 3, 30] {
        assert_eq!(read(&stages, columnar::arrow(&pattern), readers).unwrap(), expected(0..20 * 137));
    }
    let single = folder.path().join("one.arrow");
    write(&stages, vec![batch(0..10)], columnar::write_arrow(&single), 1).unwrap();
    write(&stages, vec![batch(0..20)], columnar::write_arrow(&single), 1).unwrap();
    assert_eq!(read(&stages, columnar::arrow(&single), 2).unwrap(), expected(0..20), "it was replaced");
}

#[test]
fn files_are_read_in_simulation() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.parquet");
    let sink = columnar::write_parquet(&path).row_group_rows(64);
    write(&Stages::simulated(1), batches(), sink, 1).unwrap();
    simulate::seeds("files_are_read_in_simulation", 0..20, |seed| {
        let stages = Stages::simulated(seed);
        let found = read(&stages, columnar::parquet(&path), 1 + (seed % 4) as usize);
        assert_eq!(found.unwrap(), expected(0..20 * 137));
    });
}

#[test]
fn columns_are_read_in_the_order_that_was_asked_for() {
    let (stages, folder) = (Stages::start().unwrap(), tempfile::tempdir().unwrap());
    let kinds: [(&str, Make); 2] = [
        ("a.parquet", (|path| columnar::write_parquet(path), |path| columnar::parquet(path))),
        ("a.arrow", (|path| columnar::write_arrow(path), |path| columnar::arrow(path))),
    ];
    for (name, (sink, source)) in kinds {
        let path = folder.path().join(name);
        write(&stages, vec![batch(0..10)], sink(&path), 1).unwrap();
        let all = source(&path).columns(["size", "name", "id"]);
        assert_eq!(read(&stages, all, 1).unwrap(), expected(0..10));
        let list = Collected::new();
        let mut dag = DagBuilder::new("two columns");
        let batches = dag.vertex("batches", source(&path).columns(["size", "id"]));
        let end = dag.vertex("end", collect(&list));
        dag.edge(batches.output().to(end.input()));
        dag.build().unwrap().submit(&stages).unwrap().wait().unwrap();
        let names: Vec<_> =
            list.take()[0].schema().fields().iter().map(|field| field.name().clone()).collect();
        assert_eq!(names, ["size", "id"]);
        let said = said(read(&stages, source(&path).columns(["id", "colour"]), 1));
        assert!(said.contains(path.to_str().unwrap()) && said.contains("no column \"colour\""), "{said}");
        assert!(said.contains("id, name, size"), "{said}");
    }
}

#[test]
fn a_column_that_is_asked_for_twice_is_refused() {
    let (stages, folder) = (Stages::start().unwrap(), tempfile::tempdir().unwrap());
    let path = folder.path().join("a.parquet");
    write(&stages, vec![batch(0..10)], columnar::write_parquet(&path), 1).unwrap();
    let twice = said(read(&stages, columnar::parquet(&path).columns(["id", "id"]), 1));
    assert!(twice.contains("column \"id\" is asked for twice"), "{twice}");
}

#[test]
fn files_that_do_not_fit_together_are_named_with_the_column() {
    let (stages, folder) = (Stages::start().unwrap(), tempfile::tempdir().unwrap());
    let [first, second] = ["1.parquet", "2.parquet"].map(|name| folder.path().join(name));
    write(&stages, vec![batch(0..10)], columnar::write_parquet(&first), 1).unwrap();
    let other = RecordBatch::try_from_iter([
        ("id", Arc::new(Int64Array::from(vec![1])) as _),
        ("name", Arc::new(StringArray::from(vec!["x"])) as _),
        ("size", Arc::new(Int64Array::from(vec![1])) as _),
    ]);
    let other = other.unwrap();
    write(&stages, vec![other.clone()], columnar::write_parquet(&second), 1).unwrap();
    let found = said(read(&stages, columnar::parquet(&first).and(&second), 2));
    assert!(found.contains("2.parquet: column \"size\" is of type Int64, expected is Float64"), "{found}");
    // The same in what is written.
    let mixed = folder.path().join("mixed.arrow");
    let found = said(write(&stages, vec![batch(0..3), other], columnar::write_arrow(&mixed), 1));
    assert!(found.contains("mixed.arrow: column \"size\" is of type"), "{found}");
    assert_eq!(
        std::fs::read_dir(folder.path()).unwrap().count(),
        2,
        "a job that failed leaves nothing behind"
    );
}

#[test]
fn a_column_that_a_batch_does_not_have_is_named() {
    let found = column::<Int64Array>(&batch(0..1), "name").unwrap_err().to_string();
    assert!(found.contains("\"name\"") && found.contains("Int64") && found.contains("(Utf8)"), "{found}");
}

#[test]
fn nothing_to_write_gives_a_file_only_with_a_schema() {
    let (stages, folder) = (Stages::start().unwrap(), tempfile::tempdir().unwrap());
    let path = folder.path().join("none.parquet");
    write(&stages, Vec::new(), columnar::write_parquet(&path), 1).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    write(&stages, Vec::new(), columnar::write_parquet(&path).schema(batch(0..0).schema()), 1).unwrap();
    assert_eq!(read(&stages, columnar::parquet(&path), 2).unwrap(), []);
    let no_file = said(read(&stages, columnar::arrow(folder.path().join("no-*.arrow")), 1));
    assert!(no_file.contains("there is no file"), "{no_file}");
}

/// Every kind of damage fails the job with the name of the file, or does not matter; none panics through or hangs.
#[test]
fn broken_files_are_named() {
    let (stages, folder) = (Stages::start().unwrap(), tempfile::tempdir().unwrap());
    let kinds: [Make; 2] = [
        (|path| columnar::write_parquet(path).row_group_rows(50), |path| columnar::parquet(path)),
        (|path| columnar::write_arrow(path), |path| columnar::arrow(path)),
    ];
    for (kind, (sink, source)) in kinds.into_iter().enumerate() {
        let good = folder.path().join(format!("good-{kind}"));
        write(&stages, vec![batch(0..120), batch(120..200)], sink(&good), 1).unwrap();
        let bytes = std::fs::read(&good).unwrap();
        let bad = folder.path().join(format!("bad-{kind}"));
        // True when it cannot be read.
        let fails = |bytes: &[u8]| {
            std::fs::write(&bad, bytes).unwrap();
            let failed = read(&stages, source(&bad), 2).err().map(|error| error.to_string());
            assert!(failed.iter().all(|said| said.contains(&format!("bad-{kind}"))), "{failed:?}");
            failed.is_some()
        };
        for length in [0, 1, 7, 100, bytes.len() / 2, bytes.len() - 1] {
            assert!(fails(&bytes[..length]), "a file without its end");
        }
        for at in (0..bytes.len()).step_by(bytes.len() / 60) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x55;
            fails(&damaged);
        }
    }
}

#[test]
fn rows_come_from_the_harness() {
    let rows = columnar::rows(rows_of);
    TestSupport::new(move |share| rows.supplier(share).unwrap().processor(share).unwrap())
        .input(vec![batch(0..5), batch(5..5), batch(5..17)])
        .expect(expected(0..17));
}
