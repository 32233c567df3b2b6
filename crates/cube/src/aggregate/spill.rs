//! Where a grouping puts what has no room in memory: files without a name, in a folder, with a limit.
//!
//! A file is gone as soon as nobody has it open, whatever ends the query or the process. What lies in it is counted as long as it is open.
//! Threads: whoever groups, and only where that thread may wait for a disk; never `cpu`.

use crate::error::CubeError;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Room on disk for what a query cannot hold in memory.
#[derive(Debug)]
pub struct SpillSpace {
    directory: PathBuf,
    limit: u64,
    /// What lies there now.
    held: AtomicU64,
    /// What was written in all.
    written: AtomicU64,
}

impl SpillSpace {
    /// So many bytes in a folder.
    pub fn new(directory: impl Into<PathBuf>, limit: u64) -> Self {
        Self { directory: directory.into(), limit, held: AtomicU64::new(0), written: AtomicU64::new(0) }
    }

    /// The folder.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What may lie there at a time, in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// What lies there now, in bytes.
    pub fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    /// What was written there in all, in bytes.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    fn failed(&self, error: &std::io::Error) -> CubeError {
        CubeError::SpillFailed { directory: self.directory.display().to_string(), message: error.to_string() }
    }
}

/// The file of one grouping.
pub(super) struct SpillFile {
    space: Arc<SpillSpace>,
    file: Option<File>,
    end: u64,
}

impl SpillFile {
    /// A file that is made when something is written.
    pub(super) fn new(space: Arc<SpillSpace>) -> Self {
        Self { space, file: None, end: 0 }
    }

    /// Where the next bytes go.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Writes at the end; false, and nothing is changed, when there is no room for it.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<bool, CubeError> {
        let SpillSpace { limit, held, written, directory } = &*self.space;
        let more = bytes.len() as u64;
        let fits = |held: u64| held.checked_add(more).filter(|sum| sum <= limit);
        if held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_err() {
            return Ok(false);
        }
        // From here on it counts, and is given back with the file.
        let at = self.end;
        self.end += more;
        let write = |file: &mut Option<File>| {
            let file = match file {
                Some(file) => file,
                None => file.insert(tempfile::tempfile_in(directory)?),
            };
            file.seek(SeekFrom::Start(at))?;
            file.write_all(bytes)
        };
        write(&mut self.file).map_err(|error| self.space.failed(&error))?;
        written.fetch_add(more, Ordering::Relaxed);
        Ok(true)
    }

    /// Forgets what was written from here on.
    pub(super) fn cut(&mut self, end: u64) {
        self.space.held.fetch_sub(self.end - end, Ordering::Relaxed);
        self.end = end;
    }

    pub(super) fn read(&mut self, bytes: Range<u64>) -> Result<Vec<u8>, CubeError> {
        let mut read = vec![0; (bytes.end - bytes.start) as usize];
        let Some(file) = self.file.as_mut().filter(|_| !read.is_empty()) else { return Ok(read) };
        let done = file.seek(SeekFrom::Start(bytes.start)).and_then(|_| file.read_exact(&mut read));
        done.map_err(|error| self.space.failed(&error))?;
        Ok(read)
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        self.cut(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_counts_until_the_file_goes_and_leaves_no_name() {
        let folder = tempfile::tempdir().unwrap();
        let space = Arc::new(SpillSpace::new(folder.path(), 10));
        let mut file = SpillFile::new(Arc::clone(&space));
        assert!(file.append(b"abcdef").unwrap());
        assert!(!file.append(b"ghijk").unwrap());
        assert!(file.append(b"ghij").unwrap());
        assert_eq!(file.read(4..8).unwrap(), b"efgh");
        assert_eq!((space.held(), space.written()), (10, 10));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        file.cut(6);
        assert!(file.append(b"xy").unwrap());
        assert_eq!(file.read(5..8).unwrap(), b"fxy");
        drop(file);
        assert_eq!((space.held(), space.written()), (0, 12));
    }

    #[test]
    fn a_folder_that_is_not_there_is_told() {
        let space = Arc::new(SpillSpace::new("/nowhere/at/all", 10));
        let failed = SpillFile::new(Arc::clone(&space)).append(b"a").unwrap_err();
        assert!(failed.to_string().contains("/nowhere/at/all"), "{failed}");
        assert_eq!(space.held(), 0);
    }
}
