//! Says `IS NOT DISTINCT FROM` between columns by keys of a join that hold for this condition alone.
//!
//! DataFusion 55 makes a join of it to which NULL is equal to NULL. Of several inner joins it then makes one, and takes what NULL is in the last
//! for what it is in all: `a JOIN b ON a.s = b.s JOIN c ON c.x IS NOT DISTINCT FROM b.x` found rows where both `s` are NULL, and the other order
//! lost rows. Here the condition becomes two that are plain equalities, with a default of the type in place of NULL:
//!
//! ```text
//! (c.x IS NULL) = (b.x IS NULL) AND coalesce(c.x, 0) = coalesce(b.x, 0)
//! ```
//!
//! Runs after types are coerced. Threads: planning.

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::functions::core::expr_fn::coalesce;
use datafusion::logical_expr::utils::{merge_schema, split_conjunction_owned};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Operator, lit};
use datafusion::optimizer::AnalyzerRule;
use datafusion::scalar::ScalarValue;

/// Takes `IS NOT DISTINCT FROM` out of conditions that may become keys of joins.
#[derive(Debug)]
pub(crate) struct NullSafeKeys;

impl AnalyzerRule for NullSafeKeys {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(with_plain_keys)?.data)
    }

    fn name(&self) -> &str {
        "null_safe_keys"
    }
}

fn with_plain_keys(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let schema = merge_schema(&plan.inputs());
    match plan {
        LogicalPlan::Filter(mut filter) if asks(&filter.predicate) => {
            filter.predicate = plain(filter.predicate, &schema)?;
            Ok(Transformed::yes(LogicalPlan::Filter(filter)))
        }
        LogicalPlan::Join(mut join) if join.filter.as_ref().is_some_and(asks) => {
            join.filter = join.filter.map(|filter| plain(filter, &schema)).transpose()?;
            Ok(Transformed::yes(LogicalPlan::Join(join)))
        }
        plan => Ok(Transformed::no(plan)),
    }
}

fn asks(condition: &Expr) -> bool {
    split_conjunction_owned(condition.clone()).iter().any(is_asked)
}

fn is_asked(condition: &Expr) -> bool {
    let Expr::BinaryExpr(binary) = condition else { return false };
    binary.op == Operator::IsNotDistinctFrom
        && !condition.is_volatile()
        && [&binary.left, &binary.right].iter().all(|side| side.any_column_refs())
}

fn plain(condition: Expr, schema: &DFSchema) -> Result<Expr> {
    let parts = split_conjunction_owned(condition).into_iter().map(|part| match part {
        Expr::BinaryExpr(binary) if is_asked(&Expr::BinaryExpr(binary.clone())) => {
            let keys = same_keys(*binary.left.clone(), *binary.right.clone(), schema)?;
            let keys =
                keys.and_then(|keys| keys.into_iter().map(|(one, other)| one.eq(other)).reduce(Expr::and));
            Ok(keys.unwrap_or(Expr::BinaryExpr(binary)))
        }
        part => Ok(part),
    });
    let parts = parts.collect::<Result<Vec<_>>>()?;
    Ok(parts.into_iter().reduce(Expr::and).unwrap_or_else(|| lit(true)))
}

/// The keys by which a join finds two values that are the same, NULL as well. None for a type that has no default.
pub(super) fn same_keys(one: Expr, other: Expr, schema: &DFSchema) -> Result<Option<Vec<(Expr, Expr)>>> {
    let kind = one.get_type(schema)?;
    let Ok(value) = ScalarValue::new_default(&kind) else { return Ok(None) };
    if other.get_type(schema)? != kind || value.is_null() {
        return Ok(None);
    }
    let or_value = |expr: Expr| coalesce(vec![expr, lit(value.clone())]);
    Ok(Some(vec![(one.clone().is_null(), other.clone().is_null()), (or_value(one), or_value(other))]))
}
