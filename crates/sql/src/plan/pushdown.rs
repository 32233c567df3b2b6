//! Keeps conditions above projections that have a name twice.
//!
//! DataFusion 55 moves conditions below a projection by the names of its columns. Where both sides of a join have a column `a` and the projection
//! above it gives both, a condition on one is taken for one on the other: `t x FULL JOIN t y ... WHERE x.a < 5 OR ...` filtered `y`, and gave rows
//! that the condition refuses. So such a projection lets no condition pass while conditions are moved; they are evaluated above it, where
//! their columns are known by position.

use super::yielding::YieldExec;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::ProjectionExec;
use std::collections::HashSet;
use std::sync::Arc;

/// A step of the optimizer.
pub(crate) type Rule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// A step of the optimizer that moves conditions; others as they are.
pub(crate) fn guarded(rule: Rule) -> Rule {
    if rule.name().starts_with("FilterPushdown") { Arc::new(GuardedPushdown(rule)) } else { rule }
}

#[derive(Debug)]
struct GuardedPushdown(Rule);

impl PhysicalOptimizerRule for GuardedPushdown {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let shielded = plan.transform_up(shielded)?;
        let moved = self.0.optimize(shielded.data, config)?;
        if shielded.transformed { Ok(moved.transform_up(bare)?.data) } else { Ok(moved) }
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

/// A node that lets nothing pass above such a projection: ends of turns are put into plans later, so there are no others now.
fn shielded(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    if !plan.is::<ProjectionExec>() || has_distinct_names(&*plan) {
        return Ok(Transformed::no(plan));
    }
    Ok(Transformed::yes(Arc::new(YieldExec::new(plan))))
}

fn bare(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    match plan.downcast_ref::<YieldExec>().and_then(|shield| shield.children().pop().cloned()) {
        Some(projection) => Ok(Transformed::yes(projection)),
        None => Ok(Transformed::no(plan)),
    }
}

fn has_distinct_names(plan: &dyn ExecutionPlan) -> bool {
    let schema = plan.schema();
    let mut names = HashSet::new();
    schema.fields().iter().all(|field| names.insert(field.name()))
}
