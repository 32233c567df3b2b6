//! Whether files are still those that they were: a number made of their names, sizes and times. Blocks; on a thread of the reactor.
//!
//! A file that is written again within one tick of the file system's clock (milliseconds), with as many bytes, in place, looks the same.

use super::access::{FileAccess, problem, says};
use super::location::{Location, expanded};
use crate::error::SqlError;
use std::fs::Metadata;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The version of all files at these places.
pub(super) fn of(places: &[Location], access: &FileAccess) -> Result<u64, SqlError> {
    let mut hasher = DefaultHasher::new();
    for path in expanded(places, None, access)? {
        let metadata = path.metadata().map_err(|error| problem(&path, &says(&error)))?;
        (&path, metadata.len(), metadata.modified().ok(), identity(&metadata)).hash(&mut hasher);
    }
    Ok(hasher.finish())
}

/// Tells a file from another one that took its place with the same time, and when it was changed even if its time was set back.
#[cfg(unix)]
fn identity(metadata: &Metadata) -> [i64; 3] {
    use std::os::unix::fs::MetadataExt;
    [metadata.ino().cast_signed(), metadata.ctime(), metadata.ctime_nsec()]
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> [i64; 3] {
    [0; 3]
}
