//! Bounds for the functions that the planner calls without looking for them by their names.
//!
//! `[a, b]` and `list || list` are planned as calls of `make_array`, `array_concat` and the like, with DataFusion's own functions rather than those
//! that are registered. The rule runs after types are coerced. Threads: planning.

use super::BoundedFunction;
use super::cost::NAMED;
use crate::plan::changed_expressions;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, LogicalPlan, ScalarUDF};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// Puts a bound around each call that needs one and has none.
#[derive(Debug)]
pub(crate) struct BoundFunctions;

impl AnalyzerRule for BoundFunctions {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let bound = |plan| changed_expressions(plan, is_unbound, |expr, _| Ok(bound(expr)));
        Ok(plan.transform_up_with_subqueries(bound)?.data)
    }

    fn name(&self) -> &str {
        "bound_functions"
    }
}

fn is_unbound(expr: &Expr) -> bool {
    let Expr::ScalarFunction(function) = expr else { return false };
    function.func.inner().downcast_ref::<BoundedFunction>().is_none()
        && NAMED.iter().any(|(name, _)| *name == function.func.name())
}

fn bound(expr: Expr) -> Transformed<Expr> {
    if !is_unbound(&expr) {
        return Transformed::no(expr);
    }
    let Expr::ScalarFunction(ScalarFunction { func: inner, args }) = expr else {
        return Transformed::no(expr);
    };
    let cost = NAMED.iter().find(|(name, _)| *name == inner.name()).map(|(_, cost)| *cost);
    let func = match cost {
        Some(cost) => Arc::new(ScalarUDF::new_from_impl(BoundedFunction { inner, cost })),
        None => inner,
    };
    Transformed::yes(Expr::ScalarFunction(ScalarFunction { func, args }))
}
