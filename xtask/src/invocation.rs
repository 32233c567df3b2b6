//! A command with its environment, that shows itself the way a person would type it.

use crate::workspace::Workspace;
use std::fmt;
use std::process::{Child, Command};

/// One call of cargo, or of a script of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Invocation {
    /// Its path in the workspace; none for cargo.
    script: Option<&'static str>,
    arguments: Vec<String>,
    environment: Vec<(&'static str, String)>,
}

impl Invocation {
    /// `cargo` with these words.
    pub(crate) fn cargo(arguments: &str) -> Self {
        let arguments = arguments.split_whitespace().map(str::to_owned).collect();
        Self { script: None, arguments, environment: Vec::new() }
    }

    /// A script, by its path in the workspace.
    pub(crate) fn script(path: &'static str) -> Self {
        Self { script: Some(path), arguments: Vec::new(), environment: Vec::new() }
    }

    /// Sets a variable for this call.
    pub(crate) fn env(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.environment.push((name, value.into()));
        self
    }

    /// Adds to a variable that holds flags, and keeps what the caller has in it.
    pub(crate) fn add_flags(self, name: &'static str, flags: &str) -> Self {
        let value = match std::env::var(name) {
            Ok(before) if !before.trim().is_empty() => format!("{before} {flags}"),
            _ => flags.to_owned(),
        };
        self.env(name, value)
    }

    fn command(&self, workspace: &Workspace) -> Command {
        let cargo = || std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let program = self.script.map_or_else(cargo, |script| workspace.root().join(script).into());
        let mut command = workspace.command(program);
        command.args(&self.arguments);
        // Only `fix` may write the generated pages, whatever the caller's shell has set.
        command.env_remove("FILBERT_WRITE_DOCS");
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Starts it.
    pub(crate) fn start(&self, workspace: &Workspace) -> Result<Child, String> {
        self.command(workspace).spawn().map_err(|error| format!("{self} cannot be started: {error}"))
    }

    /// Runs it to its end; its output goes where ours goes.
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<(), String> {
        let mut child = self.start(workspace)?;
        let status = child.wait().map_err(|error| format!("{self} was lost: {error}"))?;
        if status.success() { Ok(()) } else { Err(format!("{self} ended with {status}")) }
    }
}

impl fmt::Display for Invocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.environment {
            if value.contains(' ') { write!(f, "{name}='{value}' ")? } else { write!(f, "{name}={value} ")? }
        }
        let words =
            [self.script.unwrap_or("cargo").to_owned()].into_iter().chain(self.arguments.iter().cloned());
        write!(f, "{}", words.collect::<Vec<_>>().join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_itself_as_typed() {
        let invocation = Invocation::cargo("test -p x").env("A", "1").env("B", "-D warnings");
        assert_eq!(invocation.to_string(), "A=1 B='-D warnings' cargo test -p x");
        assert_eq!(Invocation::script("tests/x.py").to_string(), "tests/x.py");
    }
}
