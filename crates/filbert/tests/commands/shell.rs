//! The shell of `filbert sql` on a terminal of its own, made by `script`.

use crate::line::DEADLINE;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

/// A prompt of `filbert` on a terminal, and what it wrote so far.
pub(crate) struct Shell {
    child: Child,
    pieces: Receiver<Vec<u8>>,
    /// From the last prompt that was waited for.
    written: String,
    prompt: &'static str,
}

impl Shell {
    /// Starts one in that folder, on a terminal with so many columns.
    fn start(folder: &Path, columns: u16, words: &str) -> Self {
        Self::open(folder, columns, &format!("sql {words}"), "filbert> ")
    }

    /// Starts a command of `filbert`, and waits for its prompt.
    pub(crate) fn open(folder: &Path, columns: u16, words: &str, prompt: &'static str) -> Self {
        let mut shell = Self::begin(folder, columns, words, prompt);
        shell.until(prompt);
        shell
    }

    /// Starts the command, and waits for nothing.
    pub(crate) fn begin(folder: &Path, columns: u16, words: &str, prompt: &'static str) -> Self {
        let line = format!("stty cols {columns} rows 24; exec {} {words}", env!("CARGO_BIN_EXE_filbert"));
        let mut child = Command::new("script")
            .args(["--quiet", "--return", "--command", &line, "/dev/null"])
            .current_dir(folder)
            .env("TERM", "xterm")
            .env("NO_COLOR", "1")
            .env("XDG_STATE_HOME", folder)
            .env("EDITOR", "sed -i s/41/42/")
            .env("PAGER", "grep -v BIGINT")
            .env_remove("VISUAL")
            .env_remove("FILBERT_PAGER")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("`script` of util-linux makes a terminal");
        let mut out = child.stdout.take().unwrap();
        let (sender, pieces) = channel();
        std::thread::spawn(move || {
            let mut piece = [0; 4_096];
            while let Ok(bytes) = out.read(&mut piece) {
                if bytes == 0 || sender.send(piece[..bytes].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { child, pieces, written: String::new(), prompt }
    }

    fn interrupt(&mut self) {
        self.press(b"\x03");
    }

    /// Waits until that is written; returns everything up to there, without what moves the cursor.
    pub(crate) fn until(&mut self, text: &str) -> String {
        let deadline = Instant::now() + DEADLINE;
        loop {
            if let Some(at) = self.written.find(text) {
                let rest = self.written.split_off(at + text.len());
                return std::mem::replace(&mut self.written, rest);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            let piece = self.pieces.recv_timeout(left);
            let piece = piece.unwrap_or_else(|_| panic!("{text:?} is not in\n{}", self.written));
            self.written += &plain(&String::from_utf8_lossy(&piece));
        }
    }

    /// Types a line; returns what is written up to the next prompt.
    pub(crate) fn ask(&mut self, line: &str) -> String {
        self.type_in(line);
        // The line is shown as it is typed, again and again.
        self.until(&format!("\n{}", self.prompt))
    }

    pub(crate) fn type_in(&mut self, line: &str) {
        self.press(format!("{line}\n").as_bytes());
    }

    /// Sends what keys send.
    pub(crate) fn press(&mut self, keys: &[u8]) {
        self.child.stdin.as_mut().unwrap().write_all(keys).unwrap();
    }

    pub(crate) fn end(mut self, line: &str) {
        self.type_in(line);
        self.wait();
    }

    /// Waits until it has ended by itself.
    pub(crate) fn wait(&mut self) {
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        // It has ended, unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A text without the sequences that move the cursor.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' => {
                letters.find(|letter| letter.is_ascii_alphabetic());
            }
            '\r' => {}
            _ => plain.push(letter),
        }
    }
    plain
}

#[test]
fn results_fit_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let mut shell = Shell::start(folder.path(), 80, "");
    let said = shell.ask("SELECT value, repeat('long text ', 30) AS x FROM generate_series(1, 1000);");
    assert!(said.contains("… 960 more rows …") && said.contains("(40 of 1,000 rows shown, "), "{said}");
    assert!(said.contains("BIGINT  VARCHAR") && said.contains("long text long te"), "{said}");
    let said =
        shell.ask("SELECT timestamp '2026-03-09 01:02:03' AS t, avg(value) FROM generate_series(1, 4);");
    assert!(
        said.contains("2026-03-09 01:02:03") && said.contains("avg(value)") && said.contains("2.5"),
        "{said}"
    );
    let said = shell.ask("\\rows all");
    assert!(said.contains("all rows are shown"), "{said}");
    let said = shell.ask("SELECT value FROM generate_series(1, 50);");
    assert!(said.contains("(50 rows, ") && !said.contains('…'), "{said}");
    assert!(shell.ask("\\x").contains("a line for each value is on"));
    let said = shell.ask("SELECT 1 AS one, 'x' AS letter;");
    assert!(said.contains("-[ 1 ]-----") && said.contains("letter  x"), "{said}");
    shell.end("quit");
}

#[test]
fn words_of_other_shells_are_understood() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("customers.csv"), "customer,city\n1,Oslo\n").unwrap();
    let mut shell = Shell::start(folder.path(), 120, "");
    assert!(shell.ask("help").contains("\\copy T TO 'FILE'"));
    let said = shell.ask(".tables");
    assert!(said.contains("use \\dt"), "{said}");
    let said = shell.ask("\\d");
    assert!(said.contains("there are no tables yet") && said.contains("FROM 'file.csv'"), "{said}");
    let said = shell.ask("\\d customers.csv");
    assert!(said.contains("customer") && said.contains("BIGINT") && said.contains("VARCHAR"), "{said}");
    shell.type_in("SELECT 1");
    shell.until("      -> ");
    let said = shell.ask("+ 1;");
    assert!(said.contains("1 + 1"), "{said}");
    let said = shell.ask("\\copy (SELECT city FROM 'customers.csv') TO 'out.csv'");
    assert!(said.contains("1 written"), "{said}");
    assert_eq!(std::fs::read_to_string(folder.path().join("out.csv")).unwrap(), "city\nOslo\n");
    assert!(shell.ask("\\o rows.json").contains("rows go to rows.json"));
    shell.ask("SELECT 7 AS n;");
    assert!(shell.ask("\\o").contains("rows go to the terminal"));
    assert_eq!(std::fs::read_to_string(folder.path().join("rows.json")).unwrap(), "[{\"n\":7}]\n");
    // Tab completes columns of a file that the statement names.
    let said = shell.ask("SELECT 1 FROM 'customers.csv' WHERE custom\t = 1;");
    assert!(said.contains("WHERE customer"), "{said}");
    shell.end("exit");
}

#[test]
fn statements_are_edited_paged_and_watched() {
    let folder = tempfile::tempdir().unwrap();
    let mut shell = Shell::start(folder.path(), 80, "");
    shell.ask("SELECT 41 AS n;");
    let said = shell.ask("\\e");
    assert!(
        said.contains("SELECT 42 AS n;") && said.contains("BIGINT") && said.contains("(1 row, "),
        "{said}"
    );
    assert!(shell.ask("\\pager on").contains("the pager is on"));
    let said = shell.ask("SELECT value FROM generate_series(1, 50);");
    assert!(said.contains("(50 rows, ") && !said.contains("BIGINT"), "{said}");
    assert!(shell.ask("\\pager off").contains("the pager is off"));
    shell.type_in("\\watch 0.1");
    for _ in 0..3 {
        shell.until("(40 of 50 rows shown");
    }
    shell.interrupt();
    shell.until("cancelled");
    shell.until("filbert> ");
    shell.end("exit");
}

/// The bar is there for as long as a statement runs, so it is one that runs until it is cancelled.
#[test]
fn a_bar_tells_how_far_a_query_is_with_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let lines: String = (0..10_000).map(|line| format!("{line}\n")).collect();
    std::fs::write(folder.path().join("numbers.csv"), format!("n\n{lines}")).unwrap();
    let endless = "SELECT sum(n % 7) FROM (SELECT n FROM 'numbers.csv' UNION ALL SELECT value FROM generate_series(1, 1000000000000))";
    let mut shell = Shell::start(folder.path(), 80, "");
    shell.type_in(&format!("{endless};"));
    shell.until(" % of 48.9 kB, ");
    shell.until(" s; Ctrl-C cancels");
    shell.interrupt();
    shell.until("cancelled");
    shell.until("filbert> ");
    shell.end("exit");

    let mut shell = Shell::begin(folder.path(), 40, &format!("sql \"{endless}\""), "filbert> ");
    let said = shell.until(" % of 48.9 kB");
    shell.interrupt();
    let after = shell.until("SIGINT: cancelled");
    assert!(said.contains('[') && !after.contains("Ctrl-C cancels"), "it fits 40 columns: {said}{after}");
    assert!(!shell.child.wait().unwrap().success());
}

#[test]
fn a_shell_over_a_database_keeps_tables() {
    let folder = tempfile::tempdir().unwrap();
    let mut shell = Shell::begin(folder.path(), 100, "sql my.db", "filbert> ");
    assert!(shell.until("filbert> ").contains("files and my.db, which keeps tables and views"));
    assert!(shell.ask("CREATE TABLE t AS SELECT value FROM range(0, 1000);").contains("(1,000 rows, "));
    assert!(shell.ask("SELECT * INTO u FROM t WHERE value < 10;").contains("(10 rows, "));
    shell.end("exit");
    let mut shell = Shell::start(folder.path(), 100, "my.db");
    let said = shell.ask("\\dt");
    assert!(said.contains("t ") && said.contains("u ") && said.contains("(2 rows, "), "{said}");
    shell.end("exit");
}
