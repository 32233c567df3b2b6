//! Bounds what a statement becomes before it is optimized.
//!
//! A text is short and its plan need not be: a common table expression that names another one twice, thirty levels of them, is a plan of a
//! billion steps. In memory they are shared; whoever walks them, as every rule of the optimizer does, never comes back, and a step of the
//! optimizer cannot be interrupted. So steps are counted, up to a bound.

use crate::error::SqlError;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::logical_expr::LogicalPlan;

/// Steps of a plan. A thousand joined tables are a few thousand.
const MAX_STEPS: usize = 20_000;

/// Refuses a plan that nobody could optimize.
pub(crate) fn check_size(plan: &LogicalPlan) -> Result<(), SqlError> {
    let mut steps = 0;
    plan.apply_with_subqueries(|_| {
        steps += 1;
        Ok(if steps > MAX_STEPS { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    match steps > MAX_STEPS {
        true => Err(SqlError::Refused(format!(
            "the statement becomes a plan of more than {MAX_STEPS} steps; name tables and common table expressions less often, or keep \
             what is used often with CREATE TABLE ... AS"
        ))),
        false => Ok(()),
    }
}
