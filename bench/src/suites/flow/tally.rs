//! The answer of a job whose results are spread over threads: a sum that does not care about their order.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A sum of one thread, added to that of all when it is dropped. A clone begins at zero.
pub(super) struct Tally {
    sum: u64,
    all: Arc<AtomicU64>,
}

impl Tally {
    pub(super) fn new() -> Self {
        Self { sum: 0, all: Arc::default() }
    }

    #[inline]
    pub(super) fn add(&mut self, value: u64) {
        self.sum = self.sum.wrapping_add(value);
    }

    /// What all clones that are gone have added.
    pub(super) fn total(&self) -> u64 {
        self.all.load(Ordering::Relaxed)
    }
}

impl Clone for Tally {
    fn clone(&self) -> Self {
        Self { sum: 0, all: Arc::clone(&self.all) }
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        self.all.fetch_add(self.sum, Ordering::Relaxed);
    }
}

/// Spreads the bits of a number: the same for all contestants.
#[inline]
pub(super) fn mix(number: u64) -> u64 {
    let product = (number ^ (number >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ (product >> 29)
}
