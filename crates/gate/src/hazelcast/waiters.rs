//! What a connection shares with those of its operations that are under way: whether it is still there, and the answers that may
//! take any time.
//!
//! The answer to a lock or a poll can be hours away. It is kept here and not with the operation, so that a drain or a close can give it
//! up at once; the operation finds it gone, and counts as cancelled. What its request takes counts for the connection and, as
//! [`ParkedBytes`], for the door: ten thousand connections of a few waiting megabytes each would be the end of the member.

use super::failure::Failure;
use filbert_grid::Leaving;
use filbert_net::Owed;
use filbert_pool::Canceller;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use uuid::Uuid;

/// What an operation that waits takes besides its request, roughly: its place here, in the line of its structure, and what it carries.
const WAITER_BYTES: usize = 512;

/// The bytes of the requests of all connections of a door whose operations wait.
#[derive(Debug)]
pub(super) struct ParkedBytes {
    limit: usize,
    held: AtomicUsize,
}

impl ParkedBytes {
    pub(super) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, held: AtomicUsize::new(0) })
    }

    /// Counts one more; false when those that wait take their limit already.
    fn add(&self, bytes: usize) -> bool {
        let more = |held: usize| (held < self.limit).then(|| held.saturating_add(bytes));
        self.held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    fn sub(&self, bytes: usize) {
        self.held.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// What one that waits counts as for its door.
fn parked_bytes(owed: &Owed) -> usize {
    owed.request_bytes().saturating_add(WAITER_BYTES)
}

/// The answers of one connection that may take any time.
#[derive(Debug)]
pub(super) struct Waiters {
    limit: usize,
    limit_bytes: usize,
    parked: Arc<ParkedBytes>,
    over: AtomicBool,
    owed: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    owed: HashMap<u64, Waiter>,
    /// Bytes of the requests that wait: an operation keeps what it was sent.
    bytes: usize,
    /// Operations whose answers are carried along elsewhere: given up with the connection, so that nobody works for one that is gone.
    running: HashMap<u64, Canceller>,
    /// Tasks of executors by the ids that the client gave them, so that it can cancel them; as many as wait for their answers at most.
    tasks: HashMap<Uuid, Canceller>,
    next: u64,
    /// The connection drains: what would have to wait is given up as well.
    draining: bool,
}

/// An answer that may not take any time, and why.
pub(super) struct Refused {
    pub(super) owed: Owed,
    pub(super) why: Failure,
}

/// An answer that may take any time.
struct Waiter {
    correlation: i64,
    owed: Owed,
    /// How to tell the place where its operation is parked that it was given up.
    leaving: Option<Leaving>,
}

impl std::fmt::Debug for Waiter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Waiter({})", self.correlation)
    }
}

impl Waiters {
    pub(super) fn new(limit: usize, limit_bytes: usize, parked: &Arc<ParkedBytes>) -> Self {
        Self {
            limit,
            limit_bytes,
            parked: Arc::clone(parked),
            over: AtomicBool::new(false),
            owed: Mutex::default(),
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.owed.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// Keeps an answer under a key that takes it out again; gives it back when there are too many, or when the connection drains.
    pub(super) fn keep(
        &self,
        correlation: i64,
        mut owed: Owed,
        leaving: Option<Leaving>,
    ) -> Result<u64, Refused> {
        let mut state = self.state();
        if state.draining {
            return Err(Refused { owed, why: Failure::lost() });
        }
        // One that waits alone is kept, however long it is.
        if state.owed.len() >= self.limit || state.bytes >= self.limit_bytes {
            return Err(Refused { owed, why: Failure::too_many_wait() });
        }
        if !self.parked.add(parked_bytes(&owed)) {
            return Err(Refused { owed, why: Failure::too_much_waits(self.parked.limit) });
        }
        state.bytes += owed.request_bytes();
        owed.let_wait();
        let key = state.next;
        state.next += 1;
        state.owed.insert(key, Waiter { correlation, owed, leaving });
        Ok(key)
    }

    /// Gives that operation up when the connection goes before it is done; the key says that it is.
    pub(super) fn run(&self, canceller: Canceller) -> u64 {
        let mut state = self.state();
        let key = state.next;
        state.next += 1;
        state.running.insert(key, canceller);
        key
    }

    /// An operation is done.
    pub(super) fn ran(&self, key: u64) {
        self.state().running.remove(&key);
    }

    /// The client may cancel that task from now on; false when it has another with this id under way.
    pub(super) fn add_task(&self, id: Uuid, canceller: Canceller) -> bool {
        match self.state().tasks.entry(id) {
            Entry::Occupied(_) => false,
            Entry::Vacant(vacant) => {
                vacant.insert(canceller);
                true
            }
        }
    }

    /// A task is over; false when it was cancelled before.
    pub(super) fn task_over(&self, id: Uuid) -> bool {
        self.state().tasks.remove(&id).is_some()
    }

    /// Cancels a task; false when there is none of that id under way. Who submitted it is told that it was cancelled.
    pub(super) fn cancel_task(&self, id: Uuid) -> bool {
        let task = self.state().tasks.remove(&id);
        // Not under the lock: the answer may be given here.
        task.inspect(Canceller::cancel).is_some()
    }

    /// Takes an answer out, unless it was given up.
    pub(super) fn take(&self, key: u64) -> Option<Owed> {
        let mut state = self.state();
        let Waiter { owed, .. } = state.owed.remove(&key)?;
        state.bytes -= owed.request_bytes();
        self.parked.sub(parked_bytes(&owed));
        Some(owed)
    }

    /// True when the answer was given up.
    pub(super) fn is_gone(&self, key: u64) -> bool {
        self.is_over() || !self.state().owed.contains_key(&key)
    }

    /// True when the connection is gone.
    pub(super) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Gives up all answers that may take any time, now and from now on; their clients are told to try again.
    pub(super) fn give_up(&self) {
        self.state().draining = true;
        let all = self.take_all();
        for Waiter { correlation, owed, leaving } in all {
            let mut out = bytes::BytesMut::new();
            Failure::lost().encode(correlation, &mut out);
            let _ = owed.send(out);
            leaving.inspect(|leaving| leaving());
        }
    }

    /// The connection is gone: nobody wants answers any more.
    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Release);
        // Not under the lock: what is given up at once says so here.
        let running = std::mem::take(&mut self.state().running);
        running.into_values().for_each(|canceller| canceller.cancel());
        for Waiter { leaving, .. } in self.take_all() {
            leaving.inspect(|leaving| leaving());
        }
    }

    fn take_all(&self) -> impl Iterator<Item = Waiter> + use<> {
        let mut state = self.state();
        state.bytes = 0;
        let all = std::mem::take(&mut state.owed);
        self.parked.sub(all.values().map(|waiter| parked_bytes(&waiter.owed)).sum());
        all.into_values()
    }
}

impl Drop for Waiters {
    fn drop(&mut self) {
        drop(self.take_all());
    }
}
