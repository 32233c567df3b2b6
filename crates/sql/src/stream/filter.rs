//! A condition on a stream: what is true of goes on at once. The filter of DataFusion gathers whole batches first, which on a stream with
//! few rows takes for ever.
//!
//! All but its running is that filter's: properties, the way it is shown, what it may be swapped with.

use arrow::array::RecordBatch;
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use datafusion::common::cast::as_boolean_array;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, RecordBatchStream, SendableRecordBatchStream,
};
use futures::{Stream, StreamExt};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// A condition on a stream.
#[derive(Debug)]
pub(crate) struct StreamFilterExec {
    filter: Arc<FilterExec>,
    metrics: ExecutionPlanMetricsSet,
}

impl StreamFilterExec {
    /// In place of a filter that has neither a limit nor a projection.
    pub(crate) fn new(filter: FilterExec) -> Self {
        Self { filter: Arc::new(filter), metrics: ExecutionPlanMetricsSet::new() }
    }
}

impl DisplayAs for StreamFilterExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StreamFilterExec: {}", self.filter.predicate())
    }
}

impl ExecutionPlan for StreamFilterExec {
    fn name(&self) -> &str {
        "StreamFilterExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.filter.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.filter.children()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    /// Rows of a stream keep their order, which parts that run side by side do not.
    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        f(self.filter.predicate())
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(input) = children.pop() else { return internal_err!("a filter has an input") };
        Ok(Arc::new(Self::new(FilterExec::try_new(Arc::clone(self.filter.predicate()), input)?)))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        Ok(Box::pin(Filtered {
            input: self.filter.input().execute(partition, context)?,
            predicate: Arc::clone(self.filter.predicate()),
            figures: BaselineMetrics::new(&self.metrics, partition),
        }))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

struct Filtered {
    input: SendableRecordBatchStream,
    predicate: Arc<dyn PhysicalExpr>,
    figures: BaselineMetrics,
}

impl Filtered {
    fn filtered(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let _timer = self.figures.elapsed_compute().timer();
        let is_true = self.predicate.evaluate(batch)?.into_array(batch.num_rows())?;
        Ok(filter_record_batch(batch, as_boolean_array(&is_true)?)?)
    }
}

impl Stream for Filtered {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let batch = match ready!(self.input.poll_next_unpin(context)) {
                Some(Ok(batch)) => self.filtered(&batch),
                other => return Poll::Ready(other),
            };
            if batch.as_ref().is_ok_and(|batch| batch.num_rows() == 0) {
                continue;
            }
            return self.figures.record_poll(Poll::Ready(Some(batch)));
        }
    }
}

impl RecordBatchStream for Filtered {
    fn schema(&self) -> SchemaRef {
        self.input.schema()
    }
}
