//! The bounded queue behind both kinds of channels.
//!
//! | Ends | Who holds them |
//! |---|---|
//! | writers | clones of a `Sender`, or the processors of a sink |
//! | readers | a `Receiver`, or the processors of a source |
//!
//! A side counts as *gone* when it was there and has no end any more. Wakers are left under the lock after the look that found
//! nothing, and are taken and woken by whoever changes that, so no wake-up is lost; all of a side are woken, since any may be gone.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Waker;

pub(super) struct Queue<T> {
    capacity: usize,
    state: Mutex<State<T>>,
}

struct State<T> {
    items: VecDeque<T>,
    writers: Side,
    readers: Side,
}

#[derive(Default)]
struct Side {
    ends: usize,
    /// Nobody can come any more.
    gone: bool,
    wakers: Vec<Waker>,
}

impl Side {
    fn leave_waker(&mut self, waker: &Waker) {
        if !self.wakers.iter().any(|known| known.will_wake(waker)) {
            self.wakers.push(waker.clone());
        }
    }
}

/// Which side an end is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Writer,
    Reader,
}

/// One end of a queue. The side is gone when its last end is dropped.
pub(super) struct End<T> {
    queue: Arc<Queue<T>>,
    role: Role,
}

/// What a look at the queue found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// Something was moved.
    Moved,
    /// Nothing could be moved; the waker will be woken.
    Nothing,
    /// The other side is gone, and nothing is left to move.
    Gone,
}

impl<T> Queue<T> {
    pub(super) fn new(capacity: usize) -> Arc<Self> {
        let state = State { items: VecDeque::new(), writers: Side::default(), readers: Side::default() };
        Arc::new(Self { capacity: capacity.max(1), state: Mutex::new(state) })
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// One more end; none when that side is gone already.
    pub(super) fn end(self: &Arc<Self>, role: Role) -> Option<End<T>> {
        let mut state = self.lock();
        let side = state.side(role);
        if side.gone {
            return None;
        }
        side.ends += 1;
        drop(state);
        Some(End { queue: Arc::clone(self), role })
    }
}

impl<T> State<T> {
    fn side(&mut self, role: Role) -> &mut Side {
        match role {
            Role::Writer => &mut self.writers,
            Role::Reader => &mut self.readers,
        }
    }
}

impl<T> End<T> {
    /// Moves what `next` yields into the queue, asking for no more than there is room for; how many went.
    pub(super) fn push(&self, next: &mut dyn Iterator<Item = T>, waker: Option<&Waker>) -> (Found, usize) {
        let mut state = self.queue.lock();
        if state.readers.gone {
            return (Found::Gone, 0);
        }
        let room = self.queue.capacity.saturating_sub(state.items.len());
        if room == 0 {
            if let Some(waker) = waker {
                state.writers.leave_waker(waker);
            }
            return (Found::Nothing, 0);
        }
        let before = state.items.len();
        state.items.extend(next.take(room));
        let count = state.items.len() - before;
        let wakers = if count > 0 { std::mem::take(&mut state.readers.wakers) } else { Vec::new() };
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
        (Found::Moved, count)
    }

    /// Moves up to `most` items out of the queue.
    pub(super) fn pop(&self, most: usize, waker: Option<&Waker>, mut take: impl FnMut(T)) -> Found {
        let mut state = self.queue.lock();
        if state.items.is_empty() {
            if state.writers.gone {
                return Found::Gone;
            }
            if let Some(waker) = waker {
                state.readers.leave_waker(waker);
            }
            return Found::Nothing;
        }
        let count = most.min(state.items.len());
        state.items.drain(..count).for_each(&mut take);
        let wakers = std::mem::take(&mut state.writers.wakers);
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
        Found::Moved
    }

    /// How many items wait.
    pub(super) fn len(&self) -> usize {
        self.queue.lock().items.len()
    }

    /// True when nobody is left on the other side.
    pub(super) fn is_other_side_gone(&self) -> bool {
        let mut state = self.queue.lock();
        state.side(if self.role == Role::Writer { Role::Reader } else { Role::Writer }).gone
    }

    /// Ends this whole side, whoever else holds an end of it.
    pub(super) fn close(&self) {
        let mut state = self.queue.lock();
        state.side(self.role).gone = true;
        let dropped =
            if self.role == Role::Reader { std::mem::take(&mut state.items) } else { VecDeque::new() };
        let mut wakers = std::mem::take(&mut state.writers.wakers);
        wakers.append(&mut state.readers.wakers);
        drop(state);
        drop(dropped);
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl<T> Clone for End<T> {
    fn clone(&self) -> Self {
        self.queue.lock().side(self.role).ends += 1;
        Self { queue: Arc::clone(&self.queue), role: self.role }
    }
}

impl<T> Drop for End<T> {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        let side = state.side(self.role);
        side.ends -= 1;
        let is_last = side.ends == 0;
        drop(state);
        if is_last {
            self.close();
        }
    }
}
