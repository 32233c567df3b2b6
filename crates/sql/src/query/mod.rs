//! A query: submitted, steered over stage `query`, run on stage `fragment`, read as a stream of batches.

mod admission;
mod context;
mod control;
mod describing;
mod lent;
mod open;
mod planning_time;
mod registry;
#[cfg(test)]
mod tests;
mod turnstile;

pub(crate) use admission::{Admission, Bounds};
pub(crate) use context::QueryContext;
pub use context::QueryId;
pub(crate) use control::Control;
pub use control::QueryCanceller;
pub use describing::Describing;
pub(crate) use lent::LentCharge;
pub(crate) use open::OpenQueries;
pub(crate) use planning_time::PlanningTime;
pub(crate) use registry::{Entry, Registry};
pub(crate) use turnstile::Turnstile;

use crate::description::Description;
use crate::error::SqlError;
use crate::exchange::Receiver;
use crate::files::FileProgress;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use control::Steering;
use filbert_pool::{Strand, TaskError, TaskFuture};
use futures::Stream;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A submitted query and the stream of its batches. Dropped, it is cancelled.
///
/// ```
/// use futures::StreamExt;
/// let stages = filbert_pool::Stages::start()?;
/// let sql = filbert_sql::Sql::start(&stages, Default::default())?;
/// let mut query = sql.session().query("SELECT 6 * 7 AS answer")?;
/// let batch = futures::executor::block_on(query.next()).unwrap()?;
/// assert_eq!(batch.num_rows(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a query that is dropped is cancelled"]
pub struct Query {
    id: QueryId,
    steering: Arc<Steering>,
    planned: Planned,
    /// `None` when there is nothing more to read.
    rows: Option<Receiver>,
    /// Rows that may still come.
    left: Option<u64>,
    limit: u64,
    failure: Option<SqlError>,
    files: FileProgress,
}

enum Planned {
    Soon(TaskFuture<Result<Description, SqlError>>),
    Known(Description),
}

impl Query {
    pub(crate) fn new(
        id: QueryId,
        (control, entry): (Strand<Control>, Arc<Entry>),
        planned: TaskFuture<Result<Description, SqlError>>,
        rows: Receiver,
        limit: Option<u64>,
        files: FileProgress,
    ) -> Self {
        Self {
            id,
            steering: Arc::new(Steering { control, entry }),
            planned: Planned::Soon(planned),
            rows: Some(rows.charged_until_next()),
            left: limit,
            limit: limit.unwrap_or(0),
            failure: None,
            files,
        }
    }

    /// Its number.
    pub fn id(&self) -> QueryId {
        self.id
    }

    /// Returns the progress with the files that it reads; also for another thread, while this one waits for rows.
    pub fn file_progress(&self) -> FileProgress {
        self.files.clone()
    }

    /// Cancels it from elsewhere.
    pub fn canceller(&self) -> QueryCanceller {
        QueryCanceller::new(&self.steering)
    }

    /// The columns; known when the statement is planned, before the first row.
    ///
    /// # Errors
    /// Why there will be no rows.
    pub async fn schema(&mut self) -> Result<SchemaRef, SqlError> {
        Ok(self.description().await?.columns)
    }

    /// What the statement is; known when it is planned, before the first row.
    ///
    /// # Errors
    /// Why it cannot be planned.
    pub async fn description(&mut self) -> Result<Description, SqlError> {
        std::future::poll_fn(|context| self.poll_description(context)).await
    }

    fn poll_description(&mut self, context: &mut Context<'_>) -> Poll<Result<Description, SqlError>> {
        if let Some(failure) = &self.failure {
            return Poll::Ready(Err(failure.clone()));
        }
        let soon = match &mut self.planned {
            Planned::Known(description) => return Poll::Ready(Ok(description.clone())),
            Planned::Soon(soon) => soon,
        };
        let planned = match Pin::new(soon).poll(context) {
            Poll::Pending if self.steering.entry.is_over(context) => {
                return Poll::Ready(Err(self.fail(SqlError::Cancelled)));
            }
            Poll::Pending => return Poll::Pending,
            Poll::Ready(planned) => planned,
        };
        Poll::Ready(match planned {
            Ok(Ok(description)) => {
                self.planned = Planned::Known(description.clone());
                Ok(description)
            }
            Ok(Err(failure)) => Err(self.fail(failure)),
            Err(TaskError::Cancelled { .. }) => Err(self.fail(SqlError::Cancelled)),
            Err(lost) => Err(self.fail(lost.into())),
        })
    }

    fn fail(&mut self, failure: SqlError) -> SqlError {
        let failure = match (failure, self.steering.entry.reason()) {
            (SqlError::Cancelled, Some(reason)) => reason.clone(),
            (failure, _) => failure,
        };
        self.rows = None;
        self.failure = Some(failure.clone());
        self.steering.end();
        failure
    }

    /// All batches.
    ///
    /// # Errors
    /// The first thing that went wrong.
    pub async fn collect(mut self) -> Result<Vec<RecordBatch>, SqlError> {
        use futures::StreamExt;
        let mut batches = Vec::new();
        while let Some(batch) = self.next().await {
            batches.push(batch?);
        }
        Ok(batches)
    }
}

impl Stream for Query {
    type Item = Result<RecordBatch, SqlError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.rows.is_none() {
            return Poll::Ready(None);
        }
        if let Planned::Soon(_) = self.planned {
            match self.poll_description(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Err(failure)) => return Poll::Ready(Some(Err(failure))),
                Poll::Ready(Ok(_)) => {}
            }
        }
        let Some(rows) = &mut self.rows else { return Poll::Ready(None) };
        match rows.poll_next(context) {
            // A fragment whose worker is inside a long call ends only after it; its reader need not wait for that.
            Poll::Pending if self.steering.entry.is_over(context) => {
                Poll::Ready(Some(Err(self.fail(SqlError::Cancelled))))
            }
            Poll::Pending => Poll::Pending,
            Poll::Ready(None) => {
                self.rows = None;
                self.steering.end();
                Poll::Ready(None)
            }
            Poll::Ready(Some(Err(failure))) => Poll::Ready(Some(Err(self.fail(failure)))),
            Poll::Ready(Some(Ok(batch))) => {
                if let Some(left) = &mut self.left {
                    let Some(rest) = left.checked_sub(batch.num_rows() as u64) else {
                        let limit = self.limit;
                        return Poll::Ready(Some(Err(self.fail(SqlError::TooManyRows { limit }))));
                    };
                    *left = rest;
                }
                Poll::Ready(Some(Ok(batch)))
            }
        }
    }
}

impl Drop for Query {
    fn drop(&mut self) {
        if self.rows.take().is_some() {
            self.steering.end();
        }
    }
}

impl std::fmt::Debug for Query {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Query").field("id", &self.id).finish_non_exhaustive()
    }
}
