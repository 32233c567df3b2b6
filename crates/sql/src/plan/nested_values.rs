//! `INSERT INTO t ... SELECT ... FROM (VALUES ...) AS v (a, b)`: values that are a table of their own.
//!
//! DataFusion 55 takes every `VALUES` of an `INSERT` for rows of the target and gives it the
//! target's columns. One in a `FROM` has columns of its own: SQLAlchemy writes many rows so.

use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::LogicalPlanBuilder;
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::sql::sqlparser::ast::{Query, SetExpr, TableFactor, Values};

/// Plans `VALUES` in a `FROM`.
#[derive(Debug)]
pub(crate) struct NestedValues;

impl RelationPlanner for NestedValues {
    fn plan_relation(
        &self,
        mut relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let TableFactor::Derived { lateral: false, subquery, alias, sample: None } = &mut relation else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let Some(values) = alone(subquery) else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let alias = alias.take();
        let no_columns = DFSchema::empty();
        let rows = values.rows.into_iter().map(|row| {
            let values = row.content.into_iter();
            values.map(|value| context.sql_to_expr(value, &no_columns)).collect::<Result<Vec<_>>>()
        });
        let plan = LogicalPlanBuilder::values(rows.collect::<Result<_>>()?)?.build()?;
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, alias))))
    }
}

/// The values of a query that has nothing else.
fn alone(query: &Query) -> Option<Values> {
    let SetExpr::Values(values) = query.body.as_ref() else { return None };
    let has_more = query.with.is_some()
        || query.order_by.is_some()
        || query.limit_clause.is_some()
        || query.fetch.is_some()
        || !query.pipe_operators.is_empty()
        || values.value_keyword;
    (!has_more).then(|| values.clone())
}
