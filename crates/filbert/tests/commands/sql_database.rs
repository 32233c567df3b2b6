//! `filbert sql my.db`: what statements made is there in the next process, whole or not at all.

use crate::{command, filbert, text};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};

/// Runs statements over a database; gives rows as CSV.
fn answered(database: &Path, statements: &str) -> String {
    let ran = filbert(&["sql", &database.to_string_lossy(), statements, "--format", "csv"]);
    assert_eq!(ran.status.code(), Some(0), "{statements}: {}", text(&ran.stderr));
    text(&ran.stdout)
}

fn refused(database: &Path, statements: &str) -> String {
    let ran = filbert(&["sql", &database.to_string_lossy(), statements]);
    assert_eq!(ran.status.code(), Some(1), "{statements}: {}", text(&ran.stdout));
    text(&ran.stderr)
}

/// Every file of a database with what is in it, but for the lock.
fn files(database: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = std::fs::read_dir(database).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|path| !path.ends_with("lock"))
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect();
    files.sort();
    files
}

/// A process that is asked statement by statement.
struct Asked {
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl Asked {
    fn start(database: &Path) -> Self {
        let mut child = command(&["sql", &database.to_string_lossy()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        Self { child, answers }
    }

    /// Runs a statement that answers with one line.
    fn ask(&mut self, statement: &str) -> String {
        writeln!(self.child.stdin.as_mut().unwrap(), "{statement};").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        answer
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn tables_views_and_rules_are_there_next_time() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("my.db");
    let csv = folder.path().join("sales.csv");
    std::fs::write(&csv, "day;pieces\n2026-03-02;49\n").unwrap();
    let csv = csv.display();
    let made = format!(
        "CREATE TABLE people (id SERIAL PRIMARY KEY, name VARCHAR(5) NOT NULL, town VARCHAR DEFAULT 'Oslo', UNIQUE (name));
         INSERT INTO people (name) VALUES ('ann'), ('bob');
         CREATE TABLE numbers AS SELECT value AS n, value % 2 = 0 AS even FROM range(0, 5);
         CREATE VIEW numbered AS SELECT * FROM numbers;
         CREATE VIEW a_view AS SELECT n FROM numbered WHERE even;
         CREATE EXTERNAL TABLE sold (d DATE, p BIGINT) STORED AS CSV LOCATION '{csv}' OPTIONS ('format.delimiter' ';');
         CREATE SCHEMA more; CREATE TABLE more.t AS SELECT 1.50::DECIMAL(5, 2) AS price, [1, 2] AS list;
         CREATE TABLE was AS SELECT 7 AS seven; ALTER TABLE was RENAME TO is_now;
         CREATE VIEW was AS SELECT 8 AS eight; ALTER VIEW was RENAME TO also_now;
         CREATE TABLE gone AS SELECT 1 AS one; DROP TABLE gone"
    );
    answered(&database, &made);
    assert_eq!(
        answered(&database, "SELECT * FROM people ORDER BY id"),
        "id,name,town\n1,ann,Oslo\n2,bob,Oslo"
    );
    assert_eq!(answered(&database, "SELECT sum(n) AS n FROM a_view"), "n\n6");
    assert_eq!(answered(&database, "SELECT p FROM sold"), "p\n49");
    assert_eq!(answered(&database, "SELECT price, list[2] AS second FROM more.t"), "price,second\n1.50,2");
    assert_eq!(answered(&database, "SELECT seven FROM is_now"), "seven\n7");
    assert_eq!(answered(&database, "SELECT eight FROM also_now"), "eight\n8");
    assert!(refused(&database, "SELECT * FROM gone").contains("gone"));
    // The rules of the table hold, and its numbers go on.
    let said = refused(&database, "INSERT INTO people (name) VALUES ('ann')");
    assert!(said.contains("UNIQUE"), "{said}");
    let said = refused(&database, "INSERT INTO people (name) VALUES ('someone')");
    assert!(said.contains("VARCHAR(5)"), "{said}");
    let said = refused(&database, "INSERT INTO people (id, name) VALUES (1, 'eve')");
    assert!(said.contains("PRIMARY KEY"), "{said}");
    answered(&database, "INSERT INTO people (name) VALUES ('eve')");
    let rows = answered(&database, "SELECT name, town, id > 2 AS later FROM people WHERE name = 'eve'");
    assert_eq!(rows, "name,town,later\neve,Oslo,true");
    answered(
        &database,
        "UPDATE people SET town = 'Rome' WHERE name = 'bob'; DELETE FROM people WHERE name = 'ann'",
    );
    assert_eq!(
        answered(&database, "SELECT name, town FROM people ORDER BY name"),
        "name,town\nbob,Rome\neve,Oslo"
    );
    // A statement that only reads changes no file.
    let before = files(&database);
    answered(&database, "SELECT * FROM people; SHOW TABLES");
    assert_eq!(files(&database), before);
}

#[test]
fn a_killed_process_loses_nothing_that_was_answered() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("my.db");
    let mut expected = 0;
    for round in 0..3 {
        let mut asked = Asked::start(&database);
        if round == 0 {
            assert!(asked.ask("CREATE TABLE t (n INT PRIMARY KEY)").contains("done"));
        }
        for _ in 0..20 {
            let answer = asked.ask(&format!("INSERT INTO t VALUES ({expected})"));
            assert!(answer.contains("1 inserted"), "{answer}");
            expected += 1;
        }
        asked.kill();
        let rows = answered(&database, "SELECT count(*) AS n, sum(n) AS sum FROM t");
        assert_eq!(rows, format!("n,sum\n{expected},{}", expected * (expected - 1) / 2));
    }
    // Sixty statements wrote sixty files; small ones are put together.
    assert!(files(&database).len() < 40, "{}", files(&database).len());
}

#[test]
fn one_process_at_a_time_has_a_database() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("my.db");
    let mut asked = Asked::start(&database);
    assert!(asked.ask("CREATE TABLE t AS SELECT 1 AS n").contains("(1 row"));
    let said = refused(&database, "SELECT * FROM t");
    assert!(said.contains("is open in process") && said.contains("one process at a time"), "{said}");
    assert!(said.contains(&asked.child.id().to_string()), "{said}");
    asked.kill();
    assert_eq!(answered(&database, "SELECT * FROM t"), "n\n1");
}

#[test]
fn damage_is_named_and_nothing_is_changed() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("my.db");
    answered(&database, "CREATE TABLE t AS SELECT * FROM range(0, 100); CREATE VIEW v AS SELECT * FROM t");
    let whole = files(&database);
    assert_eq!(whole.len(), 2, "the list and one file with rows");
    // Whether the list forgot it is not known while there is damage.
    let unnamed = database.join("rows-77.arrow");
    std::fs::write(&unnamed, "unnamed").unwrap();
    for (path, bytes) in &whole {
        let mut broken = bytes.clone();
        broken[bytes.len() / 2] ^= 1;
        for bad in [broken, bytes[..bytes.len() - 1].to_vec()] {
            std::fs::write(path, &bad).unwrap();
            let damaged = files(&database);
            let said = refused(&database, "SELECT 1");
            assert!(said.contains(&*path.to_string_lossy()) && said.contains("is damaged"), "{said}");
            assert_eq!(files(&database), damaged);
        }
        std::fs::remove_file(path).unwrap();
        let said = refused(&database, "SELECT 1");
        assert!(said.contains(&*path.to_string_lossy()) && said.contains("is missing"), "{said}");
        std::fs::write(path, bytes).unwrap();
        assert!(unnamed.exists());
    }
    assert_eq!(answered(&database, "SELECT count(*) AS n FROM v"), "n\n100");
    assert!(!unnamed.exists());
    // Files that no list names are what a killed process left.
    std::fs::write(database.join("rows-99.arrow"), "half").unwrap();
    std::fs::write(database.join("tables.json.new"), "half").unwrap();
    assert_eq!(answered(&database, "SELECT count(*) AS n FROM v"), "n\n100");
    assert!(!database.join("rows-99.arrow").exists());
}

#[test]
fn other_files_are_no_databases() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("other.db");
    std::fs::write(&file, "SQLite format 3").unwrap();
    let said = refused(&file, "SELECT 1");
    assert!(said.contains("it is a file, and a database is a folder"), "{said}");
    assert_eq!(std::fs::read(&file).unwrap(), b"SQLite format 3");
    let others = folder.path().join("others.db");
    std::fs::create_dir(&others).unwrap();
    std::fs::write(others.join("letter.txt"), "dear").unwrap();
    let said = refused(&others, "SELECT 1");
    assert!(said.contains("a folder with other files"), "{said}");
    assert_eq!(files(&others).len(), 1);
    let said = refused(&folder.path().join("no/such.db"), "SELECT 1");
    assert!(said.contains("cannot make the folder"), "{said}");
    for (words, answer) in [
        (&["sql", "sales.csv"][..], "filbert sql \"SELECT * FROM 'sales.csv'\""),
        (&["sql", "mydata", "SELECT 1"], "would end in .db"),
        (&["sql", "my.db", "SELECT 1", "-f", "a.sql"], "not in both"),
        (&["sql", "my.db", "--connect", "127.0.0.1:1"], "leave the database away"),
    ] {
        let ran = command(words).current_dir(folder.path()).output().unwrap();
        assert_ne!(ran.status.code(), Some(0), "{words:?}");
        assert!(text(&ran.stderr).contains(answer), "{}", text(&ran.stderr));
    }
    assert!(!folder.path().join("my.db").exists());
}

#[test]
fn definitions_whose_files_are_gone_stay() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("my.db");
    let csv = folder.path().join("sales.csv");
    std::fs::write(&csv, "n\n1\n").unwrap();
    let name = csv.display();
    answered(
        &database,
        &format!(
            "CREATE VIEW b_sales AS SELECT n FROM '{name}'; CREATE VIEW a_total AS SELECT sum(n) AS n FROM b_sales"
        ),
    );
    assert_eq!(answered(&database, "SELECT n FROM a_total"), "n\n1");
    std::fs::remove_file(&csv).unwrap();
    let ran = filbert(&["sql", &database.to_string_lossy(), "CREATE TABLE t AS SELECT 1 AS n"]);
    let said = text(&ran.stderr);
    assert!(ran.status.success() && said.contains("\"b_sales\" cannot be made now"), "{said}");
    assert!(said.contains("sales.csv") && said.contains("Its definition is kept"), "{said}");
    std::fs::write(&csv, "n\n1\n2\n").unwrap();
    assert_eq!(answered(&database, "SELECT n FROM a_total"), "n\n3");
    // A relative path begins where the command is started.
    answered(&database, "DROP VIEW a_total; DROP VIEW b_sales");
    let run = |statements: &str| {
        let words = ["sql", "my.db", statements, "--format", "csv"];
        command(&words).current_dir(folder.path()).output().unwrap()
    };
    assert!(run("CREATE VIEW here AS SELECT n FROM 'sales.csv'").status.success());
    assert_eq!(text(&run("SELECT sum(n) AS n FROM here").stdout), "n\n3");
    let elsewhere = refused(&database, "SELECT * FROM here");
    assert!(elsewhere.contains("\"here\" cannot be made now"), "{elsewhere}");
}

#[test]
fn what_a_failed_statement_did_is_kept_and_what_a_database_does_not_keep_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("my.db");
    answered(&database, "CREATE TABLE t (n SERIAL, m INT PRIMARY KEY)");
    refused(&database, "INSERT INTO t (m) VALUES (1); INSERT INTO t (m) VALUES (1)");
    assert_eq!(answered(&database, "SELECT m FROM t"), "m\n1");
    let ran = filbert(&[
        "sql",
        &database.to_string_lossy(),
        "CREATE MAPPING m TYPE IMap OPTIONS ('keyFormat' = 'int', 'valueFormat' = 'varchar')",
    ]);
    let said = text(&ran.stderr);
    assert!(ran.status.success() && said.contains("maps, mappings and jobs end with this command"), "{said}");
}

#[test]
fn a_query_fills_no_column_with_null_that_is_declared_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("my.db");
    for column in ["id INT PRIMARY KEY", "id INT NOT NULL", "id SERIAL"] {
        let made = format!(
            "CREATE TABLE t ({column}, name VARCHAR) AS SELECT * FROM (VALUES (1, 'a'), (NULL, 'b')) v (x, y)"
        );
        let said = refused(&database, &made);
        assert!(said.contains("\"t\"") && said.contains("\"id\" is NOT NULL"), "{said}");
    }
    let made = "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR) AS SELECT * FROM (VALUES (1, 'a'), (2, NULL)) v (x, y)";
    let both = format!("{made}; INSERT INTO t VALUES (NULL, 'c')");
    let said = refused(&database, &both);
    assert!(said.contains("NOT NULL"), "{said}");
    assert_eq!(answered(&database, "SELECT id, name FROM t ORDER BY id"), "id,name\n1,a\n2,");
}

#[test]
fn what_fits_in_memory_fits_next_time_and_more_can_be_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("my.db").to_string_lossy().into_owned();
    let config = folder.path().join("filbert.toml").to_string_lossy().into_owned();
    let run = |bytes: usize, statements: &str| {
        std::fs::write(&config, format!("[sql]\ntable_bytes = {bytes}\n")).unwrap();
        filbert(&["sql", &database, statements, "--format", "csv", "--config", &config])
    };
    let columns: Vec<String> = (0..8).map(|n| format!("value + {n} AS c{n}")).collect();
    let made = format!("CREATE TABLE t AS SELECT {} FROM range(0, 8192)", columns.join(", "));
    // Eight columns of 64 KiB.
    let ran = run(800_000, &made);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let ran = run(800_000, "INSERT INTO t SELECT * FROM t LIMIT 1; SELECT count(*) AS n FROM t");
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    assert!(text(&ran.stdout).contains("8193"), "{}", text(&ran.stdout));
    let ran = run(100_000, "SELECT count(*) AS n FROM t; INSERT INTO t SELECT * FROM t");
    assert!(text(&ran.stderr).contains("sql.table_bytes"), "{}", text(&ran.stderr));
    assert!(text(&ran.stdout).contains("8193"), "{}", text(&ran.stdout));
    let ran = run(100_000, "DROP TABLE t; CREATE TABLE u AS SELECT 1 AS n");
    assert!(ran.status.success(), "{}", text(&ran.stderr));
}

/// The bytes of a list whose text is `body`.
fn list(header: &str, body: &str) -> Vec<u8> {
    let mut crc = u32::MAX;
    for byte in body.bytes() {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
    }
    format!("{header} {:08x}\n{body}\n", !crc).into_bytes()
}

#[test]
fn a_definition_that_makes_nothing_is_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let (database, out) = (folder.path().join("my.db"), folder.path().join("out.csv"));
    answered(&database, "CREATE VIEW v AS SELECT 1 AS n; CREATE TABLE t (n INT)");
    let file = database.join("tables.json");
    let whole = std::fs::read_to_string(&file).unwrap();
    let (head, body) = whole.split_once('\n').unwrap();
    let (header, body) = (head.rsplit_once(' ').unwrap().0, body.trim_end());
    assert_eq!(list(header, body), whole.as_bytes());
    let copy = format!("COPY (SELECT 1 AS n) TO '{}'", out.display());
    for (was, other) in [
        ("CREATE VIEW v AS SELECT 1 AS n", copy.as_str()),
        ("CREATE TABLE t (n INT)", &copy),
        ("CREATE TABLE t (n INT)", "CREATE TABLE t (n INT) AS SELECT 1"),
        ("CREATE TABLE t (n INT)", "CREATE TABLE t (n INT); DROP VIEW v"),
    ] {
        assert!(body.contains(was), "{body}");
        std::fs::write(&file, list(header, &body.replace(was, other))).unwrap();
        let said = refused(&database, "SELECT 1");
        assert!(said.contains("is damaged") && said.contains("is another statement"), "{other}: {said}");
        assert!(!out.exists());
    }
}

#[test]
fn a_change_that_cannot_be_written_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("my.db");
    answered(&database, "CREATE TABLE t AS SELECT 1 AS n");
    let rows = || {
        let entries = std::fs::read_dir(&database).unwrap().map(|entry| entry.unwrap().file_name());
        entries.filter(|name| name.to_string_lossy().starts_with("rows-")).collect::<Vec<_>>()
    };
    let before = rows();
    // No file can be written there.
    let in_the_way = database.join("tables.json.new");
    std::fs::create_dir(&in_the_way).unwrap();
    let said = refused(&database, "INSERT INTO t VALUES (2)");
    assert!(said.contains("cannot write") && said.contains("tables.json.new"), "{said}");
    assert_eq!(rows(), before);
    std::fs::remove_dir(&in_the_way).unwrap();
    answered(&database, "INSERT INTO t VALUES (3)");
    assert_eq!(answered(&database, "SELECT sum(n) AS n FROM t"), "n\n4");
}

#[test]
fn only_its_owner_reads_a_database_and_its_lock_is_no_link() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("my.db");
    answered(&database, "CREATE TABLE t AS SELECT 1 AS n");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&database), 0o700);
    for entry in std::fs::read_dir(&database).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    let (letter, lock) = (folder.path().join("letter.txt"), database.join("lock"));
    std::fs::write(&letter, "dear").unwrap();
    std::fs::remove_file(&lock).unwrap();
    std::os::unix::fs::symlink(&letter, &lock).unwrap();
    let said = refused(&database, "SELECT 1");
    assert!(said.contains("cannot lock"), "{said}");
    assert_eq!(std::fs::read(&letter).unwrap(), b"dear");
}

/// The page shows commands with what they answer, but for the times.
#[test]
fn the_page_shows_what_is_answered() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let page = std::fs::read_to_string(docs.join("sql-files.md")).unwrap();
    let (_, shown) = page.split_once("## A database").unwrap();
    let (_, shown) = shown.split_once("```console\n").unwrap();
    let (shown, _) = shown.split_once("```").unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(docs.join("samples/sales.csv"), folder.path().join("sales.csv")).unwrap();
    let mut answered = String::new();
    for line in shown.lines().filter(|line| line.starts_with("$ ")) {
        let statement = line.strip_prefix("$ filbert sql my.db \"").unwrap().strip_suffix('"').unwrap();
        let ran = command(&["sql", "my.db", statement]).current_dir(folder.path()).output().unwrap();
        assert!(ran.status.success(), "{}", text(&ran.stderr));
        answered += &format!("{line}\n");
        for line in text(&ran.stdout).lines() {
            let untimed = line.split_once(" rows, ").map(|(rows, _)| format!("{rows} rows)"));
            answered += &format!("{}\n", untimed.as_deref().unwrap_or(line));
        }
    }
    assert_eq!(answered, shown);
}
