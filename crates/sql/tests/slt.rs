//! Runs the scripts of `tests/slt`: statements with the answers that they must give, in the form of sqllogictest.
//!
//! ```text
//! statement ok                       it must succeed
//! statement count 3                  it must change so many rows
//! statement error no such thing      it must fail, and say this somewhere
//! query IT rowsort                   the types of its columns, and how rows are put in order before they are compared
//! SELECT ...
//! ----
//! 1 one                              a row per line, values divided by one space; NULL, and (empty) for an empty text
//! ```
//!
//! Types: `I` whole number, `R` other number, `T` text, `B` boolean, `D` date, `P` timestamp, `?` anything else. Order: `nosort` (default),
//! `rowsort`. `query ... like` compares nothing but looks for every expected line in the answer, which is how plans are checked.
//! `$DIR` is a folder of the script's own, which SQL may read and write.
//!
//! Every script has a member of its own. All its failures are told, not the first alone.
#![allow(clippy::disallowed_methods, reason = "tests make deadlines of their own")]

use arrow::array::{Array, RecordBatch};
use arrow::datatypes::DataType;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use filbert_grid::Grid;
use filbert_pool::Stages;
use filbert_sql::{Session, Sql, SqlError, SqlSettings};
use futures::executor::block_on;
use std::path::Path;

/// What a record of a script asks for.
#[derive(Debug)]
enum Wanted {
    Ok,
    Count(u64),
    Error(String),
    Rows { types: String, order: Order, lines: Vec<String> },
}

#[derive(Debug, PartialEq)]
enum Order {
    AsIs,
    Sorted,
    Like,
}

#[derive(Debug)]
struct Record {
    line: usize,
    text: String,
    wanted: Wanted,
}

fn records(script: &str) -> Vec<Record> {
    let mut records = Vec::new();
    let mut lines = script.lines().enumerate().peekable();
    while let Some((number, head)) = lines.next() {
        if head.trim().is_empty() || head.starts_with('#') {
            continue;
        }
        let mut text = Vec::new();
        let mut has_answer = false;
        for (_, line) in lines.by_ref() {
            if line.trim().is_empty() {
                break;
            }
            if line == "----" {
                has_answer = true;
                break;
            }
            text.push(line);
        }
        let words: Vec<_> = head.split_whitespace().collect();
        let wanted = match words.as_slice() {
            ["statement", "ok"] => Wanted::Ok,
            ["statement", "count", count] => Wanted::Count(count.parse().expect("a number of rows")),
            ["statement", "error", ..] => {
                let says = head["statement error".len()..].trim();
                assert!(!says.is_empty(), "line {}: any error would do", number + 1);
                Wanted::Error(says.to_owned())
            }
            ["query", types, order @ ..] => {
                assert!(has_answer, "line {}: a query without an answer", number + 1);
                let order = match order {
                    [] | ["nosort"] => Order::AsIs,
                    ["rowsort"] => Order::Sorted,
                    ["like"] => Order::Like,
                    other => panic!("line {}: the order {other:?} is not known", number + 1),
                };
                let mut answer = Vec::new();
                for (_, line) in lines.by_ref() {
                    if line.trim().is_empty() {
                        break;
                    }
                    answer.push(line.to_owned());
                }
                if order == Order::Sorted {
                    answer.sort();
                }
                Wanted::Rows { types: (*types).to_owned(), order, lines: answer }
            }
            _ => panic!("line {}: {head:?} is not known", number + 1),
        };
        records.push(Record { line: number + 1, text: text.join("\n"), wanted });
    }
    records
}

fn letter(kind: &DataType) -> char {
    match kind {
        DataType::Boolean => 'B',
        DataType::Date32 | DataType::Date64 => 'D',
        DataType::Timestamp(..) => 'P',
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => 'T',
        kind if kind.is_integer() => 'I',
        kind if kind.is_numeric() => 'R',
        _ => '?',
    }
}

fn lines_of(batches: &[RecordBatch]) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL").with_display_error(true);
    let mut lines = Vec::new();
    for batch in batches {
        let columns: Vec<_> =
            batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).unwrap()).collect();
        for row in 0..batch.num_rows() {
            let cell =
                |(column, values): (&ArrayFormatter<'_>, &dyn Array)| match column.value(row).to_string() {
                    text if text.is_empty() && !values.is_null(row) => "(empty)".to_owned(),
                    text => text,
                };
            let values = batch.columns().iter().map(|values| &**values);
            lines.push(columns.iter().zip(values).map(cell).collect::<Vec<_>>().join(" "));
        }
    }
    lines
}

/// What is wrong, if something is.
fn problem(session: &Session, record: &Record, folder: &str) -> Option<String> {
    let text = record.text.replace("$DIR", folder);
    let answer = (|| {
        let mut query = session.query(&text)?;
        let schema = block_on(query.schema())?;
        Ok::<_, SqlError>((schema, block_on(query.collect())?))
    })();
    match (&record.wanted, answer) {
        (Wanted::Error(says), Err(error)) => {
            let said = error.to_string().replace(folder, "$DIR");
            (!said.contains(says)).then(|| format!("says: {said}"))
        }
        (Wanted::Error(_), Ok((_, batches))) => {
            Some(format!("no error, but\n{}", lines_of(&batches).join("\n")))
        }
        (_, Err(error)) => Some(format!("says: {error}")),
        (Wanted::Ok, Ok(_)) => None,
        (Wanted::Count(count), Ok((_, batches))) => {
            let lines = lines_of(&batches);
            (lines != [count.to_string()]).then(|| format!("changed: {}", lines.join(", ")))
        }
        (Wanted::Rows { types, order, lines }, Ok((schema, batches))) => {
            let found: String = schema.fields().iter().map(|field| letter(field.data_type())).collect();
            let mut answer: Vec<_> =
                lines_of(&batches).iter().map(|line| line.replace(folder, "$DIR")).collect();
            if *order == Order::Sorted {
                answer.sort();
            }
            let is_right = match order {
                Order::Like => {
                    let all = answer.join("\n");
                    lines.iter().all(|line| match line.strip_prefix('!') {
                        Some(absent) => !all.contains(absent),
                        None => all.contains(line.as_str()),
                    })
                }
                _ => answer == *lines && found == *types,
            };
            (!is_right).then(|| format!("types {found}, rows\n{}", answer.join("\n")))
        }
    }
}

fn run(script: &Path) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let stages = Stages::builder().set("fragment.threads", 2).start().unwrap();
    let settings = SqlSettings {
        files: vec![folder.path().into()],
        write_files: vec![folder.path().into()],
        ..Default::default()
    };
    let sql = Sql::start(&stages, settings).unwrap();
    sql.attach(&Grid::new(&stages)).unwrap();
    let session = sql.session();
    let text = std::fs::read_to_string(script).unwrap();
    let place = folder.path().display().to_string();
    let name = script.file_name().unwrap().to_string_lossy();
    let records = records(&text);
    println!("{name}: {} statements", records.len());
    let failures = records.iter().filter_map(|record| {
        let problem = problem(&session, record, &place)?;
        let wanted = match &record.wanted {
            Wanted::Rows { types, lines, .. } => format!("types {types}, rows\n{}", lines.join("\n")),
            other => format!("{other:?}"),
        };
        Some(format!("{name}:{}:\n{}\nwanted: {wanted}\n{problem}\n", record.line, record.text))
    });
    failures.collect()
}

#[test]
fn scripts_give_the_answers_that_they_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slt");
    let mut scripts: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    scripts.retain(|path| path.extension().is_some_and(|ending| ending == "slt"));
    if let Ok(only) = std::env::var("FILBERT_SLT") {
        scripts.retain(|path| path.to_string_lossy().contains(&only));
    }
    scripts.sort();
    assert!(!scripts.is_empty(), "no script is left");
    let failures: Vec<_> = scripts.iter().flat_map(|script| run(script)).collect();
    assert!(failures.is_empty(), "{} failures:\n\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn the_runner_tells_wrong_answers_from_right_ones() {
    let stages = Stages::builder().set("fragment.threads", 1).start().unwrap();
    let session = Sql::start(&stages, SqlSettings::default()).unwrap().session();
    let is_right = |script: &str| {
        let records = records(script);
        assert_eq!(records.len(), 1, "{script}");
        problem(&session, &records[0], "/nowhere").is_none()
    };
    assert!(is_right("query IT\nSELECT 1, 'a b'\n----\n1 a b\n"));
    assert!(is_right("query I rowsort\nSELECT * FROM (VALUES (2), (10))\n----\n2\n10\n"));
    for wrong in [
        "query IT\nSELECT 1, 'a b'\n----\n1 a c\n",
        "query II\nSELECT 1, 'a b'\n----\n1 a b\n",
        "query I\nSELECT 1\n----\n",
        "query I\nSELECT 1 WHERE false\n----\n1\n",
        "query I\nSELECT nonsense\n----\n1\n",
        "query T\nSELECT ''\n----\nNULL\n",
        "query T like\nSELECT 'abc'\n----\nd\n",
        "query T like\nSELECT 'abc'\n----\n!b\n",
        "statement ok\nSELEC\n",
        "statement error nonsense\nSELECT 1\n",
        "statement error that\nSELECT this\n",
        "statement count 2\nSELECT 1\n",
    ] {
        assert!(!is_right(wrong), "{wrong}");
    }
}
