//! The commands of the shell: lines that begin with a backslash. Scripts may have them too.

use super::print::Format;
use clap::ValueEnum;
use std::path::PathBuf;

/// What a line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    Tables,
    /// The columns of that table, written as in a statement.
    Columns(String),
    /// On, off, or the other way round.
    Timing(Option<bool>),
    /// Another format, or which it is.
    Format(Option<Format>),
    Include(PathBuf),
    Help,
    Quit,
}

/// Every command with its arguments and what it does.
pub(super) const COMMANDS: [(&str, &str); 7] = [
    ("\\d", "the tables"),
    ("\\d TABLE", "its columns and their types"),
    ("\\timing [on|off]", "whether the time of each statement is told"),
    ("\\format [FORMAT]", "how rows are written: table, csv, json or ndjson"),
    ("\\i FILE", "runs the statements of a file"),
    ("\\q", "ends the shell, as Ctrl-D does"),
    ("\\?", "this page"),
];

impl Command {
    /// Reads a line; an error says what to write.
    pub(super) fn read(line: &str) -> Result<Self, String> {
        // A semicolon is a habit.
        let line = line.trim().trim_end_matches(';');
        let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let argument = Some(argument.trim()).filter(|argument| !argument.is_empty());
        let takes = |what: &str| format!("{name} takes {what}, not {:?}", argument.unwrap_or_default());
        match (name, argument) {
            ("\\d", None) => Ok(Command::Tables),
            ("\\d", Some(table)) => Ok(Command::Columns(table.to_owned())),
            ("\\timing", None) => Ok(Command::Timing(None)),
            ("\\timing", Some("on")) => Ok(Command::Timing(Some(true))),
            ("\\timing", Some("off")) => Ok(Command::Timing(Some(false))),
            ("\\timing", Some(_)) => Err(takes("on or off")),
            ("\\format", None) => Ok(Command::Format(None)),
            ("\\format", Some(word)) => {
                let format = Format::from_str(word, true).map_err(|_| takes("table, csv, json or ndjson"))?;
                Ok(Command::Format(Some(format)))
            }
            ("\\i", Some(file)) => Ok(Command::Include(file.trim_matches('\'').into())),
            ("\\i", None) => Err("\\i takes the name of a file".to_owned()),
            ("\\?" | "\\h", None) => Ok(Command::Help),
            ("\\q", None) => Ok(Command::Quit),
            ("\\?" | "\\h" | "\\q", Some(_)) => Err(takes("nothing")),
            _ => Err(format!("there is no command {name}; \\? shows all")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_and_mistakes_are_named() {
        let right = [
            ("\\d", Command::Tables),
            ("\\d;", Command::Tables),
            ("\\d  \"My Table\" ", Command::Columns("\"My Table\"".to_owned())),
            ("\\timing", Command::Timing(None)),
            ("\\timing off", Command::Timing(Some(false))),
            ("\\format NDJSON", Command::Format(Some(Format::Ndjson))),
            ("\\i 'a b.sql'", Command::Include("a b.sql".into())),
            ("\\?", Command::Help),
            ("\\q", Command::Quit),
        ];
        for (line, command) in right {
            assert_eq!(Command::read(line), Ok(command), "{line}");
        }
        for (line, said) in [
            ("\\timing maybe", "\\timing takes on or off, not \"maybe\""),
            ("\\format xml", "\\format takes table, csv, json or ndjson, not \"xml\""),
            ("\\i", "\\i takes the name of a file"),
            ("\\q now", "\\q takes nothing, not \"now\""),
            ("\\dt", "there is no command \\dt; \\? shows all"),
            ("\\", "there is no command \\; \\? shows all"),
        ] {
            assert_eq!(Command::read(line), Err(said.to_owned()));
        }
    }

    #[test]
    fn the_page_names_every_command() {
        for (usage, _) in COMMANDS {
            let name = usage.split(' ').next().unwrap();
            assert!(!Command::read(name).is_err_and(|said| said.contains("there is no")), "{name}");
        }
    }
}
