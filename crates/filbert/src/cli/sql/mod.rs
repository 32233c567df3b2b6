//! `filbert sql`: statements over files, and over maps that they make, in a member of its own; or in a member that runs elsewhere.
//!
//! ```text
//! argument, file, standard input, shell --> Splitter --> Interpreter --> Runner --> Printer --> standard output or a file
//!                                           pieces       commands        Engine     rows
//! ```
//!
//! Everything here runs on the program's own thread, which waits for the next batch, looks at the signals meanwhile, and writes.

mod command;
mod editing;
mod engine;
#[cfg(test)]
#[path = "../../../examples/sql.rs"]
#[expect(dead_code, reason = "an example is a program of its own as well")]
mod example;
mod interpreter;
mod output;
mod place;
pub(super) mod print;
mod runner;
mod shell;
mod splitter;
mod terminal;
mod words;

use super::Outcome;
use super::client::Login;
use super::interruption::Interruption;
use super::settings_file;
use engine::{Engine, Local, Remote};
use filbert::{Member, Shutdown};
use interpreter::Interpreter;
use output::output;
use print::Format;
use runner::Runner;
use std::cell::RefCell;
use std::fs::File;
use std::io::{BufReader, IsTerminal};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use words::Words;

/// The options of `filbert sql`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A database, a folder NAME.db that keeps tables and views; or statements, separated by semicolons. Without statements: a shell on a
    /// terminal, else what the standard input says.
    #[arg(value_name = "DATABASE | STATEMENTS")]
    first: Option<String>,
    /// Statements for the database.
    #[arg(value_name = "STATEMENTS")]
    second: Option<String>,
    /// Runs the statements of a file; `-` is the standard input.
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// How rows are written; without it as the ending of --output says, or as a table.
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Writes to a file instead of the standard output; .csv, .json, .ndjson and .jsonl say how.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// A TOML file with settings; no door is opened.
    #[arg(long, value_name = "FILE", conflicts_with = "connect")]
    config: Option<PathBuf>,
    /// Runs them in a member that listens there, instead of one of the command's own.
    #[arg(long, value_name = "HOST:PORT")]
    connect: Option<String>,
    #[command(flatten)]
    login: Login,
}

const EXAMPLES: &str = "Examples:
  filbert sql                                         a shell; \\? explains it
  filbert sql 'SELECT 6 * 7 AS answer'
  filbert sql my.db                                   a shell over a database, made where there is none
  filbert sql my.db \"CREATE TABLE sales AS SELECT * FROM 'sales.csv'\"
  filbert sql -f report.sql -o report.csv
  echo 'SELECT 1; SELECT 2' | filbert sql --format ndjson
  filbert sql --connect 127.0.0.1:5701                a shell over the maps of a running member

The first statement that fails ends a text with status 1. Ctrl-C cancels a statement, not the shell.";

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let Words { database, statements } =
        Words::read(arguments.first.as_deref(), arguments.second.as_deref())?;
    if statements.is_some() && arguments.file.is_some() {
        return Err("statements stand in the arguments or in --file, not in both".into());
    }
    if database.is_some() && arguments.connect.is_some() {
        return Err("--connect asks a member, which keeps its own data; leave the database away".into());
    }
    let mut config = settings_file::read(arguments.config.as_deref())?;
    // Whoever types the statements may touch the files anyway; a settings file may say less.
    if arguments.config.is_none() {
        config.sql.files = vec!["/".into()];
        config.sql.write_files = vec!["/".into()];
    }
    let text_bytes = config.sql.text_bytes;
    let stdin = std::io::stdin();
    let is_shell = statements.is_none()
        && arguments.file.is_none()
        && stdin.is_terminal()
        && std::io::stdout().is_terminal();
    let format = format(arguments)?;
    // Opened before anything runs: a statement that changes something is not run for nothing.
    let mut output = output(arguments.output.as_deref())?;
    // As the options say, which a command may change.
    output.format = None;
    let script = script(arguments.file.as_deref())?;
    let member = Member::builder().stage_settings(config.stages).grid(config.grid).sql(config.sql).start()?;
    let interruption = match is_shell {
        true => Interruption::heeded_by_shell(&member)?,
        false => Interruption::heeded_by(&member)?,
    };
    let engine: Rc<RefCell<dyn Engine>> = match (&arguments.connect, &database) {
        (Some(address), _) => Rc::new(RefCell::new(Remote::connect(address, &arguments.login)?)),
        (None, Some(folder)) => Rc::new(RefCell::new(Local::over(&member, folder)?)),
        (None, None) => Rc::new(RefCell::new(Local::new(&member))),
    };
    let runner = Runner::new(&member, Rc::clone(&engine), interruption, format);
    let mut interpreter = Interpreter::new(runner, output, text_bytes);
    let ended = match (&statements, script) {
        (Some(text), _) => interpreter.text(text).map(drop),
        (None, Some(script)) => interpreter.script(script).map(drop),
        (None, None) if is_shell => {
            let over = match (&arguments.connect, &database) {
                (Some(address), _) => format!("the maps of {address}"),
                (None, Some(folder)) => {
                    format!("files and {}, which keeps tables and views", folder.display())
                }
                (None, None) => "files".to_owned(),
            };
            let greeting = format!("Filbert {}: SQL over {over}.", env!("CARGO_PKG_VERSION"));
            shell::run(&greeting, engine, member.stages().clock(), &mut interpreter)
        }
        (None, None) => interpreter.script(stdin.lock()).map(drop),
    };
    drop(interpreter);
    member.shutdown(Shutdown::Cancel)?;
    ended
}

/// As it is said, or as the file is called.
fn format(arguments: &Arguments) -> Result<Format, String> {
    let path = arguments.output.as_deref();
    if let Some(format) = arguments.format.or_else(|| path.and_then(Format::of_path)) {
        return Ok(format);
    }
    match path.map(print::ending).unwrap_or_default().as_str() {
        ending @ ("parquet" | "arrow" | "ipc" | "feather") => Err(format!(
            "-o writes text, no .{ending} file; COPY (SELECT ...) TO 'file.{ending}' does, and --format says which text if that is meant"
        )),
        _ => Ok(Format::default()),
    }
}

/// The file to run, if there is one that is not the standard input.
fn script(path: Option<&Path>) -> Result<Option<BufReader<File>>, Box<dyn std::error::Error>> {
    let Some(path) = path.filter(|path| *path != Path::new("-")) else { return Ok(None) };
    let file = File::open(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    Ok(Some(BufReader::new(file)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use filbert::SqlSettings;

    #[test]
    fn the_example_joins_a_map_and_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let orders = folder.path().join("orders.csv");
        let sql = SqlSettings { files: vec![folder.path().to_owned()], ..Default::default() };
        let member = Member::builder().sql(sql).start().unwrap();
        example::prepare(&member, &orders, 30_000).unwrap();
        let session = member.sql().session();
        let asked = async move { example::pieces(session, &orders).await };
        let pieces = member.stages().mixed().spawn("pieces", asked).unwrap().wait().unwrap().unwrap();
        // Of every five orders four have a product; pieces go 1, 2, 3.
        let each = 2 * 30_000 / 5;
        let expected = ["almond", "cashew", "filbert", "walnut"].map(|name| (name.to_owned(), each));
        assert_eq!(pieces, expected);
    }
}
