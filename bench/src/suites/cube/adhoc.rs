//! Adhoc, the cube engine on the JVM, with the same workloads: a Java program that is compiled against its jars and asked by lines.
//!
//! It needs a JDK on the path, of the version that the jars were made for (25 for release 0.1.0), and a class path with the jars of
//! `eu.solven.adhoc:adhoc-recipes` and all that they need.

use crate::harness::Times;
use crate::python::cache;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const PROGRAM: &str = include_str!("Adhoc.java");

/// A workload that takes longer, with its warm-up, is given up.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

/// A workload as the program knows it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Theirs {
    pub(super) name: &'static str,
    pub(super) sizes: (usize, usize),
}

/// How long it took, and how many slices with which sum came out.
pub(super) type Answer = (Times, (usize, f64));

/// What became of a workload.
pub(super) enum Outcome {
    Ended(Answer),
    /// No answer, after so long.
    GivenUp(Duration),
    Failed(String),
}

/// Adhoc, compiled; a process for as long as it answers.
pub(super) struct Adhoc {
    classpath: String,
    process: Option<Process>,
}

struct Process {
    child: Child,
    questions: ChildStdin,
    answers: Receiver<String>,
}

impl Adhoc {
    /// Compiles the program.
    pub(super) fn new(classpath: &str) -> Result<Self, String> {
        let folder = folder()?;
        let source = folder.join("Adhoc.java");
        std::fs::write(&source, PROGRAM).map_err(|error| error.to_string())?;
        let compiled =
            Command::new("javac").args(["-cp", classpath, "-d"]).arg(&folder).arg(&source).status();
        match compiled {
            Ok(status) if status.success() => {}
            Ok(status) => return Err(format!("javac ended with {status}: is it the JDK of the jars?")),
            Err(error) => return Err(format!("javac: {error}")),
        }
        Ok(Self { classpath: format!("{}:{classpath}", folder.display()), process: None })
    }

    /// Runs a workload, in a new process if the last one did not answer.
    pub(super) fn run(&mut self, theirs: Theirs, rounds: usize) -> Outcome {
        let (first, second) = theirs.sizes;
        let question = format!("{} {first} {second} {rounds}", theirs.name);
        let process = match self.process.take().map_or_else(|| Process::start(&self.classpath), Ok) {
            Ok(process) => process,
            Err(error) => return Outcome::Failed(error),
        };
        let begin = Instant::now();
        match process.ask(&question) {
            None if begin.elapsed() >= PATIENCE => Outcome::GivenUp(begin.elapsed()),
            None => Outcome::Failed("the process ended".to_owned()),
            Some((process, said)) => {
                self.process = Some(process);
                answer(&said)
                    .map_or_else(|| Outcome::Failed(format!("it said {:?}", said.trim())), Outcome::Ended)
            }
        }
    }
}

fn folder() -> Result<PathBuf, String> {
    let folder = cache().join("adhoc");
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    Ok(folder)
}

impl Process {
    fn start(classpath: &str) -> Result<Self, String> {
        let mut child = Command::new("java")
            // A quarter of the memory, the default, is too little for its ten million cells.
            .args(["-XX:MaxRAMPercentage=60", "-cp", classpath, "Adhoc"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("java: {error}"))?;
        let (Some(questions), Some(lines)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the pipes were asked for".to_owned());
        };
        let (sender, answers) = channel();
        // Ends with the process.
        std::thread::spawn(move || {
            for line in BufReader::new(lines).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Self { child, questions, answers })
    }

    /// What it says, and itself; nothing when it is gone, or took too long and is ended.
    fn ask(mut self, question: &str) -> Option<(Self, String)> {
        writeln!(self.questions, "{question}").ok()?;
        let said = self.answers.recv_timeout(PATIENCE).ok()?;
        Some((self, said))
    }
}

/// Reads `ok slices sum nanos...`.
fn answer(said: &str) -> Option<Answer> {
    let mut words = said.strip_prefix("ok ")?.split_whitespace();
    let (slices, sum) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let nanos: Option<Vec<f64>> = words.map(|word| word.parse().ok()).collect();
    let nanos = nanos.filter(|nanos| !nanos.is_empty())?;
    Some((Times::from_nanos("Adhoc", nanos), (slices, sum)))
}

impl Drop for Process {
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
