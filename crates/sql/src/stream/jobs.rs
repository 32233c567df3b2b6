//! Jobs: statements that write to a map, of nobody's session, until they are dropped.
//!
//! A job is a query like others, on stage `fragment`, steered over stage `query`: what is different is who holds it. A task beside it
//! reads its end, and this registry knows it by its name. It has a place of its own among the queries (`sql.jobs`): if it had to wait for
//! one of theirs, statements that make jobs could wait for each other.
//!
//! Rejected: a DAG of `flow` with the query as its source and the map as its sink. Rows would leave their columns for items and come back,
//! through one more queue, and the plan could not be cut where it is best cut; what `flow` adds (retries, edges, threads for what blocks)
//! a plan has no use for.

use super::figures::StreamFigures;
use crate::error::SqlError;
use crate::query::{Query, QueryCanceller};
use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::error::DataFusionError;
use filbert_pool::{StageId, StageKind, SubmitError};
use futures::StreamExt;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// How much of a statement is shown.
const SHOWN_CHARS: usize = 100;

/// Jobs that have ended and are still shown; the oldest are forgotten first.
const ENDED_SHOWN: usize = 100;

/// The jobs of one engine.
pub(crate) struct Jobs {
    limit: usize,
    by_name: Mutex<BTreeMap<String, Arc<Job>>>,
    is_closed: AtomicBool,
}

/// A job.
pub(crate) struct Job {
    name: String,
    /// The map that it writes to.
    sink: String,
    /// How its statement begins.
    text: String,
    since_ms: u64,
    pub(crate) figures: Arc<StreamFigures>,
    status: Mutex<Status>,
}

enum Status {
    /// It is being planned.
    Starting,
    Running(QueryCanceller),
    Completed,
    Cancelled,
    Failed(SqlError),
}

impl Status {
    const fn is_live(&self) -> bool {
        matches!(self, Self::Starting | Self::Running(_))
    }

    const fn word(&self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Running(_) => "running",
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Failed(_) => "failed",
        }
    }
}

impl Job {
    fn status(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// The map that it writes to.
    pub(crate) fn sink(&self) -> &str {
        &self.sink
    }

    /// Ends it; its fragments end at their next turn. The result says that stage `query` has heard.
    pub(crate) async fn end(&self) {
        let canceller = match &*self.status() {
            Status::Running(canceller) => Some(canceller.clone()),
            _ => None,
        };
        if let Some(cancelling) = canceller.and_then(|canceller| canceller.cancel().ok()) {
            // Not heard only when the stages end, which ends it as well.
            let _ = cancelling.await;
        }
    }
}

/// A job that is being made. Dropped before it runs, it is forgotten.
pub(crate) struct NewJob {
    jobs: Arc<Jobs>,
    pub(crate) job: Arc<Job>,
}

impl NewJob {
    /// It runs from now on: the future reads its end, and is to be polled by a task of its own.
    pub(crate) fn running(self, query: Query) -> impl Future<Output = ()> + Send + 'static {
        *self.job.status() = Status::Running(query.canceller());
        // Looked at after it may be found: whoever closes sees it, or is seen here.
        if self.jobs.is_closed.load(Ordering::SeqCst) {
            let _ = query.canceller().cancel().map(filbert_pool::TaskFuture::detach);
        }
        watched(Ending(Arc::clone(&self.job)), query)
    }
}

impl Drop for NewJob {
    fn drop(&mut self) {
        if matches!(*self.job.status(), Status::Starting) {
            let mut jobs = self.jobs.lock();
            if jobs.get(&self.job.name).is_some_and(|job| Arc::ptr_eq(job, &self.job)) {
                jobs.remove(&self.job.name);
            }
        }
    }
}

/// Whoever stops watching a job says how it ended; a task that is dropped at shutdown too.
struct Ending(Arc<Job>);

impl Drop for Ending {
    fn drop(&mut self) {
        let mut status = self.0.status();
        if status.is_live() {
            *status = Status::Cancelled;
        }
    }
}

async fn watched(ending: Ending, mut query: Query) {
    // One row at its end: how many rows were written.
    while let Some(batch) = query.next().await {
        match batch {
            Ok(_) => {}
            Err(SqlError::Cancelled) => return,
            Err(failure) => {
                tracing::warn!(job = %ending.0.name, %failure, "a job failed");
                *ending.0.status() = Status::Failed(failure);
                return;
            }
        }
    }
    *ending.0.status() = Status::Completed;
}

impl Jobs {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, by_name: Mutex::default(), is_closed: AtomicBool::new(false) })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Job>>> {
        self.by_name.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// A job of that name; `None` when there is one and that is fine. One that has ended makes room for the new one.
    pub(crate) fn begin(
        self: &Arc<Self>,
        name: &str,
        if_not_exists: bool,
        (sink, text): (&str, &str),
        now_ms: u64,
    ) -> Result<Option<NewJob>, SqlError> {
        if self.is_closed.load(Ordering::SeqCst) {
            return Err(SubmitError::ShutDown { stage: StageId::of(StageKind::Fragment) }.into());
        }
        let mut jobs = self.lock();
        if jobs.get(name).is_some_and(|job| job.status().is_live()) {
            return match if_not_exists {
                true => Ok(None),
                false => Err(SqlError::Refused(format!("there is a job {name:?} already; DROP JOB ends it"))),
            };
        }
        let (live, mut ended): (Vec<_>, Vec<_>) =
            jobs.values().cloned().partition(|job| job.status().is_live());
        if live.len() >= self.limit {
            return Err(SqlError::Refused(format!(
                "{} jobs run, as many as sql.jobs allows; DROP JOB ends one, SHOW JOBS lists them",
                live.len()
            )));
        }
        ended.sort_by_key(|job| job.since_ms);
        for job in ended.iter().take(ended.len().saturating_sub(ENDED_SHOWN - 1)) {
            jobs.remove(&job.name);
        }
        let text = match text.char_indices().nth(SHOWN_CHARS) {
            Some((at, _)) => format!("{}...", &text[..at]),
            None => text.to_owned(),
        };
        let job = Arc::new(Job {
            name: name.to_owned(),
            sink: sink.to_owned(),
            text,
            since_ms: now_ms,
            figures: Arc::default(),
            status: Mutex::new(Status::Starting),
        });
        jobs.insert(name.to_owned(), Arc::clone(&job));
        Ok(Some(NewJob { jobs: Arc::clone(self), job }))
    }

    /// The job of that name, running or not.
    pub(crate) fn get(&self, name: &str) -> Option<Arc<Job>> {
        self.lock().get(name).cloned()
    }

    /// Forgets that job.
    pub(crate) fn remove(&self, job: &Arc<Job>) {
        let mut jobs = self.lock();
        if jobs.get(&job.name).is_some_and(|known| Arc::ptr_eq(known, job)) {
            jobs.remove(&job.name);
        }
    }

    /// No job begins from now on. Those that run.
    pub(crate) fn close(&self) -> Vec<Arc<Job>> {
        self.is_closed.store(true, Ordering::SeqCst);
        self.lock().values().filter(|job| job.status().is_live()).cloned().collect()
    }

    /// The columns of `SHOW JOBS`.
    pub(crate) fn columns() -> SchemaRef {
        let number = |name: &str| Field::new(name, DataType::Int64, false);
        let text = |name: &str, nullable| Field::new(name, DataType::Utf8, nullable);
        let since = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
        Arc::new(Schema::new(vec![
            text("name", false),
            text("status", false),
            Field::new("since", since, false),
            number("rows"),
            number("late"),
            number("lost"),
            text("failure", true),
            text("statement", false),
        ]))
    }

    /// All jobs, by name.
    pub(crate) fn shown(&self) -> Result<RecordBatch, SqlError> {
        let jobs: Vec<Arc<Job>> = self.lock().values().cloned().collect();
        let texts = |of: &dyn Fn(&Job) -> Option<String>| -> ArrayRef {
            Arc::new(jobs.iter().map(|job| of(job)).collect::<StringArray>())
        };
        let numbers = |of: &dyn Fn(&Job) -> u64| -> ArrayRef {
            Arc::new(jobs.iter().map(|job| i64::try_from(of(job)).ok()).collect::<Int64Array>())
        };
        let since = jobs.iter().map(|job| i64::try_from(job.since_ms).ok()?.checked_mul(1_000));
        let columns: Vec<ArrayRef> = vec![
            texts(&|job| Some(job.name.clone())),
            texts(&|job| Some(job.status().word().to_owned())),
            Arc::new(since.collect::<TimestampMicrosecondArray>().with_timezone("UTC")),
            numbers(&|job| job.figures.written()),
            numbers(&|job| job.figures.late()),
            numbers(&|job| job.figures.lost()),
            texts(&|job| match &*job.status() {
                Status::Failed(failure) => Some(failure.to_string()),
                _ => None,
            }),
            texts(&|job| Some(job.text.clone())),
        ];
        Ok(RecordBatch::try_new(Self::columns(), columns).map_err(DataFusionError::from)?)
    }
}
