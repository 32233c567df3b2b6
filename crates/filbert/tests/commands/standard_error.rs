//! A standard error that takes nothing: what was to be said there is lost, and nothing else.

use crate::cube::Folder;
use crate::{command, text};
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader};
use std::process::{Output, Stdio};

/// A disk that is full, and a pipe that nobody reads.
fn deaf() -> [Stdio; 2] {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    [full.into(), writer.into()]
}

/// Runs `filbert` once with each of them.
fn unheard(words: &[&str]) -> [Output; 2] {
    deaf().map(|stderr| command(words).stdin(Stdio::null()).stderr(stderr).output().unwrap())
}

/// Each of these ended with a panic, and with its status.
#[test]
fn a_command_ends_with_its_own_status() {
    let folder = Folder::new();
    let (forest, table) = (folder.path("risk.toml"), folder.path("trades.csv"));
    let cube = ["cube", "--forest", &forest, "--table", &table];
    let failing = folder.path("failing.toml");
    let text_of_failing = "[[measure]]\nname = \"sum\"\nkind = \"aggregator\"\ncolumn = \"desk\"\n\
                           [[measure]]\nname = \"trades\"\nkind = \"aggregator\"\naggregation = \"count\"\n";
    std::fs::write(&failing, text_of_failing).unwrap();
    for (words, status, shown) in [
        (&[&cube[..], &["--measures", "nope"]].concat(), 1, ""),
        (&[&cube[..], &["--drill-through", "--by", "desk", "--cell", "desk=nope"]].concat(), 0, "desk"),
        (&[&cube[..], &["--drill-through", "--limit", "1", "--columns", "desk"]].concat(), 0, "FX"),
        (&vec!["cube", "--forest", &failing, "--table", &table, "--errors-as-values"], 0, "error: "),
        (&vec!["cube", "--nope"], 2, ""),
        (&vec!["sql", "SELECT nope"], 1, ""),
        (&vec!["stages", "--config", "/nope.toml"], 1, ""),
    ] {
        for ran in unheard(words) {
            assert_eq!(ran.status.code(), Some(status), "{words:?}");
            let out = text(&ran.stdout);
            assert!(out.contains(shown), "{words:?}: {out}");
        }
    }
}

#[test]
fn a_member_whose_log_has_no_room_serves_on() {
    for stderr in deaf() {
        let ports = ["--port", "0", "--postgres-port", "0", "--http-port", "0"];
        let words = [&["start", "--log", "trace"], &ports[..]].concat();
        let mut child = command(&words).stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let address = lines.next().expect("it starts").rsplit(' ').next().unwrap().to_owned();
        let put = ["map", "--address", &address, "put", "cities", "Oslo", "1"];
        let put = command(&put).output().unwrap();
        assert!(put.status.success(), "{}", text(&put.stderr));
        crate::signal(child.id(), "TERM");
        assert_eq!(child.wait().unwrap().code(), Some(0));
        assert!(lines.any(|line| line == "filbert: ended"));
    }
}
