//! `filbert stop`: ends a member of this machine in order, and waits for its end.
//!
//! A signal, and not a request over the network: the system decides who may send it, and no door
//! has to be protected from it.

use super::Outcome;
use super::pid_file::{Owner, Watched};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::time::Duration;

/// The pause between two looks at the file.
const LOOK_EVERY: Duration = Duration::from_millis(50);

const EXAMPLES: &str = "Examples:
  filbert start --pid-file filbert.pid &
  filbert stop --pid-file filbert.pid   again, while the member still drains: ends it at once";

/// The options of `filbert stop`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The file that was given to `filbert start --pid-file`.
    #[arg(long, value_name = "FILE")]
    pid_file: PathBuf,
    /// Waits at most so many seconds for the end of the member.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let mut watched = Watched::open(&arguments.pid_file)?;
    let shown = arguments.pid_file.display();
    let looks = Duration::from_secs(arguments.timeout).as_millis() / LOOK_EVERY.as_millis();
    // Nobody sends: a pause that needs no other thread.
    let (_sender, never) = channel::<()>();
    let mut told = None;
    for _ in 0..looks {
        match (watched.owner()?, told) {
            (Owner::Nobody, None) => {
                return Err(format!("no member runs that wrote its process id to {shown}").into());
            }
            (Owner::Nobody, Some(id)) => {
                writeln!(std::io::stdout(), "the member (process {id}) has ended")?;
                return Ok(());
            }
            (Owner::Process(id), None) => {
                kill(Pid::from_raw(id), Signal::SIGTERM).map_err(|error| {
                    format!("process {id} of {shown} cannot be told to end: {}", error.desc())
                })?;
                told = Some(id);
            }
            _ => {}
        }
        let _ = never.recv_timeout(LOOK_EVERY);
    }
    let seconds = arguments.timeout;
    Err(match told {
        Some(id) => format!(
            "the member (process {id}) still drains after {seconds} s; `filbert stop` once more ends it at once"
        ),
        None => format!("the member of {shown} has not written its process id within {seconds} s"),
    }
    .into())
}
