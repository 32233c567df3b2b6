//! How the rows of a database are read, whichever it is: a cursor begins and gives batch after batch on threads of `mixed` that may wait, and is
//! stopped by its reins wherever the stream is closed, or when nobody waits any more for it to begin.

use super::BatchStream;
use super::reins::{PullOnDrop, Puller, Reins};
use crate::error::CubeError;
use arrow::array::RecordBatch;
use filbert_pool::Stages;
use futures::FutureExt;
use futures::future::BoxFuture;
use std::sync::Arc;

/// The batches of a statement that has begun. All of it waits for the other side.
pub(super) trait Cursor: Send + 'static {
    /// The next batch; none at the end.
    fn read(&mut self) -> Result<Option<RecordBatch>, CubeError>;

    /// Closes the connection. Nothing is read afterwards.
    fn end(&mut self);
}

/// A cursor, batch by batch: an error is the last that comes.
struct Batches<C>(C);

impl<C: Cursor> Iterator for Batches<C> {
    type Item = Result<RecordBatch, CubeError>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = self.0.read();
        if read.is_err() {
            self.0.end();
        }
        read.transpose()
    }
}

/// Begins to read a statement: `begin` waits, as the task of this name.
pub(super) fn read<P: Puller, C: Cursor>(
    stages: &Stages,
    reins: Arc<Reins<P>>,
    statement: String,
    task: &'static str,
    begin: impl FnOnce() -> Result<C, CubeError> + Send + 'static,
) -> BoxFuture<'static, Result<BatchStream, CubeError>> {
    let begun = stages.mixed().submit(task, begin);
    let (stages, pulled) = (stages.downgrade(), PullOnDrop(reins));
    async move {
        let cursor = begun?.await.map_err(|error| CubeError::of_task("table", error))??;
        let stages =
            stages.upgrade().ok_or_else(|| CubeError::Closed { what: "the set of stages".to_owned() })?;
        let batches = BatchStream::blocking(&stages, Batches(cursor));
        Ok(batches.on_close(move || drop(pulled)).read_by(statement))
    }
    .boxed()
}
