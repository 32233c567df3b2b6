//! Signals while `filbert cube` asks and writes: it ends, and leaves no file that is not whole.

use crate::cube::{ENDLESS, Folder};
use crate::{command, line, signal, text};
use std::io::Read;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// An answer that takes a while to write, and has no room in a pipe.
const LONG: &str = "(SELECT value AS n, 1.0 AS pnl FROM generate_series(1, 500000))";

impl Folder {
    /// Asks for the measure of a table, and goes on.
    fn begin(&self, table: &str, words: &[&str]) -> Child {
        let forest = self.path("risk.toml");
        let cube = ["cube", "--forest", &forest, "--table", table, "--measures", "pnl"];
        let mut asked = command(&[&cube[..], words].concat());
        asked.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// How many bytes the draft of a file has, if there is one.
    fn drafted(&self) -> Option<u64> {
        let draft = self.names().into_iter().find(|name| name.ends_with(".draft"))?;
        std::fs::metadata(self.path(&draft)).ok().map(|draft| draft.len())
    }
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < line::DEADLINE, "it never {what}");
        // sleeps because neither a file nor a process says when it has changed
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Sends all of them at once: a process that stands still takes them when it goes on.
fn signals(child: &Child, names: &[&str]) {
    for name in [&["STOP"], names, &["CONT"]].concat() {
        signal(child.id(), name);
    }
}

fn ended(mut child: Child) -> Output {
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begin.elapsed() > line::DEADLINE {
            child.kill().unwrap();
            panic!("it did not end");
        }
        // sleeps because a process cannot be waited for with a deadline
        std::thread::sleep(Duration::from_millis(1));
    }
    child.wait_with_output().unwrap()
}

/// Nobody heard signals any more when the answer was written.
#[test]
fn a_signal_while_a_file_is_written_leaves_what_was_there() {
    let folder = Folder::new();
    let path = folder.path("report.csv");
    std::fs::write(&path, "yesterday\n").unwrap();
    let before = folder.names();
    for (name, status) in [("INT", 130), ("TERM", 143)] {
        let child = folder.begin(LONG, &["--by", "n", "-o", &path]);
        wait_until("writes", || folder.drafted().is_some_and(|bytes| bytes > 0));
        signals(&child, &[name]);
        let ended = ended(child);
        assert_eq!(ended.status.code(), Some(status), "{}", text(&ended.stderr));
        assert_eq!(text(&ended.stderr), format!("filbert: SIG{name}: cancelled"));
        assert_eq!((folder.read("report.csv").as_str(), folder.names()), ("yesterday", before.clone()));
    }
}

/// Nothing but SIGKILL ended it.
#[test]
fn a_second_signal_ends_what_waits_for_a_reader() {
    let folder = Folder::new();
    let pipe = folder.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // For both, so that it waits for nobody to be opened.
    let mut reader = std::fs::File::options().read(true).write(true).open(&pipe).unwrap();
    let child = folder.begin(LONG, &["--by", "n", "-o", &pipe, "--format", "csv"]);
    reader.read_exact(&mut [0]).unwrap();
    signals(&child, &["INT", "TERM"]);
    let ended = ended(child);
    // Which of the two is the second is not said.
    assert!(matches!(ended.status.code(), Some(130 | 143)), "{ended:?}");
}

/// A process that ends at once drops nothing: its draft stayed for ever.
#[test]
fn a_second_signal_leaves_no_draft() {
    let folder = Folder::new();
    let before = folder.names();
    let child = folder.begin(ENDLESS, &["-o", &folder.path("report.csv")]);
    wait_until("makes a draft", || folder.drafted().is_some());
    signals(&child, &["INT", "TERM"]);
    let ended = ended(child);
    assert!(matches!(ended.status.code(), Some(130 | 143)), "{ended:?}");
    assert_eq!(folder.names(), before);
}
