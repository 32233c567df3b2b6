//! Numbers for threads that a runtime makes and ends as it likes, so that each has counters of its own.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

thread_local! {
    static SLOT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The numbers that are free, and how many threads there are.
#[derive(Debug)]
pub(super) struct Slots {
    state: Mutex<State>,
    left: Condvar,
}

#[derive(Debug)]
struct State {
    free: Vec<usize>,
    threads: usize,
}

impl Slots {
    pub(super) fn new(count: usize) -> Self {
        let state = State { free: (0..count).rev().collect(), threads: 0 };
        Self { state: Mutex::new(state), left: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// The current thread takes a number until [`Slots::give`]. A runtime may begin one thread before it has quite ended another;
    /// such a thread goes without a number, since two writers of one set of counters would spoil them.
    pub(super) fn take(&self) {
        let mut state = self.lock();
        state.threads += 1;
        SLOT.set(state.free.pop());
    }

    /// The current thread ends.
    pub(super) fn give(&self) {
        let mut state = self.lock();
        state.threads -= 1;
        state.free.extend(SLOT.take());
        drop(state);
        self.left.notify_all();
    }

    /// Waits until every thread has ended or the time is over; how many go on.
    pub(super) fn wait_until_left(&self, within: Duration) -> usize {
        let waited = self.left.wait_timeout_while(self.lock(), within, |state| state.threads > 0);
        waited.unwrap_or_else(|broken| broken.into_inner()).0.threads
    }
}

/// The current thread's number, if it has one.
pub(super) fn current() -> Option<usize> {
    SLOT.get()
}
