//! The hand-over of one half of a fork to a thief, and of the news that it is done back to its owner.
//!
//! Who runs the half is decided elsewhere, by whoever takes it out of the deque. What is left is small: one thread
//! finishes, one thread waits, and the waiter may be asleep.
//!
//! | State | Meaning | Who leaves it |
//! |---|---|---|
//! | `PENDING` | not done, the owner is awake | owner (to `WAITED`), finisher (to `DONE`) |
//! | `WAITED` | not done, the owner sleeps or is about to | finisher (to `DONE`, and then wakes the owner) |
//! | `DONE` | the result is written | nobody |
//!
//! Rules, cited by `docs/design/003-fork-join-promotion.md`:
//! 1. The result is written before [`JoinSlot::finish`] (Release) and read after [`JoinSlot::is_done`] (Acquire).
//! 2. Once the slot is `DONE` the owner may free it: a finisher touches it no more, and reads where to wake the owner
//!    *before* it finishes.
//! 3. The owner sleeps only after [`JoinSlot::announce_wait`] said that the slot is not done; the finisher's exchange
//!    then sees `WAITED`. Both work on one word, so one of them comes first and nothing is lost.
//!
//! Rejected: a lock and a condition variable in each slot. A slot lives for one `join`; making it must cost nothing.

use crate::primitives::{AtomicU32, Ordering};

const PENDING: u32 = 0;
const WAITED: u32 = 1;
const DONE: u32 = 2;

/// Tells the owner of a forked half that the half is done.
#[derive(Debug)]
pub struct JoinSlot {
    state: AtomicU32,
}

impl Default for JoinSlot {
    fn default() -> Self {
        Self::new()
    }
}

impl JoinSlot {
    /// A half that is not done.
    #[inline]
    pub fn new() -> Self {
        Self { state: AtomicU32::new(PENDING) }
    }

    /// True once the half is done; then its result is visible.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.state.load(Ordering::Acquire) == DONE
    }

    /// The half is done. True when the owner said that it sleeps and must be woken.
    #[inline]
    #[must_use = "an owner that sleeps must be woken"]
    pub fn finish(&self) -> bool {
        self.state.swap(DONE, Ordering::AcqRel) == WAITED
    }

    /// The owner is about to sleep. False when the half is done already, and sleeping would last for ever.
    #[inline]
    pub fn announce_wait(&self) -> bool {
        match self.state.compare_exchange(PENDING, WAITED, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => true,
            Err(state) => state == WAITED,
        }
    }
}
