//! The step `clients`: our tests that are programs of the official Hazelcast clients, against a member built from this checkout.
//!
//! They need Python, Node.js and a JDK, which a Rust programmer's machine may lack; `cargo test` does not need them. So here the tests are left
//! out, with a word, where an interpreter is missing, but never in CI: what CI skips is not tested at all. Without a JDK only the Java suite is.

use crate::workspace::Workspace;

/// What a `setup.sh` ends with when something is missing or too old: Python or Node.js, in CI also a JDK.
pub(crate) const MISSING: i32 = 3;

/// Variables that would point the tests at another member.
const OTHER_MEMBERS: [&str; 3] = ["FILBERT_BIN", "FILBERT_ADDRESS", "HAZELCAST_JARS"];

/// Installs the clients and runs the tests.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    let in_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
    match run(workspace, "tests/clients/setup.sh")? {
        Some(0) => {}
        Some(MISSING) if !in_ci => {
            println!("   clients: LEFT OUT, see above for what is missing; CI runs these tests");
            return Ok(());
        }
        code => return Err(ended("tests/clients/setup.sh", code)),
    }
    match run(workspace, "tests/clients/run.sh")? {
        Some(0) => Ok(()),
        code => Err(ended("tests/clients/run.sh", code)),
    }
}

/// Runs a script of the workspace to its end; its output goes where ours goes. Gives its exit code, if it was not killed.
fn run(workspace: &Workspace, script: &str) -> Result<Option<i32>, String> {
    println!("   {script}");
    let mut command = workspace.command(workspace.root().join(script));
    for other in OTHER_MEMBERS {
        command.env_remove(other);
    }
    let status = command.status().map_err(|error| format!("{script} cannot be started: {error}"))?;
    Ok(status.code())
}

fn ended(script: &str, code: Option<i32>) -> String {
    code.map_or_else(|| format!("{script} was killed"), |code| format!("{script} ended with {code}"))
}
