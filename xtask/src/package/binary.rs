//! The binary of a package: stripped, with its version and with what it needs of the system.

use super::output;
use crate::workspace::Workspace;
use std::path::{Path, PathBuf};

/// A binary that is ready to be packed.
#[derive(Debug)]
pub(super) struct Binary {
    pub(super) path: PathBuf,
    /// The version that it prints.
    pub(super) version: String,
    /// The newest version of the C library that it has symbols of, such as `2.34`.
    pub(super) c_library: String,
    /// True when it needs the compiler's shared library for unwinding.
    pub(super) needs_libgcc: bool,
}

impl Binary {
    /// Copies a binary without its symbols, and asks it for its version.
    pub(super) fn stripped(workspace: &Workspace, from: &Path, to: &Path) -> Result<Self, String> {
        if !from.is_file() {
            return Err(format!(
                "package: there is no binary at {}; build it or leave --binary out",
                from.display()
            ));
        }
        let words = ["-o", &to.to_string_lossy(), &from.to_string_lossy()];
        output(workspace, Path::new("strip"), &words, workspace.root())?;
        let said = output(workspace, to, &["--version"], workspace.root())?;
        let said = String::from_utf8_lossy(&said).trim().to_owned();
        let version = said
            .strip_prefix("filbert ")
            .ok_or_else(|| format!("{} calls itself {said:?}", from.display()))?;
        let expected = workspace_version(&workspace.read("Cargo.toml")?)?;
        if version != expected {
            return Err(format!(
                "package: {} is of version {version}, and Cargo.toml says {expected}; build it anew",
                from.display()
            ));
        }
        let content =
            std::fs::read(to).map_err(|error| format!("{} cannot be read: {error}", to.display()))?;
        let c_library = newest_c_library(&content).ok_or_else(|| {
            format!("{} needs no version of the GNU C library; is it for Linux?", from.display())
        })?;
        Ok(Self {
            path: to.to_owned(),
            version: version.to_owned(),
            c_library,
            needs_libgcc: contains(&content, b"libgcc_s.so.1"),
        })
    }
}

/// Reads the version of all packages.
fn workspace_version(manifest: &str) -> Result<String, String> {
    let section = manifest.split("[workspace.package]").nth(1).unwrap_or_default();
    let line = section.lines().find_map(|line| line.strip_prefix("version = \""));
    line.map(|rest| rest.trim_end_matches('"').to_owned())
        .ok_or_else(|| "Cargo.toml has no version".to_owned())
}

/// Finds the newest version among the names of symbols, `GLIBC_2.34` and the like.
fn newest_c_library(content: &[u8]) -> Option<String> {
    const PREFIX: &[u8] = b"GLIBC_2.";
    let minors =
        content.windows(PREFIX.len() + 3).filter(|window| window.starts_with(PREFIX)).filter_map(|window| {
            let digits: String = window[PREFIX.len()..]
                .iter()
                .map(|byte| char::from(*byte))
                .take_while(char::is_ascii_digit)
                .collect();
            digits.parse::<u32>().ok()
        });
    minors.max().map(|minor| format!("2.{minor}"))
}

fn contains(content: &[u8], word: &[u8]) -> bool {
    content.windows(word.len()).any(|window| window == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_counts_as_a_number() {
        let symbols = b"\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.9\0GLIBC_PRIVATE\0";
        assert_eq!(newest_c_library(symbols).as_deref(), Some("2.34"));
        assert_eq!(newest_c_library(b"GLIBC_"), None);
    }

    #[test]
    fn the_version_is_that_of_the_workspace() {
        let manifest =
            "[workspace]\nversion = \"9\"\n[workspace.package]\nversion = \"0.1.0\"\nedition = \"2024\"\n";
        assert_eq!(workspace_version(manifest).as_deref(), Ok("0.1.0"));
        assert!(workspace_version("[workspace]\n").is_err());
    }
}
