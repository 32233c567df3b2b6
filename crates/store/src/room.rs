//! The room on a disk, for tests: one that is full when they say so.

use std::fs::File;
use std::io::{Error, ErrorKind, Result, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many bytes logs may still write. Without a limit, that is the system's affair.
#[derive(Debug, Clone, Default)]
pub struct Room {
    left: Option<Arc<AtomicU64>>,
}

impl Room {
    /// So many bytes, for tests of what happens when they are used up.
    pub fn of(bytes: u64) -> Self {
        Self { left: Some(Arc::new(AtomicU64::new(bytes))) }
    }

    /// From now on so many bytes.
    pub fn set(&self, bytes: u64) {
        if let Some(left) = &self.left {
            left.store(bytes, Ordering::Release);
        }
    }

    /// Writes what there is room for; an error when that is not all, as a disk gives it.
    pub(crate) fn write(&self, file: &mut File, bytes: &[u8]) -> Result<()> {
        let Some(left) = &self.left else { return file.write_all(bytes) };
        let wanted = bytes.len() as u64;
        let take = |left: u64| Some(left.saturating_sub(wanted));
        let before = left.fetch_update(Ordering::AcqRel, Ordering::Acquire, take).unwrap_or_default();
        let fits = before.min(wanted) as usize;
        file.write_all(&bytes[..fits])?;
        if fits < bytes.len() { Err(Error::new(ErrorKind::StorageFull, "no room left")) } else { Ok(()) }
    }
}
