//! What a connection shares with those of its operations that are under way: whether it is still there, and the answers that may
//! take any time.
//!
//! The answer to a lock or a poll can be hours away. It is kept here and not with the operation, so that a drain or a close can give it
//! up at once; the operation finds it gone, and counts as cancelled.

use super::failure::Failure;
use filbert_net::Owed;
use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// The answers of one connection that may take any time.
#[derive(Debug)]
pub(super) struct Waiters {
    limit: usize,
    over: AtomicBool,
    owed: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    owed: HashMap<u64, (i64, Owed)>,
    next: u64,
}

impl Waiters {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, over: AtomicBool::new(false), owed: Mutex::default() }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.owed.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// Keeps an answer under a key that takes it out again; gives it back when there are too many.
    pub(super) fn keep(&self, correlation: i64, mut owed: Owed) -> Result<u64, Owed> {
        let mut state = self.state();
        if state.owed.len() >= self.limit {
            return Err(owed);
        }
        owed.let_wait();
        let key = state.next;
        state.next += 1;
        state.owed.insert(key, (correlation, owed));
        Ok(key)
    }

    /// Takes an answer out, unless it was given up.
    pub(super) fn take(&self, key: u64) -> Option<Owed> {
        self.state().owed.remove(&key).map(|(_, owed)| owed)
    }

    /// True when the answer was given up.
    pub(super) fn is_gone(&self, key: u64) -> bool {
        self.is_over() || !self.state().owed.contains_key(&key)
    }

    /// True when the connection is gone.
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Gives up all answers that may take any time; their clients are told to try again.
    pub(super) fn give_up(&self) {
        let all = std::mem::take(&mut self.state().owed);
        for (correlation, owed) in all.into_values() {
            let mut out = bytes::BytesMut::new();
            Failure::lost().encode(correlation, &mut out);
            let _ = owed.send(out);
        }
    }

    /// The connection is gone: nobody wants answers any more.
    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Release);
        let all = std::mem::take(&mut self.state().owed);
        drop(all);
    }
}
