//! The step `busy` of `cargo xtask long`: the README's test command, many times in a row, on a machine with other work on it.
//!
//! A stranger runs the tests beside a browser and a build. A test that counts on a free processor fails there, and only there, so it
//! never fails for the developer who could mend it. Here four processes that only spin take the processors for as long as the runs last.
//! A run is green when every test passed the first time; a second try does not count.

use crate::retest;
use crate::workspace::Workspace;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// The number of processes that spin beside the tests.
pub(crate) const NEIGHBOURS: u64 = 4;

/// The number of runs.
pub(crate) const RUNS: u64 = 10;

/// Runs the test command so many times beside the neighbours; the error names each run that was not green.
pub(crate) fn check(workspace: &Workspace, runs: u64, neighbours: u64) -> Result<(), String> {
    let _neighbours = (0..neighbours).map(|_| Neighbour::start()).collect::<Result<Vec<_>, _>>()?;
    repeat(runs, || retest::check(workspace))
}

/// Runs all of them, also behind one that failed: how often a test fails says what kind of test it is.
fn repeat(runs: u64, mut run: impl FnMut() -> Result<Vec<String>, String>) -> Result<(), String> {
    let mut red = Vec::new();
    for number in 1..=runs {
        let start = Instant::now();
        let failures = match run() {
            Ok(unsteady) => unsteady,
            Err(error) => vec![error],
        };
        let seconds = start.elapsed().as_secs();
        if failures.is_empty() {
            println!("   run {number} of {runs}: green, {seconds} s");
        } else {
            println!("   run {number} of {runs}: RED, {seconds} s");
            red.push(format!("run {number}: {}", failures.join("; ")));
        }
    }
    if red.is_empty() {
        return Ok(());
    }
    Err(format!("{} of {runs} runs were not green:\n  {}", red.len(), red.join("\n  ")))
}

/// A process that takes a processor, until this is dropped.
struct Neighbour(Child);

impl Neighbour {
    fn start() -> Result<Self, String> {
        // It ends by itself when this program is killed: then its parent is another one.
        let spin = "parent=$PPID; while [ -d /proc/$parent ]; do n=0; while [ $n -lt 100000 ]; do n=$((n+1)); done; done";
        let mut shell = Command::new("sh");
        shell.args(["-c", spin]).stdin(Stdio::null());
        shell.spawn().map(Self).map_err(|error| format!("sh cannot be started: {error}"))
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        // It may have ended already; there is nobody to tell.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_counts_and_each_red_one_is_named() {
        let mut answers =
            [Ok(vec![]), Ok(vec!["-p a --lib: b".to_owned()]), Err("two failed".to_owned()), Ok(vec![])]
                .into_iter();
        let error = repeat(4, || answers.next().unwrap()).unwrap_err();
        assert_eq!(error, "2 of 4 runs were not green:\n  run 2: -p a --lib: b\n  run 3: two failed");
        assert!(answers.next().is_none(), "all four ran");
        assert_eq!(repeat(2, || Ok(vec![])), Ok(()));
    }

    #[test]
    fn a_neighbour_spins_until_it_is_dropped() {
        let mut neighbour = Neighbour::start().unwrap();
        assert!(neighbour.0.try_wait().unwrap().is_none(), "still there");
        let id = neighbour.0.id();
        drop(neighbour);
        assert!(!std::path::Path::new(&format!("/proc/{id}")).exists());
    }
}
