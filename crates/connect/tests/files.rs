//! Files as sources and sinks, with whole jobs: what is read is what is there, hostile files are named, and failed jobs leave nothing.
#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]

use filbert_connect::file::{self, BadRows, FileSource, Format};
use filbert_connect::memory;
use filbert_flow::processors::{Collected, collect, map};
use filbert_flow::{DagBuilder, JobError};
use filbert_pool::{Stages, simulate};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Runs a source with so many processors; what it emitted.
fn read<F: Format>(
    stages: &Stages,
    source: FileSource<F>,
    processors: usize,
) -> Result<Vec<F::Item>, String> {
    let mut dag = DagBuilder::new("read");
    let source = dag.vertex("source", source);
    dag.local_parallelism(&source, processors);
    let list = Collected::new();
    let sink = dag.vertex("sink", collect(&list));
    dag.edge(source.output().to(sink.input()));
    match dag.build().unwrap().submit(stages).unwrap().wait() {
        Ok(()) => Ok(list.take()),
        Err(JobError::Failed(failure)) => Err(failure.message),
        Err(other) => panic!("{other}"),
    }
}

fn sorted<T: Ord>(mut items: Vec<T>) -> Vec<T> {
    items.sort();
    items
}

fn names(folder: &Path) -> Vec<String> {
    sorted(
        std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect(),
    )
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Order {
    id: u64,
    product: String,
    note: Option<String>,
}

fn orders(text: &'static str) -> impl Strategy<Value = Vec<Order>> {
    let order = (any::<u64>(), text, proptest::option::of("[a-z]{1,5}"))
        .prop_map(|(id, product, note)| Order { id, product, note });
    proptest::collection::vec(order, 0..60)
}

#[test]
fn lines_of_many_files_are_read_once_by_any_number_of_processors() {
    let (stages, folder) = (Stages::start().unwrap(), tempfile::tempdir().unwrap());
    let mut expected = Vec::new();
    for number in 0..5_u64 {
        let lines: Vec<String> = (0..number * 700)
            .map(|line| format!("{number}/{line} {}", "x".repeat((line % 50) as usize)))
            .collect();
        std::fs::write(folder.path().join(format!("{number}.txt")), lines.join("\r\n")).unwrap();
        expected.extend(lines);
    }
    std::fs::write(folder.path().join(".hidden"), "no").unwrap();
    std::fs::create_dir(folder.path().join("below")).unwrap();
    for processors in [1, 2, 7] {
        let pattern = folder.path().join("[0-9].txt");
        let by_pattern = read(&stages, file::lines(&pattern).block_bytes(300), processors).unwrap();
        assert_eq!(sorted(by_pattern), sorted(expected.clone()));
        assert_eq!(
            sorted(read(&stages, file::lines(folder.path()), processors).unwrap()),
            sorted(expected.clone())
        );
        let blocks = read(&stages, file::blocks(folder.path()).block_bytes(1000), processors).unwrap();
        let lines = blocks
            .iter()
            .flat_map(|block| block.lines())
            .map(|line| String::from_utf8(line.to_vec()).unwrap());
        assert_eq!(sorted(lines.collect()), sorted(expected.clone()));
    }
}

#[test]
fn files_are_read_and_written_in_simulation() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text");
    std::fs::write(&path, (0..500).map(|n| format!("{n}\n")).collect::<String>()).unwrap();
    simulate::seeds("files_are_read_and_written_in_simulation", 0..20, |seed| {
        let stages = Stages::simulated(seed);
        let mut dag = DagBuilder::new("copy");
        let lines = dag.vertex("lines", file::lines(&path).block_bytes(64));
        let out = folder.path().join(format!("copy-{seed}"));
        let sink = dag.vertex("sink", file::write_lines(&out));
        dag.edge(lines.output().to(sink.input()).queue_size(2).high_water_mark(1));
        dag.build().unwrap().submit(&stages).unwrap().wait().unwrap();
        let copied = std::fs::read_to_string(&out).unwrap();
        assert_eq!(
            sorted(copied.lines().map(|n| n.parse::<u32>().unwrap()).collect()),
            (0..500).collect::<Vec<_>>()
        );
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn csv_is_read_as_it_was_written(
        orders in orders("[a-z,\"' ]{0,12}"), processors in 1_usize..6, block in 1_usize..200, ends_crlf in any::<bool>(),
    ) {
        let (stages, folder) = (Stages::simulated(1), tempfile::tempdir().unwrap());
        let path = folder.path().join("orders.csv");
        let terminator = if ends_crlf { csv::Terminator::CRLF } else { csv::Terminator::Any(b'\n') };
        let mut writer = csv::WriterBuilder::new().terminator(terminator).from_path(&path).unwrap();
        orders.iter().for_each(|order| writer.serialize(order).unwrap());
        writer.flush().unwrap();
        let read = read(&stages, file::csv::<Order>(&path).block_bytes(block), processors).unwrap();
        prop_assert_eq!(sorted(read), sorted(orders));
    }

    #[test]
    fn csv_with_line_ends_in_fields_is_read_whole_or_refused(
        orders in orders("[a-z\n\"]{0,12}"), processors in 1_usize..6, block in 1_usize..200,
    ) {
        let (stages, folder) = (Stages::simulated(1), tempfile::tempdir().unwrap());
        let path = folder.path().join("orders.csv");
        let mut writer = csv::Writer::from_path(&path).unwrap();
        orders.iter().for_each(|order| writer.serialize(order).unwrap());
        writer.flush().unwrap();
        let source = || file::csv::<Order>(&path).block_bytes(block);
        let whole = read(&stages, source().multiline(), processors).unwrap();
        prop_assert_eq!(sorted(whole), sorted(orders.clone()));
        if let Ok(cut) = read(&stages, source(), processors) {
            prop_assert_eq!(sorted(cut), sorted(orders));
        }
    }

    #[test]
    fn ndjson_is_read_as_it_was_written(orders in orders(".{0,12}"), processors in 1_usize..6, block in 1_usize..200) {
        let (stages, folder) = (Stages::simulated(1), tempfile::tempdir().unwrap());
        let path = folder.path().join("orders.ndjson");
        let lines: String = orders.iter().map(|order| serde_json::to_string(order).unwrap() + "\n").collect();
        std::fs::write(&path, lines).unwrap();
        let read = read(&stages, file::ndjson::<Order>(&path).block_bytes(block), processors).unwrap();
        prop_assert_eq!(sorted(read), sorted(orders));
    }
}

#[test]
fn what_a_job_writes_another_reads() {
    let (stages, folder) = (Stages::start().unwrap(), tempfile::tempdir().unwrap());
    let order = |id| Order { id, product: format!("nut, \"{id}\""), note: None };
    let write = |sink: &str| {
        let mut dag = DagBuilder::new("write");
        let numbers = dag.vertex("numbers", memory::range(0..3_000));
        let orders = dag.vertex("orders", map(order));
        dag.edge(numbers.output().to(orders.input()));
        let path = folder.path().join(sink);
        let sink = match sink {
            "one.csv" => dag.vertex("sink", file::write_csv(&path)),
            "parts-csv" => dag.vertex("sink", file::write_csv(&path).in_folder("csv")),
            _ => dag.vertex("sink", file::write_ndjson(&path).in_folder("ndjson")),
        };
        dag.edge(orders.output().to(sink.input()));
        dag.build().unwrap().submit(&stages).unwrap().wait()
    };
    let expected: Vec<Order> = (0..3_000).map(order).collect();
    write("one.csv").unwrap();
    assert_eq!(
        sorted(read(&stages, file::csv::<Order>(folder.path().join("one.csv")), 3).unwrap()),
        expected
    );
    write("parts-csv").unwrap();
    assert_eq!(names(&folder.path().join("parts-csv")).len(), stages.flow().threads());
    assert_eq!(
        sorted(read(&stages, file::csv::<Order>(folder.path().join("parts-csv")), 3).unwrap()),
        expected
    );
    write("parts-json").unwrap();
    assert_eq!(
        sorted(read(&stages, file::ndjson::<Order>(folder.path().join("parts-json")), 3).unwrap()),
        expected
    );
    // A second result is not mixed with the first; one file is replaced.
    let refused = write("parts-csv").unwrap_err().to_string();
    assert!(refused.contains("part-") && refused.contains("another folder"), "{refused}");
    write("one.csv").unwrap();
}

#[test]
fn a_job_that_fails_or_is_cancelled_leaves_no_file() {
    let (stages, folder) = (Stages::start().unwrap(), tempfile::tempdir().unwrap());
    let old = folder.path().join("old");
    std::fs::write(&old, "as it was").unwrap();
    let job = |numbers: std::ops::Range<u64>, fails: bool| {
        let mut dag = DagBuilder::new("fails");
        let numbers = dag.vertex("numbers", memory::range(numbers));
        let lines = dag.vertex(
            "lines",
            map(move |n: u64| {
                assert!(!(fails && n == 90_000), "as asked");
                n.to_string()
            }),
        );
        let sink = dag.vertex("sink", file::write_lines(&old));
        let parts = dag.vertex("parts", file::write_lines(folder.path()).in_folder("txt"));
        dag.edge(numbers.output().to(lines.input()));
        dag.edge(lines.output().to(sink.input()));
        dag.edge(lines.output_number(1).to(parts.input()));
        dag.build().unwrap().submit(&stages).unwrap()
    };
    assert!(job(0..100_000, true).wait().is_err());
    assert_eq!(names(folder.path()), ["old"]);
    for _ in 0..20 {
        let endless = job(0..u64::MAX, false);
        endless.cancel();
        assert!(endless.wait().is_err());
        assert_eq!(names(folder.path()), ["old"]);
    }
    assert_eq!(std::fs::read_to_string(&old).unwrap(), "as it was");
    job(0..10, false).wait().unwrap();
    assert_eq!(std::fs::read_to_string(&old).unwrap().lines().count(), 10);
}

#[test]
fn hostile_files_are_named_with_the_line() {
    let (stages, folder) = (Stages::start().unwrap(), tempfile::tempdir().unwrap());
    let path = folder.path().join("hostile.txt");
    let fails = |source: FileSource<file::Lines>, words: &[&str]| {
        let said = read(&stages, source, 3).unwrap_err();
        for word in words {
            assert!(said.contains(word), "{said:?} lacks {word:?}");
        }
    };
    std::fs::write(&path, b"good\n".repeat(1000).into_iter().chain(*b"b\xFFd\ngood\n").collect::<Vec<u8>>())
        .unwrap();
    fails(file::lines(&path).block_bytes(64), &["hostile.txt:1001:2", "not UTF-8"]);
    let bad = BadRows::new();
    assert_eq!(read(&stages, file::lines(&path).skip_bad_rows(&bad), 3).unwrap().len(), 1001);
    assert_eq!(bad.count(), 1);
    assert!(bad.example().unwrap().contains("hostile.txt"));
    std::fs::write(&path, "short\n".to_owned() + &"x".repeat(100_000)).unwrap();
    fails(
        file::lines(&path).max_line_bytes(1_000),
        &["hostile.txt:2", "longer than 1000 bytes", "max_line_bytes"],
    );
    fails(file::lines(folder.path().join("none.txt")), &["there is no file", "none.txt"]);
    fails(file::lines(path.join("below")), &["hostile.txt/below"]);
    fails(file::lines(folder.path().join("a[")), &["not a pattern"]);
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    fails(file::lines(&empty), &["there is no file", "a folder must hold one"]);
    std::fs::write(empty.join("nothing"), "").unwrap();
    assert_eq!(read(&stages, file::lines(&empty), 3).unwrap().len(), 0);
    assert_eq!(read(&stages, file::csv::<Order>(&empty), 3).unwrap().len(), 0);
}

#[test]
fn bad_rows_are_named_with_line_and_column_or_counted() {
    let (stages, folder) = (Stages::start().unwrap(), tempfile::tempdir().unwrap());
    let path = folder.path().join("rows");
    let fails = |said: Result<Vec<Order>, String>, words: &[&str]| {
        let said = said.unwrap_err();
        for word in words {
            assert!(said.contains(word), "{said:?} lacks {word:?}");
        }
    };
    std::fs::write(&path, "id,product,note\n1,nut,\n2,nut,\nthree,nut,\n4,nut\n").unwrap();
    fails(read(&stages, file::csv(&path), 1), &["rows:4:1", "\"id\"", "invalid digit"]);
    let bad = BadRows::new();
    assert_eq!(read(&stages, file::csv::<Order>(&path).skip_bad_rows(&bad), 4).unwrap().len(), 2);
    assert_eq!(bad.count(), 2);
    std::fs::write(&path, "id;product\n1;nut\n2\n").unwrap();
    let two = file::csv::<Order>(&path).delimiter(b';');
    fails(read(&stages, two, 1), &["rows:3", "1 fields and not 2"]);
    std::fs::write(&path, "1,nut\n2,nut\n").unwrap();
    let rows = read(&stages, file::csv::<(u64, String)>(&path).without_header(), 2).unwrap();
    assert_eq!(sorted(rows), [(1, "nut".to_owned()), (2, "nut".to_owned())]);
    std::fs::write(&path, "{\"id\":1,\"product\":\"nut\"}\n\n{\"id\":2,\"product\":7}\n").unwrap();
    fails(read(&stages, file::ndjson(&path), 2), &["rows:3:19: ", "expected a string"]);
    assert_eq!(read(&stages, file::ndjson::<Order>(&path).skip_bad_rows(&bad), 2).unwrap().len(), 1);
    assert_eq!(bad.count(), 3);
}

#[test]
fn sinks_refuse_what_cannot_be_written_to() {
    let (stages, folder) = (Stages::start().unwrap(), tempfile::tempdir().unwrap());
    let write = |path: &Path, processors: usize| {
        let mut dag = DagBuilder::new("refused");
        let words = dag.vertex("words", memory::items(vec!["a", "b"]));
        let sink = dag.vertex("sink", file::write_lines(path));
        dag.local_parallelism(&sink, processors);
        dag.edge(words.output().to(sink.input()));
        dag.build().unwrap().submit(&stages).unwrap().wait().unwrap_err().to_string()
    };
    assert!(write(folder.path(), 1).contains("it is a folder"));
    assert!(write(&folder.path().join("none/file"), 1).contains("cannot create"));
    assert!(write(&folder.path().join("file"), 2).contains("2 processors cannot write one file"));
    assert_eq!(names(folder.path()), [""; 0]);
}
