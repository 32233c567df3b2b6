//! Says `IN (SELECT ...)` in other words where DataFusion 55 answers it wrongly.
//!
//! `a NOT IN (SELECT b ...)` is unknown, and not true, where `a` is NULL and there are rows, or where none of the rows has the value and one
//! has a NULL. Of the ways in which DataFusion runs it, one heeds that: the join that drops rows, for a condition that stands by
//! itself or beside others with `AND`, over a subquery that names nothing of the query around it. Below an `OR`, a `CASE` or another operator a
//! row is only marked when its value was found, and in a select list nothing is known at all. There the rule writes what it means:
//!
//! ```text
//! a IN (S)      CASE WHEN EXISTS (S, b = a) THEN true
//!                    WHEN (a IS NULL AND EXISTS (S)) OR EXISTS (S, b IS NULL) THEN NULL
//!                    ELSE false END
//! ```
//!
//! `a NOT IN (S)` is the same with `true` and `false` changed. In a select list, where no `EXISTS` is planned either, it is a count of rows that is
//! compared with none. Runs after types are coerced. Threads: planning.

use super::expressions::changed_expressions;
use crate::error::SqlError;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, ExprSchema, Result};
use datafusion::functions_aggregate::expr_fn::count;
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    Expr, ExprSchemable, Filter, LogicalPlan, LogicalPlanBuilder, Operator, Subquery, lit, when,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::scalar::ScalarValue;
use std::sync::Arc;

/// Takes `IN (SELECT ...)` out of a plan where its answer would be wrong.
#[derive(Debug)]
pub(crate) struct RightMembership;

impl AnalyzerRule for RightMembership {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(plan.transform_up_with_subqueries(right)?.data)
    }

    fn name(&self) -> &str {
        "right_membership"
    }
}

fn right(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    match plan {
        LogicalPlan::Filter(filter) if has_membership(&filter.predicate) => {
            let schema = Arc::clone(filter.input.schema());
            let conditions = split_conjunction_owned(filter.predicate).into_iter();
            let conditions = conditions.map(|condition| {
                if is_dropping_join(&condition) { Ok(condition) } else { in_condition(condition, &schema) }
            });
            let conditions = conditions.collect::<Result<Vec<_>>>()?;
            let predicate = conjunction(conditions).unwrap_or_else(|| lit(true));
            Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(predicate, filter.input)?)))
        }
        LogicalPlan::Projection(_)
        | LogicalPlan::Aggregate(_)
        | LogicalPlan::Window(_)
        | LogicalPlan::Sort(_) => {
            changed_expressions(plan, is_membership, |expr, schema| three_valued(expr, schema, counted))
        }
        plan => Ok(Transformed::no(plan)),
    }
}

fn is_membership(expr: &Expr) -> bool {
    matches!(expr, Expr::InSubquery(_))
}

fn has_membership(expr: &Expr) -> bool {
    expr.exists(|expr| Ok(is_membership(expr))).unwrap_or(true)
}

/// True for a condition that becomes a join which keeps or drops rows, and heeds NULL as it must.
fn is_dropping_join(condition: &Expr) -> bool {
    let (asked, negated) = match condition {
        Expr::InSubquery(asked) => (asked, asked.negated),
        Expr::Not(inner) => match inner.as_ref() {
            Expr::InSubquery(asked) => (asked, !asked.negated),
            _ => return false,
        },
        _ => return false,
    };
    // What is not kept because it is false or because it is unknown is the same.
    !negated || (asked.expr.any_column_refs() && !names_outer(&asked.subquery))
}

fn names_outer(subquery: &Subquery) -> bool {
    !subquery.outer_ref_columns.is_empty() || subquery.subquery.contains_outer_reference()
}

/// A condition that is not the whole of it. Where only `AND` and `OR` are around, unknown is as good as false, and `IN` needs no change.
fn in_condition(condition: Expr, schema: &DFSchema) -> Result<Expr> {
    match condition {
        Expr::BinaryExpr(mut binary) if matches!(binary.op, Operator::And | Operator::Or) => {
            *binary.left = in_condition(*binary.left, schema)?;
            *binary.right = in_condition(*binary.right, schema)?;
            Ok(Expr::BinaryExpr(binary))
        }
        Expr::InSubquery(InSubquery { negated: false, .. }) => Ok(condition),
        condition => Ok(condition.transform_up(|expr| three_valued(expr, schema, exists))?.data),
    }
}

/// The condition that a subquery has rows.
type HasRows = fn(LogicalPlan) -> Result<Expr>;

fn three_valued(expr: Expr, schema: &DFSchema, has_rows: HasRows) -> Result<Transformed<Expr>> {
    let Expr::InSubquery(InSubquery { expr, subquery, negated }) = expr else {
        return Ok(Transformed::no(expr));
    };
    if has_subquery(&expr) {
        let text = "a subquery to the left of IN (SELECT ...) is not known here; WITH or a join gives its value a name";
        return Err(SqlError::Refused(text.to_owned()).into_plan());
    }
    if expr.is_volatile() || !is_the_same(&subquery.subquery)? {
        let text = "IN (SELECT ...) is not known here of rows that may be others when they are read again, as those of a LIMIT or of random(); \
                    keep them with CREATE TABLE ... AS";
        return Err(SqlError::Refused(text.to_owned()).into_plan());
    }
    let rows = subquery.subquery.as_ref();
    if rows.schema().fields().len() != 1 {
        return Err(SqlError::Refused("IN (SELECT ...) takes one column".to_owned()).into_plan());
    }
    let (qualifier, field) = rows.schema().qualified_field(0);
    let value = Expr::Column(Column::from((qualifier, field)));
    let names_outer = names_outer(&subquery);
    let of = |condition: Expr| LogicalPlanBuilder::from(rows.clone()).filter(condition);
    // One row says it; of a subquery that names something of the query around it, nobody knows which.
    let one_of = |rows: LogicalPlanBuilder| if names_outer { Ok(rows) } else { rows.limit(0, Some(1)) };

    let outer = as_outer(expr.as_ref().clone(), schema)?;
    let found = has_rows(of(value.clone().eq(outer))?.build()?)?;
    let mut unknown = None;
    if expr.nullable(schema).unwrap_or(true) {
        let any = has_rows(one_of(LogicalPlanBuilder::from(rows.clone()))?.build()?)?;
        unknown = Some(expr.as_ref().clone().is_null().and(any));
    }
    if field.is_nullable() {
        let null = has_rows(one_of(of(value.is_null())?)?.build()?)?;
        unknown = Some(unknown.map_or(null.clone(), |other| other.or(null)));
    }
    let mut said = when(found, lit(!negated));
    if let Some(unknown) = unknown {
        said = said.when(unknown, lit(ScalarValue::Boolean(None)));
    }
    Ok(Transformed::yes(said.otherwise(lit(negated))?))
}

/// False for rows that may be others when they are read again: they are read for each part of the answer.
pub(super) fn is_the_same(rows: &LogicalPlan) -> Result<bool> {
    let mut is_sure = true;
    rows.apply_with_subqueries(|node| {
        is_sure &= !matches!(node, LogicalPlan::Limit(_) | LogicalPlan::Extension(_));
        node.apply_expressions(|expr| {
            is_sure &= !expr.is_volatile();
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(is_sure)
}

fn has_subquery(expr: &Expr) -> bool {
    let is_one = |expr: &Expr| {
        matches!(
            expr,
            Expr::InSubquery(_) | Expr::Exists(_) | Expr::ScalarSubquery(_) | Expr::SetComparison(_)
        )
    };
    expr.exists(|expr| Ok(is_one(expr))).unwrap_or(true)
}

/// An expression as a subquery sees it.
fn as_outer(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    let outer = expr.transform_up(|expr| match expr {
        Expr::Column(column) => {
            let field = Arc::clone(schema.field_from_column(&column)?);
            Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column)))
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(outer.data)
}

fn as_subquery(rows: LogicalPlan) -> Subquery {
    let outer_ref_columns = rows.all_out_ref_exprs();
    Subquery { subquery: Arc::new(rows), outer_ref_columns, spans: Default::default() }
}

fn exists(rows: LogicalPlan) -> Result<Expr> {
    Ok(Expr::Exists(Exists { subquery: as_subquery(rows), negated: false }))
}

/// Where no `EXISTS` is planned.
fn counted(rows: LogicalPlan) -> Result<Expr> {
    let rows = LogicalPlanBuilder::from(rows).aggregate(Vec::<Expr>::new(), [count(lit(1_i64))])?.build()?;
    let number = Expr::Column(Column::from(rows.schema().qualified_field(0)));
    let has_some = number.gt(lit(0_i64)).alias("has_rows");
    let rows = LogicalPlanBuilder::from(rows).project([has_some])?.build()?;
    Ok(Expr::ScalarSubquery(as_subquery(rows)))
}
