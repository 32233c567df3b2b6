//! Lets a scalar subquery be NULL where it may have no row.
//!
//! DataFusion 55 takes the column of a subquery for its value, also as to whether it can be NULL. Over a column that is NOT NULL, a subquery
//! without a row failed, `... IS NULL` was false for it, and `coalesce` gave NULL. Here such a column goes through a function that says that
//! it may be NULL, and changes nothing. A subquery that counts or sums all of its rows has one row always, and stays as it is.
//! Runs after types are coerced. Threads: planning.

use super::expressions::changed_expressions;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, LogicalPlanBuilder, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Subquery, Volatility,
};
use datafusion::optimizer::AnalyzerRule;
use std::sync::{Arc, LazyLock};

/// Lets scalar subqueries be NULL.
#[derive(Debug)]
pub(crate) struct NullWithoutRow;

impl AnalyzerRule for NullWithoutRow {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let mut is_concerned = false;
        plan.apply_with_subqueries(|node| {
            node.apply_expressions(|expr| {
                is_concerned |= expr.exists(|expr| Ok(needs_change(expr)))?;
                Ok(TreeNodeRecursion::Continue)
            })
        })?;
        if !is_concerned {
            return Ok(plan);
        }
        let changed = plan.transform_up_with_subqueries(|node| {
            let changed = changed_expressions(node, needs_change, |expr, _| nullable(expr))?;
            // Whatever reads such a column knows it as one that is NOT NULL.
            changed.map_data(LogicalPlan::recompute_schema)
        })?;
        Ok(changed.data)
    }

    fn name(&self) -> &str {
        "null_without_row"
    }
}

fn needs_change(expr: &Expr) -> bool {
    let Expr::ScalarSubquery(asked) = expr else { return false };
    let rows = asked.subquery.as_ref();
    rows.schema().fields().first().is_some_and(|field| !field.is_nullable()) && !has_one_row(rows)
}

/// Tells if there is a row whatever the data is.
fn has_one_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        LogicalPlan::EmptyRelation(empty) => empty.produce_one_row,
        LogicalPlan::Projection(projection) => has_one_row(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => has_one_row(&alias.input),
        LogicalPlan::Sort(sort) => sort.fetch != Some(0) && has_one_row(&sort.input),
        _ => false,
    }
}

fn nullable(expr: Expr) -> Result<Transformed<Expr>> {
    if !needs_change(&expr) {
        return Ok(Transformed::no(expr));
    }
    let Expr::ScalarSubquery(asked) = expr else { return Ok(Transformed::no(expr)) };
    let rows = asked.subquery.as_ref().clone();
    let column = Column::from(rows.schema().qualified_field(0));
    let name = column.name.clone();
    let args = vec![Expr::Column(column)];
    let value = Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&OR_NULL), args));
    let rows = LogicalPlanBuilder::from(rows).project([value.alias(name)])?.build()?;
    Ok(Transformed::yes(Expr::ScalarSubquery(Subquery { subquery: Arc::new(rows), ..asked })))
}

static OR_NULL: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| Arc::new(ScalarUDF::new_from_impl(OrNull(Signature::any(1, Volatility::Immutable)))));

/// A function that gives its argument, which may be NULL.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OrNull(Signature);

impl ScalarUDFImpl for OrNull {
    fn name(&self) -> &str {
        "or_null"
    }

    fn signature(&self) -> &Signature {
        &self.0
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("its field says more")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let [field] = args.arg_fields else { return internal_err!("it has one argument") };
        Ok(Arc::new(Field::new(self.name(), field.data_type().clone(), true)))
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.pop() {
            Some(value) => Ok(value),
            None => internal_err!("it has one argument"),
        }
    }
}
