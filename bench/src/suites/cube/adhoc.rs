//! Adhoc, the cube engine on the JVM, with the same workloads: a Java program that is compiled against its jars and asked by lines.
//!
//! It needs a JDK on the path, of the version that the jars were made for (25 for release 0.1.0), and a class path with the jars of
//! `eu.solven.adhoc:adhoc-recipes` and all that they need.

use crate::harness::Times;
use crate::python::cache;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const PROGRAM: &str = include_str!("Adhoc.java");

/// A workload as the program knows it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Theirs {
    pub(super) name: &'static str,
    pub(super) sizes: (usize, usize),
}

/// The Java program.
pub(super) struct Adhoc {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Adhoc {
    /// Compiles and starts the program.
    pub(super) fn start(classpath: &str) -> Result<Self, String> {
        let folder = cache().join("adhoc");
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let source = folder.join("Adhoc.java");
        std::fs::write(&source, PROGRAM).map_err(|error| error.to_string())?;
        let compiled =
            Command::new("javac").args(["-cp", classpath, "-d"]).arg(&folder).arg(&source).status();
        match compiled {
            Ok(status) if status.success() => {}
            Ok(status) => return Err(format!("javac ended with {status}: is it the JDK of the jars?")),
            Err(error) => return Err(format!("javac: {error}")),
        }
        let mut child = Command::new("java")
            .arg("-cp")
            .arg(format!("{}:{classpath}", folder.display()))
            .arg("Adhoc")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("java: {error}"))?;
        let (Some(questions), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the pipes were asked for".to_owned());
        };
        Ok(Self { child, questions, answers: BufReader::new(answers) })
    }

    /// How long it takes, and how many slices with which sum come out; or why not.
    pub(super) fn run(&mut self, theirs: Theirs, rounds: usize) -> Result<(Times, (usize, f64)), String> {
        let (first, second) = theirs.sizes;
        writeln!(self.questions, "{} {first} {second} {rounds}", theirs.name)
            .map_err(|error| error.to_string())?;
        let mut said = String::new();
        self.answers.read_line(&mut said).map_err(|error| error.to_string())?;
        answer(&said).ok_or_else(|| format!("it said {:?}", said.trim()))
    }
}

/// Reads `ok slices sum nanos...`.
fn answer(said: &str) -> Option<(Times, (usize, f64))> {
    let mut words = said.strip_prefix("ok ")?.split_whitespace();
    let (slices, sum) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let nanos: Option<Vec<f64>> = words.map(|word| word.parse().ok()).collect();
    let nanos = nanos.filter(|nanos| !nanos.is_empty())?;
    Some((Times::from_nanos("Adhoc", nanos), (slices, sum)))
}

impl Drop for Adhoc {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_and_an_error_is_told() {
        let (times, found) = answer("ok 26 1.5E3 30 10 20\n").unwrap();
        assert_eq!((times.median(), found), (20.0, (26, 1_500.0)));
        assert!(answer("error java.lang.OutOfMemoryError").is_none());
        assert!(answer("ok 26 1.5").is_none());
    }
}
