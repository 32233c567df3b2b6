//! Keeps `GROUPING SETS`, `ROLLUP` and `CUBE` from relying on the order of what they read.
//!
//! DataFusion 55 takes the rows of such a group for as sorted as its input, although a column that a set leaves out is NULL in its rows: over
//! a file declared `WITH ORDER (c)`, `GROUP BY GROUPING SETS ((b, c), (c)) ORDER BY c LIMIT 3` sorted nothing. So the input of such a group
//! says nothing of its order.

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
    SendableRecordBatchStream,
};
use std::fmt;
use std::sync::Arc;

/// Hides the order of rows from groups of several sets.
#[derive(Debug)]
pub(crate) struct UnorderedSets;

impl PhysicalOptimizerRule for UnorderedSets {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(plan.transform_up(unordered)?.data)
    }

    fn name(&self) -> &str {
        "unordered_sets"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn unordered(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let Some(aggregate) = plan.downcast_ref::<AggregateExec>() else { return Ok(Transformed::no(plan)) };
    let input = aggregate.input();
    if !aggregate.group_expr().has_grouping_set() || input.equivalence_properties().oeq_class().is_empty() {
        return Ok(Transformed::no(plan));
    }
    let group = AggregateExec::try_new(
        *aggregate.mode(),
        aggregate.group_expr().clone(),
        aggregate.aggr_expr().to_vec(),
        aggregate.filter_expr().to_vec(),
        Arc::new(UnorderedExec::new(Arc::clone(input))),
        aggregate.input_schema(),
    )?;
    Ok(Transformed::yes(Arc::new(group)))
}

/// Hands on the rows of its input, and nothing of their order.
#[derive(Debug)]
struct UnorderedExec {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl UnorderedExec {
    fn new(input: Arc<dyn ExecutionPlan>) -> Self {
        let of = input.properties();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            input.output_partitioning().clone(),
            of.emission_type,
            of.boundedness,
        );
        Self { input, properties: Arc::new(properties) }
    }
}

impl DisplayAs for UnorderedExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl ExecutionPlan for UnorderedExec {
    fn name(&self) -> &str {
        "UnorderedExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
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
        let Some(input) = children.pop() else { return internal_err!("UnorderedExec has an input") };
        Ok(Arc::new(Self::new(input)))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }
}
