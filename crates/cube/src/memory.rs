//! What one query holds, and what all queries and caches of a process hold together, counted, with limits: a typed error instead of the
//! end of the process.
//!
//! ```text
//! query's account --\
//! query's account ----> total of all cubes   (CubeMemory)
//! caches' account --/   a quarter at most
//! ```
//!
//! Each change goes to the account and to the total above it; the first that refuses names its limit. A structure that grows with the data
//! reserves its bytes first, and keeps the [`Reservation`] as long as it is there.
//! Counting is an atomic addition per block or partition, never per row. Threads: any.

use crate::error::CubeError;
use arrow::array::{Array, ArrayRef};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The memory of one query; a handle that is cheap to clone.
///
/// ```
/// use filbert_cube::MemoryAccount;
///
/// let account = MemoryAccount::new(1_000);
/// let reserved = account.try_reserve(800)?;
/// assert!(account.try_reserve(300).is_err());
/// drop(reserved);
/// assert!(account.try_reserve(300).is_ok());
/// assert_eq!(account.peak(), 800);
/// # Ok::<(), filbert_cube::CubeError>(())
/// ```
#[derive(Debug, Clone)]
pub struct MemoryAccount {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    limit: usize,
    held: AtomicUsize,
    peak: AtomicUsize,
    /// What it is a part of.
    total: Option<MemoryAccount>,
}

impl MemoryAccount {
    /// An account that gives at most `limit` bytes at a time.
    pub fn new(limit: usize) -> Self {
        Self::of(limit, None)
    }

    /// An account that gives at most `limit` bytes at a time, each of which `total` must have room for as well.
    pub(crate) fn within(limit: usize, total: &MemoryAccount) -> Self {
        Self::of(limit, Some(total.clone()))
    }

    fn of(limit: usize, total: Option<MemoryAccount>) -> Self {
        let (held, peak) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { shared: Arc::new(Shared { limit, held, peak, total }) }
    }

    /// An account without a limit, which only counts.
    pub fn unlimited() -> Self {
        Self::new(usize::MAX)
    }

    /// Takes `bytes`, or refuses with [`CubeError::OverMemory`].
    pub fn try_reserve(&self, bytes: usize) -> Result<Reservation, CubeError> {
        let mut reservation = Reservation { account: self.clone(), bytes: 0 };
        reservation.try_grow(bytes)?;
        Ok(reservation)
    }

    /// What is held now, in bytes.
    pub fn held(&self) -> usize {
        self.shared.held.load(Ordering::Relaxed)
    }

    /// The most that was held at any time, in bytes.
    pub fn peak(&self) -> usize {
        self.shared.peak.load(Ordering::Relaxed)
    }

    /// What may be held, in bytes.
    pub fn limit(&self) -> usize {
        self.shared.limit
    }

    /// Adds to this account and to those above it, or to none of them.
    fn try_add(&self, more: usize) -> Result<(), CubeError> {
        let Shared { limit, held, peak, total } = &*self.shared;
        let taken = held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |held| {
            held.checked_add(more).filter(|sum| sum <= limit)
        });
        let before = taken.map_err(|held| {
            let (limit, requested) = (*limit, more);
            CubeError::OverMemory { limit, held, requested, is_total: false }
        })?;
        if let Some(total) = total {
            total.try_add(more).map_err(|error| {
                held.fetch_sub(more, Ordering::Relaxed);
                error.of_all_cubes()
            })?;
        }
        peak.fetch_max(before + more, Ordering::Relaxed);
        Ok(())
    }

    fn sub(&self, less: usize) {
        self.shared.held.fetch_sub(less, Ordering::Relaxed);
        if let Some(total) = &self.shared.total {
            total.sub(less);
        }
    }
}

/// The memory that all cubes of a process share: their queries, their refreshes, and what they keep from query to query. A handle that is
/// cheap to clone; give it to each with [`CubeBuilder::memory`](crate::CubeBuilder::memory).
///
/// ```
/// use filbert_cube::CubeMemory;
///
/// let memory = CubeMemory::new(64 << 20);
/// assert_eq!((memory.held(), memory.limit()), (0, 64 << 20));
/// ```
#[derive(Debug, Clone)]
pub struct CubeMemory {
    total: MemoryAccount,
    kept: MemoryAccount,
}

/// Caches and dictionaries may hold one part in so many; the rest is for queries alone.
const KEPT_PART: usize = 4;

impl CubeMemory {
    /// At most `limit` bytes for all cubes that get this.
    pub fn new(limit: usize) -> Self {
        let total = MemoryAccount::new(limit);
        let kept = MemoryAccount::within(limit / KEPT_PART, &total);
        Self { total, kept }
    }

    /// What is held now, in bytes.
    pub fn held(&self) -> usize {
        self.total.held()
    }

    /// What may be held, in bytes.
    pub fn limit(&self) -> usize {
        self.total.limit()
    }

    /// An account of at most `limit` bytes for one query, or for what is grouped beside cubes.
    pub fn account(&self, limit: usize) -> MemoryAccount {
        MemoryAccount::within(limit, &self.total)
    }

    /// The account of what is kept from query to query.
    pub(crate) fn kept(&self) -> &MemoryAccount {
        &self.kept
    }
}

/// Bytes of an account, given back when dropped.
#[derive(Debug)]
pub struct Reservation {
    account: MemoryAccount,
    bytes: usize,
}

impl Reservation {
    /// How many bytes it holds.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes `more` bytes, or refuses and keeps what it has.
    pub fn try_grow(&mut self, more: usize) -> Result<(), CubeError> {
        self.account.try_add(more)?;
        self.bytes += more;
        Ok(())
    }

    /// Takes over what another one of the same account holds.
    pub(crate) fn merge(&mut self, mut other: Reservation) {
        self.bytes += std::mem::take(&mut other.bytes);
    }

    /// Makes it hold exactly `bytes`: grows, which may be refused, or gives back.
    pub fn try_resize(&mut self, bytes: usize) -> Result<(), CubeError> {
        if bytes > self.bytes {
            return self.try_grow(bytes - self.bytes);
        }
        self.account.sub(self.bytes - bytes);
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.account.sub(self.bytes);
    }
}

/// What the rows of an array hold. It may be a part of a larger one, whose whole size would be counted once for every part.
pub(crate) fn bytes_of(array: &ArrayRef) -> usize {
    array.to_data().get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size())
}

/// About what so many rows of an array would hold: by the width of its values, or by what the mean of its rows holds.
pub(crate) fn bytes_of_rows(array: &ArrayRef, rows: usize) -> usize {
    match array.data_type().primitive_width() {
        Some(width) => rows * width + rows.div_ceil(8),
        None => (bytes_of(array) as u128 * rows as u128 / array.len().max(1) as u128) as usize,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused_changes_nothing() {
        let account = MemoryAccount::new(100);
        let mut first = account.try_reserve(60).unwrap();
        let refused = account.try_reserve(41).unwrap_err();
        assert_eq!(refused, CubeError::OverMemory { limit: 100, held: 60, requested: 41, is_total: false });
        first.try_resize(100).unwrap();
        assert!(first.try_grow(1).is_err());
        first.try_resize(10).unwrap();
        assert_eq!((account.held(), account.peak(), first.bytes()), (10, 100, 10));
        drop(first);
        assert_eq!(account.held(), 0);
        assert!(account.try_reserve(usize::MAX).is_err());
    }

    #[test]
    fn the_total_refuses_what_an_account_would_give() {
        let memory = CubeMemory::new(100);
        let (first, second) = (memory.account(80), memory.account(80));
        let mut held = first.try_reserve(70).unwrap();
        let own = first.try_reserve(11).unwrap_err();
        assert!(matches!(own, CubeError::OverMemory { limit: 80, held: 70, is_total: false, .. }), "{own:?}");
        let refused = second.try_reserve(31).unwrap_err();
        assert_eq!(refused, CubeError::OverMemory { limit: 100, held: 70, requested: 31, is_total: true });
        assert!(refused.to_string().contains("memory.cube_bytes") && refused.is_retryable(), "{refused}");
        assert!(!own.is_retryable());
        assert_eq!((second.held(), second.peak()), (0, 0), "what the total refuses is not held");
        let kept = memory.kept().try_reserve(25).unwrap();
        assert!(memory.kept().try_reserve(1).is_err(), "a quarter at most is kept");
        assert!(second.try_reserve(6).is_err());
        held.try_resize(10).unwrap();
        drop(kept);
        assert_eq!((memory.held(), first.held()), (10, 10));
        drop(second.try_reserve(80).unwrap());
        drop(held);
        assert_eq!(memory.held(), 0);
    }
}
