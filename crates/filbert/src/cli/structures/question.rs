//! Asks before something is lost.

use super::super::Outcome;
use std::io::{self, BufRead, IsTerminal, Write};

/// The consent to a loss, given beforehand or asked for.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct Consent {
    /// Asks nothing; needed where no terminal can be asked.
    #[arg(long)]
    yes: bool,
}

impl Consent {
    /// Returns when `what` may be done: at once with `--yes`, else when somebody at the terminal agrees.
    pub(super) fn to(self, what: &str) -> Outcome {
        if self.yes {
            return Ok(());
        }
        if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
            return Err(format!("nobody can be asked here whether to {what}; --yes does it without").into());
        }
        write!(io::stderr(), "{what}? [y/N] ")?;
        io::stderr().flush()?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        match answer.trim() {
            "y" | "Y" | "yes" => Ok(()),
            _ => Err("nothing was cleared".into()),
        }
    }
}
