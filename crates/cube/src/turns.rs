//! How many queries of a cube compute at a time; the others wait without a thread.
//!
//! What computes stands on a thread of `mixed` while `cpu` works for it. A thread for each of hundreds of queries would only be hundreds of
//! threads that wait for the same few workers. First come, first served; who does not wait any more leaves the line at once.

use futures::channel::oneshot;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// The turns of a cube.
#[derive(Debug)]
pub(crate) struct Turns {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    free: usize,
    /// Those who wait, by the numbers that they drew.
    waiting: BTreeMap<u64, oneshot::Sender<Turn>>,
    next: u64,
}

/// The right to compute; dropped, the next one has it.
#[derive(Debug)]
pub(crate) struct Turn(Arc<Turns>);

/// A place in the line, given up when it is dropped.
struct Place<'a> {
    turns: &'a Turns,
    number: u64,
}

impl Turns {
    /// So many at a time.
    pub(crate) fn new(turns: usize) -> Arc<Self> {
        Arc::new(Self { state: Mutex::new(State { free: turns, waiting: BTreeMap::new(), next: 0 }) })
    }

    /// A turn, when there is one. Dropped before, it takes none.
    pub(crate) async fn take(self: &Arc<Self>) -> Turn {
        let (number, receiver) = {
            let mut state = self.lock();
            if state.free > 0 {
                state.free -= 1;
                return Turn(Arc::clone(self));
            }
            let (sender, receiver) = oneshot::channel();
            let number = state.next;
            state.next += 1;
            state.waiting.insert(number, sender);
            (number, receiver)
        };
        let _place = Place { turns: self, number };
        // A sender is only dropped with its place or with all turns, and both are held.
        receiver.await.unwrap_or_else(|_| Turn(Arc::clone(self)))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let left = self.turns.lock().waiting.remove(&self.number);
        drop(left);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let next = {
            let mut state = self.0.lock();
            let next = state.waiting.pop_first();
            state.free += usize::from(next.is_none());
            next
        };
        if let Some((_, next)) = next {
            // Whoever leaves the line at this moment gives it back, which hands it to the one behind.
            drop(next.send(Turn(Arc::clone(&self.0))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    #[test]
    fn who_leaves_the_line_is_not_in_it_any_more() {
        let turns = Turns::new(1);
        let first = turns.take().now_or_never().unwrap();
        let mut waiting: Vec<_> = (0..3)
            .map(|_| {
                let turns = Arc::clone(&turns);
                Box::pin(async move { turns.take().await })
            })
            .collect();
        assert!(waiting.iter_mut().all(|waiting| waiting.as_mut().now_or_never().is_none()));
        drop(waiting.remove(0));
        assert_eq!(turns.lock().waiting.len(), 2);
        drop(first);
        // It was sent to the next one, who leaves before looking.
        drop(waiting.remove(0));
        assert!(waiting.remove(0).now_or_never().is_some());
        let state = turns.lock();
        assert_eq!((state.free, state.waiting.len()), (1, 0));
    }
}
