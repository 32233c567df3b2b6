//! How far the time of a stream is: a promise that nothing before it is waited for any more.
//!
//! It goes beside the rows, not among them: the operators between the one that sets it and the one that reads it hand each batch on within the
//! same poll, so whoever has handled a batch may believe what was promised with it. What might keep rows back is not planned in
//! between (see [`super::aggregate`]).

use std::sync::atomic::{AtomicI64, Ordering};

/// The time of a stream.
#[derive(Debug)]
pub(super) struct Watermark(AtomicI64);

impl Default for Watermark {
    fn default() -> Self {
        Self(AtomicI64::new(i64::MIN))
    }
}

impl Watermark {
    /// It never goes back.
    pub(super) fn advance(&self, time: i64) {
        // Both sides run in one task; the task's own moves between threads order its memory.
        self.0.fetch_max(time, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}
