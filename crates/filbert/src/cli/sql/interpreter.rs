//! Runs the pieces of a text one after the other: statements by the runner, commands here.

use super::super::Outcome;
use super::command::{COMMANDS, Command};
use super::runner::{Output, Runner};
use super::splitter::{Piece, Splitter, Statement};
use filbert::SqlError;
use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;

/// Files that run files: more is a file that runs itself.
const DEEPEST: usize = 16;

/// Whether there is more to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    GoOn,
    Quit,
}

/// The state of a shell or a script.
pub(super) struct Interpreter {
    pub(super) runner: Runner,
    output: Output,
    /// How long a statement may be.
    text_bytes: usize,
    /// How many files are being run within each other.
    depth: usize,
}

type Ran = Result<Then, Box<dyn Error>>;

impl Interpreter {
    pub(super) fn new(runner: Runner, output: Output, text_bytes: usize) -> Self {
        Self { runner, output, text_bytes, depth: 0 }
    }

    /// Runs a text up to the first piece that fails.
    pub(super) fn text(&mut self, text: &str) -> Ran {
        self.pieces(Splitter::pieces(text))
    }

    /// The same for a text that is still being written, statement by statement.
    pub(super) fn script(&mut self, mut lines: impl BufRead) -> Ran {
        let mut splitter = Splitter::new();
        loop {
            let mut line = Vec::new();
            // No more than may wait, and a bit: what has no end is not kept until it has one.
            let room = (self.text_bytes + 2).saturating_sub(splitter.pending_bytes());
            let bytes = lines.by_ref().take(room as u64).read_until(b'\n', &mut line)?;
            if bytes == 0 {
                let last = splitter.finish();
                return self.pieces(last);
            }
            if bytes == room && !line.ends_with(b"\n") {
                let bytes = bytes + splitter.pending_bytes();
                return Err(SqlError::TextTooLong { bytes, limit: self.text_bytes }.into());
            }
            let line = String::from_utf8(line).map_err(|_| "the text is not UTF-8")?;
            if self.pieces(splitter.push(&line))? == Then::Quit {
                return Ok(Then::Quit);
            }
            let bytes = splitter.pending_bytes();
            if bytes > self.text_bytes {
                return Err(SqlError::TextTooLong { bytes, limit: self.text_bytes }.into());
            }
        }
    }

    fn pieces(&mut self, pieces: impl IntoIterator<Item = Piece>) -> Ran {
        for piece in pieces {
            match piece {
                Piece::Statement(statement) => self.run(&statement)?,
                Piece::Command(line) => {
                    if self.command(Command::read(&line)?)? == Then::Quit {
                        return Ok(Then::Quit);
                    }
                }
            }
        }
        Ok(Then::GoOn)
    }

    fn command(&mut self, command: Command) -> Ran {
        let out = &mut self.output;
        match command {
            Command::Tables => return self.ask(TABLES.to_owned()),
            Command::Columns(table) => return self.ask(format!("DESCRIBE {table}")),
            Command::Timing(on) => {
                self.runner.timing = on.unwrap_or(!self.runner.timing);
                writeln!(out.to, "timing is {}", if self.runner.timing { "on" } else { "off" })?;
            }
            Command::Format(format) => {
                self.runner.format = format.unwrap_or(self.runner.format);
                writeln!(out.to, "format is {}", self.runner.format)?;
            }
            Command::Include(path) => return self.include(&path),
            Command::Help => {
                writeln!(out.to, "A statement ends with a semicolon, and may have many lines.")?;
                for (usage, about) in COMMANDS {
                    writeln!(out.to, "  {usage:<18} {about}")?;
                }
                writeln!(out.to, "Ctrl-C cancels a statement or clears the line; Tab completes.")?;
            }
            Command::Quit => return Ok(Then::Quit),
        }
        out.to.flush()?;
        Ok(Then::GoOn)
    }

    /// Runs a statement; what it wrote before it failed is written, to a file when that is closed: only a good end replaces what a file has by nothing.
    fn run(&mut self, statement: &Statement) -> Outcome {
        let ran = self.runner.run(statement, &mut self.output);
        let flushed = if ran.is_ok() || self.output.is_terminal { self.output.to.flush() } else { Ok(()) };
        ran?;
        Ok(flushed?)
    }

    /// Runs a statement of our own.
    fn ask(&mut self, text: String) -> Ran {
        self.run(&Statement { text, line: 1 })?;
        Ok(Then::GoOn)
    }

    fn include(&mut self, path: &Path) -> Ran {
        let wrong = |what: &str, error: &dyn std::fmt::Display| format!("{what} {}: {error}", path.display());
        if self.depth >= DEEPEST {
            return Err(wrong("cannot run", &format!("files run each other {DEEPEST} deep")).into());
        }
        let file = File::open(path).map_err(|error| wrong("cannot read", &error))?;
        self.depth += 1;
        let ran = self.script(BufReader::new(file));
        self.depth -= 1;
        ran
    }
}

/// What `\d` shows.
const TABLES: &str = "SELECT table_name AS name, table_type AS type FROM information_schema.tables \
     WHERE table_schema = 'public' ORDER BY table_name";
