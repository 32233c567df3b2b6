//! Ends a fragment's turn inside a plan.
//!
//! An operator pulls as many batches as it needs within one poll: an aggregation reads its whole input, a cross join emits for ever. Nothing
//! can interrupt it but its input. So leaves and joins are wrapped: when the turn's budget is used, the wrapper says "not now" and
//! wakes its own task; everything above returns, others have their turn, and the next poll goes on where it was.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, RecordBatchStream, SendableRecordBatchStream,
};
use filbert_pool::turn_is_over;
use futures::Stream;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A node that lets its fragment's turn end above another node.
#[derive(Debug)]
pub struct YieldExec {
    input: Arc<dyn ExecutionPlan>,
    /// How many rows the node below waits for before it hands them on; those of the session when there is none.
    batch_rows: Option<usize>,
}

impl YieldExec {
    pub(crate) fn new(input: Arc<dyn ExecutionPlan>) -> Self {
        Self { input, batch_rows: None }
    }

    /// The same, with another size of batches below.
    pub(crate) fn with_batch_rows(self, rows: usize) -> Self {
        Self { batch_rows: Some(rows), ..self }
    }

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

impl DisplayAs for YieldExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.batch_rows {
            None => f.write_str("YieldExec"),
            Some(rows) => write!(f, "YieldExec: batch_rows={rows}"),
        }
    }
}

impl ExecutionPlan for YieldExec {
    fn name(&self) -> &str {
        "YieldExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(input) = children.pop() else { return internal_err!("a yield has an input") };
        Ok(Arc::new(Self { input, batch_rows: self.batch_rows }))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, self.below(context))?;
        Ok(Box::pin(Yielding { input }))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        None
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
