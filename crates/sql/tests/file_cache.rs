//! Columns of Parquet files that are kept in memory: the answers stay those of the files.

use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow::util::pretty::pretty_format_batches;
use filbert_pool::Stages;
use filbert_sql::{CacheSnapshot, Session, Sql, SqlSettings};
use futures::executor::block_on;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use std::sync::Arc;
use tempfile::TempDir;

const GROUP_ROWS: i64 = 1_000;

struct Member {
    _stages: Stages,
    sql: Sql,
    session: Session,
    folder: TempDir,
}

fn started(cache_bytes: usize) -> Member {
    let folder = tempfile::tempdir().unwrap();
    let stages = Stages::builder().set("fragment.threads", 2).start().unwrap();
    let files = vec![folder.path().into()];
    let settings = SqlSettings { cache_bytes, files, batch_rows: 300, ..Default::default() };
    let sql = Sql::start(&stages, settings).unwrap();
    let session = sql.session();
    Member { _stages: stages, sql, session, folder }
}

impl Member {
    /// Rows `n`, `n % 7`, and a text that is null now and then, in row groups of a thousand.
    fn write(&self, name: &str, first: i64, rows: i64) {
        let n: Vec<i64> = (first..first + rows).collect();
        let text = |n: &i64| (n % 5 != 0).then(|| format!("text number {n}"));
        let columns: [(&str, ArrayRef); 3] = [
            ("n", Arc::new(Int64Array::from(n.clone()))),
            ("k", Arc::new(Int64Array::from_iter_values(n.iter().map(|n| n % 7)))),
            ("t", Arc::new(n.iter().map(text).collect::<StringArray>())),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let properties =
            WriterProperties::builder().set_max_row_group_row_count(Some(GROUP_ROWS as usize)).build();
        let file = std::fs::File::create(self.folder.path().join(name)).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    }

    /// The rows of a statement in which `@` stands for the folder.
    fn ask(&self, text: &str) -> String {
        let text = text.replace('@', &self.folder.path().display().to_string());
        let query = self.session.query(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let batches = block_on(query.collect()).unwrap_or_else(|error| panic!("{text}: {error}"));
        pretty_format_batches(&batches).unwrap().to_string()
    }

    fn cached(&self) -> CacheSnapshot {
        self.sql.cached().unwrap()
    }
}

#[test]
fn what_is_asked_for_again_comes_from_memory_with_the_same_rows() {
    let (member, other) = (started(64 << 20), started(0));
    for member in [&member, &other] {
        member.write("a.parquet", 0, 10_500);
        member.write("b.parquet", 20_000, 2_000);
    }
    assert_eq!(other.sql.cached(), None);
    let statements = [
        "SELECT count(*), sum(n) FROM '@/*.parquet'",
        "SELECT k, count(*), min(t), max(t) FROM '@/*.parquet' GROUP BY k ORDER BY k",
        "SELECT n, t FROM '@/a.parquet' WHERE n > 4990 AND n < 5010 ORDER BY n",
        "SELECT t, n, k FROM '@/*.parquet' WHERE t LIKE '%99' ORDER BY n LIMIT 20",
        "SELECT n FROM '@/a.parquet' ORDER BY n DESC LIMIT 3",
        "SELECT n + k AS s FROM '@/b.parquet' WHERE t IS NULL ORDER BY s LIMIT 9",
        "SELECT count(*) FROM '@/a.parquet'",
        "SELECT a.n, b.t FROM '@/a.parquet' a JOIN '@/a.parquet' b ON a.n = b.n + 1 WHERE a.k = 3 ORDER BY a.n LIMIT 7",
    ];
    for round in 0..4 {
        for statement in statements {
            let expected = other.ask(statement);
            let found = member.ask(statement);
            let strip =
                |text: String, of: &Member| text.replace(&of.folder.path().display().to_string(), "@");
            assert_eq!(strip(found, &member), strip(expected, &other), "{statement}, round {round}");
        }
    }
    let cached = member.cached();
    assert!(cached.hits > 50 && cached.loads > 20 && cached.bytes > 100_000, "{cached:?}");
    let before = cached.hits;
    member.ask(statements[0]);
    assert!(member.cached().hits > before);
    assert_eq!(member.cached().loads, cached.loads, "nothing is read twice");
}

#[test]
fn the_first_read_keeps_nothing_and_row_groups_without_matches_are_left_alone() {
    let member = started(64 << 20);
    member.write("a.parquet", 0, 10_000);
    let one = "SELECT sum(n) FROM '@/a.parquet' WHERE n BETWEEN 3100 AND 3200";
    member.ask(one);
    assert_eq!((member.cached().loads, member.cached().bytes), (0, 0));
    member.ask(one);
    assert_eq!(member.cached().loads, 1, "the column of one row group of ten");
    member.ask(one);
    assert_eq!((member.cached().loads, member.cached().hits), (1, 1));
}

#[test]
fn a_changed_file_is_read_anew() {
    let member = started(64 << 20);
    member.write("a.parquet", 0, 5_000);
    let sum = |member: &Member| member.ask("SELECT sum(n) AS s FROM '@/a.parquet'");
    let first = sum(&member);
    assert_eq!((sum(&member), sum(&member)), (first.clone(), first));
    assert!(member.cached().hits > 0);
    member.write("a.parquet", 1, 5_001);
    let second = sum(&member);
    assert!(second.contains(&(1..=5_001).sum::<i64>().to_string()), "{second}");
}

#[test]
fn the_bound_holds() {
    let most = 100_000;
    let member = started(most);
    member.write("a.parquet", 0, 40_000);
    for column in ["n", "k", "t", "n", "k", "t"] {
        for _ in 0..3 {
            member.ask(&format!("SELECT count(DISTINCT {column}) FROM '@/a.parquet'"));
            assert!(member.cached().bytes <= most, "{:?}", member.cached());
        }
    }
    assert!(member.cached().loads > 0);
}
