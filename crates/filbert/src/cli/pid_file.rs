//! A file with the process id of a member, which is locked while the member runs.
//!
//! The lock is what counts: process ids are used again, so an id that a dead member left behind may
//! be that of a stranger. Whoever wants to end the member sends no signal unless the lock is held.
//! The file is emptied at the end and not removed: two processes can never hold the locks of two
//! files of the same name.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

/// A file with the id of this process, locked until this is dropped.
#[derive(Debug)]
pub(super) struct PidFile {
    file: File,
}

/// The process that holds a file with a process id.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// No process holds the file.
    Nobody,
    /// A process holds it and has not written its id yet.
    Starting,
    /// A process of this id holds it.
    Process(i32),
}

impl PidFile {
    /// Locks the file, and writes the id of this process to it.
    pub(super) fn claim(path: &Path) -> Result<Self, String> {
        let refused = |error| format!("the file {} of --pid-file cannot be written: {error}", path.display());
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path);
        let mut file = file.map_err(refused)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(format!(
                    "another member holds the file {} of --pid-file; end it by `filbert stop`, or name another file",
                    path.display()
                ));
            }
            Err(TryLockError::Error(error)) => return Err(refused(error)),
        }
        let written = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        written.and_then(|()| file.sync_data()).map_err(refused)?;
        Ok(Self { file })
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        // The lock goes with the file; an id that stays behind misleads nobody who looks at the
        // lock.
        let _ = self.file.set_len(0);
    }
}

/// The file of a member that is to end, as seen by another process.
#[derive(Debug)]
pub(super) struct Watched {
    path: PathBuf,
    file: File,
}

impl Watched {
    /// Opens the file of a member.
    pub(super) fn open(path: &Path) -> Result<Self, String> {
        let file = File::open(path).map_err(|error| {
            format!(
                "the file {} cannot be read: {error}; give the one of `filbert start --pid-file`",
                path.display()
            )
        })?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Tells who holds the file now.
    pub(super) fn owner(&mut self) -> Result<Owner, String> {
        let shown = self.path.display();
        match self.file.try_lock_shared() {
            Ok(()) => {
                self.file
                    .unlock()
                    .map_err(|error| format!("the file {shown} cannot be unlocked: {error}"))?;
                return Ok(Owner::Nobody);
            }
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => {
                return Err(format!("the file {shown} cannot be locked: {error}"));
            }
        }
        let mut text = String::new();
        let read = self.file.rewind().and_then(|()| self.file.read_to_string(&mut text));
        read.map_err(|error| format!("the file {shown} cannot be read: {error}"))?;
        match text.trim() {
            "" => Ok(Owner::Starting),
            id => match id.parse() {
                // 0 and below are groups of processes.
                Ok(id) if id > 0 => Ok(Owner::Process(id)),
                _ => Err(format!("the file {shown} does not hold a process id")),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_lock_that_is_held_names_a_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("filbert.pid");
        assert!(Watched::open(&path).unwrap_err().contains("--pid-file"));
        let claimed = PidFile::claim(&path).unwrap();
        let mut watched = Watched::open(&path).unwrap();
        assert_eq!(watched.owner(), Ok(Owner::Process(std::process::id() as i32)));
        assert!(PidFile::claim(&path).unwrap_err().contains("another member"));
        drop(claimed);
        assert_eq!(watched.owner(), Ok(Owner::Nobody));
        // What a member leaves behind that was killed.
        std::fs::write(&path, "1\n").unwrap();
        assert_eq!(watched.owner(), Ok(Owner::Nobody));
        let held = File::open(&path).unwrap();
        held.lock().unwrap();
        assert_eq!(watched.owner(), Ok(Owner::Process(1)));
        for wrong in ["0", "-1", "filbert"] {
            std::fs::write(&path, wrong).unwrap();
            assert!(watched.owner().unwrap_err().contains("process id"), "{wrong}");
        }
        std::fs::write(&path, "").unwrap();
        assert_eq!(watched.owner(), Ok(Owner::Starting));
    }
}
