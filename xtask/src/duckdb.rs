//! The step `duckdb`: what is behind the feature `duckdb` of the crate `cube`, which no other step builds, with a DuckDB that is fetched.
//!
//! Without the features of the whole workspace: what ADBC needs of Arrow would have all that stands on Arrow built anew, DataFusion first.
//! Where npm is missing the step is left out, with a word, but never in CI.

use crate::clients::MISSING;
use crate::invocation::Invocation;
use crate::workspace::Workspace;

/// Fetches the library.
const SETUP: &str = "tests/duckdb/setup.sh";

/// Names the library that the tests load.
const LIBRARY: &str = "FILBERT_DUCKDB_LIBRARY";

/// Fetches DuckDB and runs the tests.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    let in_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
    let library = match std::env::var(LIBRARY) {
        Ok(named) if !named.is_empty() => named,
        _ => {
            println!("   {SETUP}");
            let mut setup = workspace.command(workspace.root().join(SETUP));
            let done = setup.stderr(std::process::Stdio::inherit()).output();
            let done = done.map_err(|error| format!("{SETUP} cannot be started: {error}"))?;
            match done.status.code() {
                Some(0) => String::from_utf8_lossy(&done.stdout).trim().to_owned(),
                Some(MISSING) if !in_ci => {
                    println!("   duckdb: LEFT OUT, see above for what is missing; CI runs these tests");
                    return Ok(());
                }
                _ => return Err(format!("{SETUP} ended with {}", done.status)),
            }
        }
    };
    for call in calls() {
        // Whatever a test would skip, it does not without a word: with the variable set, the library must be there.
        let call = call.env(LIBRARY, library.clone());
        println!("   {call}");
        call.run(workspace)?;
    }
    Ok(())
}

fn calls() -> [Invocation; 3] {
    [
        Invocation::cargo("clippy -p filbert-cube --features duckdb --all-targets -- -D warnings"),
        Invocation::cargo("test -p filbert-cube --features duckdb --test duckdb"),
        Invocation::cargo("test -p filbert-cube --features duckdb --lib duckdb"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_feature_changes_is_built() {
        for call in calls() {
            let shown = call.to_string();
            assert!(
                shown.contains("-p filbert-cube --features duckdb") && !shown.contains("--workspace"),
                "{shown}"
            );
        }
    }
}
