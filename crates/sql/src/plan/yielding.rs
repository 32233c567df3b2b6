//! Ends a fragment's turn inside a plan.
//!
//! An operator pulls as many batches as it needs within one poll: an aggregation reads its whole input, a cross join emits for ever. Nothing
//! can interrupt it but its input. So leaves and joins are wrapped: when the turn's budget is used, the wrapper says "not now" and
//! wakes its own task; everything above returns, others have their turn, and the next poll goes on where it was.

use super::passing::{Pass, PassExec};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::{ExecutionPlan, RecordBatchStream, SendableRecordBatchStream};
use filbert_pool::turn_is_over;
use futures::Stream;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A node that lets its fragment's turn end above another node.
pub(crate) type YieldExec = PassExec<TurnEnd>;

impl YieldExec {
    pub(crate) fn new(input: Arc<dyn ExecutionPlan>) -> Self {
        Self::of(TurnEnd { batch_rows: None }, input)
    }

    /// With so many rows in the batches below, instead of those of the session.
    pub(super) fn with_batches_of(rows: usize, input: Arc<dyn ExecutionPlan>) -> Self {
        Self::of(TurnEnd { batch_rows: Some(rows) }, input)
    }
}

/// Ends turns.
#[derive(Debug, Clone)]
pub(crate) struct TurnEnd {
    /// How many rows the node below waits for before it hands them on; those of the session when there is none.
    batch_rows: Option<usize>,
}

impl TurnEnd {
    /// The context for what is below.
    fn below(&self, context: Arc<TaskContext>) -> Arc<TaskContext> {
        let Some(rows) = self.batch_rows else { return context };
        Arc::new(TaskContext::new(
            context.task_id(),
            context.session_id(),
            context.session_config().clone().with_batch_size(rows),
            context.scalar_functions().clone(),
            context.higher_order_functions().clone(),
            context.aggregate_functions().clone(),
            context.window_functions().clone(),
            context.runtime_env(),
        ))
    }
}

impl Pass for TurnEnd {
    const NAME: &'static str = "YieldExec";

    fn detail(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.batch_rows.map_or(Ok(()), |rows| write!(f, ": batch_rows={rows}"))
    }

    fn pass(
        &self,
        input: &dyn ExecutionPlan,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let input = input.execute(partition, self.below(context))?;
        Ok(Box::pin(Yielding { input }))
    }
}

struct Yielding {
    input: SendableRecordBatchStream,
}

impl Stream for Yielding {
    type Item = Result<RecordBatch, DataFusionError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if turn_is_over() {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.input.as_mut().poll_next(context)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.input.size_hint()
    }
}

impl RecordBatchStream for Yielding {
    fn schema(&self) -> SchemaRef {
        self.input.schema()
    }
}
