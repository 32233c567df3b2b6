//! `filbert grid`: commands on the structures of a member, typed one after the other over one connection.
//!
//! A line is what follows `filbert` on the command line, and is parsed by the same definitions.
//! On a terminal lines are edited and completed; a pipe is read line by line.

#[cfg_attr(not(any(test, feature = "shell")), expect(dead_code, reason = "plain lines are not completed"))]
mod completion;
#[cfg(feature = "shell")]
#[path = "editor.rs"]
mod lines;
#[cfg(not(feature = "shell"))]
#[path = "plain.rs"]
mod lines;
mod typed;
mod words;

use super::client::Whom;
use super::input::Input;
use super::interruption::{Interrupted, Interruption};
use super::structures::{Context, Kind};
use super::tell::tell;
use super::{Outcome, is_broken_pipe};
use filbert::{Member, Shutdown};
use lines::Lines;
use std::cell::RefCell;
use std::error::Error;
use std::io::{self, IsTerminal};
use std::rc::Rc;
use typed::Typed;

/// The options of `filbert grid`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(flatten)]
    whom: Whom,
}

const EXAMPLES: &str = "Examples:
  filbert grid                                  a prompt; help lists the commands
  filbert grid --address db.example.org:5701 --ca ca.pem --user ann
  printf 'map put m 1 one\\nmap size m\\n' | filbert grid
                                                a line each; ends with status 1 when one failed";

/// Text before a line.
const PROMPT: &str = "grid> ";

/// The step after a line.
#[derive(Debug, PartialEq, Eq)]
enum Then {
    GoOn,
    Quit,
}

/// Returns the names of the structures of a kind.
type FindNames = Box<dyn Fn(Kind) -> Vec<String>>;

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let context = Context::connect(arguments.whom.clone())?;
    if io::stdin().is_terminal() && io::stdout().is_terminal() {
        prompt(&arguments.whom, context)
    } else {
        script(context)
    }
}

/// Reads from a terminal until it is told to end.
fn prompt(whom: &Whom, context: Context) -> Outcome {
    println!(
        "Filbert {}: the structures of {}. help lists the commands, quit ends.",
        env!("CARGO_PKG_VERSION"),
        whom.address
    );
    // For its signals alone: a member of this process has no door.
    let member = Member::start()?;
    let interruption = Interruption::heeded_by_shell(&member)?;
    let context = Rc::new(RefCell::new(context));
    context.borrow_mut().heed(&interruption);
    let asked = Rc::clone(&context);
    let find_names: FindNames = Box::new(move |kind| {
        let mut context = asked.borrow_mut();
        // Nothing is completed that cannot be found.
        context.client().and_then(|client| kind.names(client)).unwrap_or_default()
    });
    let mut lines = Lines::open(find_names)?;
    let ended: Outcome = loop {
        // Before a line and not behind it: a signal that comes right behind the line is meant for its command.
        interruption.forget();
        let line = match lines.read()? {
            Input::Text(line) => line,
            Input::Interrupted => continue,
            Input::End => break Ok(()),
        };
        if cfg!(not(feature = "shell")) {
            // Plain lines do not tell of a Ctrl-C that gave up a line.
            interruption.forget();
        }
        let ran = run_line(&line, &mut context.borrow_mut());
        match ran {
            Ok(Then::GoOn) => {}
            Ok(Then::Quit) => break Ok(()),
            Err(error) if is_broken_pipe(&*error) => break Err(error),
            Err(error) if error.is::<Interrupted>() => {
                context.borrow_mut().disconnect();
                tell("cancelled");
            }
            Err(error) => tell(format_args!("error: {error}")),
        }
    };
    member.shutdown(Shutdown::Cancel)?;
    ended
}

/// Runs the lines of the standard input; all of them, also behind one that fails.
fn script(mut context: Context) -> Outcome {
    // A line at a time: a command that asks a question reads the answer from there, too, and would wait for its lock for good.
    let lines = std::iter::from_fn(|| io::stdin().lines().next());
    let (mut ran, mut failed) = (0, 0);
    for (number, line) in (1..).zip(lines) {
        let line = line.map_err(|error| format!("line {number} cannot be read: {error}"))?;
        if words::is_blank(&line) {
            continue;
        }
        ran += 1;
        match run_line(&line, &mut context) {
            Ok(Then::GoOn) => {}
            Ok(Then::Quit) => break,
            Err(error) if is_broken_pipe(&*error) => return Err(error),
            Err(error) => {
                failed += 1;
                tell(format_args!("filbert: line {number}: {error}"));
            }
        }
    }
    if failed > 0 { Err(format!("{failed} of {ran} commands failed").into()) } else { Ok(()) }
}

/// Runs what a line says.
fn run_line(line: &str, context: &mut Context) -> Result<Then, Box<dyn Error>> {
    if words::is_blank(line) {
        return Ok(Then::GoOn);
    }
    match Typed::parse(line)? {
        Typed::Command(command) => command.run(context).map(|()| Then::GoOn),
        Typed::Help(text) => {
            context.line(text.trim_end())?;
            context.flush().map(|()| Then::GoOn)
        }
        Typed::Quit => Ok(Then::Quit),
    }
}
