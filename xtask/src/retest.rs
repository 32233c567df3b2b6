//! The step `test`: the README's test command, and a second run of each test binary that failed, by itself.
//!
//! A test that fails only beside others, or only sometimes, is not a broken change but an unsteady test. The second run tells the two apart:
//! what fails twice fails the step, what passes only the second time is named loudly, and counted at the end of the chore. Only the binaries
//! that failed run again, not the whole command: a second run of everything would let each unsteady test fail another time.

use crate::readme;
use crate::workspace::Workspace;
use std::fmt;
use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// Makes cargo go on after a binary that failed, so that one unsteady test hides no other failure.
const ALL: &str = "--no-fail-fast";

/// A test binary that failed in the first run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Failure {
    /// The words with which cargo runs it alone: `-p filbert-pool --test idle`.
    target: String,
    /// The executable; none for the tests in documentation.
    binary: Option<PathBuf>,
    /// The tests that failed; none when the binary ended without saying which.
    tests: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tests = if self.tests.is_empty() { "did not end well".to_owned() } else { self.tests.join(", ") };
        write!(f, "{}: {tests}", self.target)
    }
}

/// Runs the command, and once more what failed. Gives the unsteady tests.
pub(crate) fn check(workspace: &Workspace) -> Result<Vec<String>, String> {
    let mut first = workspace.command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    first.args(readme::TEST.split_whitespace().skip(1)).arg(ALL);
    // Only `fix` may write the generated pages, whatever the caller's shell has set.
    first.env_remove("FILBERT_WRITE_DOCS");
    if io::stdout().is_terminal() {
        first.env("CARGO_TERM_COLOR", "always");
    }
    println!("   {} {ALL}", readme::TEST);
    let mut reader = Reader::default();
    let status = watched(&mut first, |line| reader.read(line))?;
    if status.success() {
        return Ok(Vec::new());
    }
    let failures = reader.failures;
    if failures.is_empty() {
        // It did not build: there is nothing to run again.
        return Err(format!("{} {ALL} ended with {status}", readme::TEST));
    }
    judge(&failures, |failure| {
        let mut again = alone(workspace, failure)?;
        let status =
            again.status().map_err(|error| format!("{} cannot be started: {error}", failure.target))?;
        Ok(status.success())
    })
}

/// Runs each failed binary once more, and says which tests failed twice, or, where none did, which are unsteady.
fn judge(
    failures: &[Failure],
    mut passes: impl FnMut(&Failure) -> Result<bool, String>,
) -> Result<Vec<String>, String> {
    let (mut unsteady, mut broken) = (Vec::new(), Vec::new());
    for failure in failures {
        println!("\n   once more, by itself: {}", failure.target);
        if passes(failure)? { unsteady.push(failure.to_string()) } else { broken.push(failure.to_string()) }
    }
    for failure in &unsteady {
        println!("\n   UNSTEADY, passed only the second time: {failure}");
    }
    if broken.is_empty() {
        return Ok(unsteady);
    }
    let mut message = format!("{} test binaries failed twice:\n  {}", broken.len(), broken.join("\n  "));
    if !unsteady.is_empty() {
        message += &format!(
            "\n{} passed only the second time (unsteady):\n  {}",
            unsteady.len(),
            unsteady.join("\n  ")
        );
    }
    Err(message)
}

/// The command that runs one binary. Where its executable is known it is started as cargo does, in the folder of its package: `cargo test -p`
/// may choose other features of the dependencies than the whole workspace, and build them all anew.
fn alone(workspace: &Workspace, failure: &Failure) -> Result<Command, String> {
    let words: Vec<&str> = failure.target.split_whitespace().collect();
    let package = words.iter().position(|word| *word == "-p").and_then(|at| words.get(at + 1));
    if let (Some(binary), Some(package)) = (&failure.binary, package)
        && let Some(folder) = folder_of(workspace, package)?
    {
        let binary = workspace.root().join(binary);
        let mut command = workspace.command(binary);
        command.current_dir(&folder).env("CARGO_MANIFEST_DIR", &folder).env_remove("FILBERT_WRITE_DOCS");
        return Ok(command);
    }
    let mut command = workspace.command(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.arg("test").args(words).env_remove("FILBERT_WRITE_DOCS");
    Ok(command)
}

/// The folder of a package of the workspace.
fn folder_of(workspace: &Workspace, package: &str) -> Result<Option<PathBuf>, String> {
    let line = format!("name = \"{package}\"");
    for file in workspace.files()? {
        if Path::new(&file).file_name().is_some_and(|name| name == "Cargo.toml") {
            let text = workspace.read(&file)?;
            let header = text.lines().skip_while(|line| line.trim() != "[package]").skip(1);
            if header.take_while(|line| !line.starts_with('[')).any(|found| found.trim() == line) {
                return Ok(workspace.root().join(file).parent().map(Path::to_path_buf));
            }
        }
    }
    Ok(None)
}

/// Runs a command to its end, hands each line to `look` and on to our standard output. Both its streams go through one pipe, so that the
/// lines of a test binary keep their place behind cargo's line that names it.
fn watched(command: &mut Command, mut look: impl FnMut(&str)) -> Result<ExitStatus, String> {
    let lost = |error| format!("{} was lost: {error}", readme::TEST);
    let (read, write) = io::pipe().map_err(lost)?;
    command.stdout(write.try_clone().map_err(lost)?).stderr(write);
    let mut child = command.spawn().map_err(|error| format!("cargo cannot be started: {error}"))?;
    // The command holds the ends for writing; with them open the pipe would never end.
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    each_line(read, |line| {
        look(&String::from_utf8_lossy(line));
        // Whoever reads our output may be gone; the tests run on.
        let _ = io::stdout().lock().write_all(line);
    })
    .map_err(lost)?;
    child.wait().map_err(lost)
}

fn each_line(read: impl Read, mut line: impl FnMut(&[u8])) -> io::Result<()> {
    let (mut read, mut bytes) = (BufReader::new(read), Vec::new());
    while read.read_until(b'\n', &mut bytes)? > 0 {
        line(&bytes);
        bytes.clear();
    }
    Ok(())
}

/// Reads what `cargo test --no-fail-fast` says, line by line.
#[derive(Debug, Default)]
struct Reader {
    /// The binaries that failed, in the order of the run.
    failures: Vec<Failure>,
    /// What is known of the binary that runs now.
    current: Failure,
}

impl Reader {
    fn read(&mut self, line: &str) {
        let line = plain(line);
        let line = line.trim_end();
        let word = line.trim_start();
        if let Some(running) = word.strip_prefix("Running ").filter(|_| line.starts_with("  ")) {
            self.current = Failure { binary: in_brackets(running), ..Failure::default() };
        } else if line.starts_with("   Doc-tests ") {
            self.current = Failure::default();
        } else if let Some(test) = failed_test(line) {
            // The result of a test comes once; with one thread and much output, its name is repeated in the list at the end.
            if !self.current.tests.iter().any(|known| known == test) {
                self.current.tests.push(test.to_owned());
            }
        } else if let Some((_, rest)) = line.split_once("to rerun pass `")
            && line.starts_with("error: ")
            && let Some(target) = rest.strip_suffix('`')
        {
            self.failures.push(Failure { target: target.to_owned(), ..std::mem::take(&mut self.current) });
        }
    }
}

/// The test of a line `test a::b ... FAILED`. In documentation a name has spaces: `src/lib.rs - x (line 7)`.
fn failed_test(line: &str) -> Option<&str> {
    let (test, _) = line.strip_prefix("test ")?.split_once(" ... ").filter(|(_, end)| *end == "FAILED")?;
    Some(test.strip_suffix(" - should panic").unwrap_or(test))
}

/// The executable of `tests/idle.rs (target/debug/deps/idle-0123)`.
fn in_brackets(running: &str) -> Option<PathBuf> {
    let (_, path) = running.strip_suffix(')')?.rsplit_once(" (")?;
    Some(PathBuf::from(path))
}

/// The line without the colours of a terminal.
fn plain(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            // An escape sequence ends with a letter.
            let _ = characters.find(char::is_ascii_alphabetic);
        } else {
            plain.push(character);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "\
   Compiling filbert-pool v0.1.0 (/src/crates/pool)
    Finished `test` profile [unoptimized + debuginfo] target(s) in 1.02s
     Running unittests src/lib.rs (target/debug/deps/filbert_pool-00aa)

running 2 tests
test a::good ... ok
test a::bad ... FAILED

failures:

---- a::bad stdout ----
test a::printed ... by it
assertion `left == right` failed

failures:
    a::bad

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

\u{1b}[1m\u{1b}[91merror\u{1b}[0m: test failed, to rerun pass `-p filbert-pool --lib`
     Running tests/fine.rs (target/debug/deps/fine-00bb)

running 1 test
test fine ... ok
     Running tests/dies.rs (target/debug/deps/dies-00cc)

running 1 test
error: test failed, to rerun pass `-p filbert-pool --test dies`

Caused by:
  process didn't exit successfully: `/src/target/debug/deps/dies-00cc` (signal: 6, SIGABRT: process abort signal)
   Doc-tests filbert_pool

running 1 test
test crates/pool/src/lib.rs - key (line 7) ... FAILED

error: doctest failed, to rerun pass `-p filbert-pool --doc`
error: 3 targets failed:
    `-p filbert-pool --lib`
    `-p filbert-pool --test dies`
    `-p filbert-pool --doc`
";

    fn said() -> Vec<Failure> {
        let mut reader = Reader::default();
        SAID.lines().for_each(|line| reader.read(line));
        reader.failures
    }

    fn failure(target: &str, binary: Option<&str>, tests: &[&str]) -> Failure {
        let tests = tests.iter().map(|test| (*test).to_owned()).collect();
        Failure { target: target.to_owned(), binary: binary.map(PathBuf::from), tests }
    }

    #[test]
    fn finds_the_binaries_that_failed_and_their_tests() {
        assert_eq!(
            said(),
            [
                failure("-p filbert-pool --lib", Some("target/debug/deps/filbert_pool-00aa"), &["a::bad"]),
                failure("-p filbert-pool --test dies", Some("target/debug/deps/dies-00cc"), &[]),
                failure("-p filbert-pool --doc", None, &["crates/pool/src/lib.rs - key (line 7)"]),
            ]
        );
    }

    #[test]
    fn what_passes_only_the_second_time_is_unsteady() {
        let mut asked = Vec::new();
        let unsteady = judge(&said(), |failure| {
            asked.push(failure.target.clone());
            Ok(true)
        });
        assert_eq!(
            unsteady.unwrap(),
            [
                "-p filbert-pool --lib: a::bad",
                "-p filbert-pool --test dies: did not end well",
                "-p filbert-pool --doc: crates/pool/src/lib.rs - key (line 7)",
            ]
        );
        assert_eq!(asked.len(), 3, "each once");
    }

    #[test]
    fn what_fails_twice_fails_and_the_unsteady_are_named_all_the_same() {
        let error = judge(&said(), |failure| Ok(!failure.target.ends_with("--lib"))).unwrap_err();
        let (broken, unsteady) = error.split_once("2 passed only the second time").unwrap();
        assert!(
            broken.starts_with("1 test binaries failed twice:\n  -p filbert-pool --lib: a::bad"),
            "{error}"
        );
        assert!(unsteady.contains("--test dies") && unsteady.contains("--doc"), "{error}");
    }

    #[test]
    fn an_executable_runs_in_the_folder_of_its_package() {
        let workspace = Workspace::find().unwrap();
        let known = alone(&workspace, &failure("-p xtask --bin xtask", Some("target/x"), &[])).unwrap();
        assert_eq!(known.get_current_dir(), Some(workspace.root().join("xtask").as_path()));
        assert_eq!(known.get_program(), workspace.root().join("target/x"));
        let doc = alone(&workspace, &failure("-p xtask --doc", None, &[])).unwrap();
        assert_eq!(doc.get_args().collect::<Vec<_>>(), ["test", "-p", "xtask", "--doc"]);
    }

    #[test]
    fn lines_of_both_streams_keep_their_order() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "echo 1; echo 2 >&2; echo 3; echo 4 >&2; exit 7"]);
        let mut lines = Vec::new();
        let status = watched(&mut shell, |line| lines.push(line.trim().to_owned())).unwrap();
        assert_eq!((lines.join(" "), status.code()), ("1 2 3 4".to_owned(), Some(7)));
    }
}
