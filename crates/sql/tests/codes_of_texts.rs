//! Texts of Parquet files as codes: the rows are those of a session that reads texts, whatever pages the files have.

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::DataType;
use arrow::util::pretty::pretty_format_batches;
use filbert_pool::Stages;
use filbert_sql::{Session, Sql, SqlSettings};
use futures::executor::block_on;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use std::sync::Arc;
use tempfile::TempDir;

const ROWS: i64 = 2_600;
const GROUP_ROWS: usize = 1_000;

struct Member {
    _stages: Stages,
    session: Session,
    coded: Session,
    folder: TempDir,
}

fn started(cache_bytes: usize) -> Member {
    let folder = tempfile::tempdir().unwrap();
    let stages = Stages::builder().set("fragment.threads", 2).start().unwrap();
    let files = vec![folder.path().into()];
    let settings = SqlSettings { cache_bytes, files, batch_rows: 300, ..Default::default() };
    let session = Sql::start(&stages, settings).unwrap().session();
    let coded = session.fork().with_codes_of_texts().unwrap();
    Member { _stages: stages, session, coded, folder }
}

fn texts(of: impl Fn(i64) -> Option<String>) -> Vec<Option<String>> {
    (0..ROWS).map(of).collect()
}

fn desks() -> Vec<Option<String>> {
    texts(|row| (row % 7 != 0).then(|| format!("desk {}", row * 31 % 19)))
}

fn books() -> Vec<Option<String>> {
    texts(|row| Some(format!("a book with a long name, number {}", row % 300)))
}

impl Member {
    fn write(&self, name: &str, columns: Vec<(&str, ArrayRef)>, properties: WriterProperties) {
        let batch = RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, column)| (name, column, true)),
        );
        let batch = batch.unwrap();
        let file = std::fs::File::create(self.folder.path().join(name)).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    }

    fn batches(&self, session: &Session, text: &str) -> Vec<RecordBatch> {
        let text = text.replace('@', &self.folder.path().display().to_string());
        let query = session.query(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        block_on(query.collect()).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    /// Both sessions must have the same rows; the types of the coded ones, none where there are no rows.
    fn same(&self, text: &str) -> Vec<DataType> {
        let shown = |batches: &[RecordBatch]| {
            let mut lines: Vec<String> =
                pretty_format_batches(batches).unwrap().to_string().lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        let coded = self.batches(&self.coded, text);
        assert_eq!(shown(&coded), shown(&self.batches(&self.session, text)), "{text}");
        let types = coded.first().map(|batch| batch.schema());
        types.iter().flat_map(|schema| schema.fields()).map(|field| field.data_type().clone()).collect()
    }
}

fn properties(has_dictionary: bool) -> WriterProperties {
    WriterProperties::builder()
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_dictionary_enabled(has_dictionary)
        .build()
}

fn strings(texts: Vec<Option<String>>) -> ArrayRef {
    Arc::new(StringArray::from(texts))
}

fn numbers() -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(0..ROWS))
}

fn is_coded(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Dictionary(..))
}

const CONDITIONS: [&str; 8] = [
    "true",
    "desk = 'desk 4'",
    "desk <> 'desk 4' AND n > 900",
    "desk IS NULL OR desk IN ('desk 1', 'desk 2', 'nothing')",
    "book LIKE '%7' AND desk > 'desk 15'",
    "upper(desk) = 'DESK 3'",
    "desk = 'nothing'",
    "n BETWEEN 1990 AND 2010",
];

/// With a cache the second round keeps columns, and the third takes them from memory.
fn rounds(cache_bytes: usize) -> usize {
    if cache_bytes == 0 { 1 } else { 3 }
}

#[test]
fn pages_of_entries_come_as_codes_with_the_same_rows() {
    for cache_bytes in [0, 64 << 20] {
        let member = started(cache_bytes);
        let columns = vec![("desk", strings(desks())), ("book", strings(books())), ("n", numbers())];
        member.write("a.parquet", columns, properties(true));
        for round in 0..rounds(cache_bytes) {
            for condition in CONDITIONS {
                let types =
                    member.same(&format!("SELECT desk, book, n FROM '@/a.parquet' WHERE {condition}"));
                assert!(types.iter().take(2).all(is_coded), "{condition}, round {round}: {types:?}");
            }
            member.same("SELECT desk, count(*), min(book) FROM '@/a.parquet' GROUP BY desk");
        }
        // A batch has no more entries than the page, which all batches of a row group share.
        let batches = member.batches(&member.coded, "SELECT desk FROM '@/a.parquet'");
        assert!(batches.iter().all(|batch| batch.column(0).as_any_dictionary().values().len() == 19));
    }
}

/// A writer that gives up on a dictionary goes on with plain pages in the same column.
#[test]
fn columns_without_dictionaries_stay_texts() {
    let member = started(0);
    let unique = texts(|row| Some(format!("a text of its own, number {row}")));
    let small_pages = WriterProperties::builder()
        .set_dictionary_page_size_limit(2_000)
        .set_data_page_row_count_limit(100)
        .set_write_batch_size(50)
        .build();
    let columns = vec![("desk", strings(desks())), ("text", strings(unique)), ("n", numbers())];
    member.write("a.parquet", columns, small_pages);
    let types = member.same("SELECT desk, text, n FROM '@/a.parquet' WHERE n % 3 = 1");
    assert!(is_coded(&types[0]) && !is_coded(&types[1]), "{types:?}");
    member.write("b.parquet", vec![("desk", strings(desks())), ("n", numbers())], properties(false));
    let types = member.same("SELECT desk FROM '@/b.parquet' WHERE desk = 'desk 4'");
    assert!(!is_coded(&types[0]), "{types:?}");
}

/// Which columns are codes is found out of the first files; others may have other pages, other types, or no such column.
#[test]
fn files_of_other_kinds_are_read_all_the_same() {
    for cache_bytes in [0, 64 << 20] {
        let member = started(cache_bytes);
        let folder = member.folder.path().join("many");
        std::fs::create_dir(&folder).unwrap();
        for number in 0..20 {
            let columns = vec![("desk", strings(desks())), ("book", strings(books())), ("n", numbers())];
            member.write(&format!("many/{number:02}.parquet"), columns, properties(number < 18));
        }
        member.write("many/20.parquet", vec![("n", numbers()), ("desk", strings(desks()))], properties(true));
        for round in 0..rounds(cache_bytes) {
            for condition in &CONDITIONS[..4] {
                let text = format!("SELECT book, desk, n FROM '@/many/*.parquet' WHERE {condition}");
                let types = member.same(&text);
                assert!(types.iter().take(2).all(is_coded), "round {round}: {types:?}");
            }
        }
        let bytes =
            BinaryArray::from_iter(desks().iter().map(|desk| desk.as_ref().map(|desk| desk.as_bytes())));
        member.write("bytes.parquet", vec![("desk", Arc::new(bytes) as ArrayRef)], properties(true));
        assert!(!is_coded(&member.same("SELECT desk FROM '@/bytes.parquet'")[0]));
        member.write("empty.parquet", vec![("desk", strings(Vec::new()))], properties(true));
        assert!(
            member
                .batches(&member.coded, "SELECT desk FROM '@/empty.parquet'")
                .iter()
                .all(|batch| batch.num_rows() == 0)
        );
    }
}

#[test]
fn other_sessions_and_other_formats_are_as_before() {
    let member = started(0);
    member.write("a.parquet", vec![("desk", strings(desks()))], properties(true));
    let plain = member.batches(&member.session, "SELECT desk FROM '@/a.parquet'");
    assert!(!is_coded(plain[0].column(0).data_type()));
    std::fs::write(member.folder.path().join("a.csv"), "desk,n\nFX,1\nFX,2\n").unwrap();
    assert!(!is_coded(&member.same("SELECT desk, n FROM '@/a.csv'")[0]));
    assert_eq!(member.batches(&member.coded, "SELECT 1 AS one")[0].num_rows(), 1);
}
