//! What the README promises a stranger: two commands. `verify` looks that they stand there, and runs them.

use crate::workspace::Workspace;

/// The command that shows the product at work.
pub(crate) const DEMO: &str = "cargo run --release -- demo";

/// The command that runs every test.
pub(crate) const TEST: &str = "cargo test --workspace";

/// A page that is read to its end; what is longer belongs to docs/.
const LINES: usize = 160;

/// Fails when the README is too long, or does not name both commands, each on a line of its own in a block of code.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    let text = workspace.read("README.md")?;
    for promised in [DEMO, TEST] {
        find_command(&text, promised)?;
    }
    let lines = text.lines().count();
    if lines > LINES {
        return Err(format!(
            "README.md has {lines} lines, more than {LINES}; move what few readers need to docs/"
        ));
    }
    println!("   README.md names `{DEMO}` and `{TEST}`");
    Ok(())
}

/// Looks for a line of a block of code that is this command; a comment may follow it.
fn find_command(text: &str, promised: &str) -> Result<(), String> {
    let mut in_block = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
            continue;
        }
        let typed = line.split(" #").next().unwrap_or(line).trim();
        if in_block && typed == promised {
            return Ok(());
        }
    }
    Err(format!(
        "README.md: no block of code has the line `{promised}`; a stranger starts with it, so put it (back) on the first screen"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_command_in_a_block_of_code_only() {
        let good = "Text\n```sh\ncargo test --workspace   # everything\n```\n";
        assert!(find_command(good, TEST).is_ok());
        let in_prose = "run cargo test --workspace\ncargo test --workspace\n";
        assert!(find_command(in_prose, TEST).unwrap_err().contains("cargo test --workspace"));
        let another = "```sh\ncargo test --workspace --release\n```\n";
        assert!(find_command(another, TEST).is_err());
    }
}
