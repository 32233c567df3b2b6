//! How many queries of a cube compute at a time; the others wait without a thread.
//!
//! What computes stands on a thread of `mixed` while `cpu` works for it. A thread for each of hundreds of queries would only be hundreds of
//! threads that wait for the same few workers. First come, first served.

use futures::channel::oneshot;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

/// The turns of a cube.
#[derive(Debug)]
pub(crate) struct Turns {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    free: usize,
    waiting: VecDeque<oneshot::Sender<Turn>>,
}

/// The right to compute; dropped, the next one has it.
#[derive(Debug)]
pub(crate) struct Turn(Arc<Turns>);

impl Turns {
    /// So many at a time.
    pub(crate) fn new(turns: usize) -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(State { free: turns, waiting: VecDeque::new() }) })
    }

    /// A turn, when there is one.
    pub(crate) async fn take(self: &Arc<Self>) -> Turn {
        let waits = {
            let mut state = self.lock();
            if state.free > 0 {
                state.free -= 1;
                None
            } else {
                let (sender, receiver) = oneshot::channel();
                state.waiting.push_back(sender);
                Some(receiver)
            }
        };
        match waits {
            None => Turn(Arc::clone(self)),
            // A sender is only dropped with all turns, and this one is held.
            Some(receiver) => receiver.await.unwrap_or_else(|_| Turn(Arc::clone(self))),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let next = {
            let mut state = self.0.lock();
            let next = state.waiting.pop_front();
            state.free += usize::from(next.is_none());
            next
        };
        if let Some(next) = next {
            // Whoever does not wait any more gives it back, which hands it to the one behind.
            drop(next.send(Turn(Arc::clone(&self.0))));
        }
    }
}
