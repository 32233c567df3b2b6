//! `filbert job`.

use crate::line::DEADLINE;
use crate::{await_handler, command, filbert, signal, text};
use std::process::Stdio;
use std::time::Instant;

#[test]
fn a_signal_cancels_a_job_and_is_its_exit_status() {
    for (name, status) in [("INT", 130), ("TERM", 143)] {
        let words = ["job", "custom", "--numbers", "100000000000000", "--json"];
        let child = command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        await_handler(child.id());
        signal(child.id(), name);
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(status), "{}", text(&ended.stderr));
        let said: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
        assert_eq!(said["status"], "cancelled");
        assert!(text(&ended.stderr).contains(&format!("SIG{name}")), "{}", text(&ended.stderr));
    }
}

/// Before a job begins there is nothing to cancel, and its map may take long to fill.
#[test]
fn a_second_signal_ends_a_job_that_is_still_prepared() {
    for (name, status) in [("INT", 130), ("TERM", 143)] {
        let words = ["job", "map-to-map", "--entries", "20000000", "--json"];
        let mut child = command(&words).stdout(Stdio::piped()).spawn().unwrap();
        await_handler(child.id());
        let begin = Instant::now();
        // Signals that come together are one.
        while child.try_wait().unwrap().is_none() {
            assert!(begin.elapsed() < DEADLINE, "it does not end");
            signal(child.id(), name);
        }
        let ended = child.wait_with_output().unwrap();
        assert_eq!((ended.status.code(), &*text(&ended.stdout)), (Some(status), ""));
    }
}

#[test]
fn a_file_that_is_not_there_is_an_error_and_nothing_else() {
    let failed = filbert(&["job", "word-count", "/nowhere/at/all.txt"]);
    assert_eq!((failed.status.code(), &*text(&failed.stdout)), (Some(1), ""));
    assert!(text(&failed.stderr).contains("/nowhere/at/all.txt"), "{}", text(&failed.stderr));
}
