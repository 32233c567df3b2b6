//! What can go wrong when work is handed to a stage, and when its result is asked for.

use crate::context::StageId;
use std::time::Duration;

/// Why a stage did not take the work. Nothing was queued and nothing will run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// The queue is full.
    #[error(
        "stage {stage} is overloaded: its queue holds {capacity} tasks already; try again later, \
         send less, or raise the stage's capacity"
    )]
    Overloaded {
        /// The stage that is full.
        stage: StageId,
        /// Its bound.
        capacity: usize,
    },
    /// The stage takes no more work.
    #[error("stage {stage} is shutting down and takes no more work")]
    ShutDown {
        /// The stage that ends.
        stage: StageId,
    },
    /// The submit goes in the wrong direction.
    #[error(
        "a task on stage {from} may not submit to stage {to}: work that may block is started from above, \
         never from pure computation; return a value and let the caller submit"
    )]
    Crossing {
        /// Where the caller stands.
        from: StageId,
        /// Where the work should have gone.
        to: StageId,
    },
    /// The group was made by another pool.
    #[error(
        "group {group} was not made by the pool of stage {stage}: a group shares the turns of the one pool that made it; \
         make one with `group` of the pool that is to run the task"
    )]
    ForeignGroup {
        /// The group's name.
        group: String,
        /// The stage that was to run the task.
        stage: StageId,
    },
}

impl SubmitError {
    /// True when the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        matches!(self, SubmitError::Overloaded { .. })
    }
}

/// Why there is no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TaskError {
    /// The task panicked; its worker lives on.
    #[error("task {task} on stage {stage} panicked: {message}")]
    Panicked {
        /// Where it ran.
        stage: StageId,
        /// Its name.
        task: &'static str,
        /// What the panic said.
        message: String,
    },
    /// The task was cancelled, or its stage ended before it ran.
    #[error("task {task} on stage {stage} was cancelled")]
    Cancelled {
        /// Where it would have run.
        stage: StageId,
        /// Its name.
        task: &'static str,
    },
    /// The task is not done yet; it goes on, and its result can still be asked for.
    #[error("task {task} on stage {stage} was not done within {} ms; it goes on", .waited.as_millis())]
    TimedOut {
        /// Where it runs.
        stage: StageId,
        /// Its name.
        task: &'static str,
        /// How long the caller waited.
        waited: Duration,
    },
    /// Waiting here could hold up the very thread that must do the work.
    #[error(
        "a thread of stage {from} may not wait for stage {to}: waiting goes down only; \
         await the result, or register a callback"
    )]
    WaitRefused {
        /// Where the caller stands.
        from: StageId,
        /// What it wanted to wait for.
        to: StageId,
    },
}

impl TaskError {
    /// True when asking again may succeed.
    pub fn is_retryable(&self) -> bool {
        matches!(self, TaskError::TimedOut { .. })
    }

    /// True when the task may still take effect.
    pub fn is_indeterminate(&self) -> bool {
        matches!(self, TaskError::TimedOut { .. } | TaskError::WaitRefused { .. })
    }
}
