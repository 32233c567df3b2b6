//! The count of a completer: the last child to finish continues the parent.
//!
//! A node counts its unfinished parts: its own work and each child. Every part ends with one decrement, and exactly one
//! decrement brings the count to zero; that thread owns the node from then on, runs its continuation, and goes on to
//! the node's own parent. Nobody ever waits.
//!
//! Rules, cited by `docs/design/003-fork-join-promotion.md`:
//! 1. A part writes its result before [`Pending::finish`]. The decrements are AcqRel and form one release sequence, so
//!    the one that reaches zero sees what every part wrote.
//! 2. Children are added only by a part that has not finished yet (its own share keeps the count above zero), so the
//!    count never rises from zero.

use crate::primitives::{AtomicUsize, Ordering};

/// How many parts of a node are unfinished.
#[derive(Debug)]
pub struct Pending {
    count: AtomicUsize,
}

impl Pending {
    /// A node with this many parts.
    pub fn new(parts: usize) -> Self {
        Self { count: AtomicUsize::new(parts) }
    }

    /// More parts, added by one that has not finished (rule 2).
    #[inline]
    pub fn add(&self, parts: usize) {
        let before = self.count.fetch_add(parts, Ordering::Relaxed);
        debug_assert!(before > 0, "a node that is complete gets no more children");
    }

    /// A part is done. True for the last one, which owns the node from now on.
    #[inline]
    #[must_use = "the last part continues the node"]
    pub fn finish(&self) -> bool {
        let before = self.count.fetch_sub(1, Ordering::AcqRel);
        debug_assert!(before > 0, "a part finished twice");
        before == 1
    }
}
