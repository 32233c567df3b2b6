//! The room on a disk, for tests: one that is full when they say so, or fails in another way.

use std::fs::File;
use std::io::{Error, ErrorKind, Result, Seek, SeekFrom, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// How many bytes logs may still write. Without a limit, that is the system's affair.
#[derive(Debug, Clone, Default)]
pub struct Room {
    limits: Option<Arc<Limits>>,
}

#[derive(Debug)]
struct Limits {
    bytes: AtomicU64,
    fails_to_flush: AtomicBool,
    fails_to_cut: AtomicBool,
}

impl Room {
    /// So many bytes, for tests of what happens when they are used up.
    pub fn of(bytes: u64) -> Self {
        let (fails_to_flush, fails_to_cut) = (AtomicBool::new(false), AtomicBool::new(false));
        let limits = Limits { bytes: AtomicU64::new(bytes), fails_to_flush, fails_to_cut };
        Self { limits: Some(Arc::new(limits)) }
    }

    /// From now on so many bytes.
    pub fn set(&self, bytes: u64) {
        if let Some(limits) = &self.limits {
            limits.bytes.store(bytes, Ordering::Release);
        }
    }

    /// From now on nothing can be flushed, or it can again.
    pub fn fail_to_flush(&self, fails: bool) {
        if let Some(limits) = &self.limits {
            limits.fails_to_flush.store(fails, Ordering::Release);
        }
    }

    /// From now on no file can be cut, or it can again.
    pub fn fail_to_cut(&self, fails: bool) {
        if let Some(limits) = &self.limits {
            limits.fails_to_cut.store(fails, Ordering::Release);
        }
    }

    /// Writes what there is room for; an error when that is not all, as a disk gives it.
    pub(crate) fn write(&self, file: &mut File, bytes: &[u8]) -> Result<()> {
        let Some(limits) = &self.limits else { return file.write_all(bytes) };
        let wanted = bytes.len() as u64;
        let take = |left: u64| Some(left.saturating_sub(wanted));
        let before = limits.bytes.fetch_update(Ordering::AcqRel, Ordering::Acquire, take).unwrap_or_default();
        let fits = before.min(wanted) as usize;
        file.write_all(&bytes[..fits])?;
        if fits < bytes.len() { Err(Error::new(ErrorKind::StorageFull, "no room left")) } else { Ok(()) }
    }

    /// Flushes what was written.
    pub(crate) fn flush(&self, file: &File) -> Result<()> {
        match &self.limits {
            Some(limits) if limits.fails_to_flush.load(Ordering::Acquire) => {
                Err(Error::other("no flush now"))
            }
            _ => file.sync_data(),
        }
    }

    /// Takes away what was written behind `end`, and goes on there.
    pub(crate) fn cut(&self, file: &mut File, end: u64) -> Result<()> {
        match &self.limits {
            Some(limits) if limits.fails_to_cut.load(Ordering::Acquire) => Err(Error::other("no cut now")),
            _ => file.set_len(end).and_then(|()| file.seek(SeekFrom::Start(end))).map(drop),
        }
    }
}
