//! Opens once and stays open; anyone may probe it or sleep until it opens.
//!
//! Sleepers use a lock and a condition variable: they are rare, and the probe that everyone else makes is one load.

use crate::primitives::{AtomicBool, Ordering};
#[cfg(filbert_loom)]
use loom::sync::{Condvar, Mutex};
#[cfg(not(filbert_loom))]
use std::sync::{Condvar, Mutex};
use std::time::Duration;

/// A door that opens once.
#[derive(Debug)]
pub struct Latch {
    open: AtomicBool,
    lock: Mutex<()>,
    opened: Condvar,
}

impl Default for Latch {
    fn default() -> Self {
        Self::new()
    }
}

impl Latch {
    /// A closed latch.
    pub fn new() -> Self {
        Self { open: AtomicBool::new(false), lock: Mutex::new(()), opened: Condvar::new() }
    }

    /// True once [`Latch::open`] was called; what was written before that call is visible.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    /// Opens the latch and wakes everyone who waits.
    pub fn open(&self) {
        self.open.store(true, Ordering::Release);
        // Taking the lock orders the store before any sleeper's check-then-sleep, which happens under it.
        drop(self.lock.lock());
        self.opened.notify_all();
    }

    /// Sleeps until the latch is open.
    pub fn wait(&self) {
        let mut guard = self.lock.lock().unwrap();
        while !self.is_open() {
            guard = self.opened.wait(guard).unwrap();
        }
    }

    /// Sleeps until the latch is open or the time is over; true when it is open.
    pub fn wait_timeout(&self, timeout: Duration) -> bool {
        #[cfg(not(filbert_loom))]
        {
            let guard = self.lock.lock().unwrap();
            drop(self.opened.wait_timeout_while(guard, timeout, |()| !self.is_open()).unwrap());
        }
        #[cfg(filbert_loom)]
        let _ = timeout;
        self.is_open()
    }
}
