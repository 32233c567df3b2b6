//! What one query holds, counted, with a limit: a typed error instead of the end of the process.
//!
//! Whoever keeps a structure that grows with the data reserves its bytes first and keeps the [`Reservation`] as long as the structure.
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
}

impl MemoryAccount {
    /// An account that gives at most `limit` bytes at a time.
    pub fn new(limit: usize) -> Self {
        let shared = Shared { limit, held: AtomicUsize::new(0), peak: AtomicUsize::new(0) };
        Self { shared: Arc::new(shared) }
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
        let Shared { limit, held, peak } = &*self.account.shared;
        let taken = held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |held| {
            held.checked_add(more).filter(|sum| sum <= limit)
        });
        match taken {
            Ok(before) => {
                peak.fetch_max(before + more, Ordering::Relaxed);
                self.bytes += more;
                Ok(())
            }
            Err(held) => Err(CubeError::OverMemory { limit: *limit, held, requested: more }),
        }
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
        self.account.shared.held.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.account.shared.held.fetch_sub(self.bytes, Ordering::Relaxed);
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
        assert_eq!(refused, CubeError::OverMemory { limit: 100, held: 60, requested: 41 });
        first.try_resize(100).unwrap();
        assert!(first.try_grow(1).is_err());
        first.try_resize(10).unwrap();
        assert_eq!((account.held(), account.peak(), first.bytes()), (10, 100, 10));
        drop(first);
        assert_eq!(account.held(), 0);
        assert!(account.try_reserve(usize::MAX).is_err());
    }
}
