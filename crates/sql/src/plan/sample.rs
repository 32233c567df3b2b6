//! `TABLESAMPLE`: some rows of a table, by chance.
//!
//! ```text
//! FROM t TABLESAMPLE BERNOULLI (10)                  about a tenth of the rows; SYSTEM means the same here
//! FROM t TABLESAMPLE 10 PERCENT REPEATABLE (42)      the same rows every time, while the table stays as it is
//! FROM t TABLESAMPLE (100 ROWS)                      100 rows, or all when there are fewer
//! ```
//!
//! The order in which rows are read is not the same every time, so a sample that can be repeated numbers them in the order of all their
//! columns first, which costs a sort. Equal rows may change places, which nobody can see.

use crate::error::SqlError;
use crate::functions::sampled;
use datafusion::common::{Column, Result};
use datafusion::functions::expr_fn::random;
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::logical_expr::{Expr, ExprFunctionExt, LogicalPlan, LogicalPlanBuilder, col, lit};
use datafusion::sql::sqlparser::ast::{
    Expr as SqlExpr, TableFactor, TableSample, TableSampleKind, TableSampleMethod, TableSampleModifier,
    TableSampleQuantity, TableSampleSeed, TableSampleUnit, Value,
};

/// The column by which rows are chosen.
const CHANCE: &str = "__chance_of_sample";

/// Plans tables with a `TABLESAMPLE`.
#[derive(Debug)]
pub(crate) struct SampleTables;

impl RelationPlanner for SampleTables {
    fn plan_relation(
        &self,
        mut relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let sample = match &mut relation {
            TableFactor::Table { sample, .. } | TableFactor::Derived { sample, .. } => sample.take(),
            _ => None,
        };
        let Some(TableSampleKind::BeforeTableAlias(sample) | TableSampleKind::AfterTableAlias(sample)) =
            sample
        else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let wanted = Wanted::of(&sample).map_err(SqlError::into_plan)?;
        // With its alias, which is then nothing to do any more.
        let all = context.plan(relation)?;
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(wanted.sample(all)?, None))))
    }
}

/// How many rows are wanted, and the seed of a sample that can be repeated.
#[derive(Debug, PartialEq)]
struct Wanted {
    size: Size,
    seed: Option<i64>,
}

#[derive(Debug, PartialEq)]
enum Size {
    /// Of all rows, from 0 to 1.
    Part(f64),
    Rows(usize),
}

impl Wanted {
    fn of(sample: &TableSample) -> Result<Self, SqlError> {
        let TableSample { modifier, name, quantity, seed, bucket, offset } = sample;
        let refused = |what: String| {
            let text = format!(
                "{what}; write TABLESAMPLE BERNOULLI (10), TABLESAMPLE (10 PERCENT) or TABLESAMPLE (100 ROWS), REPEATABLE (42) behind it"
            );
            SqlError::Refused(text)
        };
        if *modifier == TableSampleModifier::Sample {
            return Err(refused("SAMPLE is not known".to_owned()));
        }
        if bucket.is_some() || offset.is_some() {
            return Err(refused("TABLESAMPLE has no BUCKET and no OFFSET here".to_owned()));
        }
        let Some(TableSampleQuantity { parenthesized: _, value, unit }) = quantity else {
            return Err(refused("TABLESAMPLE says not how many rows".to_owned()));
        };
        let number =
            number(value).ok_or_else(|| refused(format!("TABLESAMPLE takes a number, not {value}")))?;
        let by_percent = matches!(name, Some(TableSampleMethod::Bernoulli | TableSampleMethod::System));
        let size = match unit {
            Some(TableSampleUnit::Rows) if number >= 0.0 && number.fract() == 0.0 => {
                Size::Rows(number as usize)
            }
            Some(TableSampleUnit::Rows) => {
                return Err(refused(format!("TABLESAMPLE takes a whole number of rows, not {value}")));
            }
            None if !by_percent => {
                return Err(refused(format!("TABLESAMPLE says not whether {value} are ROWS or PERCENT")));
            }
            Some(TableSampleUnit::Percent) | None if (0.0..=100.0).contains(&number) => {
                Size::Part(number / 100.0)
            }
            Some(TableSampleUnit::Percent) | None => {
                return Err(refused(format!("TABLESAMPLE takes 0 to 100 percent, not {value}")));
            }
        };
        let seed = seed.as_ref().map(|TableSampleSeed { modifier: _, value }| match &value.value {
            Value::Number(digits, _) => {
                let whole = digits.parse::<i64>().ok();
                let seed = whole.or_else(|| digits.parse::<f64>().ok().map(|seed| seed.to_bits() as i64));
                seed.ok_or_else(|| refused(format!("REPEATABLE takes a number, not {digits}")))
            }
            other => Err(refused(format!("REPEATABLE takes a number, not {other}"))),
        });
        Ok(Self { size, seed: seed.transpose()? })
    }

    fn sample(&self, all: LogicalPlan) -> Result<LogicalPlan> {
        let columns: Vec<Expr> = all.schema().iter().map(|field| Expr::Column(Column::from(field))).collect();
        let (input, chance) = match self.seed {
            None => (all, random()),
            Some(seed) => {
                let order = columns.iter().map(|column| column.clone().sort(true, false)).collect();
                let number = row_number().order_by(order).build()?.alias(CHANCE);
                let numbered = LogicalPlanBuilder::from(all).window(vec![number])?.build()?;
                (numbered, sampled(col(CHANCE), lit(seed)))
            }
        };
        let input = LogicalPlanBuilder::from(input);
        let sampled = match self.size {
            Size::Part(part) => input.filter(chance.lt(lit(part)))?,
            Size::Rows(rows) => {
                let with_chance = columns.iter().cloned().chain([chance.alias(CHANCE)]);
                let order = vec![col(CHANCE).sort(true, false)];
                // A limit of its own: the planner takes sorts of subqueries without one away.
                input.project(with_chance)?.sort(order)?.limit(0, Some(rows))?
            }
        };
        sampled.project(columns)?.build()
    }
}

/// A number that is written out.
fn number(expr: &SqlExpr) -> Option<f64> {
    match expr {
        SqlExpr::Value(value) => match &value.value {
            Value::Number(digits, _) => digits.parse().ok(),
            _ => None,
        },
        SqlExpr::Nested(inner) => number(inner),
        _ => None,
    }
}
