//! From a window in a logical plan to one that runs.

use super::exec::TimeWindowExec;
use super::node::TimeWindow;
use crate::returning::PlanReturning;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{Result, internal_err};
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{LogicalPlan, UserDefinedLogicalNode};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};
use std::sync::Arc;

/// DataFusion's planner, which knows windows of time and `RETURNING` as well.
#[derive(Debug)]
pub(crate) struct StreamPlanner;

#[async_trait]
impl QueryPlanner for StreamPlanner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let planner = DefaultPhysicalPlanner::with_extension_planners(vec![
            Arc::new(PlanWindow),
            Arc::new(PlanReturning),
        ]);
        planner.create_physical_plan(plan, session).await
    }
}

struct PlanWindow;

#[async_trait]
impl ExtensionPlanner for PlanWindow {
    async fn plan_extension(
        &self,
        planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        logical_inputs: &[&LogicalPlan],
        physical_inputs: &[Arc<dyn ExecutionPlan>],
        session: &dyn Session,
        planning: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(window) = node.as_any().downcast_ref::<TimeWindow>() else { return Ok(None) };
        let ([logical], [input]) = (logical_inputs, physical_inputs) else {
            return internal_err!("a window has one input");
        };
        let time = planner.create_physical_expr(&window.time, logical.schema(), session, planning)?;
        Ok(Some(Arc::new(TimeWindowExec::new(Arc::clone(input), time, window.shape)?)))
    }
}
