//! Why a job did not complete.

use filbert_pool::{SubmitError, TaskError};

/// What went wrong in a processor. The first failure of a job is the one that is told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("processor {index} of vertex {vertex:?} {}: {message}", if *.panicked { "panicked" } else { "failed" })]
pub struct JobFailure {
    /// The vertex.
    pub vertex: String,
    /// Which of its processors.
    pub index: usize,
    /// What it said.
    pub message: String,
    /// It panicked; else it returned an error.
    pub panicked: bool,
}

/// Why a job did not complete, or could not be waited for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// A processor failed.
    #[error(transparent)]
    Failed(#[from] JobFailure),
    /// It was cancelled, or its stages ended first.
    #[error("the job {job:?} was cancelled")]
    Cancelled {
        /// Its name.
        job: String,
    },
    /// The stages took no work; nothing runs.
    #[error("the job {job:?} was not started: {cause}")]
    NotStarted {
        /// Its name.
        job: String,
        /// What the stage said.
        cause: SubmitError,
    },
    /// Waiting for the job was refused, or took too long; the job goes on.
    #[error("waiting for a job: {0}")]
    Wait(TaskError),
}
