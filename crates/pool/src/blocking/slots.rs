//! Numbers for threads that a runtime makes and ends as it likes, so that each has counters of its own.

use std::cell::Cell;
use std::sync::Mutex;

thread_local! {
    static SLOT: Cell<usize> = const { Cell::new(0) };
}

/// The numbers that are free.
#[derive(Debug)]
pub(super) struct Slots {
    free: Mutex<Vec<usize>>,
}

impl Slots {
    pub(super) fn new(count: usize) -> Self {
        Self { free: Mutex::new((0..count).rev().collect()) }
    }

    /// The current thread takes a number until [`Slots::give`].
    pub(super) fn take(&self) {
        let mut free = self.free.lock().unwrap_or_else(|broken| broken.into_inner());
        // A runtime never has more threads than it was told; if it had, they would share number 0's counters.
        SLOT.set(free.pop().unwrap_or(0));
    }

    /// The current thread gives its number back.
    pub(super) fn give(&self) {
        let mut free = self.free.lock().unwrap_or_else(|broken| broken.into_inner());
        free.push(SLOT.get());
    }
}

/// The current thread's number.
pub(super) fn current() -> usize {
    SLOT.get()
}
