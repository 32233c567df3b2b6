//! The commands of `filbert` as a user types them, against a member in a process of its own: what they print, and how they end.

#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]

mod config;
mod cube;
mod cube_output;
mod cube_signals;
mod cube_tables;
mod cube_try;
mod grid;
mod job;
#[path = "../../../gate/tests/door/line.rs"]
#[allow(dead_code, reason = "shared with the tests of the door, which use more of it")]
mod line;
mod map;
mod memory;
mod operation_pages;
#[path = "../hostile/process.rs"]
#[allow(dead_code, reason = "shared with the hostile tests, which use more of it")]
mod process;
mod reload;
mod service;
mod shell;
mod sql;
mod sql_database;
mod sql_files;
mod standard_error;
mod start;
mod structures;
mod top;
mod watching;

use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// Runs `filbert` with these words to its end.
fn filbert(words: &[&str]) -> Output {
    command(words).output().unwrap()
}

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_filbert"));
    command.args(words).env_remove("FILBERT_PASSWORD");
    command
}

/// Sends a signal, by its name.
fn signal(child: u32, name: &str) {
    let status = Command::new("kill").args([&format!("-{name}"), &child.to_string()]).status().unwrap();
    assert!(status.success());
}

/// Waits until the process handles signals itself: the handler of SIGINT is the last one that is installed.
fn await_handler(child: u32) {
    const SIGINT: u32 = 2;
    let begin = Instant::now();
    let catches = || {
        let status = std::fs::read_to_string(format!("/proc/{child}/status")).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(caught.trim(), 16).unwrap() >> (SIGINT - 1) & 1 == 1
    };
    while !catches() {
        assert!(begin.elapsed() < line::DEADLINE, "it never heeds signals");
        // sleeps because a process tells nobody that it heeds signals
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}
