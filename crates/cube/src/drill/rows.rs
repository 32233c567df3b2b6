//! The rows of a drill-through, on their way to whoever asked.

use super::Drilled;
use crate::error::CubeError;
use crate::execute::CancelToken;
use crate::memory::MemoryAccount;
use crate::query_handle::QueryProgress;
use crate::result::{csv, json, table_of_rows};
use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use filbert_pool::{TaskFuture, WeakStages};
use futures::StreamExt;
use futures::channel::mpsc::Receiver;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Rows under way: take batch after batch, or [`DrillRows::wait`] for all. Dropped, reading ends.
///
/// At least one batch comes, if nothing goes wrong: it has the columns, also where there is no row. Whoever takes slowly holds up the table:
/// no more than one batch waits here.
#[must_use = "dropped, no row is read"]
pub struct DrillRows {
    pub(crate) batches: Receiver<Drilled>,
    pub(crate) future: Option<TaskFuture<Result<(), CubeError>>>,
    pub(crate) cancel: Arc<CancelToken>,
    pub(crate) progress: QueryProgress,
    pub(crate) has_more: Arc<AtomicBool>,
    pub(crate) memory: MemoryAccount,
    pub(crate) stages: WeakStages,
}

/// The rows of a drill-through, all of them.
#[derive(Debug, Clone)]
pub struct DrilledRows {
    batch: RecordBatch,
    has_more: bool,
}

impl DrillRows {
    /// The next rows; none at the end. An error is the last that comes.
    pub async fn next(&mut self) -> Option<Result<RecordBatch, CubeError>> {
        self.take().await.map(|drilled| drilled.map(|drilled| drilled.batch))
    }

    async fn take(&mut self) -> Option<Result<Drilled, CubeError>> {
        if let Some(drilled) = self.batches.next().await {
            return Some(Ok(drilled));
        }
        let ended = self.future.take()?.await;
        match ended.unwrap_or_else(|error| Err(CubeError::of_task("drill-through", error))) {
            Ok(()) => None,
            Err(error) => Some(Err(error)),
        }
    }

    /// True when there are rows beyond the limit; known when the last batch was taken.
    pub fn has_more(&self) -> bool {
        self.has_more.load(Ordering::Acquire)
    }

    /// How far it is.
    pub fn progress(&self) -> QueryProgress {
        self.progress.clone()
    }

    /// Ends reading with [`CubeError::Cancelled`].
    pub fn cancel(&self) {
        self.cancel.cancel(CubeError::Cancelled);
    }

    /// All rows. They count in the memory limit of the query.
    pub async fn collect(mut self) -> Result<DrilledRows, CubeError> {
        let (mut batches, mut held) = (Vec::new(), Vec::new());
        while let Some(drilled) = self.take().await {
            let Drilled { batch, held: reservation } = drilled?;
            batches.push(batch);
            held.push(reservation);
        }
        let batch = match batches.as_slice() {
            [only] => only.clone(),
            [] => return Err(CubeError::Closed { what: "the drill-through".to_owned() }),
            [first, ..] => {
                let bytes = held.iter().map(|held| held.bytes()).sum();
                let _whole = self.memory.try_reserve(bytes)?;
                let schema = first.schema();
                concat_batches(&schema, &batches).map_err(|error| CubeError::arrow("rows", &error))?
            }
        };
        Ok(DrilledRows { batch, has_more: self.has_more() })
    }

    /// Blocks until all rows are there. Refused on threads that must not wait for the stage `mixed`.
    pub fn wait(self) -> Result<DrilledRows, CubeError> {
        let Some(stages) = self.stages.upgrade() else {
            return Err(CubeError::Closed { what: "the set of stages".to_owned() });
        };
        let collected = stages.mixed().spawn("collect rows", self.collect())?;
        drop(stages);
        collected.wait().unwrap_or_else(|error| Err(CubeError::of_task("drill-through", error)))
    }
}

impl Drop for DrillRows {
    fn drop(&mut self) {
        if self.future.is_some() {
            self.cancel();
        }
    }
}

impl std::fmt::Debug for DrillRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DrillRows").field("has_more", &self.has_more()).finish_non_exhaustive()
    }
}

impl DrilledRows {
    /// The rows as Arrow: the columns, then those that say which aggregations a row feeds, where it is not all.
    pub fn batch(&self) -> &RecordBatch {
        &self.batch
    }

    /// How many there are.
    pub fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// True when there are rows beyond the limit.
    pub fn has_more(&self) -> bool {
        self.has_more
    }

    /// The rows as an aligned table.
    pub fn to_text(&self) -> Result<String, CubeError> {
        table_of_rows(&self.batch)
    }

    /// The rows as CSV, with the names of the columns first.
    pub fn to_csv(&self) -> Result<String, CubeError> {
        csv::of(&self.batch)
    }

    /// The rows as a JSON array of objects, one per row; a missing value is left out.
    pub fn to_json(&self) -> Result<String, CubeError> {
        json::of(&self.batch)
    }
}
