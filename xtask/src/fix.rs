//! `cargo xtask fix`: what a machine can mend, it mends.

use crate::invocation::Invocation;
use crate::options::Options;
use crate::step::{self, Step};
use crate::workspace::Workspace;

/// Runs the chore.
pub(crate) fn run(words: &[String]) -> Result<(), String> {
    let workspace = Workspace::find()?;
    let steps = steps();
    let names: Vec<&str> = steps.iter().map(Step::name).collect();
    let options = Options::parse("fix", words, &names, &[], &[])?;
    if options.help {
        print!("{}", help(&steps));
        return Ok(());
    }
    step::run_all("fix", &workspace, &steps, &options, false)
}

/// All with `--workspace`: a part of it has other features, for which DataFusion would be built once more.
fn steps() -> Vec<Step> {
    let mend = "--all-targets --fix --allow-dirty --allow-staged";
    vec![
        Step::run(
            "clippy",
            "apply clippy's suggestions",
            [Invocation::cargo(&format!("clippy --workspace {mend}"))],
        ),
        Step::run(
            "docs",
            "write the parts of docs/ that come from the code",
            [
                Invocation::cargo("test --workspace --test generated_docs").env("FILBERT_WRITE_DOCS", "1"),
                Invocation::cargo("test --workspace --test door compatibility")
                    .env("FILBERT_WRITE_DOCS", "1"),
            ],
        ),
        // Last, because clippy's suggestions come unformatted.
        Step::run("fmt", "format everything", [Invocation::cargo("fmt --all")]),
    ]
}

fn help(steps: &[Step]) -> String {
    format!(
        "\
Mends what a machine can mend, in place; look at the difference before you commit.

Usage: cargo xtask fix [--only <step>]... [--skip <step>]...

Steps, in this order:
{}
Examples:
  cargo xtask fix
  cargo xtask fix --only docs
",
        step::list(steps)
    )
}
