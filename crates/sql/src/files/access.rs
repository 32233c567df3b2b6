//! Which files SQL may read and write: those in folders that a setting lists, and no others.
//!
//! A path counts as what it leads to: links and `..` are followed before it is compared with the folders, so a link in an allowed folder
//! opens nothing outside of it. What is refused is refused before anybody learns whether it exists. Someone who can change links on the
//! machine while a statement runs could still win a race between the look and the read; SQL itself cannot make links.

use crate::error::SqlError;
use std::io;
use std::path::{Component, Path, PathBuf};

/// The folders that are allowed.
#[derive(Debug)]
pub(crate) struct FileAccess {
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
}

const READ: (&str, &str) = ("read", "sql.files");
const WRITE: (&str, &str) = ("written", "sql.write_files");

impl FileAccess {
    pub(crate) fn new(read: &[PathBuf], write: &[PathBuf]) -> Self {
        let absolute = |folders: &[PathBuf]| folders.iter().map(|folder| plainly(folder)).collect();
        Self { read: absolute(read), write: absolute(write) }
    }

    /// Where a file or folder really is, if it may be read. Blocks.
    pub(crate) fn readable(&self, path: &Path) -> Result<PathBuf, SqlError> {
        allowed(&self.read, path, READ)
    }

    /// Where a file would really be, if it may be written: its folder is there and allowed. Blocks.
    pub(crate) fn writable(&self, path: &Path) -> Result<PathBuf, SqlError> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(problem(path, "this names no file"));
        };
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let place = allowed(&self.write, folder, WRITE)?.join(name);
        match place.metadata() {
            Ok(there) if there.is_dir() => Err(problem(path, "this is a folder; name a file in it")),
            Ok(there) if !there.is_file() => {
                Err(problem(path, "this is no regular file, and is not replaced; name another file"))
            }
            _ => Ok(place),
        }
    }
}

fn allowed(
    folders: &[PathBuf],
    path: &Path,
    (verb, setting): (&'static str, &'static str),
) -> Result<PathBuf, SqlError> {
    let denied = || SqlError::FileDenied { path: path.display().to_string(), verb, setting };
    let real = match path.canonicalize() {
        Ok(real) => real,
        // Of what is not allowed it is not told whether it is there.
        Err(error) if folders.iter().any(|folder| plainly(path).starts_with(folder)) => {
            return Err(problem(path, &says(&error)));
        }
        Err(_) => return Err(denied()),
    };
    let holds = |folder: &PathBuf| folder.canonicalize().is_ok_and(|folder| real.starts_with(folder));
    if folders.iter().any(holds) { Ok(real) } else { Err(denied()) }
}

/// The absolute path without `.` and `..`, links not followed.
fn plainly(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// An error that names the file.
pub(super) fn problem(path: &Path, problem: &str) -> SqlError {
    SqlError::File { path: path.display().to_string(), problem: problem.to_owned() }
}

/// What the operating system says, plainly where it is common.
pub(super) fn says(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file or folder".to_owned(),
        io::ErrorKind::PermissionDenied => "the member's user may not open it".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_really_lies_in_an_allowed_folder_is_read() {
        let root = tempfile::tempdir().unwrap();
        let (inside, outside) = (root.path().join("in"), root.path().join("in-not"));
        for folder in [&inside, &outside] {
            std::fs::create_dir(folder).unwrap();
            std::fs::write(folder.join("a.csv"), "x\n1\n").unwrap();
        }
        let access = FileAccess::new(std::slice::from_ref(&inside), &[]);
        assert!(access.readable(&inside.join("a.csv")).is_ok());
        assert!(access.readable(&inside.join("../in/./a.csv")).is_ok());
        let denied = |path: &Path| {
            matches!(access.readable(path), Err(SqlError::FileDenied { setting: "sql.files", .. }))
        };
        assert!(denied(&outside.join("a.csv")), "a name that begins the same is another folder");
        assert!(denied(&inside.join("../in-not/a.csv")));
        assert!(denied(&outside.join("missing.csv")), "nobody learns that it is not there");
        let missing = access.readable(&inside.join("missing.csv")).unwrap_err().to_string();
        assert!(missing.contains("missing.csv") && missing.contains("no such file"), "{missing}");
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&outside, inside.join("link")).unwrap();
            assert!(denied(&inside.join("link/a.csv")));
            std::os::unix::fs::symlink(inside.join("a.csv"), outside.join("back.csv")).unwrap();
            assert!(access.readable(&outside.join("back.csv")).is_ok(), "it leads to an allowed file");
        }
        let nothing = FileAccess::new(&[], &[]);
        assert!(matches!(nothing.readable(&inside.join("a.csv")), Err(SqlError::FileDenied { .. })));
    }

    #[test]
    fn writing_has_folders_of_its_own() {
        let root = tempfile::tempdir().unwrap();
        let access = FileAccess::new(&[PathBuf::from("/")], &[root.path().to_owned()]);
        assert!(access.writable(&root.path().join("new.csv")).is_ok());
        let denied = access.writable(Path::new("/new.csv")).unwrap_err().to_string();
        assert!(denied.contains("may not be written") && denied.contains("sql.write_files"), "{denied}");
        let folder = access.writable(&root.path().join("no/new.csv")).unwrap_err().to_string();
        assert!(folder.contains("no such file or folder"), "{folder}");
        std::fs::create_dir(root.path().join("sub")).unwrap();
        assert!(access.writable(&root.path().join("sub")).is_err());
        assert!(access.writable(Path::new("/")).is_err());
    }
}
