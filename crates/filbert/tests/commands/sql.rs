//! `filbert sql`.

use crate::line::DEADLINE;
use crate::process::Process;
use crate::{await_handler, command, filbert, signal, text};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const THREE: &str =
    "SELECT * FROM (VALUES (-1, 'one', true), (20, NULL, false), (3, 'a,b', NULL)) AS t (n, word, ok)";

/// More rows than anybody waits for, and none of them soon.
const ENDLESS: &str = "SELECT count(*) FROM generate_series(1, 10000000) a, generate_series(1, 10000000) b";

/// What was printed, without how long it took.
fn printed(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    let lines =
        said.lines().map(|line| match (line.rfind(", "), line.ends_with(" ms)") || line.ends_with(" s)")) {
            (Some(time), true) if line.starts_with('(') => format!("{})", &line[..time]),
            (_, true) => line[..line.rfind(" (").unwrap()].to_owned(),
            _ => line.to_owned(),
        });
    lines.collect::<Vec<_>>().join("\n")
}

/// Runs `filbert sql` with these words and that input.
fn with_input(words: &[&str], input: &str) -> Output {
    let words = [&["sql"], words].concat();
    let mut child = piped(&words);
    // One that ends early does not read all of it.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn piped(words: &[&str]) -> Child {
    let mut command: Command = command(words);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_table_lines_up_and_counts() {
    let expected = " n  word  ok\n--  ----  -----\n-1  one   true\n20  NULL  false\n 3  a,b   NULL\n(3 rows)";
    assert_eq!(printed(&filbert(&["sql", THREE])), expected);
    let said = text(&filbert(&["sql", "SELECT 1 AS one"]).stdout);
    assert!(said.starts_with("one\n---\n  1\n(1 row, ") && said.ends_with("s)"), "{said}");
}

#[test]
fn every_format_is_what_its_readers_expect() {
    let formatted = |format: &str| printed(&filbert(&["sql", THREE, "--format", format]));
    assert_eq!(formatted("csv"), "n,word,ok\n-1,one,true\n20,,false\n3,\"a,b\",");
    let rows = serde_json::json!([
        { "n": -1, "word": "one", "ok": true },
        { "n": 20, "word": null, "ok": false },
        { "n": 3, "word": "a,b", "ok": null },
    ]);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&formatted("json")).unwrap(), rows);
    let lines = formatted("ndjson");
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(serde_json::Value::from(lines), rows);
}

#[test]
fn rows_go_to_a_file_and_files_are_tables() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let written = filbert(&["sql", THREE, "--format", "csv", "--output", &path("three.csv")]);
    assert_eq!(printed(&written), "");
    let script = format!(
        "CREATE EXTERNAL TABLE three STORED AS CSV LOCATION '{}' OPTIONS ('format.has_header' 'true');\n\
         SELECT sum(n) AS sum FROM three;",
        path("three.csv")
    );
    std::fs::write(path("script.sql"), script).unwrap();
    let said = printed(&filbert(&["sql", "-f", &path("script.sql")]));
    assert_eq!(said, "done\nsum\n---\n 22\n(1 row)");
    let whole = std::fs::read_to_string(path("three.csv")).unwrap();
    let wrong = filbert(&["sql", "SELECT nothing", "--format", "csv", "-o", &path("three.csv")]);
    assert_eq!(wrong.status.code(), Some(1));
    assert_eq!(std::fs::read_to_string(path("three.csv")).unwrap(), whole, "a failure takes nothing away");
    printed(&filbert(&["sql", "SELECT 1 AS n", "--format", "csv", "-o", &path("three.csv")]));
    assert_eq!(std::fs::read_to_string(path("three.csv")).unwrap(), "n\n1\n", "nothing of the rows before");
    printed(&filbert(&["sql", "SELECT 1 AS n WHERE false", "--format", "ndjson", "-o", &path("three.csv")]));
    assert_eq!(std::fs::read_to_string(path("three.csv")).unwrap(), "", "no rows are no rows");
    let nowhere = filbert(&["sql", "SELECT 1", "-o", &path("no/such/folder.csv")]);
    assert_eq!(nowhere.status.code(), Some(1));
    assert!(text(&nowhere.stderr).contains("cannot write"), "{}", text(&nowhere.stderr));
    let missing = filbert(&["sql", "-f", &path("missing.sql")]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(text(&missing.stderr).contains("missing.sql"), "{}", text(&missing.stderr));
}

#[test]
fn the_ending_of_a_file_says_how_rows_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let written = |name: &str, more: &[&str]| {
        let path = path(name);
        let words = [&["sql", "SELECT 1 AS n", "-o", &path], more].concat();
        assert_eq!(printed(&filbert(&words)), "");
        std::fs::read_to_string(&path).unwrap().trim_end().to_owned()
    };
    assert_eq!(written("a.csv", &[]), "n\n1");
    assert_eq!(written("a.JSON", &[]).replace(['\n', ' '], ""), "[{\"n\":1}]");
    assert_eq!(written("a.ndjson", &[]), "{\"n\":1}");
    assert_eq!(written("b.csv", &["--format", "ndjson"]), "{\"n\":1}");
    assert!(written("a.txt", &[]).starts_with("n\n-\n1"));
    let refused = filbert(&["sql", "SELECT 1 AS n", "-o", &path("a.parquet")]);
    let said = text(&refused.stderr);
    assert!(
        refused.status.code() == Some(1) && said.contains("COPY (SELECT ...) TO 'file.parquet'"),
        "{said}"
    );
    assert!(!std::fs::exists(path("a.parquet")).unwrap(), "nothing is made");
}

#[test]
fn statements_share_a_session_and_its_maps() {
    let statements =
        "CREATE MAPPING squares TYPE IMap OPTIONS ('keyFormat' = 'int', 'valueFormat' = 'bigint');
        SINK INTO squares SELECT value, value * value FROM generate_series(1, 10);
        SELECT this FROM squares WHERE __key = 7";
    let said = printed(&filbert(&["sql", statements, "--format", "csv"]));
    assert_eq!(said.lines().last(), Some("49"), "{said}");
}

#[test]
fn the_standard_input_is_a_script() {
    let script = "-- two statements; and a command\n\\format ndjson\nSELECT 1 AS a;\n\nSELECT ';' AS b";
    for words in [&[][..], &["-f", "-"]] {
        let said = printed(&with_input(words, script));
        assert_eq!(said, "format is ndjson\n{\"a\":1}\n{\"b\":\";\"}");
    }
    assert_eq!(printed(&with_input(&[], "")), "");
    let quit = with_input(&["--format", "csv"], "SELECT 1 AS a;\n\\q\nSELECT 2 AS b;");
    assert_eq!(printed(&quit), "a\n1");
}

/// A program that writes statements and reads rows would wait for ever.
#[test]
fn a_statement_is_answered_before_the_next_is_written() {
    let mut child = piped(&["sql", "--format", "csv"]);
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    for number in ["1", "2"] {
        writeln!(input, "SELECT {number} AS n;").unwrap();
        assert_eq!((lines.next().unwrap(), lines.next().unwrap()), ("n".to_owned(), number.to_owned()));
    }
    drop(input);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_mistake_is_pointed_at_and_ends_the_text() {
    let script = "SELECT 1 AS a;\nSELECT a,\n  nonsense FROM (VALUES (1)) AS t (a);\nSELECT 2 AS b;";
    let failed = with_input(&["--format", "csv"], script);
    assert_eq!((failed.status.code(), &*text(&failed.stdout)), (Some(1), "a\n1"));
    let said = text(&failed.stderr);
    let lines: Vec<&str> = said.lines().collect();
    assert!(said.starts_with("filbert: ") && lines[0].contains("nonsense"), "{said}");
    let place = lines.iter().position(|line| line.contains("line 3:   nonsense FROM")).expect(&said);
    assert_eq!(lines[place + 1].find('^'), lines[place].find("nonsense"), "{said}");

    let failed = filbert(&["sql", "SELECT 1 +"]);
    assert_eq!((failed.status.code(), &*text(&failed.stdout)), (Some(1), ""));
    let failed = filbert(&["sql", "SELECT FROM 1 WHERE WHERE"]);
    let said = text(&failed.stderr);
    assert!(said.contains("line 1: SELECT FROM 1") && said.contains('^'), "{said}");
    let unknown = filbert(&["sql", "\\zz"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(text(&unknown.stderr).contains("\\? shows all"), "{}", text(&unknown.stderr));
}

#[test]
fn commands_look_around() {
    let said = printed(&with_input(
        &[],
        "\\timing off\nCREATE VIEW v AS SELECT 1 AS a, 'x' AS b;\n\\d\n\\d v\n\\timing\n\\?\n",
    ));
    for line in
        ["timing is off", "name  type", "v     VIEW", "column_name", "a  ", "timing is on", "\\i FILE"]
    {
        assert!(said.contains(line), "{line} is not in\n{said}");
    }
}

#[test]
fn files_may_run_files_but_not_themselves_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    std::fs::write(path("inner.sql"), "SELECT 2 AS b;\n").unwrap();
    std::fs::write(path("outer.sql"), format!("SELECT 1 AS a;\n\\i {}\n", path("inner.sql"))).unwrap();
    std::fs::write(path("own.sql"), format!("\\i {}\n", path("own.sql"))).unwrap();
    assert_eq!(printed(&filbert(&["sql", "--format", "csv", "-f", &path("outer.sql")])), "a\n1\nb\n2");
    let endless = filbert(&["sql", "-f", &path("own.sql")]);
    assert_eq!(endless.status.code(), Some(1));
    assert!(text(&endless.stderr).contains("deep"), "{}", text(&endless.stderr));
}

#[test]
fn settings_hold() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("filbert.toml").to_string_lossy().into_owned();
    std::fs::write(&config, "[sql]\nrows = 2\ntext_bytes = 2000\n").unwrap();
    let failed = filbert(&["sql", THREE, "--config", &config]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(text(&failed.stderr).contains("sql.rows"), "{}", text(&failed.stderr));
    // Refused while it is read: it may have no end.
    let long = with_input(&["--config", &config], &"SELECT 1 + ".repeat(1_000));
    assert_eq!(long.status.code(), Some(1));
    assert!(text(&long.stderr).contains("sql.text_bytes"), "{}", text(&long.stderr));
    std::fs::write(&config, "[sql]\nrow = 2\n").unwrap();
    let failed = filbert(&["sql", "SELECT 1", "--config", &config]);
    assert!(text(&failed.stderr).contains("did you mean rows?"), "{}", text(&failed.stderr));
}

/// Without a settings file everything that the user may touch; with one, what stands in it.
#[test]
fn files_are_tables_by_their_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    std::fs::write(path("nuts.csv"), "name,price\nfilbert,2.5\nwalnut,1.5\n").unwrap();
    std::fs::write(path("filbert.toml"), "[sql]\nrows = 10\n").unwrap();
    let select = format!("SELECT name FROM '{}' WHERE price > 2", path("nuts.csv"));
    assert_eq!(printed(&filbert(&["sql", &select, "--format", "csv"])), "name\nfilbert");
    let denied = filbert(&["sql", &select, "--config", &path("filbert.toml")]);
    assert_eq!(denied.status.code(), Some(1));
    assert!(text(&denied.stderr).contains("sql.files"), "{}", text(&denied.stderr));
}

#[test]
fn a_running_member_is_asked_over_the_network() {
    let member = Process::start("");
    let address = member.address().to_string();
    let remote = |words: &[&str]| filbert(&[&["sql", "--connect", &address], words].concat());
    let statements =
        "CREATE MAPPING squares TYPE IMap OPTIONS ('keyFormat' = 'int', 'valueFormat' = 'bigint');
        SINK INTO squares SELECT value, value * value FROM generate_series(1, 10000)";
    assert_eq!(printed(&remote(&[statements])), "done\n10,000 inserted");
    // More than a page, in the session of another connection.
    let said =
        printed(&remote(&["SELECT __key AS n, this AS square FROM squares ORDER BY n", "--format", "csv"]));
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!((lines.len(), lines[0], lines[10_000]), (10_001, "n,square", "10000,100000000"));
    let table = "SELECT * FROM (VALUES (1, 'one', 2.5), (NULL, NULL, NULL)) AS t (n, word, x) ORDER BY n";
    assert_eq!(
        printed(&remote(&[table])),
        "   n  word     x\n----  ----  ----\n   1  one    2.5\nNULL  NULL  NULL\n(2 rows)"
    );
    let wrong = remote(&["SELECT nonsense"]);
    assert_eq!(wrong.status.code(), Some(1));
    assert!(text(&wrong.stderr).contains("nonsense"), "{}", text(&wrong.stderr));
    let child = piped(&["sql", "--connect", &address, ENDLESS]);
    await_handler(child.id());
    signal(child.id(), "INT");
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    assert_eq!(printed(&remote(&["SELECT 1 AS a", "--format", "csv"])), "a\n1");
}

#[test]
fn a_signal_cancels_a_statement_and_is_the_exit_status() {
    for (name, status) in [("INT", 130), ("TERM", 143)] {
        let child = piped(&["sql", &format!("SELECT 1 AS a; {ENDLESS}; SELECT 2 AS b"), "--format", "csv"]);
        await_handler(child.id());
        signal(child.id(), name);
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(status), "{}", text(&ended.stderr));
        assert!(text(&ended.stderr).contains(&format!("SIG{name}")), "{}", text(&ended.stderr));
        assert!(!text(&ended.stdout).contains('b'), "{}", text(&ended.stdout));
    }
}

/// `filbert sql ... | head -1`: nothing is wrong, and the rest is not computed.
#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let mut child = piped(&["sql", "SELECT * FROM generate_series(1, 100000000000)", "--format", "csv"]);
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "value\n");
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(begin.elapsed() < DEADLINE, "it goes on");
        // sleeps because the end of a process is looked at again and again
        std::thread::sleep(Duration::from_millis(1));
    }
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), &*text(&ended.stderr)), (Some(0), ""));
}

/// Tables show moments as psql and the terminal do; programs ask for CSV or JSON.
#[test]
fn a_table_shows_moments_and_intervals_as_people_write_them() {
    let statement = "SELECT timestamp '2024-06-26 19:38:58' AS t, timestamp '2024-06-26 00:00:01' - timestamp '2023-06-28 00:00:02' AS i";
    let said = text(&filbert(&["sql", statement]).stdout);
    assert!(said.contains("2024-06-26 19:38:58  363 days 23:59:59"), "{said}");
    let said = text(&filbert(&["sql", statement, "--format", "csv"]).stdout);
    assert!(said.contains("2024-06-26T19:38:58"), "{said}");
}
