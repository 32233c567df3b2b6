//! `filbert top`: what a running member does, once a second, on a terminal.
//!
//! It reads the page `/status` of the member's door for metrics; what grows is shown as a rate since the page before.

mod fetch;
mod screen;

use super::Outcome;
use super::client::resolved;
use fetch::Source;
use filbert::Stages;
use screen::Screen;
use std::io::{IsTerminal, Write};
use std::sync::mpsc::channel;
use std::time::Duration;

const EXAMPLES: &str = "Examples:
  filbert top                             the member of this machine, until Ctrl-C
  filbert top --once                      one look; also what a pipe gets
  filbert top --json | jq .maps           everything the member says, for programs
  FILBERT_TOKEN=... filbert top --address 10.0.0.7:8080 --ca ca.pem
                                          a member that wants to know who asks";

/// The options of `filbert top`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Where the member has its door for metrics. A token for it comes from the environment variable FILBERT_TOKEN.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8080")]
    address: String,
    /// Encrypts: the certificates that sign the member's, in PEM.
    #[arg(long, value_name = "FILE")]
    ca: Option<std::path::PathBuf>,
    /// The name that the member's certificate is for, when it is not its host.
    #[arg(long, value_name = "NAME", requires = "ca")]
    server_name: Option<String>,
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
    let source = Source::new(&stages, arguments)?;
    let out = &mut std::io::stdout().lock();
    if arguments.json {
        writeln!(out, "{}", source.status()?.trim_end())?;
        return Ok(());
    }
    let is_live = !arguments.once && std::io::stdout().is_terminal();
    let mut screen = Screen::default();
    loop {
        let text = screen.next(&source.status()?)?;
        if !is_live {
            write!(out, "{text}")?;
            return Ok(());
        }
        // Home, everything, and whatever an earlier, longer screen left behind.
        write!(out, "\x1b[H{}\x1b[J", text.replace('\n', "\x1b[K\n"))?;
        out.flush()?;
        let (tell, told) = channel();
        stages.clock().after(Duration::from_secs(arguments.every), move || {
            let _ = tell.send(());
        });
        // Only the end of the stages drops it unsaid, and they are ours.
        let _ = told.recv();
    }
}
