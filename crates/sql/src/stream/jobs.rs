//! Jobs: statements that write to a map, of nobody's session, until they are dropped.
//!
//! A job is a query like others, steered over stage `query`, but its fragments are tasks of stage `flow`, beside the tasklets of dataflow
//! jobs, or of the pool that its session had chosen. A task beside it reads its end, and this registry knows it by its name. It has a
//! place of its own among the queries (`sql.jobs`): if it had to wait for one of theirs, statements that make jobs could wait for each other.
//!
//! Rejected: a DAG with the query as its source and the map as its sink. Rows would leave their columns for items and come back, through one
//! more queue, and the plan could not be cut where it is best cut; what a DAG adds (edges, threads for what blocks) a plan has no use for.

use super::figures::StreamFigures;
use crate::error::SqlError;
use crate::query::{Query, QueryCanceller};
use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::error::DataFusionError;
use filbert_pool::{Called, StageId, StageKind, SubmitError};
use futures::StreamExt;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Poll, Waker};

/// How much of a statement is shown.
const SHOWN_CHARS: usize = 100;

/// Jobs that have ended and are still shown; the oldest are forgotten first.
const ENDED_SHOWN: usize = 100;

/// The jobs of one engine.
pub(crate) struct Jobs {
    limit: usize,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    by_name: BTreeMap<String, Arc<Job>>,
    /// The member ends: none begins.
    is_closed: bool,
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
    course: Mutex<Course>,
}

/// How it goes with a job.
struct Course {
    status: Status,
    /// Somebody wants it to end, perhaps before it has begun.
    is_unwanted: bool,
    /// Whoever waits for its end.
    waiting: Vec<Waker>,
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
    fn course(&self) -> MutexGuard<'_, Course> {
        self.course.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    fn is_live(&self) -> bool {
        self.course().status.is_live()
    }

    /// The map that it writes to.
    pub(crate) fn sink(&self) -> &str {
        &self.sink
    }

    /// Ends it, and waits until it writes nothing more. One that is being planned ends when it begins.
    pub(crate) async fn end(&self) {
        let canceller = {
            let mut course = self.course();
            course.is_unwanted = true;
            match &course.status {
                Status::Running(canceller) => Some(canceller.clone()),
                _ => None,
            }
        };
        if let Some(canceller) = canceller {
            cancel(&canceller);
        }
        poll_fn(|context| {
            let mut course = self.course();
            if !course.status.is_live() {
                return Poll::Ready(());
            }
            if !course.waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                course.waiting.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }

    /// It is over, unless that was said before.
    fn ended(&self, how: Status) {
        let waiting = {
            let mut course = self.course();
            if !course.status.is_live() {
                return;
            }
            course.status = how;
            std::mem::take(&mut course.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }
}

fn cancel(job: &QueryCanceller) {
    // Refused only when the stages end, which ends it as well.
    let _ = job.cancel().map(Called::detach);
}

/// A job that is being made. Dropped before it runs, it is forgotten.
pub(crate) struct NewJob {
    jobs: Arc<Jobs>,
    pub(crate) job: Arc<Job>,
}

impl NewJob {
    /// It runs from now on: the future reads its end, and is to be polled by a task of its own.
    pub(crate) fn running(self, query: Query) -> impl Future<Output = ()> + Send + 'static {
        let is_unwanted = {
            let mut course = self.job.course();
            course.status = Status::Running(query.canceller());
            course.is_unwanted
        };
        if is_unwanted {
            cancel(&query.canceller());
        }
        watched(Ending(Arc::clone(&self.job)), query)
    }
}

impl Drop for NewJob {
    fn drop(&mut self) {
        let is_starting = matches!(self.job.course().status, Status::Starting);
        if is_starting {
            self.jobs.remove(&self.job);
            self.job.ended(Status::Cancelled);
        }
    }
}

/// Whoever stops watching a job says how it ended; a task that is dropped at shutdown too.
struct Ending(Arc<Job>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.ended(Status::Cancelled);
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
                drop(query);
                ending.0.ended(Status::Failed(failure));
                return;
            }
        }
    }
    drop(query);
    ending.0.ended(Status::Completed);
}

impl Jobs {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, known: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// A job of that name; `None` when there is one and that is fine. One that has ended makes room for the new one.
    pub(crate) fn begin(
        self: &Arc<Self>,
        name: &str,
        if_not_exists: bool,
        (sink, text): (&str, &str),
        now_ms: u64,
    ) -> Result<Option<NewJob>, SqlError> {
        let mut known = self.lock();
        if known.is_closed {
            return Err(SubmitError::ShutDown { stage: StageId::of(StageKind::Fragment) }.into());
        }
        let jobs = &mut known.by_name;
        if jobs.get(name).is_some_and(|job| job.is_live()) {
            return match if_not_exists {
                true => Ok(None),
                false => Err(SqlError::Refused(format!("there is a job {name:?} already; DROP JOB ends it"))),
            };
        }
        let (live, mut ended): (Vec<_>, Vec<_>) = jobs.values().cloned().partition(|job| job.is_live());
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
            course: Mutex::new(Course { status: Status::Starting, is_unwanted: false, waiting: Vec::new() }),
        });
        jobs.insert(name.to_owned(), Arc::clone(&job));
        Ok(Some(NewJob { jobs: Arc::clone(self), job }))
    }

    /// The job of that name, running or not.
    pub(crate) fn get(&self, name: &str) -> Option<Arc<Job>> {
        self.lock().by_name.get(name).cloned()
    }

    /// Forgets that job.
    pub(crate) fn remove(&self, job: &Arc<Job>) {
        let jobs = &mut self.lock().by_name;
        if jobs.get(&job.name).is_some_and(|known| Arc::ptr_eq(known, job)) {
            jobs.remove(&job.name);
        }
    }

    /// No job begins from now on. Those that run.
    pub(crate) fn close(&self) -> Vec<Arc<Job>> {
        let mut known = self.lock();
        known.is_closed = true;
        known.by_name.values().filter(|job| job.is_live()).cloned().collect()
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
        let jobs: Vec<Arc<Job>> = self.lock().by_name.values().cloned().collect();
        let texts = |of: &dyn Fn(&Job) -> Option<String>| -> ArrayRef {
            Arc::new(jobs.iter().map(|job| of(job)).collect::<StringArray>())
        };
        let numbers = |of: &dyn Fn(&Job) -> u64| -> ArrayRef {
            Arc::new(jobs.iter().map(|job| i64::try_from(of(job)).ok()).collect::<Int64Array>())
        };
        let since = jobs.iter().map(|job| i64::try_from(job.since_ms).ok()?.checked_mul(1_000));
        let columns: Vec<ArrayRef> = vec![
            texts(&|job| Some(job.name.clone())),
            texts(&|job| Some(job.course().status.word().to_owned())),
            Arc::new(since.collect::<TimestampMicrosecondArray>().with_timezone("UTC")),
            numbers(&|job| job.figures.written()),
            numbers(&|job| job.figures.late()),
            numbers(&|job| job.figures.lost()),
            texts(&|job| match &job.course().status {
                Status::Failed(failure) => Some(failure.to_string()),
                _ => None,
            }),
            texts(&|job| Some(job.text.clone())),
        ];
        Ok(RecordBatch::try_new(Self::columns(), columns).map_err(DataFusionError::from)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt;

    fn begun(jobs: &Arc<Jobs>, name: &str) -> Result<Option<NewJob>, SqlError> {
        jobs.begin(name, false, ("copy", "SINK INTO copy SELECT 1, 1"), 0)
    }

    #[test]
    fn whoever_ends_a_job_that_is_being_made_waits_for_it() {
        let jobs = Jobs::new(10);
        let new = begun(&jobs, "a").unwrap().unwrap();
        let job = jobs.get("a").unwrap();
        let mut ending = Box::pin(job.end());
        assert!(ending.as_mut().now_or_never().is_none());
        drop(new);
        assert!(ending.now_or_never().is_some());
        assert!(jobs.get("a").is_none(), "nothing is left of a job that never ran");
    }

    #[test]
    fn jobs_that_have_ended_are_forgotten_in_the_end_and_take_no_place() {
        let jobs = Jobs::new(1);
        for number in 0..2 * ENDED_SHOWN {
            let new = begun(&jobs, &format!("job{number}")).unwrap().unwrap();
            assert!(begun(&jobs, "other").is_err_and(|error| error.to_string().contains("sql.jobs")));
            new.job.ended(Status::Completed);
        }
        assert_eq!(jobs.shown().unwrap().num_rows(), ENDED_SHOWN);
        jobs.close();
        assert!(matches!(begun(&jobs, "late"), Err(SqlError::Submit(_))));
    }
}
