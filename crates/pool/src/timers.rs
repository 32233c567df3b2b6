//! Actions that are due at a moment: one heap, served by one thread that sleeps until the next of them, or by the
//! simulator when virtual time gets there. The thread is made with the first timer and uses no CPU while it waits.

use crate::context::{self, StageId};
use crate::env::Env;
use crate::panics::caught;
use crate::rules::StageKind;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

type Action = Box<dyn FnOnce() + Send>;

/// The pending timers of one set of stages.
pub(crate) struct Timers {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    heap: BinaryHeap<Reverse<Entry>>,
    order: u64,
    thread_started: bool,
    closed: bool,
}

struct Entry {
    due: u64,
    order: u64,
    action: Action,
}

impl Timers {
    pub(crate) fn new() -> Self {
        Self { state: Mutex::new(State::default()), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// Adds an action; true when it is now the first one due.
    pub(crate) fn add(&self, due: u64, action: Action) -> bool {
        let mut state = self.lock();
        if state.closed {
            return false;
        }
        let order = state.order;
        state.order += 1;
        state.heap.push(Reverse(Entry { due, order, action }));
        state.heap.peek().is_some_and(|first| first.0.order == order)
    }

    /// When the next action is due.
    pub(crate) fn next_due(&self) -> Option<u64> {
        self.lock().heap.peek().map(|first| first.0.due)
    }

    /// Runs what is due at `now`; true if anything was.
    pub(crate) fn run_due(&self, now: u64) -> bool {
        let mut any = false;
        loop {
            let entry = {
                let mut state = self.lock();
                match state.heap.peek() {
                    Some(first) if first.0.due <= now => state.heap.pop(),
                    _ => return any,
                }
            };
            if let Some(Reverse(entry)) = entry {
                any = true;
                let _ = caught(entry.action);
            }
        }
    }

    /// Makes the timer thread look again, and makes the thread itself the first time.
    pub(crate) fn wake(&self, env: &Arc<Env>) {
        let start = {
            let mut state = self.lock();
            !std::mem::replace(&mut state.thread_started, true)
        };
        if start {
            let served = Arc::downgrade(env);
            env.threads().spawn("timer".to_owned(), move || {
                // Timers only submit; as a maintenance thread they may submit anywhere.
                let _entered = context::enter(StageId::of(StageKind::Maintenance));
                if let Some(env) = served.upgrade() {
                    env.timers().serve(&env);
                }
            });
        }
        self.changed.notify_one();
    }

    fn serve(&self, env: &Env) {
        loop {
            self.run_due(env.now());
            let state = self.lock();
            if state.closed {
                return;
            }
            let wait = match state.heap.peek() {
                Some(first) => Duration::from_nanos(first.0.due.saturating_sub(env.now()).max(1)),
                None => Duration::from_secs(3_600),
            };
            drop(self.changed.wait_timeout(state, wait));
        }
    }

    /// Forgets every timer and ends the thread.
    pub(crate) fn close(&self) {
        let forgotten = {
            let mut state = self.lock();
            state.closed = true;
            std::mem::take(&mut state.heap)
        };
        self.changed.notify_all();
        drop(forgotten);
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.due, self.order).cmp(&(other.due, other.order))
    }
}
