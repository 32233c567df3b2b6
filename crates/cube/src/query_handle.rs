//! A query under way.

use crate::error::CubeError;
use crate::execute::CancelToken;
use crate::result::CubeResult;
use filbert_pool::TaskFuture;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

/// A query under way: await it, or wait for it where waiting is allowed. Dropped, the query is cancelled.
#[must_use = "dropped, the query is cancelled"]
#[derive(Debug)]
pub struct QueryHandle {
    future: Option<TaskFuture<Result<CubeResult, CubeError>>>,
    cancel: Arc<CancelToken>,
    progress: QueryProgress,
}

/// How far a query is; a handle that is cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct QueryProgress {
    rows: Arc<AtomicU64>,
}

impl QueryProgress {
    /// Rows of the table that it has read so far.
    pub fn rows_read(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    pub(crate) fn add_rows(&self, rows: usize) {
        self.rows.fetch_add(rows as u64, Ordering::Relaxed);
    }
}

impl QueryHandle {
    pub(crate) fn new(
        future: TaskFuture<Result<CubeResult, CubeError>>,
        cancel: Arc<CancelToken>,
        progress: QueryProgress,
    ) -> Self {
        Self { future: Some(future), cancel, progress }
    }

    /// What ends it, for whoever ends several.
    pub(crate) fn token(&self) -> Arc<CancelToken> {
        Arc::clone(&self.cancel)
    }

    /// How far it is, for whoever looks at it while another waits.
    pub fn progress(&self) -> QueryProgress {
        self.progress.clone()
    }

    /// Blocks until the answer is there. Refused on threads that must not wait for the stage `mixed`.
    pub fn wait(mut self) -> Result<CubeResult, CubeError> {
        match self.future.take() {
            Some(future) => flat(future.wait()),
            None => Err(CubeError::Closed { what: "the query".to_owned() }),
        }
    }

    /// Ends the query with [`CubeError::Cancelled`] as soon as it looks; the answer, if it comes first, is still given.
    pub fn cancel(&self) {
        self.cancel.cancel(CubeError::Cancelled);
    }

    /// True when the answer is there.
    pub fn is_done(&self) -> bool {
        self.future.as_ref().is_none_or(TaskFuture::is_done)
    }
}

fn flat(
    result: Result<Result<CubeResult, CubeError>, filbert_pool::TaskError>,
) -> Result<CubeResult, CubeError> {
    result.unwrap_or_else(|error| Err(CubeError::of_task("cube query", error)))
}

impl Future for QueryHandle {
    type Output = Result<CubeResult, CubeError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(future) = &mut self.future else {
            return Poll::Ready(Err(CubeError::Closed { what: "the query".to_owned() }));
        };
        Pin::new(future).poll(context).map(flat)
    }
}

impl Drop for QueryHandle {
    fn drop(&mut self) {
        if self.future.is_some() && !self.is_done() {
            self.cancel();
        }
    }
}
