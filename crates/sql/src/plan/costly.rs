//! How much a node of a plan can make of a row, so that those that can make much get few rows at a time.
//!
//! A batch has eight thousand rows, whatever they become: `repeat('x', 1000000)` of one is eight gigabytes, and a second of work. So a node that
//! evaluates such a function, or has a large constant, or counts groups of many sets, reads its input in pieces as large as a turn allows.
//! Where rows can be huge, batches of the whole plan have few rows: joins and filters above would gather as many rows again.

use crate::bounded::{Weight, fixed_bytes, weight_of};
use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, CastExpr, Literal, TryCastExpr};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use std::sync::Arc;

/// Rows of a batch of a plan with huge rows.
pub(super) const FEW_ROWS: usize = 256;

/// Bytes of a constant that is large when every row has it.
const LARGE_CONSTANT: usize = 4 << 10;

/// Sets of groups, each of which looks at every row, that are many.
const MANY_SETS: usize = 16;

/// What the expressions of a node can make of a row.
pub(super) fn weight(plan: &dyn ExecutionPlan) -> Result<Weight> {
    let mut most = Weight::Light;
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>()
        && aggregate.group_expr().groups().len() > MANY_SETS
    {
        most = Weight::Slow;
    }
    plan.apply_expressions(&mut |root| {
        root.apply(|expr| {
            most = most.max(of_expression(expr));
            Ok(if most == Weight::Huge { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })
    })?;
    Ok(most)
}

fn of_expression(expr: &Arc<dyn PhysicalExpr>) -> Weight {
    if let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() {
        return weight_of(call.fun());
    }
    if let Some(constant) = expr.downcast_ref::<Literal>() {
        return if constant.value().size() > LARGE_CONSTANT { Weight::Huge } else { Weight::Light };
    }
    let cast = expr.downcast_ref::<CastExpr>().map(CastExpr::cast_type);
    if let Some(kind) = cast.or_else(|| expr.downcast_ref::<TryCastExpr>().map(TryCastExpr::cast_type)) {
        return if fixed_bytes(kind) > LARGE_CONSTANT as u64 { Weight::Huge } else { Weight::Light };
    }
    let Some(binary) = expr.downcast_ref::<BinaryExpr>() else { return Weight::Light };
    match binary.op() {
        // Compiled row by row.
        Operator::RegexMatch | Operator::RegexIMatch | Operator::RegexNotMatch | Operator::RegexNotIMatch
            if !binary.right().is::<Literal>() =>
        {
            Weight::Slow
        }
        Operator::StringConcat => Weight::Slow,
        _ => Weight::Light,
    }
}
