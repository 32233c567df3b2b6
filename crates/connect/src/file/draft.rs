//! Files that appear when the job has completed, all at once or not at all.
//!
//! A draft is written beside its target under a hidden name. When the job has completed it takes the target's name, in one step that
//! replaces what was there; when the job failed, was cancelled or the process lost the draft otherwise, it is removed. All calls block.
//! The command line writes answers this way too.
//!
//! The permissions of the file that is replaced stay, so that what only its owner could read is not read by others after it. Its owner,
//! its group and its access lists do not: the new file belongs to who writes it.
//!
//! A process that ends by [`Draft::exit`] takes its drafts along: they are listed, and whoever makes, keeps or removes one holds the list
//! meanwhile. One that is killed cannot, and leaves them.

use super::error::FileError;
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

/// The drafts of this process that are there.
static OPEN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A file that is being written, and appears when it is kept. Dropped, it is gone, and what was there before still is.
#[derive(Debug)]
pub struct Draft {
    draft: PathBuf,
    target: PathBuf,
    is_kept: bool,
}

impl Draft {
    /// A new draft for `target`, and the file to write to. It has the permissions of the file that is there, or those of any new file.
    pub fn create(target: &Path) -> Result<(Self, File), FileError> {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let bad =
            |problem: &str| FileError::BadTarget { path: target.to_owned(), problem: problem.to_owned() };
        let name = target.file_name().ok_or_else(|| bad("it has no file name"))?.to_string_lossy();
        if target.is_dir() {
            return Err(bad("it is a folder; give a file, or write one file per processor with `in_folder`"));
        }
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let draft = target.with_file_name(format!(".{name}.{}-{number}.draft", std::process::id()));
        let permissions = permissions(target).map_err(|error| FileError::io("look at", target, error))?;
        let mut options = File::options();
        if permissions.is_some() {
            // Who opens it before it has its permissions could read on after that.
            options.mode(0o600);
        }
        let mut open = open();
        let file = options.write(true).create_new(true).open(&draft);
        let file = file.map_err(|error| FileError::io("create", &draft, error))?;
        open.push(draft.clone());
        drop(open);
        let created = Self { draft, target: target.to_owned(), is_kept: false };
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)
                .map_err(|error| FileError::io("set the permissions of", &created.draft, error))?;
        }
        Ok((created, file))
    }

    /// Gives it the target's name, in place of what had it.
    pub fn keep(mut self) -> Result<(), FileError> {
        let mut open = open();
        let renamed = std::fs::rename(&self.draft, &self.target);
        if renamed.is_ok() {
            open.retain(|draft| *draft != self.draft);
            self.is_kept = true;
        }
        drop(open);
        renamed.map_err(|error| FileError::io("rename to", &self.target, error))
    }

    /// Ends the process at once, as [`std::process::exit`] does, and leaves no draft. Who makes, keeps or drops one from here on waits for
    /// the end.
    pub fn exit(status: i32) -> ! {
        let open = open();
        for draft in open.iter() {
            // Nobody is left to be told.
            let _ = std::fs::remove_file(draft);
        }
        std::process::exit(status)
    }

    /// The file that it is to be.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_kept {
            let mut open = open();
            // Nobody is left to be told.
            let _ = std::fs::remove_file(&self.draft);
            open.retain(|draft| *draft != self.draft);
        }
    }
}

fn open() -> MutexGuard<'static, Vec<PathBuf>> {
    OPEN.lock().unwrap_or_else(|broken| broken.into_inner())
}

/// Who may read and write the file that is there, if there is one. That it runs as its owner is not meant for another owner.
fn permissions(target: &Path) -> io::Result<Option<Permissions>> {
    match target.metadata() {
        Ok(there) => Ok(Some(Permissions::from_mode(there.permissions().mode() & 0o777))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn a_draft_has_the_permissions_of_the_file_that_it_replaces() {
        let folder = tempfile::tempdir().unwrap();
        let (target, new) = (folder.path().join("report.csv"), folder.path().join("new.csv"));
        for (there, kept) in [(0o600, 0o600), (0o444, 0o444), (0o666, 0o666), (0o4755, 0o755)] {
            std::fs::write(&target, "yesterday").unwrap();
            std::fs::set_permissions(&target, Permissions::from_mode(there)).unwrap();
            let (draft, file) = Draft::create(&target).unwrap();
            assert_eq!(mode(&draft.draft), kept, "{there:o}");
            std::io::Write::write_all(&mut &file, b"today").unwrap();
            draft.keep().unwrap();
            assert_eq!(
                (mode(&target), std::fs::read(&target).unwrap()),
                (kept, b"today".to_vec()),
                "{there:o}"
            );
            std::fs::remove_file(&target).unwrap();
        }
        // One that is new has those of any other.
        std::fs::write(folder.path().join("any.csv"), "").unwrap();
        Draft::create(&new).unwrap().0.keep().unwrap();
        assert_eq!(mode(&new), mode(&folder.path().join("any.csv")));
    }
}
