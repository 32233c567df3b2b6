//! `cargo xtask verify`: everything a change must pass, cheapest first. It never writes a source file.

use crate::invocation::Invocation;
use crate::options::Options;
use crate::step::{self, Step};
use crate::workspace::Workspace;
use crate::{clients, demo, duckdb, package, readme, retest, screens, tidy};

/// Runs the chore.
pub(crate) fn run(words: &[String]) -> Result<(), String> {
    let workspace = Workspace::find()?;
    let steps = steps(&workspace);
    let names: Vec<&str> = steps.iter().map(Step::name).collect();
    let options = Options::parse("verify", words, &names, &[], &[])?;
    if options.help {
        print!("{}", help(&steps));
        return Ok(());
    }
    step::run_all("verify", &workspace, &steps, &options, false)
}

fn steps(workspace: &Workspace) -> Vec<Step> {
    vec![
        Step::run(
            "fmt",
            "the code is formatted (mended by `cargo xtask fix`)",
            [Invocation::cargo("fmt --all --check")],
        ),
        Step::check("tidy", "the rules that no other tool checks", tidy::check),
        Step::check("readme", "the README names the two commands a stranger needs", readme::check),
        Step::run(
            "clippy",
            "no warning in any target; `cargo xtask long --only peers` looks at the peers of the benches too",
            [Invocation::cargo("clippy --workspace --all-targets -- -D warnings")],
        ),
        Step::run(
            "doc",
            "the documentation builds without a warning",
            [Invocation::cargo("doc --workspace --no-deps").add_flags("RUSTDOCFLAGS", "-D warnings")],
        ),
        Step::run("loom", "every protocol between threads, in every order loom finds", [loom(workspace)]),
        Step::test(
            "test",
            "the README's test command; a test binary that fails runs once more, by itself",
            retest::check,
        ),
        Step::check("duckdb", "the feature of cubes over tables of DuckDB", duckdb::check),
        Step::check("demo", "the demo ends well", demo::check),
        Step::check("screens", "the pages for users show what their commands print", screens::check),
        Step::check(
            "package",
            "the archive and the Debian package, made of the build of the tests",
            package::check,
        ),
        Step::check(
            "clients",
            "our tests with the official Python, Node.js and Java clients",
            clients::check,
        ),
    ]
}

/// The loom models. Another configuration of the same crates, so a build folder of its own: the normal builds stay warm.
pub(crate) fn loom(workspace: &Workspace) -> Invocation {
    Invocation::cargo("test -p filbert-sync --release --test loom")
        .add_flags("RUSTFLAGS", "--cfg filbert_loom")
        .env("CARGO_TARGET_DIR", workspace.target().join("loom").to_string_lossy())
}

fn help(steps: &[Step]) -> String {
    format!(
        "\
Everything a change must pass. Never writes a source file; `cargo xtask fix` does.

Usage: cargo xtask verify [--only <step>]... [--skip <step>]...

Steps, in this order; the first failure stops:
{}
A test that passes only the second time does not fail the step; it is named as unsteady, and counted at the end.
Builds go to CARGO_TARGET_DIR if it is set (the loom models to its subfolder loom).

Examples:
  cargo xtask verify
  cargo xtask verify --only fmt --only tidy
  cargo xtask verify --skip demo
",
        step::list(steps)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cheap_steps_come_first_and_the_help_names_all() {
        let workspace = Workspace::find().unwrap();
        let steps = steps(&workspace);
        let names: Vec<_> = steps.iter().map(Step::name).collect();
        assert_eq!(
            names,
            [
                "fmt", "tidy", "readme", "clippy", "doc", "loom", "test", "duckdb", "demo", "screens",
                "package", "clients"
            ]
        );
        let help = help(&steps);
        assert!(names.iter().all(|name| help.contains(name)));
    }

    #[test]
    fn the_models_build_apart() {
        let workspace = Workspace::find().unwrap();
        let shown = loom(&workspace).to_string();
        assert!(shown.contains("--cfg filbert_loom"), "{shown}");
        assert!(shown.contains("/loom "), "{shown}");
    }
}
