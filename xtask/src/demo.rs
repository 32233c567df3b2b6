//! The step `demo`: the program that a stranger starts first, from the build of the tests.
//!
//! The README's command builds it for release, which takes longer than all tests together; `cargo xtask long --only demo` runs it as typed.

use crate::invocation::Invocation;
use crate::workspace::Workspace;

/// Builds the programs of the workspace as the test command does, with nothing of the dependencies built twice.
pub(crate) fn build() -> Invocation {
    Invocation::cargo("test --workspace --no-run")
}

/// Runs the demo to its end.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    build().run(workspace)?;
    let program = workspace.target().join("debug").join("filbert");
    println!("   {} demo", program.display());
    let status = workspace.command(&program).arg("demo").status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("the demo ended with {status}")),
        Err(error) => Err(format!("the demo cannot be started: {error}")),
    }
}
