//! Sorts an input whole, in steps between which a turn can end.
//!
//! The sort of DataFusion keeps its input as it comes, and sorts and merges all of it within one poll when the input ends or memory is short.
//! A gigabyte takes it many seconds, in which nobody else has a turn and no cancel is heard. Here each run is sorted as soon as it is
//! whole, a few milliseconds of work, and every stream of a merge can end the turn. The sorting, merging and spilling of runs are DataFusion's.
//!
//! A sort that needs the first rows only keeps no more than those, and stays as it is.

mod run;
mod sorter;
#[cfg(test)]
mod tests;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::{LexOrdering, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
    SendableRecordBatchStream, apply_expression_roots,
};
use futures::{TryStreamExt, stream};
use sorter::Sorter;
use std::fmt;
use std::sync::Arc;

/// The node of a plan that sorts.
#[derive(Debug)]
pub struct SortRunsExec {
    input: Arc<dyn ExecutionPlan>,
    order: LexOrdering,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl SortRunsExec {
    /// In place of a sort of DataFusion; none for one that keeps the first rows only, or whose input is sorted.
    ///
    /// # Errors
    /// When the order of the input cannot be told.
    pub(crate) fn in_place_of(sort: &SortExec) -> Result<Option<Self>> {
        let input = sort.input();
        let order = sort.expr();
        if sort.fetch().is_some() || input.equivalence_properties().ordering_satisfy(order.clone())? {
            return Ok(None);
        }
        Ok(Some(Self {
            input: Arc::clone(input),
            order: order.clone(),
            properties: Arc::clone(sort.properties()),
            metrics: ExecutionPlanMetricsSet::new(),
        }))
    }
}

impl DisplayAs for SortRunsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SortRunsExec: expr=[{}]", self.order)
    }
}

impl ExecutionPlan for SortRunsExec {
    fn name(&self) -> &str {
        "SortRunsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        apply_expression_roots(self.order.iter().map(|by| &by.expr), visit)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(input) = children.pop() else { return internal_err!("a sort has an input") };
        Ok(Arc::new(Self {
            input,
            order: self.order.clone(),
            properties: Arc::clone(&self.properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let schema = self.schema();
        let mut sorter = Sorter::new(partition, schema.clone(), self.order.clone(), &context, &self.metrics);
        let mut input = self.input.execute(partition, context)?;
        let sorted = async move {
            while let Some(batch) = input.try_next().await? {
                sorter.insert(batch).await?;
            }
            drop(input);
            sorter.finish().await
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, stream::once(sorted).try_flatten())))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}
