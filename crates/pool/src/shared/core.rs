//! The queues of a shared stage, and the loop of its threads.

use super::{SharedSettings, WhenFull};
use crate::context::{self, StageId};
use crate::engine::{Ending, Engine};
use crate::env::{self, Env};
use crate::error::SubmitError;
use crate::future::Callbacks;
use crate::metrics::{StageMetrics, StageSnapshot};
use crate::panics::{caught, discard};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

/// Which of the two queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rank {
    Priority,
    Normal,
}

/// A task with its name and the moment it was queued.
pub(super) struct Queued {
    at: u64,
    name: &'static str,
    body: Box<dyn FnOnce() -> bool + Send>,
}

impl Queued {
    /// `body` returns false when it panicked; it catches its panics itself.
    pub(super) fn new(at: u64, name: &'static str, body: impl FnOnce() -> bool + Send + 'static) -> Self {
        Self { at, name, body: Box::new(body) }
    }
}

/// A shared stage without its threads.
pub(crate) struct SharedCore {
    metrics: StageMetrics,
    capacity: usize,
    when_full: WhenFull,
    state: Mutex<State>,
    work: Condvar,
    room: Condvar,
}

#[derive(Default)]
struct State {
    priority: VecDeque<Queued>,
    normal: VecDeque<Queued>,
    active: usize,
    closed: bool,
}

impl State {
    fn queued(&self) -> usize {
        self.priority.len() + self.normal.len()
    }

    fn pop(&mut self) -> Option<Queued> {
        let next = self.priority.pop_front().or_else(|| self.normal.pop_front());
        self.active += usize::from(next.is_some());
        next
    }
}

impl SharedCore {
    pub(super) fn new(env: &Arc<Env>, id: StageId, settings: &SharedSettings) -> Self {
        Self {
            metrics: StageMetrics::new(env, id, settings.threads, settings.slow_limit),
            capacity: settings.capacity,
            when_full: settings.when_full,
            state: Mutex::new(State::default()),
            work: Condvar::new(),
            room: Condvar::new(),
        }
    }

    pub(super) fn id(&self) -> StageId {
        self.metrics.id
    }

    pub(super) fn env(&self) -> &Arc<Env> {
        self.metrics.env()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// Queues a task, or says why not; a full stage makes the caller wait where that is its policy and the rules allow.
    pub(super) fn push(&self, rank: Rank, task: Queued) -> Result<(), SubmitError> {
        let mut state = self.lock();
        while !state.closed && state.queued() >= self.capacity {
            let may_wait = context::current().kind.permission(self.id().kind).wait;
            if self.when_full == WhenFull::Refuse || !may_wait {
                drop(state);
                self.metrics.count_refused();
                return Err(SubmitError::Overloaded { stage: self.id(), capacity: self.capacity });
            }
            state = match self.env().simulator() {
                None => self.room.wait(state).unwrap_or_else(|broken| broken.into_inner()),
                Some(simulator) => {
                    drop(state);
                    simulator.drive(self.env(), None, &mut || {
                        let state = self.lock();
                        state.closed || state.queued() < self.capacity
                    });
                    self.lock()
                }
            };
        }
        if state.closed {
            drop(state);
            self.metrics.count_refused();
            return Err(SubmitError::ShutDown { stage: self.id() });
        }
        match rank {
            Rank::Priority => state.priority.push_back(task),
            Rank::Normal => state.normal.push_back(task),
        }
        drop(state);
        // Every thread sleeps on this one condition and looks at the priority queue first: this is the "kick".
        self.work.notify_one();
        Ok(())
    }

    /// The life of one thread.
    pub(super) fn work(&self, worker: usize) {
        context::adopt(self.id());
        let mut state = self.lock();
        loop {
            if let Some(task) = state.pop() {
                drop(state);
                self.run(worker, task);
                state = self.lock();
            } else if state.closed {
                return;
            } else {
                self.metrics.worker(worker).count_parked();
                state = self.work.wait(state).unwrap_or_else(|broken| broken.into_inner());
            }
        }
    }

    fn run(&self, worker: usize, task: Queued) {
        self.room.notify_one();
        let Queued { name, body, .. } = task;
        if !self.metrics.observe(worker, name, || caught(body).unwrap_or(false)) {
            self.metrics.worker(worker).count_panicked();
        }
        self.lock().active -= 1;
    }
}

impl Callbacks for SharedCore {
    /// A callback is the end of work that was admitted elsewhere: it is never refused for want of room.
    fn run(&self, callback: Box<dyn FnOnce() + Send>) {
        let mut state = self.lock();
        if state.closed {
            drop(state);
            env::run_callback_here(callback);
            return;
        }
        let body = || caught(callback).is_ok();
        state.normal.push_back(Queued::new(self.env().now(), "callback", body));
        drop(state);
        self.work.notify_one();
    }
}

impl Engine for SharedCore {
    fn metrics(&self) -> &StageMetrics {
        &self.metrics
    }

    fn has_work(&self, _worker: usize) -> bool {
        self.lock().queued() > 0
    }

    fn step(&self, worker: usize) -> bool {
        let task = self.lock().pop();
        task.map(|task| self.run(worker, task)).is_some()
    }

    fn snapshot(&self) -> StageSnapshot {
        let (depth, oldest) = {
            let state = self.lock();
            let heads = [state.priority.front(), state.normal.front()];
            (state.queued(), heads.into_iter().flatten().map(|task| task.at).min())
        };
        self.metrics.snapshot("shared", Some(self.capacity), depth, oldest)
    }

    fn close(&self, ending: Ending) {
        let dropped = {
            let mut state = self.lock();
            state.closed = true;
            match ending {
                Ending::Drain => Vec::new(),
                Ending::Cancel => {
                    let state = &mut *state;
                    state.priority.drain(..).chain(state.normal.drain(..)).collect()
                }
            }
        };
        self.work.notify_all();
        self.room.notify_all();
        // Their futures resolve as cancelled, outside the lock: a callback may submit elsewhere.
        dropped.into_iter().for_each(discard);
    }

    fn is_drained(&self) -> bool {
        let state = self.lock();
        state.closed && state.queued() == 0 && state.active == 0
    }
}
