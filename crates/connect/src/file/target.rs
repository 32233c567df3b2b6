//! Where a sink writes to: one file, or a file per processor in a folder. All calls block.

use super::draft::Draft;
use super::error::FileError;
use filbert_flow::Share;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A file, or a folder for a file per processor.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    path: PathBuf,
    /// The ending of the names in the folder; none for one file.
    folder: Option<String>,
}

impl Target {
    pub(crate) fn file(path: impl AsRef<Path>) -> Self {
        Self { path: path.as_ref().to_owned(), folder: None }
    }

    pub(crate) fn in_folder(mut self, ending: &str) -> Self {
        self.folder = Some(ending.to_owned());
        self
    }

    /// One writer, unless each has a file of its own.
    pub(crate) fn preferred_parallelism(&self) -> Option<usize> {
        self.folder.is_none().then_some(1)
    }

    /// Makes the folder, and refuses what cannot be.
    pub(crate) fn prepare(&self, share: Share) -> Result<Drafts, FileError> {
        match self.folder {
            Some(_) => self.prepare_folder()?,
            None if share.global_count() > 1 => {
                let problem = format!(
                    "{} processors cannot write one file; leave the parallelism at 1 or write to a folder with `in_folder`",
                    share.global_count()
                );
                return Err(FileError::BadTarget { path: self.path.clone(), problem });
            }
            None => {}
        }
        Ok(Drafts { target: self.clone(), drafts: Vec::new() })
    }

    fn prepare_folder(&self) -> Result<(), FileError> {
        std::fs::create_dir_all(&self.path)
            .map_err(|error| FileError::io("make the folder", &self.path, error))?;
        let entries =
            std::fs::read_dir(&self.path).map_err(|error| FileError::io("list", &self.path, error))?;
        for entry in entries {
            let entry = entry.map_err(|error| FileError::io("list", &self.path, error))?;
            if entry.file_name().to_string_lossy().starts_with("part-") {
                let problem = format!(
                    "there is {:?} of an earlier job; remove it or choose another folder",
                    entry.file_name()
                );
                return Err(FileError::BadTarget { path: self.path.clone(), problem });
            }
        }
        Ok(())
    }

    /// The file of one processor.
    fn of(&self, share: Share) -> PathBuf {
        match &self.folder {
            Some(ending) => self.path.join(format!("part-{}.{ending}", share.global_index())),
            None => self.path.clone(),
        }
    }
}

/// The drafts of one job's files.
#[derive(Debug)]
pub(crate) struct Drafts {
    target: Target,
    drafts: Vec<Draft>,
}

impl Drafts {
    /// A draft of one processor's file: its name in the end, and where to write.
    pub(crate) fn create(&mut self, share: Share) -> Result<(PathBuf, File), FileError> {
        let (draft, file) = Draft::create(&self.target.of(share))?;
        let path = draft.target().to_owned();
        self.drafts.push(draft);
        Ok((path, file))
    }

    /// The job is over: when it has completed the files get their names, otherwise they are removed.
    pub(crate) fn close(&mut self, is_completed: bool) -> Result<(), FileError> {
        for draft in self.drafts.drain(..) {
            if is_completed {
                draft.keep()?;
            }
        }
        Ok(())
    }

    /// As [`Drafts::close`]; only those whose names `is_kept` takes stay.
    #[cfg(feature = "columnar")]
    pub(crate) fn close_some(
        &mut self,
        is_completed: bool,
        is_kept: impl Fn(&Path) -> bool,
    ) -> Result<(), FileError> {
        self.drafts.retain(|draft| is_kept(draft.target()));
        self.close(is_completed)
    }
}
