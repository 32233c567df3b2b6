//! What the sessions of a door have seen, counted.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that only grows.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// One per thing that is counted.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) logins: Counter,
    pub(super) failed_logins: Counter,
    pub(super) statements: Counter,
    pub(super) failures: Counter,
    pub(super) cancels: Counter,
    pub(super) malformed: Counter,
}

/// What the sessions of a door have seen since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DoorCounts {
    /// Clients let in.
    pub logins: u64,
    /// Clients whose user or password was wrong.
    pub failed_logins: u64,
    /// Statements that were run.
    pub statements: u64,
    /// Statements that failed.
    pub failures: u64,
    /// Cancel requests, whether their key was right or not.
    pub cancels: u64,
    /// Connections that were closed because their bytes are no messages.
    pub malformed: u64,
}

impl Counters {
    pub(super) fn read(&self) -> DoorCounts {
        let read = |counter: &Counter| counter.0.load(Ordering::Relaxed);
        DoorCounts {
            logins: read(&self.logins),
            failed_logins: read(&self.failed_logins),
            statements: read(&self.statements),
            failures: read(&self.failures),
            cancels: read(&self.cancels),
            malformed: read(&self.malformed),
        }
    }
}
