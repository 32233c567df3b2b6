//! `FROM f(...) WITH ORDINALITY`: the rows of a function with their numbers, from 1, in a last column `ordinality`.
//!
//! An alias may name the column, as in `unnest([4, 5]) WITH ORDINALITY AS t (value, place)`.

use datafusion::common::{Column, Result};
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::logical_expr::{Expr, LogicalPlanBuilder, cast, col};
use datafusion::sql::sqlparser::ast::TableFactor;

/// The column, and the name that it has meanwhile.
const ORDINALITY: &str = "ordinality";
const NUMBER: &str = "__number_of_row";

/// Plans functions with a `WITH ORDINALITY`.
#[derive(Debug)]
pub(crate) struct NumberFunctions;

impl RelationPlanner for NumberFunctions {
    fn plan_relation(
        &self,
        mut relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let alias = match &mut relation {
            TableFactor::Table { with_ordinality: said @ true, alias, args: Some(_), .. }
            | TableFactor::Function { with_ordinality: said @ true, alias, .. }
            | TableFactor::UNNEST { with_ordinality: said @ true, alias, .. } => {
                *said = false;
                alias.take()
            }
            _ => return Ok(RelationPlanning::Original(Box::new(relation))),
        };
        let rows = context.plan(relation)?;
        let mut columns: Vec<Expr> =
            rows.schema().iter().map(|field| Expr::Column(Column::from(field))).collect();
        columns.push(cast(col(NUMBER), arrow::datatypes::DataType::Int64).alias(ORDINALITY));
        let numbered = LogicalPlanBuilder::from(rows).window(vec![row_number().alias(NUMBER)])?;
        let plan = numbered.project(columns)?.build()?;
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, alias))))
    }
}
