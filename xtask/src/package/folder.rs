//! A folder that a package is put together in: files and folders with the modes that they will have, whatever the umask of who makes it. A
//! package whose folders only root may enter would be installed, and found by nobody.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A folder that is filled.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Makes an empty folder; what was there is removed.
    pub(super) fn fresh(path: &Path) -> Result<Self, String> {
        let refused = |error| format!("the folder {} cannot be made anew: {error}", path.display());
        if path.exists() {
            std::fs::remove_dir_all(path).map_err(refused)?;
        }
        std::fs::create_dir_all(path).and_then(|()| open_to_all(path)).map_err(refused)?;
        Ok(Self { path: path.to_owned() })
    }

    /// Takes a folder as it is.
    pub(super) fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file that everybody may read.
    pub(super) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> Result<(), String> {
        self.put(name, 0o644, |path| std::fs::write(path, content.as_ref()))
    }

    /// Writes a file that everybody may run.
    pub(super) fn write_program(&self, name: &str, content: impl AsRef<[u8]>) -> Result<(), String> {
        self.put(name, 0o755, |path| std::fs::write(path, content.as_ref()))
    }

    /// Copies a program.
    pub(super) fn copy_program(&self, name: &str, from: &Path) -> Result<(), String> {
        self.put(name, 0o755, |path| std::fs::copy(from, path).map(drop))
    }

    fn put(
        &self,
        name: &str,
        mode: u32,
        put: impl FnOnce(&Path) -> std::io::Result<()>,
    ) -> Result<(), String> {
        let path = self.path.join(name);
        let parent = path.parent().unwrap_or(&self.path);
        let folders = || parent.ancestors().take_while(|folder| folder.starts_with(&self.path));
        std::fs::create_dir_all(parent)
            .and_then(|()| folders().try_for_each(open_to_all))
            .and_then(|()| put(&path))
            .and_then(|()| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)))
            .map_err(|error| format!("{} cannot be written: {error}", path.display()))
    }

    /// Lists every file below the folder, by its path from there, sorted.
    pub(super) fn files(&self) -> Result<Vec<String>, String> {
        let mut files = Vec::new();
        let mut folders = vec![self.path.clone()];
        while let Some(folder) = folders.pop() {
            let refused = |error| format!("{} cannot be listed: {error}", folder.display());
            for entry in std::fs::read_dir(&folder).map_err(refused)? {
                let path = entry.map_err(refused)?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if let Ok(inside) = path.strip_prefix(&self.path) {
                    files.push(inside.to_string_lossy().into_owned());
                }
            }
        }
        files.sort();
        Ok(files)
    }

    /// Removes it with all that is in it.
    pub(super) fn remove(self) -> Result<(), String> {
        std::fs::remove_dir_all(&self.path)
            .map_err(|error| format!("the folder {} cannot be removed: {error}", self.path.display()))
    }
}

/// Lets everybody enter a folder, and its owner change it.
fn open_to_all(folder: &Path) -> std::io::Result<()> {
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Under a umask of 077 the folders of a package were closed to everybody but root.
    #[test]
    fn the_modes_of_folders_do_not_depend_on_who_makes_them() {
        let path = std::env::temp_dir().join(format!("xtask-folder-{}", std::process::id()));
        let folder = Folder::fresh(&path).unwrap();
        for below in ["usr", "usr/share"] {
            std::fs::create_dir(path.join(below)).unwrap();
            std::fs::set_permissions(path.join(below), std::fs::Permissions::from_mode(0o700)).unwrap();
        }
        folder.write("usr/share/doc/filbert/LICENSE", "text").unwrap();
        for below in ["", "usr", "usr/share", "usr/share/doc", "usr/share/doc/filbert"] {
            let mode = std::fs::metadata(path.join(below)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o755, "{below:?}");
        }
        folder.remove().unwrap();
    }
}
