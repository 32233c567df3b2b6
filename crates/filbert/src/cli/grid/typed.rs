//! A line as a command, by the definitions of the command line.

use super::super::structures::{Here, StructureCommand};
use super::words::split;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

/// A line that was understood.
#[derive(Debug)]
pub(super) enum Typed {
    /// A command on a structure.
    Command(StructureCommand<Here>),
    /// The help that was asked for.
    Help(String),
    /// The end.
    Quit,
}

/// The commands of the prompt.
#[derive(Debug, Parser)]
#[command(no_binary_name = true, name = "grid", bin_name = "", about = ABOUT, after_help = AFTER)]
#[command(override_usage = "COMMAND [ARGUMENT]...")]
struct Line {
    #[command(subcommand)]
    command: Command,
}

const ABOUT: &str =
    "Commands are those of the command line, without `filbert`; words are quoted as in a shell.";

const AFTER: &str = "Examples:
  map put cities Oslo 709000 --value-as long
  map entries cities
  queue offer jobs 'send mail'
  topic watch news                      until Ctrl-C
  help map";

#[derive(Debug, clap::Subcommand)]
enum Command {
    #[command(flatten)]
    Structure(StructureCommand<Here>),
    /// Ends the prompt; Ctrl-D does too.
    #[command(visible_alias = "exit")]
    Quit,
}

impl Typed {
    /// Reads a line.
    pub(super) fn parse(line: &str) -> Result<Self, String> {
        let split = split(line);
        if let Some(quote) = split.open {
            return Err(format!("a quote {quote} is not closed"));
        }
        let words = split.words.into_iter().map(|word| word.text);
        match Line::try_parse_from(without_program(words)) {
            Ok(Line { command: Command::Structure(command) }) => Ok(Self::Command(command)),
            Ok(Line { command: Command::Quit }) => Ok(Self::Quit),
            Err(error) => {
                // The program has no name here.
                let text = error.render().to_string().replace("Usage:  ", "Usage: ");
                match error.kind() {
                    ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                        Ok(Self::Help(text))
                    }
                    _ => Err(text.trim_start_matches("error: ").trim_end().to_owned()),
                }
            }
        }
    }
}

/// Drops the name of the program, which examples of the command line begin with.
pub(super) fn without_program(words: impl Iterator<Item = String>) -> impl Iterator<Item = String> {
    let mut words = words.peekable();
    if words.peek().is_some_and(|word| word == "filbert") {
        words.next();
    }
    words
}

/// Returns the definition of all commands, for completion.
#[cfg(any(test, feature = "shell"))]
pub(super) fn definition() -> clap::Command {
    let mut definition = Line::command();
    definition.build();
    definition
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_what_the_command_line_takes() {
        definition().debug_assert();
        for line in ["map get cities Oslo", "filbert map get cities Oslo", "queue put jobs -7 --value-as int"]
        {
            assert!(matches!(Typed::parse(line), Ok(Typed::Command(_))), "{line}");
        }
        for line in ["quit", "exit"] {
            assert!(matches!(Typed::parse(line), Ok(Typed::Quit)), "{line}");
        }
        for (line, part) in [
            ("help", "queue"),
            ("help map", "entries"),
            ("map --help", "entries"),
            ("map", "entries"),
            ("help queue poll", "--wait"),
        ] {
            match Typed::parse(line) {
                Ok(Typed::Help(text)) => assert!(text.contains(part), "{line}: {text}"),
                other => panic!("{line}: {other:?}"),
            }
        }
    }

    #[test]
    fn what_is_not_understood_is_said() {
        let wrong = |line: &str| Typed::parse(line).unwrap_err();
        assert!(wrong("mop get").contains("mop"));
        assert!(wrong("map get 'x").contains("quote ' is not closed"));
        // The connection is there already: an address would have no effect.
        assert!(wrong("map list --address localhost:5701").contains("--address"));
    }
}
