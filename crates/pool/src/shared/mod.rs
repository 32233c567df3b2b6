//! The *shared* mechanism: one queue and one priority queue for all threads of a stage.
//!
//! Any thread takes any task, so the work balances itself; order is kept only among tasks that one thread happens to
//! take. The `generic` stage and every named executor is one of these, each with queues, threads and bounds fully its
//! own. One lock guards both queues: tasks here are operations of microseconds and more, and the lock is what makes
//! "priority first", "full" and "closed" one decision instead of three races.

mod core;

#[cfg(test)]
mod tests;

use crate::context::{self, StageId};
use crate::engine::Engine;
use crate::env::Env;
use crate::error::SubmitError;
use crate::future::{Callbacks, TaskFuture, task_future};
pub(crate) use core::SharedCore;
use core::{Queued, Rank};
use std::sync::Arc;
use std::time::Duration;

/// What a full stage does with one more task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhenFull {
    /// The submitter waits for room, if it stands on a thread that may wait for this stage; otherwise it is refused.
    Wait,
    /// The submitter is refused with [`SubmitError::Overloaded`].
    Refuse,
}

/// The numbers of a shared stage.
#[derive(Debug, Clone)]
pub(crate) struct SharedSettings {
    pub(crate) threads: usize,
    pub(crate) capacity: usize,
    pub(crate) when_full: WhenFull,
    pub(crate) slow_limit: Option<Duration>,
}

/// A stage whose threads share one queue and one priority queue: `generic`, or a named executor. Cheap to clone.
///
/// Any thread takes any task, so the work balances itself; order is not kept. Each executor has threads, queues and bounds fully its
/// own: a flood on one does not reach another. What a full one does with one more task is its setting `when_full`.
///
/// ```
/// let stages = filbert_pool::Stages::builder()
///     .executor("reports")
///     .set("executor.reports.threads", 2)
///     .set_word("executor.reports.when_full", "wait")
///     .start()?;
/// let report = stages.executor("reports")?.submit("report", || "done")?;
/// assert_eq!(report.wait(), Ok("done"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Executor {
    core: Arc<SharedCore>,
}

impl Executor {
    pub(crate) fn start(env: &Arc<Env>, id: StageId, settings: &SharedSettings) -> Self {
        let core = Arc::new(SharedCore::new(env, id, settings));
        if env.simulator().is_none() {
            for worker in 0..settings.threads {
                let core = Arc::clone(&core);
                env.threads().spawn(format!("{id}-{worker}"), move || core.work(worker));
            }
        }
        Self { core }
    }

    pub(crate) fn engine(&self) -> Arc<dyn Engine> {
        self.core.clone()
    }

    pub(crate) fn callbacks(&self) -> Arc<dyn Callbacks> {
        self.core.clone()
    }

    /// The stage's name.
    pub fn id(&self) -> StageId {
        self.core.id()
    }

    /// Runs `body` on one of the stage's threads, as `task` in metrics and errors.
    pub fn submit<T: Send + 'static>(
        &self,
        task: &'static str,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> Result<TaskFuture<T>, SubmitError> {
        self.enqueue(task, Rank::Normal, body)
    }

    /// Like [`Executor::submit`], before all normal work that has not begun.
    pub fn submit_priority<T: Send + 'static>(
        &self,
        task: &'static str,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> Result<TaskFuture<T>, SubmitError> {
        self.enqueue(task, Rank::Priority, body)
    }

    fn enqueue<T: Send + 'static>(
        &self,
        task: &'static str,
        rank: Rank,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> Result<TaskFuture<T>, SubmitError> {
        context::check_submit(self.core.id())?;
        let (resolver, future) = task_future(self.core.env(), self.core.id(), task);
        self.core.push(rank, Queued::new(self.core.env().now(), task, move || resolver.run(body)))?;
        Ok(future)
    }
}

impl std::fmt::Debug for Executor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Executor").field(&self.core.id().name).finish()
    }
}
