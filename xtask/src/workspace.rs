//! Where the workspace lies, which files belong to it, and where builds go.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The checkout that the chores work on.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    root: PathBuf,
    target: PathBuf,
}

impl Workspace {
    /// The workspace that this program belongs to. `cargo run` says where; a copy run by hand remembers where it was built.
    pub(crate) fn find() -> Result<Self, String> {
        let manifest = std::env::var("CARGO_MANIFEST_DIR").unwrap_or(env!("CARGO_MANIFEST_DIR").to_owned());
        let root = Path::new(&manifest).parent().map(Path::to_path_buf).unwrap_or_default();
        if !root.join("Cargo.toml").is_file() {
            return Err(format!(
                "no workspace at {}; run the chores as `cargo xtask` inside the checkout",
                root.display()
            ));
        }
        let here = std::env::current_dir()
            .map_err(|error| format!("the current directory cannot be read: {error}"))?;
        let chosen = ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR"].iter().find_map(std::env::var_os);
        let target = chosen.map_or_else(|| root.join("target"), |chosen| here.join(chosen));
        Ok(Self { root, target })
    }

    /// The top folder.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The build folder, absolute: the caller may stand in a subfolder, but every step runs at the top.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// A command that runs at the top and builds into the build folder. It does not see what cargo says of this package to this program:
    /// build scripts that look at such variables would be run, and all that is above them built, anew.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root).env("CARGO_TARGET_DIR", &self.target);
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(is_of_package) {
                command.env_remove(name);
            }
        }
        command
    }

    /// The text of a file, named from the top.
    pub(crate) fn read(&self, path: &str) -> Result<String, String> {
        std::fs::read_to_string(self.root.join(path))
            .map_err(|error| format!("{path} cannot be read: {error}"))
    }

    /// Every file that belongs to the project, from the top with `/`, sorted: what git tracks and what it would track.
    /// Without git (an unpacked archive), every file outside the build folder.
    pub(crate) fn files(&self) -> Result<Vec<String>, String> {
        let listing = Command::new("git")
            .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
            .current_dir(&self.root)
            .output();
        let mut files = match listing {
            Ok(listing) if listing.status.success() => {
                let names = String::from_utf8_lossy(&listing.stdout).into_owned();
                names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect()
            }
            _ => self.walk()?,
        };
        files.retain(|file| self.root.join(file).is_file() && !self.is_build_output(file));
        files.sort();
        files.dedup();
        Ok(files)
    }

    /// True below a build folder, whatever its name: cargo leaves a tag in each.
    fn is_build_output(&self, file: &str) -> bool {
        let folders = Path::new(file).ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
        folders.into_iter().any(|folder| self.root.join(folder).join("CACHEDIR.TAG").is_file())
    }

    fn walk(&self) -> Result<Vec<String>, String> {
        let mut files = Vec::new();
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            let unreadable = |error| format!("{} cannot be listed: {error}", folder.display());
            for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
                let path = entry.map_err(unreadable)?.path();
                if path.is_dir() {
                    if !path.ends_with(".git") && !path.join("CACHEDIR.TAG").is_file() {
                        folders.push(path);
                    }
                } else if let Ok(inside) = path.strip_prefix(&self.root) {
                    files.push(inside.to_string_lossy().replace('\\', "/"));
                }
            }
        }
        Ok(files)
    }
}

/// Whether cargo sets this variable for the package that it runs.
fn is_of_package(variable: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| variable.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_knows_nothing_of_this_package() {
        assert!(is_of_package("CARGO_PKG_VERSION") && is_of_package("CARGO_MANIFEST_DIR"));
        assert!(
            !is_of_package("CARGO_TARGET_DIR") && !is_of_package("CARGO_HOME") && !is_of_package("CARGO")
        );
        // Cargo runs tests with the variables of their package.
        let command = Workspace::find().unwrap().command("cargo");
        assert!(command.get_envs().any(|(name, value)| name == "CARGO_MANIFEST_DIR" && value.is_none()));
    }

    #[test]
    fn the_two_ways_to_list_files_agree_on_this_one() {
        let workspace = Workspace::find().unwrap();
        let this = "xtask/src/workspace.rs".to_owned();
        assert!(workspace.files().unwrap().contains(&this));
        assert!(workspace.walk().unwrap().contains(&this));
        assert!(workspace.read(&this).unwrap().starts_with("//!"));
    }
}
