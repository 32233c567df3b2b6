//! One run of a DAG: a handle to await, look at and cancel it.
//!
//! | File | What |
//! |---|---|
//! | `core` | what the tasklets of a job share: who is left, the first cause of its end, who waits |
//! | `start` | from a graph to tasklets |
//! | `run` | a tasklet as a polled task, and on a thread of its own |
//! | `metrics` | [`JobMetrics`] |
//! | `settings` | [`JobSettings`] |
//! | `memory` | what the state of a job takes, and its limits |
//! | `error` | [`JobError`], [`JobFailure`] |

mod core;
mod error;
mod memory;
mod metrics;
mod run;
mod settings;
mod start;

pub use error::{JobError, JobFailure, StateTooLarge};
pub use memory::FlowMemory;
pub use metrics::{EdgeMetrics, JobMetrics, VertexMetrics};
pub use settings::JobSettings;

pub(crate) use self::core::{JobCore, Live};
pub(crate) use memory::JobMemory;

use self::core::Outcome;
use crate::dag::Dag;
use filbert_pool::{StageKind, Stages, TaskError, TaskFuture};
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// How far a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobStatus {
    /// Its processors are being made.
    Starting,
    /// Its tasklets run.
    Running,
    /// It failed or was cancelled, and some of its tasklets are not gone yet.
    Ending,
    /// All is done.
    Completed,
    /// A processor failed.
    Failed,
    /// It was cancelled, or its stages ended first.
    Cancelled,
}

impl JobStatus {
    /// True when nothing of the job is left.
    pub fn is_over(self) -> bool {
        matches!(self, JobStatus::Completed | JobStatus::Failed | JobStatus::Cancelled)
    }
}

/// One run of a DAG; a handle that is cheap to clone. The job goes on when all handles are gone; a handle keeps the stages alive.
///
/// It can be awaited, waited for where the rules allow, polled and cancelled. Results come through sinks only.
///
/// ```
/// use filbert_flow::{DagBuilder, JobStatus, processors};
///
/// let mut dag = DagBuilder::new("endless");
/// let numbers = dag.vertex("numbers", processors::iterate(|_| 0_u64..));
/// let sink = dag.vertex("sink", processors::for_each(|_: u64| {}));
/// dag.edge(numbers.output().to(sink.input()));
/// let stages = filbert_pool::Stages::start()?;
/// let job = dag.build()?.submit(&stages)?;
/// job.cancel();
/// assert!(job.wait().is_err());
/// assert_eq!(job.status(), JobStatus::Cancelled);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Job {
    core: Arc<JobCore>,
    dag: Dag,
    stages: Stages,
}

impl Job {
    pub(crate) fn submit(dag: &Dag, stages: &Stages, settings: JobSettings) -> Result<Job, JobError> {
        let not_started = |cause| JobError::NotStarted { job: dag.name().to_owned(), cause };
        let core = JobCore::new(dag, stages).map_err(not_started)?;
        start::begin(&core, dag, stages, settings)?;
        Ok(Job { core, dag: dag.clone(), stages: stages.clone() })
    }

    /// The name of its DAG.
    pub fn name(&self) -> &str {
        self.core.name()
    }

    /// How far it is.
    pub fn status(&self) -> JobStatus {
        self.core.status()
    }

    /// What it has done so far, per vertex and edge; empty while it starts. Cheap enough to be asked several times a second.
    pub fn metrics(&self) -> JobMetrics {
        self.core.metrics(&self.dag.inner, self.stages.clock().now())
    }

    /// Its DAG.
    pub fn dag(&self) -> &Dag {
        &self.dag
    }

    /// Ends the job: every tasklet ends before its next turn, and drops its state on the thread that ran it. Returns at once;
    /// the job is over when the last tasklet is gone. Does nothing to a job that is over.
    pub fn cancel(&self) {
        self.core.cancel();
    }

    /// Blocks until the job is over. Refused on a thread that must not wait for the stage `flow`.
    pub fn wait(&self) -> Result<(), JobError> {
        match self.end() {
            Ok(end) => self.outcome_after(end.wait()),
            Err(outcome) => self.result(outcome),
        }
    }

    /// As [`Job::wait`], for some time; after [`JobError::Wait`] with a time-out it can be asked again.
    pub fn wait_timeout(&self, timeout: Duration) -> Result<(), JobError> {
        match self.end() {
            Ok(mut end) => {
                let waited = end.wait_timeout(timeout);
                end.cancel();
                self.outcome_after(waited)
            }
            Err(outcome) => self.result(outcome),
        }
    }

    /// The end of the job, or its outcome if it is over.
    fn end(&self) -> Result<TaskFuture<()>, Outcome> {
        let (promise, future) = self.stages.promise(StageKind::Flow, "job");
        self.core.tell(promise).map(|()| future)
    }

    fn outcome_after(&self, waited: Result<(), TaskError>) -> Result<(), JobError> {
        match (self.core.outcome(), waited) {
            (Some(outcome), _) => self.result(outcome),
            (None, Err(error)) => Err(JobError::Wait(error)),
            (None, Ok(())) => unreachable!("the end of a job is told after its outcome is known"),
        }
    }

    fn result(&self, outcome: Outcome) -> Result<(), JobError> {
        match outcome {
            Outcome::Completed => Ok(()),
            Outcome::Failed(failure) => Err(JobError::Failed(failure)),
            Outcome::StateTooLarge(failure) => Err(JobError::StateTooLarge(failure)),
            Outcome::Cancelled => Err(JobError::Cancelled { job: self.name().to_owned() }),
        }
    }
}

impl IntoFuture for &Job {
    type Output = Result<(), JobError>;
    type IntoFuture = JobFuture;

    fn into_future(self) -> JobFuture {
        JobFuture { end: self.end().ok(), job: self.clone() }
    }
}

impl IntoFuture for Job {
    type Output = Result<(), JobError>;
    type IntoFuture = JobFuture;

    fn into_future(self) -> JobFuture {
        (&self).into_future()
    }
}

/// The end of a job, to be awaited.
#[must_use = "a future does nothing until it is awaited"]
pub struct JobFuture {
    job: Job,
    end: Option<TaskFuture<()>>,
}

impl Future for JobFuture {
    type Output = Result<(), JobError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let ended = match &mut self.end {
            None => Ok(()),
            Some(end) => match Pin::new(end).poll(context) {
                Poll::Ready(ended) => ended,
                Poll::Pending => return Poll::Pending,
            },
        };
        Poll::Ready(self.job.outcome_after(ended))
    }
}

impl Drop for JobFuture {
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            end.cancel();
        }
    }
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("name", &self.name()).field("status", &self.status()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DagBuilder, processors};

    #[test]
    fn a_job_whose_tasklets_are_gone_is_over_when_nobody_holds_it_up() {
        let stages = Stages::simulated(1);
        let mut dag = DagBuilder::new("short");
        let numbers = dag.vertex("numbers", processors::iterate(|_| 0..10_u64));
        let sink = dag.vertex("sink", processors::for_each(|_: u64| {}));
        dag.edge(numbers.output().to(sink.input()));
        let job = dag.build().unwrap().submit(&stages).unwrap();
        let held = job.core.hold();
        assert!(matches!(job.wait_timeout(Duration::from_secs(1)), Err(JobError::Wait(_))));
        assert_eq!(job.core.group().tasks(), 0);
        drop(held);
        assert_eq!(job.status(), JobStatus::Completed);
    }

    #[test]
    fn whoever_waits_no_longer_is_forgotten() {
        let stages = Stages::simulated(1);
        let mut dag = DagBuilder::new("endless");
        let numbers = dag.vertex("numbers", processors::iterate(|_| 0_u64..));
        let sink = dag.vertex("sink", processors::for_each(|_: u64| {}));
        dag.edge(numbers.output().to(sink.input()));
        let job = dag.build().unwrap().submit(&stages).unwrap();
        for _ in 0..20 {
            assert!(matches!(job.wait_timeout(Duration::from_micros(1)), Err(JobError::Wait(_))));
            drop((&job).into_future());
        }
        assert!(job.core.waiters() <= 1);
        job.cancel();
        assert!(job.wait().is_err());
    }
}
