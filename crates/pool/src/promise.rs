//! The other end of a [`TaskFuture`], for results that arise in several steps: an operation that is parked until a lock is free
//! ends long after the task that brought it.

use crate::context::StageId;
use crate::env::Env;
use crate::error::TaskError;
use crate::future::{Resolver, TaskFuture, TaskResult, task_future};
use std::sync::Arc;

/// Whoever holds it owes the result of a [`TaskFuture`]. Dropped without one, the future says that the task was cancelled.
///
/// ```
/// use filbert_pool::{StageKind, Stages};
///
/// let stages = Stages::start()?;
/// let (promise, answer) = stages.promise(StageKind::Partition, "answer");
/// stages.partition().submit_any("compute", move || promise.keep(42))?.detach();
/// assert_eq!(answer.wait(), Ok(42));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "dropped, its future says that the task was cancelled"]
pub struct Promise<T: Send + 'static> {
    resolver: Resolver<T>,
    stage: StageId,
    task: &'static str,
}

impl<T: Send + 'static> Promise<T> {
    pub(crate) fn new(env: &Arc<Env>, stage: StageId, task: &'static str) -> (Self, TaskFuture<T>) {
        let (resolver, future) = task_future(env, stage, task);
        (Self { resolver, stage, task }, future)
    }

    /// Says that the work begins now; false when the future was cancelled before. From now on a cancellation no longer prevents it.
    pub fn begin(&self) -> bool {
        self.resolver.begin()
    }

    /// Gives the result.
    pub fn keep(self, value: T) {
        self.resolver.resolve(Ok(value));
    }

    /// Gives the result, or says why there is none.
    pub fn resolve(self, result: TaskResult<T>) {
        self.resolver.resolve(result);
    }

    /// Says that user code panicked with `message`.
    pub fn panicked(self, message: String) {
        let error = TaskError::Panicked { stage: self.stage, task: self.task, message };
        self.resolver.resolve(Err(error));
    }

    /// True when nobody wants the result any more: the future was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.resolver.is_done()
    }
}

impl<T: Send + 'static> std::fmt::Debug for Promise<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Promise").field("stage", &self.stage.name).field("task", &self.task).finish()
    }
}
