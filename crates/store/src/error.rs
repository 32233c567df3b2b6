//! What can go wrong with the disk.

use std::fmt;
use std::path::Path;

/// Why something is not on disk, or cannot be read from it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another process uses the data directory.
    #[error(
        "the data directory {directory} is in use by another member; end that one, or give this one a directory of its own"
    )]
    Locked {
        /// The directory.
        directory: String,
    },
    /// A folder that holds something else.
    #[error(
        "{directory} is not empty and is no data directory: it has no file {marker:?} that says {expected:?}; choose another"
    )]
    NotADataDirectory {
        /// The directory.
        directory: String,
        /// The file that is missing or says something else.
        marker: &'static str,
        /// What it should say.
        expected: &'static str,
    },
    /// A file could not be read or written.
    #[error("cannot {action} {path}: {problem}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file.
        path: String,
        /// What the system says.
        problem: String,
        /// True when there is no room.
        full: bool,
    },
    /// A change was made in memory and could not be written. It is written as soon as that is possible; until then a crash loses it.
    #[error("map {map}: the change was made, and is not on disk yet: {problem}")]
    NotStored {
        /// The map.
        map: String,
        /// What the system says.
        problem: String,
    },
    /// A change was refused, since those before it could not be written. Nothing was done.
    #[error("map {map} takes no changes until its log can be written again; nothing was done: {problem}")]
    TakesNoChanges {
        /// The map.
        map: String,
        /// What the system says.
        problem: String,
    },
    /// The name of a map is too long for the folder that would hold it. Nothing was done.
    #[error(
        "map {map:?} cannot be kept on disk: its name takes {bytes} bytes as that of a folder, and {most} are possible; give it a shorter one"
    )]
    NameTooLong {
        /// The map.
        map: String,
        /// The bytes that it takes.
        bytes: usize,
        /// The bytes that are possible.
        most: usize,
    },
    /// What is on disk is not what was written. It was not loaded.
    #[error("map {map}: {damage}; this is not served, restore it from a backup (`filbert restore`)")]
    Damaged {
        /// The map.
        map: String,
        /// What and where.
        damage: Damage,
    },
    /// A backup that is not whole, or no backup at all.
    #[error("{path} is no whole backup: {problem}")]
    BadBackup {
        /// The file.
        path: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The member ends, and the log of a map has no seal.
    #[error(
        "map {map}: its log was not sealed at the end; {}: {problem}",
        if *is_flushed { "all changes are on disk, and the next start repairs it" } else { "what was written last may not be on disk" }
    )]
    NotSealed {
        /// The map.
        map: String,
        /// What the system says.
        problem: String,
        /// True when all changes are on disk.
        is_flushed: bool,
    },
    /// The store was closed.
    #[error("map {map} is closed: the member ends")]
    Closed {
        /// The map.
        map: String,
    },
}

impl StoreError {
    pub(crate) fn io(action: &'static str, path: &Path, error: &std::io::Error) -> Self {
        let full =
            matches!(error.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded);
        let problem = if full { format!("{error}; free some room") } else { error.to_string() };
        Self::Io { action, path: path.display().to_string(), problem, full }
    }

    /// True when nothing was done and the same may succeed later.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::TakesNoChanges { .. })
    }

    /// True when the change may be lost, and may not.
    pub fn is_indeterminate(&self) -> bool {
        matches!(
            self,
            Self::NotStored { .. } | Self::Closed { .. } | Self::NotSealed { is_flushed: false, .. }
        )
    }
}

/// Whose data a damaged place held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Of this partition.
    Partition(u16),
    /// Of all partitions in this shelf.
    Shelf(usize),
    /// Maybe of any partition of the map.
    Map,
}

/// A place on disk where something else stands than what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The file.
    pub file: String,
    /// The first byte.
    pub at: u64,
    /// How many bytes.
    pub length: u64,
    /// What is wrong there.
    pub problem: String,
    /// Whose data it was.
    pub reach: Reach,
}

impl Damage {
    /// True when data of `partition` may have been there.
    pub fn reaches(&self, partition: u16) -> bool {
        match self.reach {
            Reach::Partition(damaged) => damaged == partition,
            Reach::Shelf(shelf) => crate::shelf::of(partition) == shelf,
            Reach::Map => true,
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, at, length, problem, reach } = self;
        match reach {
            Reach::Partition(partition) => write!(f, "partition {partition} is damaged")?,
            Reach::Shelf(shelf) => write!(f, "the partitions of shelf {shelf} are damaged")?,
            Reach::Map => write!(f, "all its partitions may be damaged")?,
        }
        write!(f, ": {problem} in {file} at byte {at} ({length} bytes)")
    }
}
