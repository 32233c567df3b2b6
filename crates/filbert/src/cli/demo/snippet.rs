//! What a user would type for an act of the demo: command lines, or a few lines of Rust.
//!
//! They stand in files of their own, so that the tests parse each command line and compile each line of Rust.

use std::io::{self, Write};

/// Writes a snippet below an act.
pub(super) fn write(out: &mut impl Write, snippet: &str) -> io::Result<()> {
    // Lines of Rust are a block, so that a test can compile them; its braces are not shown.
    let is_block = snippet.starts_with("{\n");
    writeln!(out, "  {}", if is_block { "In Rust:" } else { "You would type:" })?;
    for line in snippet.lines().filter(|line| !["{", "}"].contains(line)) {
        writeln!(out, "    {}", if is_block { line.strip_prefix("    ").unwrap_or(line) } else { line })?;
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Arguments;
    use clap::Parser;
    use filbert::Member;
    use std::error::Error;

    /// Splits a command line at its blanks, as a shell does with simple quotes.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut quote) = (vec![String::new()], None);
        for letter in line.chars() {
            match (quote, letter) {
                (None, ' ') => words.push(String::new()),
                (None, '\'' | '"') => quote = Some(letter),
                (Some(open), letter) if open == letter => quote = None,
                (_, letter) => words.last_mut().unwrap().push(letter),
            }
        }
        words
    }

    #[test]
    fn every_command_line_is_one() {
        let commands = [
            include_str!("snippets/grid.txt"),
            include_str!("snippets/flow.txt"),
            include_str!("snippets/sql.txt"),
            include_str!("snippets/cube.txt"),
            include_str!("snippets/rules.txt"),
        ];
        let mut parsed = 0;
        for line in commands.iter().flat_map(|commands| commands.lines()) {
            let Some(command) = line.strip_prefix("$ filbert") else { continue };
            let words = words(&format!("filbert{command}"));
            if let Err(error) = Arguments::try_parse_from(&words) {
                assert_eq!(error.kind(), clap::error::ErrorKind::DisplayHelp, "{line}: {error}");
            }
            parsed += 1;
        }
        assert_eq!(parsed, 9);
    }

    #[test]
    fn every_line_of_rust_compiles_and_runs() -> Result<(), Box<dyn Error>> {
        let member = Member::start()?;
        let numbers = [1_u32, 2, 3];
        #[allow(unused_variables, reason = "a snippet ends where its result is there")]
        let _ = (
            include!("snippets/kernel.txt"),
            include!("snippets/strands.txt"),
            include!("snippets/events.txt"),
            include!("snippets/simulation.txt"),
        );
        Ok(())
    }

    #[test]
    fn lines_of_rust_are_shown_without_their_braces() {
        let mut out = Vec::new();
        write(&mut out, "{\n    a();\n}\n").unwrap();
        write(&mut out, "$ filbert\n").unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "  In Rust:\n    a();\n\n  You would type:\n    $ filbert\n\n");
    }
}
