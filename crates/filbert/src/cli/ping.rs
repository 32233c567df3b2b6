//! `filbert ping`: whether a member is ready, as an exit status, for scripts, containers and
//! supervisors.

use super::Outcome;
use super::http_page::{At, Source};
use filbert::Stages;
use std::io::Write;

const EXAMPLES: &str = "Examples:
  filbert ping                          the member of this machine; the exit status is 0 when it is ready
  filbert ping --live                   whether it gets on with its work, also while it ends
  filbert ping --address 10.0.0.7:8080 --ca ca.pem
                                        a member elsewhere; health needs no login";

/// The options of `filbert ping`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(flatten)]
    at: At,
    /// Asks whether the member gets on with its work, not whether it takes clients.
    #[arg(long)]
    live: bool,
    /// Prints one JSON object.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let stages = Stages::builder().set("io.threads", 1).start()?;
    let clock = stages.clock();
    let begin = clock.now();
    let path = if arguments.live { "/health/live" } else { "/health/ready" };
    let answer = Source::new(&stages, &arguments.at, None).and_then(|source| source.health(path));
    let address = &arguments.at.address;
    let milliseconds = clock.now().saturating_sub(begin).as_millis();
    let out = &mut std::io::stdout().lock();
    let (is_well, text) = match answer {
        Ok(answer) => answer,
        Err(error) if arguments.json => {
            let error = error.to_string();
            writeln!(out, "{}", serde_json::json!({ "address": address, "is_well": false, "error": error }))?;
            return Err(error.into());
        }
        Err(error) => return Err(error),
    };
    // The state stands on the first line, what is not served on those behind it.
    let mut lines = text.lines();
    let (state, notes) = (lines.next().unwrap_or_default(), lines.collect::<Vec<_>>());
    if arguments.json {
        let answer = serde_json::json!({
            "address": address, "is_well": is_well, "state": state, "notes": notes, "ms": milliseconds as u64,
        });
        writeln!(out, "{answer}")?;
    } else {
        writeln!(out, "{address}: {state} ({milliseconds} ms)")?;
        for note in notes {
            writeln!(out, "{note}")?;
        }
    }
    if is_well { Ok(()) } else { Err(format!("the member at {address} is not ready: {state}").into()) }
}
