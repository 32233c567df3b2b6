//! Runs the pieces of a text one after the other: statements by the runner, commands here.

use super::super::Outcome;
use super::super::tell::tell;
use super::super::text::{counted, grouped};
use super::command::{COMMANDS, Command};
use super::editing::edited;
use super::output::output;
use super::print::Expanded;
use super::runner::{Output, Runner};
use super::splitter::{Piece, Splitter, Statement};
use filbert::SqlError;
use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::time::Duration;

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
    /// The last statement that was run, for `\watch` and `\e`.
    last: Option<Statement>,
}

type Ran = Result<Then, Box<dyn Error>>;

impl Interpreter {
    pub(super) fn new(runner: Runner, output: Output, text_bytes: usize) -> Self {
        Self { runner, output, text_bytes, depth: 0, last: None }
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
                Piece::Statement(statement) => {
                    self.last = Some(statement.clone());
                    self.run(&statement, None)?;
                }
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
        match command {
            Command::Relations => return self.ask_or(RELATIONS.to_owned(), NO_TABLES),
            Command::Tables => return self.ask_or(TABLES.to_owned(), NO_TABLES),
            Command::Columns(table) => return self.ask(format!("DESCRIBE {table}")),
            Command::Functions(text) => return self.ask(functions(text.as_deref())),
            Command::Databases => return self.ask(DATABASES.to_owned()),
            Command::Include(path) => return self.include(&path),
            Command::Edit(path) => return self.edit(path.as_deref()),
            Command::CopyTo { rows, file } => return self.copy_to(&rows, &file),
            Command::CopyFrom { table, file } => {
                let file = file.to_string_lossy().replace('\'', "''");
                return self.ask(format!("INSERT INTO {table} SELECT * FROM '{file}'"));
            }
            Command::Watch(every) => return self.watch(every),
            Command::Quit => return Ok(Then::Quit),
            Command::Help => self.help()?,
            Command::Output(path) => {
                self.output = output(path.as_deref())?;
                let place =
                    path.as_deref().map_or("the terminal".to_owned(), |path| path.display().to_string());
                tell(format_args!("rows go to {place}"));
                return Ok(Then::GoOn);
            }
            Command::Timing(on) => {
                self.runner.timing = on.unwrap_or(!self.runner.timing);
                self.say(&format!("timing is {}", on_or_off(self.runner.timing)))?;
            }
            Command::Format(format) => {
                self.runner.format = format.unwrap_or(self.runner.format);
                self.say(&format!("format is {}", self.runner.format))?;
            }
            Command::Expanded(how) => {
                let terminal = &mut self.runner.terminal;
                terminal.expanded = how.unwrap_or(match terminal.expanded {
                    Expanded::Off => Expanded::On,
                    _ => Expanded::Off,
                });
                let how = terminal.expanded;
                self.say(&format!("a line for each value is {how}"))?;
            }
            Command::Rows(rows) => {
                let terminal = &mut self.runner.terminal;
                terminal.rows = rows.unwrap_or(terminal.rows);
                match terminal.rows {
                    Some(rows) => self.say(&format!(
                        "of longer results {} are shown",
                        counted(rows as u64, "row", "rows")
                    ))?,
                    None => self.say("all rows are shown")?,
                }
            }
            Command::Pager(on) => {
                let on = on.unwrap_or(!self.runner.terminal.is_paged);
                self.runner.terminal.is_paged = on;
                self.say(&format!("the pager is {}", on_or_off(on)))?;
            }
        }
        Ok(Then::GoOn)
    }

    /// Says a line where rows go.
    fn say(&mut self, line: &str) -> Outcome {
        writeln!(self.output.to, "{line}")?;
        Ok(self.output.to.flush()?)
    }

    fn help(&mut self) -> Outcome {
        let out = &mut self.output.to;
        writeln!(
            out,
            "A statement ends with a semicolon, and may have many lines: SELECT * FROM 'file.csv';"
        )?;
        for (usage, about) in COMMANDS {
            writeln!(out, "  {usage:<21} {about}")?;
        }
        writeln!(out, "Ctrl-C cancels a statement or clears the line; Tab completes.")?;
        Ok(out.flush()?)
    }

    /// Runs a statement; what it wrote before it failed is written, to a file when that is closed: only a good end replaces what a file has by nothing.
    fn run(&mut self, statement: &Statement, empty: Option<&str>) -> Outcome {
        let ran = self.runner.run_or(statement, &mut self.output, empty);
        let flushed = if ran.is_ok() || self.output.is_terminal { self.output.to.flush() } else { Ok(()) };
        ran?;
        Ok(flushed?)
    }

    /// Runs a statement of our own.
    fn ask(&mut self, text: String) -> Ran {
        self.run(&Statement { text, line: 1 }, None)?;
        Ok(Then::GoOn)
    }

    /// Runs a statement of our own; says `empty` to a person when it has no rows.
    fn ask_or(&mut self, text: String, empty: &str) -> Ran {
        let empty = self.output.is_terminal.then_some(empty);
        self.run(&Statement { text, line: 1 }, empty)?;
        Ok(Then::GoOn)
    }

    /// Writes rows to a file, and says how many.
    fn copy_to(&mut self, rows: &str, file: &Path) -> Ran {
        let text = match rows.strip_prefix('(').and_then(|rows| rows.strip_suffix(')')) {
            Some(query) => query.to_owned(),
            None => format!("SELECT * FROM {rows}"),
        };
        let mut to = output(Some(file))?;
        if to.format.is_none() {
            let ending = "\\copy writes .csv, .json, .ndjson and .jsonl; COPY (SELECT ...) TO 'file.parquet'; writes others";
            return Err(ending.into());
        }
        let rows = self.runner.run(&Statement { text, line: 1 }, &mut to)?;
        to.to.flush()?;
        self.say(&format!("{} written", grouped(rows)))?;
        Ok(Then::GoOn)
    }

    /// Runs the last statement until it is interrupted.
    fn watch(&mut self, every: Duration) -> Ran {
        let Some(statement) = self.last.clone() else {
            return Err("there is no statement yet to watch".into());
        };
        loop {
            if self.output.is_terminal {
                // The window begins anew, as in `watch`.
                write!(self.output.to, "\x1b[H\x1b[2J")?;
            }
            self.run(&statement, None)?;
            self.runner.rest(every)?;
        }
    }

    /// Runs what an editor makes of the last statement, or of a file.
    fn edit(&mut self, path: Option<&Path>) -> Ran {
        let last = self.last.as_ref().map_or(String::new(), |last| format!("{};\n", last.text));
        let text = edited(path, &last, |name| std::env::var(name).ok())?;
        if text.trim().is_empty() {
            return Ok(Then::GoOn);
        }
        self.say(text.trim_end())?;
        self.text(&text)
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

fn on_or_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// What `\d` shows.
const RELATIONS: &str = "SELECT table_name AS name, table_type AS type FROM information_schema.tables \
     WHERE table_schema = 'public' ORDER BY table_name";

/// What `\dt` shows.
const TABLES: &str = "SELECT table_name AS name, table_type AS type FROM information_schema.tables \
     WHERE table_schema = 'public' AND table_type <> 'VIEW' ORDER BY table_name";

/// What both say when there is nothing.
const NO_TABLES: &str = "there are no tables yet. A file is a table by its path: SELECT * FROM 'file.csv';\n\
     CREATE TABLE name AS SELECT ...; makes one, and CREATE MAPPING a map";

/// What `\l` shows.
const DATABASES: &str =
    "SELECT DISTINCT catalog_name AS name FROM information_schema.schemata ORDER BY catalog_name";

/// What `\df` shows.
fn functions(text: Option<&str>) -> String {
    let text = text.unwrap_or_default().to_lowercase().replace('\'', "''");
    format!(
        "SELECT DISTINCT routine_name AS name, lower(function_type) AS kind, syntax_example AS call \
         FROM information_schema.routines WHERE strpos(routine_name, '{text}') > 0 OR '{text}' = '' ORDER BY 1, 3"
    )
}
