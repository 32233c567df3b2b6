//! Files as tables: what is read, what is refused, what a broken one says, and what COPY leaves behind.
#![allow(clippy::disallowed_methods, reason = "tests make deadlines of their own")]

use arrow::array::RecordBatch;
use arrow::util::pretty::pretty_format_batches;
use filbert_grid::Grid;
use filbert_pool::Stages;
use filbert_sql::{Access, Object, Session, Sql, SqlError, SqlSettings, TableRights};
use futures::executor::block_on;
use std::fmt::Write as _;
use std::path::Path;
use tempfile::TempDir;

struct Member {
    _stages: Stages,
    sql: Sql,
    session: Session,
    folder: TempDir,
}

/// A member that reads and writes files in a folder of its own.
fn started() -> Member {
    let folder = tempfile::tempdir().unwrap();
    let settings = SqlSettings {
        files: vec![folder.path().into()],
        write_files: vec![folder.path().into()],
        ..Default::default()
    };
    started_with(settings, folder)
}

fn started_with(settings: SqlSettings, folder: TempDir) -> Member {
    let stages = Stages::builder().set("fragment.threads", 2).start().unwrap();
    let sql = Sql::start(&stages, settings).unwrap();
    sql.attach(&Grid::new(&stages)).unwrap();
    let session = sql.session();
    Member { _stages: stages, sql, session, folder }
}

impl Member {
    /// A statement in which `@` stands for the folder.
    fn text(&self, text: &str) -> String {
        text.replace('@', &self.folder.path().display().to_string())
    }

    fn ask(&self, text: &str) -> Result<Vec<RecordBatch>, SqlError> {
        block_on(self.session.query(&self.text(text))?.collect())
    }

    fn table(&self, text: &str) -> String {
        let batches = self.ask(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        pretty_format_batches(&batches).unwrap().to_string()
    }

    /// The rows as text, sorted.
    fn rows(&self, text: &str) -> Vec<String> {
        let table = self.table(text);
        let cells =
            |line: &str| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>().join("; ");
        let mut rows: Vec<_> =
            table.lines().skip(3).filter(|line| line.starts_with('|')).map(cells).collect();
        rows.sort();
        rows
    }

    fn says(&self, text: &str) -> String {
        match self.ask(text) {
            Ok(batches) => panic!("{text}: {}", pretty_format_batches(&batches).unwrap()),
            Err(error) => error.to_string(),
        }
    }

    fn put(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

#[test]
fn files_of_all_formats_are_read_by_their_path() {
    let member = started();
    member.put("people.csv", "name,age\nAda,36\n\"Bob, jr\",4\nEve,\n");
    member.put(
        "people.ndjson",
        "{\"name\": \"Ada\", \"age\": 36}\n{\"name\": \"Bob, jr\", \"age\": 4}\n{\"name\": \"Eve\"}\n",
    );
    let expected = ["Ada; 36", "Bob, jr; 4", "Eve; "];
    assert_eq!(member.rows("SELECT name, age FROM '@/people.csv'"), expected);
    assert_eq!(member.rows("SELECT name, age FROM '@/people.ndjson'"), expected);
    assert_eq!(member.rows("SELECT name, age FROM \"@/people.csv\""), expected, "a quoted name too");
    assert_eq!(member.rows("SELECT name, age FROM 'file://@/people.csv'"), expected);
    for format in ["parquet", "arrow", "csv", "json"] {
        let count = member.rows(&format!("COPY (SELECT * FROM '@/people.csv') TO '@/copy.{format}'"));
        assert_eq!(count, ["3"], "{format}");
        assert_eq!(member.rows(&format!("SELECT name, age FROM '@/copy.{format}'")), expected, "{format}");
        let grown = format!("SELECT sum(age) FROM '@/copy.{format}' WHERE age > 4");
        assert_eq!(member.rows(&grown), ["36"], "{format}");
    }
    let joined = "SELECT a.name FROM '@/people.csv' a JOIN '@/copy.parquet' b ON a.age = b.age + 32";
    assert_eq!(member.rows(joined), ["Ada"]);
    let plan = member.table("EXPLAIN SELECT name FROM '@/copy.parquet' WHERE age > 4");
    assert!(plan.contains("file_type=parquet") && plan.contains("predicate=age"), "{plan}");
}

#[test]
fn patterns_and_folders_are_one_table_and_see_new_files() {
    let member = started();
    for number in 0..5 {
        member.put(&format!("data/{number}.csv"), format!("n\n{number}\n"));
    }
    member.put("data/deep/er/9.csv", "n\n9\n");
    member.put("data/_temporary.csv", "n\n1000\n");
    assert_eq!(member.rows("SELECT sum(n), count(*) FROM '@/data/*.csv' WHERE n < 1000"), ["10; 5"]);
    assert_eq!(member.rows("SELECT sum(n) FROM '@/data/[0-2].csv'"), ["3"]);
    assert_eq!(member.rows("SELECT sum(n) FROM '@/data/**/9.csv'"), ["9"]);
    assert_eq!(member.rows("SELECT sum(n) FROM '@/data/'"), ["19"]);
    member.ask("CREATE EXTERNAL TABLE numbers STORED AS CSV LOCATION '@/data/' OPTIONS ('format.has_header' 'true')").unwrap();
    let other = member.sql.session();
    let count = |session: &Session| {
        block_on(session.query("SELECT count(*) FROM numbers").unwrap().collect()).unwrap()
    };
    let text = |batches: &[RecordBatch]| pretty_format_batches(batches).unwrap().to_string();
    assert!(text(&count(&other)).contains("| 6 "), "all sessions see the table");
    member.put("data/10.csv", "n\n10\n");
    assert!(text(&count(&other)).contains("| 7 "), "and files that come later");
    assert!(
        member
            .says("CREATE EXTERNAL TABLE numbers STORED AS CSV LOCATION '@/data/'")
            .contains("already exists")
    );
    member.ask("DROP TABLE numbers").unwrap();
    assert!(member.says("SELECT * FROM numbers").contains("numbers"));
}

#[test]
fn external_tables_take_columns_and_options() {
    let member = started();
    member.put("odd.txt", "# a comment\n1~x~2020-01-02\n2~'y~z'~2021-03-04\n");
    member
        .ask(
            "CREATE EXTERNAL TABLE odd (id SMALLINT, what VARCHAR, day DATE) STORED AS CSV LOCATION '@/odd.txt' \
             OPTIONS ('format.has_header' 'false', 'format.delimiter' '~', 'format.quote' '''', 'format.comment' '#')",
        )
        .unwrap();
    assert_eq!(member.rows("SELECT id, what, day FROM odd"), ["1; x; 2020-01-02", "2; y~z; 2021-03-04"]);
    let columns = "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 'odd'";
    assert_eq!(member.rows(columns), ["day; Date32", "id; Int16", "what; Utf8View"]);
    assert!(member.says("INSERT INTO odd VALUES (3, 'z', '2022-01-01')").contains("COPY"));
    let says = member.says("CREATE EXTERNAL TABLE p STORED AS CSV PARTITIONED BY (y) LOCATION '@/'");
    assert!(says.contains("PARTITIONED BY"), "{says}");
    assert!(
        member
            .says(
                "CREATE EXTERNAL TABLE q STORED AS CSV LOCATION '@/odd.txt' OPTIONS ('format.nonsense' '1')"
            )
            .contains("nonsense")
    );
}

#[test]
fn files_outside_the_allowed_folders_are_refused() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.csv"), "a\n1\n").unwrap();
    let path = outside.path().display().to_string();
    let member = started();
    member.put("a.csv", "a\n1\n");
    std::os::unix::fs::symlink(outside.path(), member.folder.path().join("link")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret.csv"), member.folder.path().join("b.csv"))
        .unwrap();
    let name = member.folder.path().file_name().unwrap().to_string_lossy().into_owned();
    for text in [
        format!("SELECT * FROM '{path}/secret.csv'"),
        format!("SELECT * FROM '{path}/missing.csv'"),
        format!("SELECT * FROM '{path}/*.csv'"),
        format!("SELECT * FROM '@/../{}/secret.csv'", outside.path().file_name().unwrap().display()),
        "SELECT * FROM '@/link/secret.csv'".to_owned(),
        "SELECT * FROM '@/b.csv'".to_owned(),
        "SELECT * FROM '@/*.csv'".to_owned(),
        "SELECT * FROM '@/'".to_owned(),
        "SELECT * FROM '@/../*/*.csv'".to_owned(),
        format!("SELECT * FROM '@/../{name}/link/*.csv'"),
        "SELECT * FROM '/etc/passwd.csv'".to_owned(),
        "SELECT * FROM 'file:///etc/hosts.csv'".to_owned(),
        format!("CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '{path}/secret.csv'"),
        format!("CREATE EXTERNAL TABLE x (a INT) STORED AS CSV LOCATION '{path}/'"),
        "CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '/etc/passwd'".to_owned(),
    ] {
        let end = member.ask(&text).unwrap_err();
        assert!(matches!(end, SqlError::FileDenied { setting: "sql.files", .. }), "{text}: {end}");
        assert!(end.to_string().contains("sql.files"));
    }
    for text in [
        format!("COPY (SELECT 1) TO '{path}/x.csv'"),
        "COPY (SELECT 1) TO '@/link/x.csv'".to_owned(),
        "COPY (SELECT 1) TO '@/../x.csv'".to_owned(),
        "COPY (SELECT 1) TO '/x.parquet'".to_owned(),
    ] {
        let end = member.ask(&text).unwrap_err();
        assert!(matches!(end, SqlError::FileDenied { setting: "sql.write_files", .. }), "{text}: {end}");
    }
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1, "nothing was written");
    assert!(member.says("SELECT * FROM 's3://bucket/a.csv'").contains("s3://"));
    assert!(member.says("COPY (SELECT 1) TO 'https://example.org/a.csv'").contains("https://"));
}

#[test]
fn nothing_is_allowed_unless_a_setting_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let member = started_with(SqlSettings::default(), folder);
    member.put("a.csv", "a\n1\n");
    for text in ["SELECT * FROM '@/a.csv'", "SELECT * FROM '@/no.csv'", "SELECT * FROM 'a.csv'"] {
        assert!(matches!(member.ask(text), Err(SqlError::FileDenied { setting: "sql.files", .. })), "{text}");
    }
    let create = "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '@/a.csv'";
    assert!(matches!(member.ask(create), Err(SqlError::FileDenied { .. })));
    assert!(matches!(
        member.ask("COPY (SELECT 1) TO '@/b.csv'"),
        Err(SqlError::FileDenied { setting: "sql.write_files", .. })
    ));
    assert_eq!(member.names(), ["a.csv"]);
    let all = started_with(SqlSettings { files: vec!["/".into()], ..Default::default() }, member.folder);
    assert_eq!(all.rows("SELECT a FROM '@/a.csv'"), ["1"]);
}

#[test]
fn broken_files_are_named_and_so_are_their_lines() {
    let member = started();
    let mut rows = String::from("id,n\n");
    for number in 1..=2_000 {
        writeln!(rows, "{number},{}", if number == 1_500 { "oops".to_owned() } else { number.to_string() })
            .unwrap();
    }
    member.put("late.csv", &rows);
    member.put("good.csv", "id,n\n1,1\n");
    let says = member.says("SELECT sum(n) FROM '@/*.csv'");
    assert!(says.contains("late.csv") && says.contains("oops") && says.contains("line 1501"), "{says}");
    member.put("ragged/r.csv", "a,b\n1,2\n3,4,5\n");
    let says = member.says("SELECT * FROM '@/ragged/'");
    assert!(says.contains("r.csv") && says.contains("line 3"), "{says}");
    member.put("bad.json", "{\"a\": 1}\n{\"a\": \n");
    assert!(member.says("SELECT * FROM '@/bad.json'").contains("bad.json"));
    let lines: String = (0..2_000)
        .map(|n| if n == 1_700 { "{\"a\": [}\n".to_owned() } else { format!("{{\"a\": {n}}}\n") })
        .collect();
    member.put("late.json", lines);
    let says = member.says("SELECT sum(a) FROM '@/late.json'");
    assert!(says.contains("late.json: line 1701 is no JSON"), "{says}");
    member.put("empty.csv", "");
    assert!(member.says("SELECT * FROM '@/empty.csv'").contains("empty.csv"));
    assert!(member.says("SELECT * FROM '@/missing.csv'").contains("missing.csv: there is no such file"));
    member.put("noise.parquet", b"this is no Parquet at all");
    assert!(member.says("SELECT * FROM '@/noise.parquet'").contains("noise.parquet"));
    member.put("noise.arrow", b"this is no Arrow at all, but longer than ten bytes");
    assert!(member.says("SELECT * FROM '@/noise.arrow'").contains("noise.arrow"));
    member.put("mixed/a.csv", "a\n1\n");
    member.put("mixed/b.json", "{\"a\": 1}\n");
    assert!(member.says("SELECT * FROM '@/mixed/'").contains("another format"));
    member.put("odd.txt", "a\n1\n");
    assert!(member.says("SELECT * FROM '@/odd.txt'").contains("STORED AS"));
}

#[test]
fn a_parquet_file_cut_anywhere_gives_an_error_that_names_it() {
    let member = started();
    member.ask("COPY (SELECT value AS n, repeat('x', 50) AS t FROM generate_series(1, 5000)) TO '@/whole.parquet'").unwrap();
    let whole = std::fs::read(member.folder.path().join("whole.parquet")).unwrap();
    assert_eq!(member.rows("SELECT count(*), sum(n) FROM '@/whole.parquet'"), ["5000; 12502500"]);
    for part in [0, 3, 8, 100, whole.len() / 2, whole.len() - 100, whole.len() - 9, whole.len() - 1] {
        member.put("cut.parquet", &whole[..part]);
        let says = member.says("SELECT count(*), sum(n), min(t) FROM '@/cut.parquet'");
        assert!(says.contains("cut.parquet"), "{part} of {}: {says}", whole.len());
    }
    // A whole footer whose pages are noise.
    let mut noise = whole.clone();
    noise[4..2_000].fill(0xA5);
    member.put("noise.parquet", &noise);
    let says = member.says("SELECT sum(n), min(t) FROM '@/noise.parquet'");
    assert!(says.contains("noise.parquet"), "{says}");
}

#[test]
fn large_files_are_read_in_parts_and_add_up() {
    let member = started();
    let select = "SELECT value AS n, value % 7 AS k, 'text ' || value AS t FROM generate_series(1, 300000)";
    for format in ["csv", "json", "parquet", "arrow"] {
        assert_eq!(member.rows(&format!("COPY ({select}) TO '@/large.{format}'")), ["300000"]);
        let query = format!("SELECT count(*), sum(n), count(DISTINCT t), max(k) FROM '@/large.{format}'");
        assert_eq!(member.rows(&query), ["300000; 45000150000; 300000; 6"], "{format}");
        assert_eq!(
            member.rows(&format!("SELECT n FROM '@/large.{format}' WHERE n % 100000 = 0")),
            ["100000", "200000", "300000"]
        );
        assert_eq!(
            member.rows(&format!("SELECT count(*) FROM (SELECT * FROM '@/large.{format}' LIMIT 10)")),
            ["10"]
        );
    }
    let analyzed = member.table("EXPLAIN ANALYZE SELECT k, sum(n) FROM '@/large.csv' GROUP BY k");
    for figure in ["ExchangeExec", "steals=", "waits_for_input=", "fragment_time", "large.csv"] {
        assert!(analyzed.contains(figure), "{figure} in {analyzed}");
    }
}

/// A pipe that nobody writes to would keep a reading thread for ever, and a device might never end.
#[test]
fn only_regular_files_are_read_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let settings = SqlSettings {
        files: vec!["/".into()],
        write_files: vec![folder.path().into()],
        reading_threads: 1,
        time_limit_ms: Some(60_000),
        ..Default::default()
    };
    let member = started_with(settings, folder);
    member.put("in/a.csv", "n\n1\n");
    let pipe = member.folder.path().join("in/pipe.csv");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(member.folder.path().join("in/socket.csv")).unwrap();
    for text in [
        "SELECT * FROM '@/in/pipe.csv'",
        "SELECT * FROM '@/in/socket.csv'",
        "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '@/in/pipe.csv'",
        "CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '@/in/pipe.csv'",
        "CREATE EXTERNAL TABLE t STORED AS ARROW LOCATION '/dev/zero'",
        "CREATE EXTERNAL TABLE t STORED AS JSON LOCATION '/dev/zero'",
        "COPY (SELECT 1) TO '@/in/pipe.csv'",
    ] {
        let says = member.says(text);
        assert!(says.contains("no regular file"), "{text}: {says}");
    }
    member.ask("CREATE EXTERNAL TABLE declared (n INT) STORED AS CSV LOCATION '@/in/pipe.csv'").unwrap();
    assert!(member.says("SELECT * FROM declared").contains("no regular file"));
    // The one thread that reads is still there, and what is no file is not in the way of those that are.
    assert_eq!(member.rows("SELECT n FROM '@/in/'"), ["1"]);
    assert_eq!(member.rows("SELECT n FROM '@/in/*.csv'"), ["1"]);
}

#[test]
fn arrow_files_of_both_formats_are_read_batch_by_batch() {
    let member = started();
    let select = "SELECT value AS n, 'text ' || value AS t FROM generate_series(1, 600000)";
    member.ask(&format!("COPY ({select}) TO '@/large.arrow'")).unwrap();
    let sum = |name: &str| member.rows(&format!("SELECT count(*), sum(n), max(t) FROM '@/{name}'"));
    let expected = ["600000; 180000300000; text 99999"];
    assert_eq!(sum("large.arrow"), expected);
    let whole = std::fs::read(member.folder.path().join("large.arrow")).unwrap();
    // The same batches without a footer.
    let reader = arrow::ipc::reader::FileReader::try_new(std::io::Cursor::new(&whole), None).unwrap();
    let mut writer = arrow::ipc::writer::StreamWriter::try_new(Vec::new(), &reader.schema()).unwrap();
    reader.for_each(|batch| writer.write(&batch.unwrap()).unwrap());
    let stream = writer.into_inner().unwrap();
    member.put("stream.arrow", &stream);
    assert_eq!(sum("stream.arrow"), expected);
    assert_eq!(member.rows("SELECT max(n) FROM '@/stream.arrow' WHERE t = 'text 7'"), ["7"]);
    for (name, bytes) in [("cut.arrow", &whole), ("cut_stream.arrow", &stream)] {
        for part in [0, 5, 9, 100, bytes.len() / 2, bytes.len() - 100] {
            member.put(name, &bytes[..part]);
            let says = member.says(&format!("SELECT count(*), sum(n), max(t) FROM '@/{name}'"));
            assert!(says.contains(name), "{part} of {}: {says}", bytes.len());
        }
    }
    let plan = member.table("EXPLAIN SELECT sum(n) FROM '@/large.arrow'");
    assert!(plan.contains("large.arrow:"), "it is read in parts: {plan}");
}

#[test]
fn compressed_csv_and_json_are_refused_and_not_silently_plain() {
    let member = started();
    member.put("a.csv", "n\n1\n");
    for text in [
        "COPY (SELECT 1 AS n) TO '@/b.csv' OPTIONS ('format.compression' 'gzip')",
        "COPY (SELECT 1 AS n) TO '@/b.json' OPTIONS ('format.compression' 'zstd')",
        "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '@/a.csv' OPTIONS ('format.compression' 'gzip')",
        "CREATE EXTERNAL TABLE t (n INT) STORED AS JSON LOCATION '@/a.csv' OPTIONS ('format.compression' 'bzip2')",
    ] {
        let says = member.says(text);
        assert!(says.contains("not read or written compressed"), "{text}: {says}");
    }
    assert_eq!(member.names(), ["a.csv"]);
    member.ask("COPY (SELECT 1 AS n) TO '@/c.csv' OPTIONS ('format.compression' 'uncompressed')").unwrap();
    member.ask("COPY (SELECT 1 AS n) TO '@/c.parquet' OPTIONS ('format.compression' 'zstd(3)')").unwrap();
    assert_eq!(member.rows("SELECT n FROM '@/c.parquet'"), ["1"]);
}

/// May do everything with tables, and nothing else.
struct Tables;

impl TableRights for Tables {
    fn check(&self, _: Access, object: &Object) -> Result<(), String> {
        if *object == Object::Anything { Err("ann may touch no files".to_owned()) } else { Ok(()) }
    }
}

#[test]
fn a_right_to_a_table_of_that_name_is_none_to_a_file() {
    let member = started();
    member.put("a.csv", "n\n1\n");
    let session = member.sql.session_as(std::sync::Arc::new(Tables));
    for text in [
        "SELECT * FROM '@/a.csv'",
        "INSERT INTO '@/a.csv' VALUES (1)",
        "INSERT INTO public.\"@/a.csv\" SELECT 1",
        "UPDATE \"@/a.csv\" SET n = 1",
        "DELETE FROM \"@/a.csv\"",
        "COPY (SELECT 1) TO '@/b.csv'",
    ] {
        let end = block_on(session.query(&member.text(text)).unwrap().collect()).unwrap_err();
        assert!(matches!(&end, SqlError::Denied(why) if why == "ann may touch no files"), "{text}: {end}");
    }
    assert!(member.says("INSERT INTO '@/a.csv' VALUES (1)").contains("COPY"), "and nobody inserts rows");
    assert_eq!(member.names(), ["a.csv"]);
}

#[test]
fn a_copy_appears_whole_or_not_at_all() {
    let member = started();
    member.ask("COPY (SELECT 1 AS a) TO '@/a.csv'").unwrap();
    let failing = "COPY (SELECT 1 / (value - 90000) AS a FROM generate_series(1, 100000)) TO '@/a.csv'";
    assert!(member.says(failing).contains("ivide by zero"));
    assert_eq!(member.names(), ["a.csv"], "no hidden part is left");
    assert_eq!(member.rows("SELECT a FROM '@/a.csv'"), ["1"], "the old one stays");
    member.ask("COPY (SELECT 2 AS a) TO '@/a.csv'").unwrap();
    assert_eq!(member.rows("SELECT a FROM '@/a.csv'"), ["2"]);
    let endless = "COPY (SELECT a.value FROM generate_series(1, 10000000) a, generate_series(1, 10000000) b) TO '@/b.csv'";
    let mut query = member.session.query(&member.text(endless)).unwrap();
    block_on(query.schema()).unwrap();
    drop(query);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while member.names() != ["a.csv"] || member.sql.snapshot().running > 0 {
        assert!(std::time::Instant::now() < deadline, "left behind: {:?}", member.names());
        // sleeps because the end of a cancelled task is seen by nobody
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    member.ask("COPY (SELECT 1 AS a WHERE false) TO '@/none.csv'").unwrap();
    assert_eq!(
        std::fs::read_to_string(member.folder.path().join("none.csv")).unwrap(),
        "a\n",
        "a header without rows"
    );
    assert!(member.says("COPY (SELECT 1) TO '@/no/b.csv'").contains("no such file or folder"));
    assert!(member.says("COPY (SELECT 1) TO '@/' STORED AS CSV").contains("names a folder"));
    assert!(member.says("COPY (SELECT 1 AS a) TO '@/x.csv' PARTITIONED BY (a)").contains("PARTITIONED BY"));
    let plan = member.table("EXPLAIN COPY (SELECT 1 AS a) TO '@/planned.parquet'");
    assert!(
        plan.contains("FileSink: file=") && !Path::new(&member.text("@/planned.parquet")).exists(),
        "{plan}"
    );
}

#[test]
fn maps_hide_files_and_files_mix_with_maps() {
    let member = started();
    member.put("cities.csv", "id,name\n1,Oslo\n2,Rome\n");
    member.ask("CREATE MAPPING visits (__key BIGINT, city BIGINT) TYPE IMap OPTIONS ('keyFormat'='bigint', 'valueFormat'='json-flat')").unwrap();
    member.ask("SINK INTO visits VALUES (1, 2), (2, 2), (3, 1)").unwrap();
    let joined = "SELECT c.name, count(*) FROM visits v JOIN '@/cities.csv' c ON v.city = c.id GROUP BY 1";
    assert_eq!(member.rows(joined), ["Oslo; 1", "Rome; 2"]);
    member.ask("SINK INTO visits SELECT id + 100, id FROM '@/cities.csv'").unwrap();
    assert_eq!(member.rows("SELECT count(*) FROM visits"), ["5"]);
    member.ask("COPY visits TO '@/visits.parquet'").unwrap();
    assert_eq!(member.rows("SELECT count(*) FROM '@/visits.parquet'"), ["5"]);
    member.ask("CREATE VIEW towns AS SELECT name FROM '@/cities.csv'").unwrap();
    assert_eq!(member.rows("SELECT * FROM towns"), ["Oslo", "Rome"]);
    member.ask("DROP VIEW towns").unwrap();
}

/// Files of many megabytes are cut into parts, which must not begin in the middle of a text.
#[test]
fn a_large_csv_file_is_not_cut_inside_a_quoted_line_break() {
    let member = started();
    let rows = 50_000_u64;
    let (before, behind) = ("a".repeat(20), "b".repeat(250));
    let mut text = String::from("n,t\n");
    for n in 1..=rows {
        let _ = writeln!(text, "{n},\"{before}\n7,{behind}\"");
    }
    assert!(text.len() > 12 << 20, "it is large enough to be cut");
    member.put("large.csv", text);
    member.ask("SET datafusion.execution.target_partitions = 8").unwrap();
    let sum = rows * (rows + 1) / 2;
    assert_eq!(member.rows("SELECT count(*), sum(n) FROM '@/large.csv'"), [format!("{rows}; {sum}")]);
}
