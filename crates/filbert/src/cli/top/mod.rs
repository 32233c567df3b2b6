//! `filbert top`: what a running member does, once a second, on a terminal.
//!
//! It reads the page `/status` of the member's door for metrics; what grows is shown as a rate since the page before.

mod screen;

use super::Outcome;
use super::http_page::{At, Source};
use filbert::Stages;
use screen::Screen;
use std::error::Error;
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
    #[command(flatten)]
    at: At,
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
    let source = Source::new(&stages, &arguments.at)?;
    let out = &mut std::io::stdout().lock();
    if arguments.json {
        writeln!(out, "{}", source.status()?.trim_end())?;
        return Ok(());
    }
    let is_live = !arguments.once && std::io::stdout().is_terminal();
    let mut screen = Screen::default();
    if !is_live {
        write!(out, "{}", screen.next(&source.status()?)?)?;
        return Ok(());
    }
    let mut last = Last::default();
    loop {
        let text = last.shown(source.status().and_then(|status| screen.next(&status)))?;
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

/// How many looks in a row may fail; one may, when a member is busy or starts again.
const FAILURES: u32 = 5;

/// The last look that there was, and how many failed since.
#[derive(Default)]
struct Last {
    text: Option<String>,
    failures: u32,
}

impl Last {
    /// What to show after another look: that, or the one before and why there is no newer one. Without any, or after too many failures, the error.
    fn shown(&mut self, look: Result<String, Box<dyn Error>>) -> Result<String, Box<dyn Error>> {
        let error = match look {
            Ok(text) => {
                *self = Self { text: Some(text.clone()), failures: 0 };
                return Ok(text);
            }
            Err(error) => error,
        };
        self.failures += 1;
        match &self.text {
            Some(text) if self.failures < FAILURES => {
                let failures = self.failures;
                // What others say does nothing to a terminal.
                let why = error.to_string().replace(|letter: char| letter.is_control(), "?");
                Ok(format!("NOT NOW ({failures} of {FAILURES}): {why}; what follows is older\n{text}"))
            }
            _ => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FAILURES, Last};

    #[test]
    fn a_look_that_fails_is_shown_and_only_many_in_a_row_end_it() {
        let mut last = Last::default();
        assert!(last.shown(Err("nobody there".into())).is_err(), "nothing was ever seen");
        let mut last = Last::default();
        for _ in 0..2 {
            assert_eq!(last.shown(Ok("figures\n".to_owned())).unwrap(), "figures\n");
            for _ in 1..FAILURES {
                let shown = last.shown(Err("nobody\nthere".into())).unwrap();
                assert!(shown.contains("nobody?there") && shown.ends_with("\nfigures\n"), "{shown}");
            }
        }
        assert!(last.shown(Err("nobody there".into())).is_err());
    }
}
