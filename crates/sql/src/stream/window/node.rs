//! A window in a logical plan.
//!
//! It is a node of its own, so that conditions stay on the side of it where they were written: above, all rows tell the time, below only
//! those that are left.

use super::function::{WINDOW_END, WINDOW_START};
use super::shape::WindowShape;
use crate::error::SqlError;
use arrow::datatypes::Field;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema, DFSchemaRef, Result, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    Expr, ExprSchemable, Extension, LogicalPlan, Projection, UserDefinedLogicalNodeCore,
};
use datafusion::optimizer::AnalyzerRule;
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// All columns of its input, and where the windows of each row begin and end: a row for each window that it is in, and none for a row
/// without a time.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct TimeWindow {
    input: LogicalPlan,
    pub(super) time: Expr,
    pub(super) shape: WindowShape,
    schema: DFSchemaRef,
}

impl TimeWindow {
    fn new(input: LogicalPlan, time: Expr, shape: WindowShape) -> Result<Self> {
        let window = time.get_type(input.schema())?;
        let mut fields: Vec<_> =
            input.schema().iter().map(|(table, field)| (table.cloned(), Arc::clone(field))).collect();
        for name in ["window_start", "window_end"] {
            fields.push((None, Arc::new(Field::new(name, window.clone(), false))));
        }
        let schema = DFSchema::new_with_metadata(fields, input.schema().metadata().clone())?;
        Ok(Self { input, time, shape, schema: Arc::new(schema) })
    }
}

impl PartialOrd for TimeWindow {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let order = self.input.partial_cmp(&other.input)?.then(self.shape.partial_cmp(&other.shape)?);
        // Equal is only what is equal.
        if order == Ordering::Equal && self != other { None } else { Some(order) }
    }
}

impl UserDefinedLogicalNodeCore for TimeWindow {
    fn name(&self) -> &str {
        "TimeWindow"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        vec![self.time.clone()]
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TimeWindow: {}, {}", self.time, self.shape)
    }

    fn with_exprs_and_inputs(&self, mut exprs: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        let (Some(time), Some(input)) = (exprs.pop(), inputs.pop()) else {
            return internal_err!("a window has a time and an input");
        };
        Self::new(input, time, self.shape)
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        let columns = self.input.schema().fields().len();
        Some(vec![output_columns.iter().copied().filter(|column| *column < columns).collect()])
    }
}

/// Puts windows in place of the projections that mark them.
#[derive(Debug)]
pub(crate) struct PlanWindows;

impl AnalyzerRule for PlanWindows {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let planned = plan.transform_up_with_subqueries(|plan| match &plan {
            LogicalPlan::Projection(projection) => match marked(projection) {
                Some(mark) => Ok(Transformed::yes(window(projection, mark).map_err(SqlError::into_plan)?)),
                None => Ok(Transformed::no(plan)),
            },
            _ => Ok(Transformed::no(plan)),
        });
        Ok(planned?.data)
    }

    fn name(&self) -> &str {
        "plan_windows"
    }
}

/// The function that marks the projection of a window: its last two columns are such functions.
fn marked(projection: &Projection) -> Option<&ScalarFunction> {
    let [.., start, end] = projection.expr.as_slice() else { return None };
    let (start, end) = (function_of(start)?, function_of(end)?);
    (start.name() == WINDOW_START && end.name() == WINDOW_END).then_some(start)
}

fn function_of(expr: &Expr) -> Option<&ScalarFunction> {
    match expr {
        Expr::Alias(alias) => function_of(&alias.expr),
        Expr::ScalarFunction(function) => Some(function),
        _ => None,
    }
}

fn window(projection: &Projection, mark: &ScalarFunction) -> Result<LogicalPlan, SqlError> {
    let refused = |text: String| SqlError::Refused(format!("TUMBLE or HOP: {text}"));
    let [time, size, step, lag] = mark.args.as_slice() else {
        return Err(refused("a column, a size, a step and a lag are what is known of a window".to_owned()));
    };
    let columns = &projection.expr[..projection.expr.len() - 2];
    let Some(place) = columns.iter().position(|column| column == time) else {
        return Err(refused(format!("DESCRIPTOR({time}) names no column of the table")));
    };
    let length = |expr: &Expr| match expr {
        Expr::Literal(value, _) => Ok(value.clone()),
        other => Err(refused(format!("the length {other} is no constant"))),
    };
    let data_type = time.get_type(projection.input.schema())?;
    let shape =
        WindowShape::new(&data_type, &length(size)?, &length(step)?, &length(lag)?).map_err(refused)?;
    let input =
        LogicalPlan::Projection(Projection::try_new(columns.to_vec(), Arc::clone(&projection.input))?);
    let time = Expr::Column(Column::from(input.schema().qualified_field(place)));
    let node = Arc::new(TimeWindow::new(input, time, shape)?);
    Ok(LogicalPlan::Extension(Extension { node }))
}
