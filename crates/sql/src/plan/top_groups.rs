//! Groups that are kept as they are when a limit of them is large.
//!
//! `SELECT k, max(v) ... GROUP BY k ORDER BY max(v) DESC LIMIT n` keeps the best `n` groups only, and DataFusion 55 makes room for all of them
//! before it sees a row: with a limit of 1,000,000,000,000 that is an abort of the member. Beyond [`MOST_GROUPS`] such a limit is taken away
//! from the aggregation; the sort above has it as well.

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use std::sync::Arc;

/// Groups that room is made for.
const MOST_GROUPS: usize = 10_000;

/// Takes large limits away from aggregations.
#[derive(Debug)]
pub(crate) struct BoundTopGroups;

impl PhysicalOptimizerRule for BoundTopGroups {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(plan.transform_up(bounded)?.data)
    }

    fn name(&self) -> &str {
        "bound_top_groups"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn bounded(plan: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let Some(aggregate) = plan.downcast_ref::<AggregateExec>() else { return Ok(Transformed::no(plan)) };
    match aggregate.limit_options() {
        Some(options) if options.limit() > MOST_GROUPS => {
            Ok(Transformed::yes(Arc::new(aggregate.with_new_limit_options(None))))
        }
        _ => Ok(Transformed::no(plan)),
    }
}
