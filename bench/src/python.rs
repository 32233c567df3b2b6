//! Peers that come as Python packages: an environment of their own in the bench's cache folder, and a process that is asked by lines of JSON.
//!
//! They compute in their own threads; their Python only passes questions and answers, and measures without the pipe.

use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Where benches keep what takes long to make: `FILBERT_BENCH_CACHE`, or below the user's folder for such things.
pub(crate) fn cache() -> PathBuf {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    variable("FILBERT_BENCH_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|folder| folder.join("filbert/bench")))
        .or_else(|| variable("HOME").map(|folder| folder.join(".cache/filbert/bench")))
        .unwrap_or_else(|| std::env::temp_dir().join("filbert-bench"))
}

/// The packages that a script imports, as `pip` and as `import` call them.
pub(crate) struct Packages {
    /// The name of their environment.
    pub(crate) environment: &'static str,
    pub(crate) install: &'static [&'static str],
    pub(crate) import: &'static str,
}

/// What a package writes by itself, such as a progress bar, goes where errors go: answers are alone on their pipe.
const PRELUDE: &str = "import os, sys; sys.stdout = os.fdopen(os.dup(1), 'w'); os.dup2(2, 1)\n";

/// A script that answers every line with a line.
pub(crate) struct Script {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Script {
    /// Starts a script, with these environment variables; installs its packages when they are not there yet.
    pub(crate) fn start(
        script: &str,
        packages: &Packages,
        variables: &[(&str, String)],
    ) -> Result<Self, String> {
        let mut child = Command::new(python(&cache(), packages)?)
            .args(["-c", &format!("{PRELUDE}{script}")])
            .envs(variables.iter().map(|(name, value)| (*name, value)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let (Some(questions), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the pipes were asked for".to_owned());
        };
        Ok(Self { child, questions, answers: BufReader::new(answers) })
    }

    /// The answer to a question; what the script calls an error ends the bench.
    pub(crate) fn ask(&mut self, question: &Value) -> Value {
        writeln!(self.questions, "{question}").expect("the script lives");
        let mut said = String::new();
        self.answers.read_line(&mut said).expect("the script lives");
        let answer: Value =
            serde_json::from_str(&said).unwrap_or_else(|error| panic!("{question}: {said:?}: {error}"));
        match answer.get("error") {
            Some(error) => panic!("{question}: {error}"),
            None => answer,
        }
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A Python that has the packages.
fn python(cache: &Path, packages: &Packages) -> Result<PathBuf, String> {
    let environment = cache.join(packages.environment);
    let python = environment.join("bin/python");
    let has_them = |python: &Path| {
        let asked = Command::new(python)
            .args(["-c", &format!("import {}", packages.import)])
            .stderr(Stdio::null())
            .status();
        asked.is_ok_and(|status| status.success())
    };
    if !has_them(&python) {
        eprintln!("installs {} in {}", packages.install.join(", "), environment.display());
        step(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
        step(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(packages.install))?;
    }
    Ok(python)
}

fn step(command: &mut Command) -> Result<(), String> {
    match command.stdout(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?} ended with {status}")),
        Err(error) => Err(format!("{command:?}: {error}")),
    }
}
