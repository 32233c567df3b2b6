//! `filbert top`: what a running member does, once a second, on a terminal.
//!
//! It reads the page `/status` of the member's door for metrics; what grows is shown as a rate since the page before.
//!
//! `look.rs` reads a page, `section.rs` is a table, `page.rs` lays tables out for a size, `live.rs` is the loop around
//! them, `keys.rs` and `terminal.rs` are the terminal.

mod keys;
mod live;
mod look;
mod page;
mod section;
mod terminal;

use super::Outcome;
use super::http_page::{At, Source};
use super::screen_size::screen_size;
use filbert::Stages;
use look::History;
use std::io::{IsTerminal, Write};

const EXAMPLES: &str = "Examples:
  filbert top                             the member of this machine; q quits, ? lists the keys
  filbert top --once                      one look; also what a pipe gets
  filbert top --json | jq .maps           everything the member says, for programs
  FILBERT_PASSWORD=... filbert top --user ann
  FILBERT_TOKEN=... filbert top --address 10.0.0.7:8080 --ca ca.pem
                                          a member that wants to know who asks";

/// The options of `filbert top`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(flatten)]
    at: At,
    /// Who you are; the password comes from the environment variable FILBERT_PASSWORD.
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// One look instead of one a second.
    #[arg(long)]
    once: bool,
    /// What the member says as it says it: one look, one object.
    #[arg(long)]
    json: bool,
    /// Seconds between two looks.
    #[arg(long, value_name = "SECONDS", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    every: u64,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let stages = Stages::builder().set("io.threads", 1).start()?;
    let source = Source::new(&stages, &arguments.at, arguments.user.as_deref())?;
    let status = source.status()?;
    if arguments.json {
        writeln!(std::io::stdout().lock(), "{}", status.trim_end())?;
        return Ok(());
    }
    let mut history = History::default();
    let look = history.next(&status)?;
    let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let is_able = std::env::var("TERM").is_ok_and(|terminal| terminal != "dumb");
    if is_terminal && is_able && !arguments.once {
        return live::run(&stages, source, arguments.every, history, look);
    }
    let out = &mut std::io::stdout().lock();
    for line in page::once(&look, screen_size().map(|(columns, _)| columns)) {
        writeln!(out, "{}", line.text)?;
    }
    Ok(())
}
