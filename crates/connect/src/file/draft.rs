//! Files that appear when the job has completed, all at once or not at all.
//!
//! A draft is written beside its target under a hidden name. When the job has completed it takes the target's name, in one step that
//! replaces what was there; when the job failed, was cancelled or the process lost the draft otherwise, it is removed. All calls block.
//! The command line writes answers this way too.

use super::error::FileError;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A file that is being written, and appears when it is kept. Dropped, it is gone, and what was there before still is.
#[derive(Debug)]
pub struct Draft {
    draft: PathBuf,
    target: PathBuf,
    is_kept: bool,
}

impl Draft {
    /// A new draft for `target`, and the file to write to.
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
        let file = File::options().write(true).create_new(true).open(&draft);
        let file = file.map_err(|error| FileError::io("create", &draft, error))?;
        Ok((Self { draft, target: target.to_owned(), is_kept: false }, file))
    }

    /// Gives it the target's name, in place of what had it.
    pub fn keep(mut self) -> Result<(), FileError> {
        std::fs::rename(&self.draft, &self.target)
            .map_err(|error| FileError::io("rename to", &self.target, error))?;
        self.is_kept = true;
        Ok(())
    }

    /// The file that it is to be.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_kept {
            // Nobody is left to be told.
            let _ = std::fs::remove_file(&self.draft);
        }
    }
}
