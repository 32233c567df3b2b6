//! The packages that the binary is built from, with their licences, as cargo tells them.

use super::output;
use crate::workspace::Workspace;
use std::path::{Path, PathBuf};

/// A package that the binary is built from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    /// An expression of SPDX; empty when the package does not say.
    pub(super) licence: String,
    /// Its sources on this machine, where cargo knows them.
    pub(super) sources: Option<PathBuf>,
    /// True for packages of this workspace.
    pub(super) is_ours: bool,
}

/// Lists the packages that are linked into the binary, or run while it is built, each once.
pub(super) fn of_the_binary(workspace: &Workspace) -> Result<Vec<Package>, String> {
    let cargo = std::env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from);
    let words = ["tree", "--locked", "-p", "filbert", "-e", "normal", "--prefix", "none", "-f", "{p}|{l}"];
    let tree = output(workspace, &cargo, &words, workspace.root())?;
    let metadata =
        output(workspace, &cargo, &["metadata", "--locked", "--format-version", "1"], workspace.root())?;
    let folders = manifest_folders(&String::from_utf8_lossy(&metadata));
    let mut packages: Vec<Package> =
        String::from_utf8_lossy(&tree).lines().filter_map(|line| package(line, &folders)).collect();
    packages.sort();
    packages.dedup();
    if packages.is_empty() {
        return Err("package: cargo tree lists no package".to_owned());
    }
    Ok(packages)
}

/// Reads a line such as `clap v4.6.7|MIT OR Apache-2.0 (*)`.
fn package(line: &str, folders: &[PathBuf]) -> Option<Package> {
    let (package, licence) = line.trim_end_matches(" (*)").split_once('|')?;
    let mut words = package.split(' ');
    let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
    // Those of this workspace stand with their path.
    let is_ours = package.contains("(/");
    let named = format!("{name}-{version}");
    let sources = folders.iter().find(|folder| folder.ends_with(&named)).cloned();
    Some(Package {
        name: name.to_owned(),
        version: version.to_owned(),
        // The old way to write a choice.
        licence: licence.replace('/', " OR "),
        sources: sources.filter(|_| !is_ours),
        is_ours,
    })
}

/// Finds the folders of all manifests that `cargo metadata` names. The text is not taken apart
/// further: no other key has this name.
fn manifest_folders(metadata: &str) -> Vec<PathBuf> {
    let manifests = metadata.split("\"manifest_path\":\"").skip(1);
    let folder = |rest: &str| Some(Path::new(rest.split('"').next()?).parent()?.to_path_buf());
    manifests.filter_map(folder).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_tree_is_a_package() {
        let metadata = r#"{"packages":[{"manifest_path":"/src/clap-4.6.7/Cargo.toml"},{"manifest_path":"/f/Cargo.toml"}]}"#;
        let folders = manifest_folders(metadata);
        assert_eq!(folders, [PathBuf::from("/src/clap-4.6.7"), PathBuf::from("/f")]);
        let clap = package("clap v4.6.7|MIT/Apache-2.0 (*)", &folders).unwrap();
        assert_eq!((clap.name.as_str(), clap.version.as_str()), ("clap", "4.6.7"));
        assert_eq!((clap.licence.as_str(), clap.is_ours), ("MIT OR Apache-2.0", false));
        assert_eq!(clap.sources, Some("/src/clap-4.6.7".into()));
        let derive = package("clap_derive v4.6.7 (proc-macro)|MIT", &folders).unwrap();
        assert_eq!((derive.version.as_str(), derive.sources), ("4.6.7", None));
        assert!(package("filbert v0.1.0 (/f)|Apache-2.0", &folders).unwrap().is_ours);
        assert_eq!(package("", &folders), None);
    }
}
