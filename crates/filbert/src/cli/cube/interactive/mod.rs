//! `filbert cube --interactive`: the table is read once, then questions are answered line by line, until somebody has seen enough.
//!
//! Each question becomes options of the command line (`line.rs`), and is answered as those are. Lines come from a terminal, with editing,
//! history and completion, or from a pipe. A mistake ends nothing but its line; a pipe with mistakes ends with status 1.
//!
//! Rejected: keeping only what earlier questions read, which is nothing for the first question about another column.

#[cfg_attr(not(any(test, feature = "shell")), expect(dead_code, reason = "plain lines are not completed"))]
mod completion;
mod line;
#[cfg(feature = "shell")]
#[path = "editor.rs"]
mod lines;
#[cfg(not(feature = "shell"))]
#[path = "plain.rs"]
mod lines;
mod memory;
mod session;

use super::super::Outcome;
use super::super::input::Input;
use super::super::interruption::{Interrupted, Interruption};
use super::super::is_broken_pipe;
use super::super::tell::tell;
use super::super::text::counted;
use super::{Arguments, Watch};
use filbert::Member;
use filbert::cube::Forest;
use lines::Lines;
use session::{Session, Then};
use std::io::{self, IsTerminal};

/// Stands before each line.
const PROMPT: &str = "cube> ";

/// Reads the table, then takes questions until there are no more.
pub(super) fn run(member: &Member, arguments: &Arguments, forest: &Forest) -> Outcome {
    let is_terminal = io::stdin().is_terminal();
    // On a terminal Ctrl-C ends a question; a pipe is ended by it.
    let interruption = match is_terminal {
        true => Interruption::heeded_by_shell(member)?,
        false => Interruption::heeded_by(member)?,
    };
    let watch = Watch::begin(member, &interruption);
    let table = memory::read(&watch, arguments).map_err(|error| watch.cause(error))?;
    let mut session = Session::new(member, &interruption, arguments, forest, table)?;
    if !is_terminal {
        return of_pipe(&mut session, &interruption);
    }
    println!("{} `help` for help, `quit` to end.", session.greeting());
    let mut lines = Lines::open(session.names())?;
    loop {
        // Before a line and not behind it: a signal that comes right behind the line is meant for its question.
        interruption.forget();
        let text = match lines.read()? {
            Input::Text(text) => text,
            Input::Interrupted => continue,
            Input::End => return Ok(()),
        };
        if cfg!(not(feature = "shell")) {
            // Plain lines do not tell of a Ctrl-C that gave up a line.
            interruption.forget();
        }
        match session.take(&text) {
            Ok(Then::GoOn) => {}
            Ok(Then::Quit) => return Ok(()),
            Err(error) if is_broken_pipe(&*error) => return Err(error),
            Err(error) if error.is::<Interrupted>() => tell("cancelled"),
            Err(error) => tell(format_args!("error: {error}")),
        }
    }
}

/// Takes all lines of a pipe, also behind one that fails.
fn of_pipe(session: &mut Session<'_>, interruption: &Interruption) -> Outcome {
    let (mut number, mut failed) = (0_u64, 0);
    loop {
        if let Some(interrupted) = interruption.interrupted() {
            return Err(interrupted.into());
        }
        let Input::Text(text) = plain_line()? else { break };
        number += 1;
        match session.take(&text) {
            Ok(Then::GoOn) => {}
            Ok(Then::Quit) => break,
            Err(error) if is_broken_pipe(&*error) || error.is::<Interrupted>() => return Err(error),
            Err(error) => {
                tell(format_args!("line {number}: {error}"));
                failed += 1;
            }
        }
    }
    match failed {
        0 => Ok(()),
        _ => Err(format!("{} failed", counted(failed, "line", "lines")).into()),
    }
}

/// Reads a line from the standard input.
fn plain_line() -> io::Result<Input> {
    let mut text = String::new();
    match io::stdin().read_line(&mut text) {
        Ok(0) => Ok(Input::End),
        Ok(_) => Ok(Input::Text(text)),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(Input::Interrupted),
        Err(error) => Err(error),
    }
}
