//! What the tasklets of a job share.
//!
//! Every tasklet, and whoever starts them, holds a [`Live`]; the job is over when the last one is dropped. Tasklets are dropped by the
//! workers that ran them, and their `Live` last, so "over" means that no queue, processor or thread of the job is left.
//!
//! The first cause of an early end wins: a failure, a panic, a cancellation, or the end of the stages. It is noted once, and
//! all tasklets are cancelled; what else goes wrong meanwhile is a consequence.

use super::JobStatus;
use super::error::{JobFailure, StateTooLarge};
use super::metrics::JobCounters;
use crate::dag::Dag;
use crate::dag::maker::Close;
use filbert_pool::{Engagement, Group, Promise, StageKind, Stages, SubmitError, WeakStages, caught};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::task::Waker;

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    Completed,
    Failed(JobFailure),
    StateTooLarge(StateTooLarge),
    Cancelled,
}

pub(crate) struct JobCore {
    name: String,
    group: Group,
    stages: WeakStages,
    counters: OnceLock<JobCounters>,
    state: Mutex<State>,
}

struct State {
    status: JobStatus,
    /// Why it ends early.
    cause: Option<Outcome>,
    live: usize,
    /// To be told when it is over.
    waiters: Vec<Promise<()>>,
    /// Threads of its own, to be woken when it is cancelled.
    threads: Vec<Waker>,
    /// What is to be done when all others are gone, with the name of the vertex.
    closers: Vec<(Arc<str>, Box<dyn Close>)>,
    /// Until it is over, a draining shutdown waits for it.
    engagement: Option<Engagement>,
    /// All others are gone, and how it ends is decided but for what the closers say: too late to cancel.
    is_closing: bool,
}

impl JobCore {
    /// Refused when the stages end.
    pub(crate) fn new(dag: &Dag, stages: &Stages) -> Result<Arc<Self>, SubmitError> {
        let engagement = Some(stages.engage(StageKind::Flow)?);
        let state = State {
            status: JobStatus::Starting,
            cause: None,
            live: 0,
            waiters: Vec::new(),
            threads: Vec::new(),
            closers: Vec::new(),
            engagement,
            is_closing: false,
        };
        let group = stages.flow().group(dag.name());
        let (counters, stages) = (OnceLock::new(), stages.downgrade());
        Ok(Arc::new(Self { name: dag.name().to_owned(), group, stages, counters, state: Mutex::new(state) }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn group(&self) -> &Group {
        &self.group
    }

    /// Set once, before the first tasklet runs.
    pub(super) fn set_counters(&self, counters: JobCounters) {
        let _ = self.counters.set(counters);
    }

    pub(super) fn counters(&self) -> Option<&JobCounters> {
        self.counters.get()
    }

    pub(crate) fn status(&self) -> JobStatus {
        self.lock().status
    }

    /// One more part of the job that must be gone before it is over.
    pub(crate) fn live(self: &Arc<Self>) -> Live {
        self.lock().live += 1;
        Live { core: Arc::clone(self), is_done: false }
    }

    /// Holds up the end of the job until it is dropped, which says nothing about how it ends.
    pub(crate) fn hold(self: &Arc<Self>) -> Live {
        let mut live = self.live();
        live.done();
        live
    }

    /// All tasklets are made.
    pub(crate) fn running(&self) {
        let mut state = self.lock();
        if state.status == JobStatus::Starting {
            state.status = JobStatus::Running;
        }
    }

    /// True when the job ends early.
    pub(crate) fn is_ending(&self) -> bool {
        self.lock().cause.is_some()
    }

    /// A thread of the job sleeps with this waker; it is woken when the job ends early.
    pub(crate) fn add_thread(&self, thread: Waker) {
        let mut state = self.lock();
        if state.cause.is_some() {
            drop(state);
            thread.wake();
        } else {
            state.threads.push(thread);
        }
    }

    /// A supplier that wants to know how the job ends.
    pub(crate) fn add_closer(&self, vertex: &Arc<str>, closer: Box<dyn Close>) {
        self.lock().closers.push((Arc::clone(vertex), closer));
    }

    pub(crate) fn cancel(&self) {
        self.end_early(Outcome::Cancelled);
    }

    pub(crate) fn fail(&self, failure: JobFailure) {
        self.end_early(Outcome::Failed(failure));
    }

    /// The state has grown beyond a limit: fails, and names the vertex that holds the most.
    pub(super) fn fail_for_state(&self, failure: &StateTooLarge) {
        let (vertex, vertex_bytes) = self.counters().map(JobCounters::largest_state).unwrap_or_default();
        let failure = StateTooLarge { job: self.name.clone(), vertex, vertex_bytes, ..failure.clone() };
        self.end_early(Outcome::StateTooLarge(failure));
    }

    fn end_early(&self, cause: Outcome) {
        let mut state = self.lock();
        let is_late = state.is_closing && cause == Outcome::Cancelled;
        if state.status.is_over() || state.cause.is_some() || is_late {
            return;
        }
        state.cause = Some(cause);
        state.status = JobStatus::Ending;
        let threads = std::mem::take(&mut state.threads);
        drop(state);
        self.group.cancel();
        threads.into_iter().for_each(Waker::wake);
    }

    /// How it ended, when it is over.
    pub(crate) fn outcome(&self) -> Option<Outcome> {
        let state = self.lock();
        match state.status.is_over() {
            true => Some(state.cause.clone().unwrap_or(Outcome::Completed)),
            false => None,
        }
    }

    /// How many are to be told.
    #[cfg(test)]
    pub(crate) fn waiters(&self) -> usize {
        self.lock().waiters.len()
    }

    /// Keeps the promise when the job is over; if it is already, says how it ended.
    pub(crate) fn tell(&self, promise: Promise<()>) -> Result<(), Outcome> {
        let mut state = self.lock();
        if state.status.is_over() {
            return Err(state.cause.clone().unwrap_or(Outcome::Completed));
        }
        // Those who gave up, or every wait with a time-out would leave something for as long as the job lives.
        state.waiters.retain(|waiter| !waiter.is_cancelled());
        state.waiters.push(promise);
        Ok(())
    }
}

/// A part of a job; the job is over when all are dropped.
pub(crate) struct Live {
    core: Arc<JobCore>,
    is_done: bool,
}

impl Live {
    pub(crate) fn core(&self) -> &Arc<JobCore> {
        &self.core
    }

    /// This part did all it had to do.
    pub(crate) fn done(&mut self) {
        self.is_done = true;
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if !self.is_done {
            // Dropped by a pool that gives no more turns, if not for a cause that is known already.
            self.core.cancel();
        }
        let mut state = self.core.lock();
        state.live -= 1;
        if state.live > 0 {
            return;
        }
        state.is_closing = true;
        let closers = std::mem::take(&mut state.closers);
        drop(state);
        let ending = Ending { core: Arc::clone(&self.core), closers };
        match self.core.stages.upgrade() {
            Some(stages) if !ending.closers.is_empty() => {
                // Refused, it is dropped, which does the same here: the stages end, and nobody else is left to do it.
                if let Ok(closing) = stages.mixed().submit("end job", move || drop(ending)) {
                    closing.detach();
                }
            }
            _ => drop(ending),
        }
    }
}

/// The last of a job: closes the suppliers, then the job is over. All in its drop, so that it happens wherever it ends up.
struct Ending {
    core: Arc<JobCore>,
    closers: Vec<(Arc<str>, Box<dyn Close>)>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        for (vertex, mut closer) in self.closers.drain(..) {
            let is_completed = self.core.lock().cause.is_none();
            let (message, panicked) = match caught(|| closer.close(is_completed)) {
                Ok(Ok(())) => continue,
                Ok(Err(failure)) => (failure.to_string(), false),
                Err(message) => (message, true),
            };
            self.core.fail(JobFailure { vertex: vertex.to_string(), index: 0, message, panicked });
        }
        let mut state = self.core.lock();
        state.status = match &state.cause {
            None => JobStatus::Completed,
            Some(Outcome::Failed(_) | Outcome::StateTooLarge(_)) => JobStatus::Failed,
            Some(_) => JobStatus::Cancelled,
        };
        let waiters = std::mem::take(&mut state.waiters);
        state.threads.clear();
        let engagement = state.engagement.take();
        drop(state);
        for promise in waiters {
            promise.keep(());
        }
        // After those who wait know: a shutdown goes on from here.
        drop(engagement);
    }
}
