//! How far a query is with the files that it reads.
//!
//! Every file, or part of one, that a scan begins counts its bytes up to its length, and is done when the scan leaves it. Text is counted as it is
//! read, compressed files by their own bytes. Of Parquet only some columns are read, and some may be in memory, so its bytes are counted by
//! its rows. Operators above the scans count nothing: at 100 per cent a sort has its rows, and begins.

use datafusion::datasource::listing::PartitionedFile;
use datafusion::object_store::path::Path;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

/// The bytes of files that a query is to read, and those that it has read. Clones are the same.
///
/// ```
/// use filbert_sql::{Sql, SqlSettings};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("a.csv");
/// std::fs::write(&path, "n\n1\n2\n")?;
/// let stages = filbert_pool::Stages::start()?;
/// let sql = Sql::start(&stages, SqlSettings { files: vec![folder.path().into()], ..Default::default() })?;
/// let query = sql.session().query(&format!("SELECT sum(n) FROM '{}'", path.display()))?;
/// let progress = query.file_progress();
/// futures::executor::block_on(query.collect())?;
/// assert_eq!((progress.read_bytes(), progress.total_bytes()), (6, 6));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct FileProgress(Arc<Bytes>);

#[derive(Debug, Default)]
struct Bytes {
    total: AtomicU64,
    read: AtomicU64,
}

impl FileProgress {
    /// Returns the bytes of all files that the query reads, as far as it is planned; 0 for a query that reads none.
    pub fn total_bytes(&self) -> u64 {
        self.0.total.load(Ordering::Relaxed)
    }

    /// Returns how many of them it is done with.
    pub fn read_bytes(&self) -> u64 {
        self.0.read.load(Ordering::Relaxed).min(self.total_bytes())
    }

    /// Enters files that are to be read.
    pub(super) fn expect(&self, bytes: u64) {
        self.0.total.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// A file, or a part of one, that is being read; dropped, it is done.
#[derive(Debug)]
pub(super) struct FilePart {
    progress: FileProgress,
    length: u64,
    /// The rows that the part has, where its bytes are counted by these.
    rows: Option<u64>,
    seen_rows: AtomicU64,
    counted: AtomicU64,
}

impl FilePart {
    fn of(file: &PartitionedFile, progress: &FileProgress, counts_rows: bool) -> Self {
        let size = file.object_meta.size;
        let length = match &file.range {
            Some(range) => u64::try_from(range.end - range.start).unwrap_or_default().min(size),
            None => size,
        };
        let rows = file.statistics.as_ref().filter(|_| counts_rows).and_then(|statistics| {
            let all = *statistics.num_rows.get_value()? as u128;
            u64::try_from(all * u128::from(length) / u128::from(size.max(1))).ok()
        });
        let (seen_rows, counted) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { progress: progress.clone(), length, rows: rows.filter(|rows| *rows > 0), seen_rows, counted }
    }

    /// Counts bytes that were read.
    pub(super) fn read(&self, bytes: u64) {
        if self.rows.is_none() {
            self.count(bytes);
        }
    }

    /// Counts rows that were decoded.
    pub(super) fn decoded(&self, rows: usize) {
        let Some(all) = self.rows else { return };
        let seen = self.seen_rows.fetch_add(rows as u64, Ordering::Relaxed);
        let bytes = |rows: u64| u128::from(rows.min(all)) * u128::from(self.length) / u128::from(all);
        self.count((bytes(seen.saturating_add(rows as u64)) - bytes(seen)) as u64);
    }

    /// Counts no more than its length.
    fn count(&self, bytes: u64) {
        let before = self.counted.fetch_add(bytes, Ordering::Relaxed);
        let more = bytes.min(self.length.saturating_sub(before));
        self.progress.0.read.fetch_add(more, Ordering::Relaxed);
    }
}

impl Drop for FilePart {
    fn drop(&mut self) {
        self.count(self.length);
    }
}

/// The files that one partition of a scan reads now.
#[derive(Debug)]
pub(super) struct FileParts {
    progress: FileProgress,
    counts_rows: bool,
    open: Mutex<HashMap<Path, Weak<FilePart>>>,
}

impl FileParts {
    /// The files of a query; for formats of columns bytes are counted by rows.
    pub(super) fn new(progress: &FileProgress, counts_rows: bool) -> Arc<Self> {
        Arc::new(Self { progress: progress.clone(), counts_rows, open: Mutex::default() })
    }

    /// Enters a file that is read from now on, until what is returned is dropped.
    pub(super) fn begin(&self, file: &PartitionedFile) -> Arc<FilePart> {
        let part = Arc::new(FilePart::of(file, &self.progress, self.counts_rows));
        let mut open = self.open.lock().unwrap_or_else(|broken| broken.into_inner());
        open.retain(|_, part| part.strong_count() > 0);
        open.insert(file.object_meta.location.clone(), Arc::downgrade(&part));
        part
    }

    /// The file of that place, while it is read.
    pub(super) fn of(&self, location: &Path) -> Option<Weak<FilePart>> {
        self.open.lock().unwrap_or_else(|broken| broken.into_inner()).get(location).cloned()
    }
}

/// Counts bytes for a part that is still read.
pub(super) fn count(part: Option<&Weak<FilePart>>, bytes: u64) {
    if let Some(part) = part.and_then(Weak::upgrade) {
        part.read(bytes);
    }
}

/// A file whose bytes are counted as they are read.
pub(super) struct CountedFile {
    pub(super) file: File,
    pub(super) part: Option<Weak<FilePart>>,
}

impl Read for CountedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.read(buffer)?;
        count(self.part.as_ref(), bytes as u64);
        Ok(bytes)
    }
}
