//! A node that hands on the rows of its input as they are.
//!
//! Places where a turn can end, where batches are cut and where rows are counted have all but their stream in common: columns, partitions,
//! order and expressions are those of the input. [`PassExec`] is that node; a [`Pass`] says what becomes of the stream.

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream,
};
use std::fmt;
use std::sync::Arc;

/// What a node does with batches on their way; the rows and their order stay.
pub(crate) trait Pass: fmt::Debug + Clone + Send + Sync + 'static {
    /// The node's name in plans.
    const NAME: &'static str;

    /// What a plan shows behind the name.
    fn detail(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }

    /// The stream of one partition, over that of the input.
    fn pass(
        &self,
        input: &dyn ExecutionPlan,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream>;
}

/// A node with one input, whose rows it leaves as they are.
#[derive(Debug)]
pub(crate) struct PassExec<P> {
    input: Arc<dyn ExecutionPlan>,
    pass: P,
}

impl<P: Pass> PassExec<P> {
    pub(super) fn of(pass: P, input: Arc<dyn ExecutionPlan>) -> Self {
        Self { input, pass }
    }
}

impl<P: Pass> DisplayAs for PassExec<P> {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(P::NAME)?;
        self.pass.detail(f)
    }
}

impl<P: Pass> ExecutionPlan for PassExec<P> {
    fn name(&self) -> &str {
        P::NAME
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
        let Some(input) = children.pop() else { return internal_err!("{} has an input", P::NAME) };
        Ok(Arc::new(Self { input, pass: self.pass.clone() }))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.pass.pass(&*self.input, partition, context)
    }
}
