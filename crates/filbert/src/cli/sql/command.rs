//! The commands of the shell: lines that begin with a backslash. Scripts may have them too.
//!
//! Words that other shells know, such as `quit` and `.tables`, are understood or answered with the command that does the same here.

use super::print::{Expanded, Format};
use clap::ValueEnum;
use std::path::PathBuf;
use std::time::Duration;

/// What a line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    /// Tables, views and maps.
    Relations,
    /// Tables and maps without views.
    Tables,
    /// The columns of that table, written as in a statement.
    Columns(String),
    /// The functions whose name has that in it.
    Functions(Option<String>),
    Databases,
    /// On, off, or the other way round.
    Timing(Option<bool>),
    /// Another format, or which it is.
    Format(Option<Format>),
    /// A line for each value, or for each row.
    Expanded(Option<Expanded>),
    /// How many rows are shown, all where there is no number; or how many it is.
    Rows(Option<Option<usize>>),
    Pager(Option<bool>),
    /// Rows go to a file, or to the terminal again.
    Output(Option<PathBuf>),
    Include(PathBuf),
    /// The last statement, or a file, in an editor.
    Edit(Option<PathBuf>),
    CopyTo {
        rows: String,
        file: PathBuf,
    },
    CopyFrom {
        table: String,
        file: PathBuf,
    },
    /// The last statement again and again.
    Watch(Duration),
    Help,
    Quit,
}

/// Every command with its arguments and what it does.
pub(super) const COMMANDS: [(&str, &str); 20] = [
    ("\\d", "tables, views and maps"),
    ("\\d TABLE", "the columns of a table, a map or a file, with their types"),
    ("\\dt", "tables and maps"),
    ("\\df [TEXT]", "functions, or those with TEXT in their name"),
    ("\\l", "databases"),
    ("\\x [on|off|auto]", "a line for each value; auto: where a row has no room"),
    (
        "\\rows [N|all]",
        "how many rows of a longer result are shown, 40 unless changed; \\set rows N does the same",
    ),
    ("\\pager [on|off]", "whether rows go through $PAGER"),
    ("\\timing [on|off]", "whether the time of each statement is told"),
    ("\\format [FORMAT]", "how rows are written: table, csv, json or ndjson"),
    ("\\o [FILE]", "rows go to a file, .csv, .json or .ndjson; without FILE to the terminal again"),
    ("\\i FILE", "runs the statements of a file"),
    ("\\e [FILE]", "the last statement, or a file, in $EDITOR; runs it then"),
    ("\\copy T TO 'FILE'", "writes a table or a (query) to a file"),
    ("\\copy T FROM 'FILE'", "inserts the rows of a file into a table"),
    ("\\watch [SECONDS]", "runs the last statement again and again, each 2 seconds; Ctrl-C ends that"),
    ("\\set rows N", "as \\rows N"),
    ("help", "this page, as \\?"),
    ("quit, exit", "ends the shell, as \\q and Ctrl-D do"),
    ("\\?, \\q", "the same as help and quit"),
];

/// Commands of the shells of DuckDB and SQLite, with what does the same here.
const ELSEWHERE: [(&str, &str); 17] = [
    (".tables", "\\dt"),
    (".schema", "\\d TABLE"),
    (".mode", "\\format or \\x"),
    (".maxrows", "\\rows"),
    (".output", "\\o FILE"),
    (".once", "\\o FILE"),
    (".read", "\\i FILE"),
    (".import", "\\copy TABLE FROM 'FILE'"),
    (".edit", "\\e"),
    (".timer", "\\timing"),
    (".databases", "\\l"),
    (".functions", "\\df"),
    (".help", "\\?"),
    (".quit", "\\q"),
    (".exit", "\\q"),
    (".shell", "a terminal of its own: the shell runs no programs"),
    (".system", "a terminal of its own: the shell runs no programs"),
];

/// True for a line that is a command where a statement could begin.
pub(super) fn is_command(line: &str) -> bool {
    let line = line.trim();
    let word = line.trim_end_matches(';').trim_end();
    line.starts_with('\\')
        || ["help", "quit", "exit"].iter().any(|command| word.eq_ignore_ascii_case(command))
        || line
            .strip_prefix('.')
            .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_lowercase()))
}

impl Command {
    /// Reads a line; an error says what to write.
    pub(super) fn read(line: &str) -> Result<Self, String> {
        // A semicolon is a habit.
        let line = line.trim().trim_end_matches(';').trim_end();
        let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let argument = Some(argument.trim()).filter(|argument| !argument.is_empty());
        let takes = |what: &str| format!("{name} takes {what}, not {:?}", argument.unwrap_or_default());
        let switch = || match argument {
            None => Ok(None),
            Some("on") => Ok(Some(true)),
            Some("off") => Ok(Some(false)),
            Some(_) => Err(takes("on or off")),
        };
        let file = |text: &str| PathBuf::from(text.trim_matches('\''));
        match (&*name.to_lowercase(), argument) {
            ("\\d", None) => Ok(Command::Relations),
            ("\\d", Some(table)) => Ok(Command::Columns(as_table(table))),
            ("\\dt", None) => Ok(Command::Tables),
            ("\\df", text) => Ok(Command::Functions(text.map(str::to_owned))),
            ("\\l", None) => Ok(Command::Databases),
            ("\\timing", _) => Ok(Command::Timing(switch()?)),
            ("\\pager", _) => Ok(Command::Pager(switch()?)),
            ("\\format", None) => Ok(Command::Format(None)),
            ("\\format", Some(word)) => {
                let format = Format::from_str(word, true).map_err(|_| takes("table, csv, json or ndjson"))?;
                Ok(Command::Format(Some(format)))
            }
            ("\\x", None) => Ok(Command::Expanded(None)),
            ("\\x", Some(word)) => Ok(Command::Expanded(Some(match word {
                "on" => Expanded::On,
                "off" => Expanded::Off,
                "auto" => Expanded::Auto,
                _ => return Err(takes("on, off or auto")),
            }))),
            ("\\rows", None) => Ok(Command::Rows(None)),
            ("\\rows", Some(word)) => rows(word).ok_or_else(|| takes("a number from 1 on, or all")),
            ("\\set", Some(words)) => match words.split_once(char::is_whitespace) {
                Some(("rows", word)) => rows(word.trim()).ok_or_else(|| takes("rows and a number, or all")),
                _ => Err(takes("rows and a number, or all; SET name = value; sets what statements heed")),
            },
            ("\\set", None) => Err("\\set takes rows and a number, or all".to_owned()),
            ("\\o", text) => Ok(Command::Output(text.map(file))),
            ("\\i", Some(text)) => Ok(Command::Include(file(text))),
            ("\\i", None) => Err("\\i takes the name of a file".to_owned()),
            ("\\e", text) => Ok(Command::Edit(text.map(file))),
            ("\\copy", Some(text)) => copy(text),
            ("\\copy", None) => Err(COPY.to_owned()),
            ("\\watch", None) => Ok(Command::Watch(Duration::from_secs(2))),
            ("\\watch", Some(word)) => {
                let seconds = word.parse::<f64>().ok().filter(|seconds| (0.1..=86_400.0).contains(seconds));
                seconds
                    .map(|seconds| Command::Watch(Duration::from_secs_f64(seconds)))
                    .ok_or_else(|| takes("seconds"))
            }
            ("\\?" | "\\h" | "help", None) => Ok(Command::Help),
            ("\\q" | "quit" | "exit", None) => Ok(Command::Quit),
            ("\\?" | "\\h" | "\\q" | "\\dt" | "\\l", Some(_)) => Err(takes("nothing")),
            (word, _) if word.starts_with("\\!") => {
                Err("the shell runs no programs: a script of statements could then do anything".to_owned())
            }
            (word, _) => Err(unknown(word)),
        }
    }
}

const COPY: &str = "\\copy takes: table TO 'file', (query) TO 'file', or table FROM 'file'";

fn unknown(word: &str) -> String {
    match ELSEWHERE.iter().find(|(name, _)| *name == word) {
        Some((name, here)) => format!("there is no command {name} here; use {here}, and \\? for all"),
        None => format!("there is no command {word}; \\? shows all"),
    }
}

fn rows(word: &str) -> Option<Command> {
    match word {
        "all" => Some(Command::Rows(Some(None))),
        _ => word.parse().ok().filter(|rows| *rows > 0).map(|rows| Command::Rows(Some(Some(rows)))),
    }
}

/// A table as a statement names it: a file stands in quotes.
fn as_table(text: &str) -> String {
    let endings = filbert::sql::file_endings();
    let is_file =
        text.contains(['/', '*']) || endings.iter().any(|ending| text.to_lowercase().ends_with(ending));
    let is_quoted = text.starts_with(['\'', '"']);
    if is_file && !is_quoted { format!("'{}'", text.replace('\'', "''")) } else { text.to_owned() }
}

fn copy(text: &str) -> Result<Command, String> {
    let quoted = text.strip_suffix('\'').and_then(|text| text.rsplit_once('\''));
    let Some((before, file)) = quoted.or_else(|| text.rsplit_once(char::is_whitespace)) else {
        return Err(COPY.to_owned());
    };
    let (what, word) = before.trim_end().rsplit_once(char::is_whitespace).ok_or(COPY)?;
    let (what, file) = (what.trim().to_owned(), PathBuf::from(file));
    match &*word.to_lowercase() {
        _ if file.as_os_str().is_empty() => Err(COPY.to_owned()),
        "to" => Ok(Command::CopyTo { rows: what, file }),
        "from" if !what.starts_with('(') => Ok(Command::CopyFrom { table: what, file }),
        _ => Err(COPY.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_and_mistakes_are_named() {
        let table = |name: &str| Command::Columns(name.to_owned());
        let right = [
            ("\\d", Command::Relations),
            ("\\d;", Command::Relations),
            ("\\d  \"My Table\" ", table("\"My Table\"")),
            ("\\d customers.csv", table("'customers.csv'")),
            ("\\d 'a b.csv'", table("'a b.csv'")),
            ("\\dt", Command::Tables),
            ("\\df", Command::Functions(None)),
            ("\\df date", Command::Functions(Some("date".to_owned()))),
            ("\\l", Command::Databases),
            ("\\timing", Command::Timing(None)),
            ("\\timing off", Command::Timing(Some(false))),
            ("\\pager on", Command::Pager(Some(true))),
            ("\\x", Command::Expanded(None)),
            ("\\x auto", Command::Expanded(Some(Expanded::Auto))),
            ("\\rows all", Command::Rows(Some(None))),
            ("\\rows 7", Command::Rows(Some(Some(7)))),
            ("\\set rows all", Command::Rows(Some(None))),
            ("\\format NDJSON", Command::Format(Some(Format::Ndjson))),
            ("\\i 'a b.sql'", Command::Include("a b.sql".into())),
            ("\\o rows.csv", Command::Output(Some("rows.csv".into()))),
            ("\\o", Command::Output(None)),
            ("\\e", Command::Edit(None)),
            ("\\watch", Command::Watch(Duration::from_secs(2))),
            ("\\watch 0.5", Command::Watch(Duration::from_millis(500))),
            (
                "\\copy (SELECT a FROM t) TO 'a b.csv'",
                Command::CopyTo { rows: "(SELECT a FROM t)".to_owned(), file: "a b.csv".into() },
            ),
            (
                "\\copy t TO 'go to b.csv'",
                Command::CopyTo { rows: "t".to_owned(), file: "go to b.csv".into() },
            ),
            ("\\copy t from t.csv", Command::CopyFrom { table: "t".to_owned(), file: "t.csv".into() }),
            ("\\?", Command::Help),
            ("help;", Command::Help),
            ("\\q", Command::Quit),
            ("EXIT", Command::Quit),
        ];
        for (line, command) in right {
            assert_eq!(Command::read(line), Ok(command), "{line}");
        }
        for (line, said) in [
            ("\\timing maybe", "\\timing takes on or off, not \"maybe\""),
            ("\\format xml", "\\format takes table, csv, json or ndjson, not \"xml\""),
            ("\\x wide", "\\x takes on, off or auto, not \"wide\""),
            ("\\rows 0", "\\rows takes a number from 1 on, or all, not \"0\""),
            ("\\watch never", "\\watch takes seconds, not \"never\""),
            ("\\i", "\\i takes the name of a file"),
            ("\\q now", "\\q takes nothing, not \"now\""),
            ("\\copy t", COPY),
            ("\\copy (SELECT 1) from 'a.csv'", COPY),
            ("\\zz", "there is no command \\zz; \\? shows all"),
            ("\\", "there is no command \\; \\? shows all"),
            (".tables", "there is no command .tables here; use \\dt, and \\? for all"),
            (".nonsense", "there is no command .nonsense; \\? shows all"),
            ("\\! rm x", "the shell runs no programs: a script of statements could then do anything"),
        ] {
            assert_eq!(Command::read(line), Err(said.to_owned()));
        }
    }

    #[test]
    fn the_page_names_every_command() {
        for (usage, _) in COMMANDS {
            let name = usage.split([' ', ',']).next().unwrap();
            assert!(!Command::read(name).is_err_and(|said| said.contains("there is no")), "{name}");
        }
    }

    #[test]
    fn commands_are_told_from_statements() {
        for line in ["\\d", " \\x", "help", "Quit ;", "exit", ".tables", ".mode csv"] {
            assert!(is_command(line), "{line}");
        }
        for line in ["help me", "SELECT 1", ".5 + 1", "exits", "", "quit x"] {
            assert!(!is_command(line), "{line}");
        }
    }
}
