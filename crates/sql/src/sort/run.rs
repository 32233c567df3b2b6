//! A sorted run in memory, read batch by batch.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::physical_plan::RecordBatchStream;
use filbert_pool::turn_is_over;
use futures::Stream;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::vec;

/// Batches that are sorted, each and one after the other.
pub(super) struct Run {
    pub(super) batches: Vec<RecordBatch>,
    /// What they take.
    pub(super) bytes: usize,
}

impl Run {
    /// In batches of at most so many rows, for a reader that no merge stands before.
    pub(super) fn cut(&mut self, batch_rows: usize) {
        let piece = |batch: &RecordBatch, at: usize| batch.slice(at, batch_rows.min(batch.num_rows() - at));
        let pieces = |batch: RecordBatch| {
            (0..batch.num_rows()).step_by(batch_rows).map(move |at| piece(&batch, at)).collect::<Vec<_>>()
        };
        self.batches = std::mem::take(&mut self.batches).into_iter().flat_map(pieces).collect();
    }

    /// Reads it; `reservation` holds its bytes, and gives them back batch by batch, since a merge counts what it was handed.
    pub(super) fn read(self, schema: SchemaRef, reservation: MemoryReservation) -> RunStream {
        RunStream { schema, batches: self.batches.into_iter(), reservation }
    }
}

/// The stream of a run. Lets the turn end before any batch: a merge asks all of its runs for their first one at once.
pub(super) struct RunStream {
    schema: SchemaRef,
    batches: vec::IntoIter<RecordBatch>,
    reservation: MemoryReservation,
}

impl Stream for RunStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if turn_is_over() {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let share = self.reservation.size() / self.batches.len().max(1);
        self.reservation.shrink(share);
        Poll::Ready(self.batches.next().map(Ok))
    }
}

impl RecordBatchStream for RunStream {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
