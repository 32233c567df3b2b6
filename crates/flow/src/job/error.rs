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

/// The state of a job was larger than it may be.
#[derive(Debug, Clone, Default, PartialEq, Eq, thiserror::Error)]
#[error(
    "the state of the job {job:?} takes {job_bytes} bytes{}, most of it ({vertex_bytes} bytes) in vertex {vertex:?}, and {limit} are allowed; \
     use fewer keys, shorter windows or a smaller side of a join, or raise the limit ({})",
    match all_bytes { Some(all) => format!(" (with those of other jobs {all})"), None => String::new() },
    if all_bytes.is_some() { "memory.flow_bytes of the member" } else { "JobSettings::memory_bytes" },
)]
#[non_exhaustive]
pub struct StateTooLarge {
    /// The name of the job.
    pub job: String,
    /// The vertex that holds the most.
    pub vertex: String,
    /// The bytes that this vertex holds.
    pub vertex_bytes: usize,
    /// The bytes that the job holds.
    pub job_bytes: usize,
    /// The bytes that all jobs hold, when it is their limit that was reached.
    pub all_bytes: Option<usize>,
    /// The bytes that are allowed.
    pub limit: usize,
}

/// Why a job did not complete, or could not be waited for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    /// A processor failed.
    #[error(transparent)]
    Failed(#[from] JobFailure),
    /// Its groups, joins, sorts and windows took more memory than they may.
    #[error(transparent)]
    StateTooLarge(#[from] StateTooLarge),
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
