//! Rows that cannot be read: counted instead of failing the job, where the user chooses so.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// How many rows could not be read and were left out, and what was wrong with one of them; clones are the same.
///
/// ```
/// use filbert_connect::file::{self, BadRows};
/// let bad = BadRows::new();
/// let orders = file::ndjson::<serde_json::Value>("orders.ndjson").skip_bad_rows(&bad);
/// // ... after the job:
/// assert_eq!(bad.count(), 0);
/// ```
#[derive(Debug, Clone, Default)]
pub struct BadRows {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    count: AtomicU64,
    example: Mutex<Option<String>>,
}

impl BadRows {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.inner.count.load(Ordering::Relaxed)
    }

    /// What was wrong with one of the first.
    pub fn example(&self) -> Option<String> {
        self.inner.example.lock().unwrap_or_else(|broken| broken.into_inner()).clone()
    }

    pub(crate) fn add(&self, message: impl FnOnce() -> String) {
        if self.inner.count.fetch_add(1, Ordering::Relaxed) == 0 {
            *self.inner.example.lock().unwrap_or_else(|broken| broken.into_inner()) = Some(message());
        }
    }
}
