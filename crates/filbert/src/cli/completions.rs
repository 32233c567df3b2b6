//! `filbert completions`: what a shell needs to complete the words of this command line.

use super::Outcome;
use clap::CommandFactory;
use clap_complete::Shell;
use std::io::Write;

const EXAMPLES: &str = "Examples:
  filbert completions bash > ~/.local/share/bash-completion/completions/filbert
  filbert completions zsh > ~/.zfunc/_filbert
  filbert completions fish > ~/.config/fish/completions/filbert.fish";

/// The options of `filbert completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The shell.
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    // The generator ends the process where it cannot write: it writes to memory.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut super::Arguments::command(), "filbert", &mut script);
    std::io::stdout().lock().write_all(&script)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_completes_every_command() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut super::super::Arguments::command(), "filbert", &mut script);
            let script = String::from_utf8(script).unwrap();
            for command in super::super::Arguments::command().get_subcommands() {
                assert!(script.contains(command.get_name()), "{shell}: {}", command.get_name());
            }
        }
    }
}
