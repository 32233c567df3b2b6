//! Counts equal rows for `INTERSECT ALL` and `EXCEPT ALL`.
//!
//! DataFusion 55 makes joins of them that keep or drop all rows with a value, whatever their number: `EXCEPT ALL` of two equal rows and one left
//! none, where one is right. Equal rows get numbers here, from 1 on either side, and the number is a key of the join: of two rows and one, only
//! the first finds its like. Those joins are told from others by NULL being equal to NULL, which no join of a user's is at this time; without
//! `ALL` the rows on the left are distinct, and nothing changes. Threads: planning.

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, JoinType, NullEquality, Result};
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::{Expr, ExprFunctionExt, Join, LogicalPlan, LogicalPlanBuilder};
use datafusion::optimizer::AnalyzerRule;
use std::sync::Arc;

/// The column with the numbers of equal rows.
const NUMBER: &str = "__number";

/// Numbers the rows of both sides.
#[derive(Debug)]
pub(crate) struct CountEqualRows;

impl AnalyzerRule for CountEqualRows {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(counted)?.data)
    }

    fn name(&self) -> &str {
        "count_equal_rows"
    }
}

fn counted(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    match plan {
        LogicalPlan::Join(join) if is_of_all_rows(&join) => {
            let columns = join.left.schema().columns().into_iter().map(Expr::Column);
            let (mut left_keys, mut right_keys): (Vec<_>, Vec<_>) = join.on.into_iter().unzip();
            let left = numbered(&join.left, &left_keys)?;
            let right = numbered(&join.right, &right_keys)?;
            left_keys.push(Expr::Column(Column::from_name(NUMBER)));
            right_keys.push(Expr::Column(Column::from_name(NUMBER)));
            let join = Join::try_new(
                Arc::new(left),
                Arc::new(right),
                left_keys.into_iter().zip(right_keys).collect(),
                None,
                join.join_type,
                join.join_constraint,
                join.null_equality,
                false,
            )?;
            let rows = LogicalPlanBuilder::from(LogicalPlan::Join(join)).project(columns)?;
            Ok(Transformed::yes(rows.build()?))
        }
        plan => Ok(Transformed::no(plan)),
    }
}

fn is_of_all_rows(join: &Join) -> bool {
    matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti)
        && join.null_equality == NullEquality::NullEqualsNull
        && join.filter.is_none()
        && !matches!(*join.left, LogicalPlan::Distinct(_))
        && !join.left.schema().has_column_with_unqualified_name(NUMBER)
}

/// The rows with a number that tells equal ones apart.
fn numbered(rows: &Arc<LogicalPlan>, keys: &[Expr]) -> Result<LogicalPlan> {
    let columns = rows.schema().columns().into_iter().map(Expr::Column);
    let number = row_number().partition_by(keys.to_vec()).build()?;
    let name = number.schema_name().to_string();
    let rows = LogicalPlanBuilder::from(rows.as_ref().clone()).window([number])?;
    rows.project(columns.chain([Expr::Column(Column::from_name(name)).alias(NUMBER)]))?.build()
}
