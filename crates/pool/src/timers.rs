//! Actions that are due at a moment: one ordered map, served by one thread that sleeps until the next of them, or by the
//! simulator when virtual time gets there. The thread is made with the first timer and uses no CPU while it waits.
//!
//! A map and not a heap: most time-outs never come, and what waited for them takes its timer away, wherever it stands.

use crate::context::{self, StageId};
use crate::env::Env;
use crate::panics::{caught, discard};
use crate::rules::StageKind;
use std::collections::BTreeMap;
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
    waiting: BTreeMap<Due, Action>,
    order: u64,
    thread_started: bool,
    closed: bool,
}

/// When an action is due; those of one moment run in the order in which they were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Due {
    at: u64,
    order: u64,
}

impl Timers {
    pub(crate) fn new() -> Self {
        Self { state: Mutex::new(State::default()), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// Adds an action; says how it is found again, and whether it is now the first one due.
    pub(crate) fn add(&self, at: u64, action: Action) -> (Due, bool) {
        let mut state = self.lock();
        let due = Due { at, order: state.order };
        if state.closed {
            return (due, false);
        }
        state.order += 1;
        state.waiting.insert(due, action);
        let is_first = state.waiting.first_key_value().is_some_and(|(first, _)| *first == due);
        (due, is_first)
    }

    /// Forgets an action, unless it ran or is running. The thread may wake up for it once more, and finds nothing.
    pub(crate) fn remove(&self, due: Due) {
        let forgotten = self.lock().waiting.remove(&due);
        // What it owns is the user's, and is dropped without the lock.
        discard(forgotten);
    }

    /// How many actions wait.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.lock().waiting.len()
    }

    /// When the next action is due.
    pub(crate) fn next_due(&self) -> Option<u64> {
        self.lock().waiting.first_key_value().map(|(first, _)| first.at)
    }

    /// Runs what is due at `now`; true if anything was.
    pub(crate) fn run_due(&self, now: u64) -> bool {
        let mut any = false;
        loop {
            let first = {
                let mut state = self.lock();
                match state.waiting.first_entry() {
                    Some(first) if first.key().at <= now => first.remove(),
                    _ => return any,
                }
            };
            any = true;
            let _ = caught(first);
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
            let wait = match state.waiting.first_key_value() {
                Some((first, _)) => Duration::from_nanos(first.at.saturating_sub(env.now()).max(1)),
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
            std::mem::take(&mut state.waiting)
        };
        self.changed.notify_all();
        drop(forgotten);
    }
}
