//! Functions whose result can be far larger than their arguments, bounded before they run.
//!
//! `repeat('x', 1000000000)` is a short text and a gigabyte. Operators ask the query's memory before they grow, scalar functions of
//! DataFusion do not. Each of those that can grow, or take long, is registered inside a [`BoundedFunction`], which knows what a row can
//! cost. The batch is run in pieces of rows, and before each piece what its result takes at most is charged to the query. What the query may
//! not have is refused with an error that names the function and the setting. The charge stays as long as the result lives.
//!
//! ```text
//!   args --> costs of each row --> pieces --> charge --> the function --> charge what it really took --> result
//! ```
//!
//! Constants that the optimizer folds go the same way. There a result must be small, since plans are copied, and is charged as long as the
//! query lives.
//!
//! Between pieces a cancelled query ends. Rejected: to count what was allocated after the call (it is too late then), and limits on
//! arguments (a million rows of a kilobyte are as much as one row of a gigabyte).

mod account;
mod aggregates;
mod charged;
mod cost;
mod fixed;
mod planned;
mod values;

pub(crate) use account::{check_planning, enter, enter_planning};
pub(crate) use fixed::{check_sql_type, fixed_bytes};
pub(crate) use planned::BoundFunctions;

use crate::error::SqlError;
use account::Charge;
use cost::Cost;
use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::compute::concat;
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::SessionState;
use datafusion::logical_expr::registry::FunctionRegistry;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature,
};
use std::ops::Range;
use std::sync::Arc;

/// Bytes of the result of one piece, unless a single row has more.
const PIECE_BYTES: u64 = 4 << 20;

/// Steps of one piece, a few milliseconds, unless a single row has more.
const PIECE_STEPS: u64 = 1 << 22;

/// Bytes up to which a result is not charged by itself: the batch that it becomes a part of is.
const FREE_BYTES: u64 = 1 << 20;

/// Bytes that a text or list column of one batch can have.
const COLUMN_BYTES: u64 = i32::MAX as u64;

/// A function of DataFusion, and what its rows can cost.
#[derive(Debug, PartialEq, Eq, Hash)]
struct BoundedFunction {
    inner: Arc<ScalarUDF>,
    cost: Cost,
}

/// Puts a bound around all functions of `state` that need one.
pub(crate) fn bound_functions(state: &mut SessionState) -> Result<()> {
    for (name, cost) in cost::NAMED {
        let Ok(inner) = state.udf(name) else { continue };
        if inner.inner().downcast_ref::<BoundedFunction>().is_none() {
            state.register_udf(Arc::new(ScalarUDF::new_from_impl(BoundedFunction { inner, cost: *cost })))?;
        }
    }
    fixed::check_casts(state)?;
    aggregates::bound_aggregates(state)
}

/// How much a function can make of few arguments, for whoever decides how many rows it gets at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    /// As much as it reads, in the time that takes.
    Light,
    /// It can take long for a row.
    Slow,
    /// A row can be as large as memory.
    Huge,
}

/// What is known of a function.
pub(crate) fn weight_of(function: &ScalarUDF) -> Weight {
    match function.inner().downcast_ref::<BoundedFunction>() {
        None => Weight::Light,
        Some(bounded) if matches!(bounded.cost, Cost::Sum | Cost::Format) => Weight::Light,
        Some(bounded) if bounded.cost.is_huge() => Weight::Huge,
        Some(_) => Weight::Slow,
    }
}

impl BoundedFunction {
    /// Refuses a row that no batch could hold, or that nobody would wait for.
    fn check_rows(&self, costs: &cost::Costs) -> Result<()> {
        let most = costs.bytes.iter().copied().max().unwrap_or(0);
        if most > COLUMN_BYTES {
            return Err(DataFusionError::ResourcesExhausted(format!(
                "{} would make a value of up to {most} bytes, more than the {COLUMN_BYTES} that a value can have",
                self.name()
            )));
        }
        let most = costs.steps.iter().copied().max().unwrap_or(0);
        if most > cost::STEPS_OF_A_ROW {
            return Err(refused(format!(
                "{} would take {most} steps for one row, more than the {} allowed; give it shorter texts",
                self.name(),
                cost::STEPS_OF_A_ROW
            )));
        }
        Ok(())
    }

    fn in_pieces(&self, args: ScalarFunctionArgs, costs: &cost::Costs) -> Result<ColumnarValue> {
        self.check_rows(costs)?;
        let rows = args.number_rows;
        let is_one = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let pieces = if is_one { std::iter::once(0..rows).collect() } else { pieces(costs, rows) };
        let bytes_of = |piece: &Range<usize>| match is_one {
            true => costs.bytes.first().copied().unwrap_or(0),
            // None at all for a function that only takes long.
            false => costs.bytes.get(piece.clone()).unwrap_or_default().iter().fold(0_u64, saturating_sum),
        };
        if pieces.len() <= 1 {
            let charge = Charge::of(self.name(), bytes_of(&(0..rows)))?;
            let value = self.inner.invoke_with_args(args)?;
            return Ok(charge.hold(value));
        }
        if self.cost.is_exact() {
            // Better at once than when as much as is allowed was made.
            let whole = pieces.iter().map(bytes_of).fold(0_u64, u64::saturating_add);
            self.check_column(whole)?;
            drop(Charge::of(self.name(), whole)?);
        }
        let mut parts: Vec<(ArrayRef, Charge)> = Vec::with_capacity(pieces.len());
        let mut sum = 0_u64;
        for piece in pieces {
            account::check_cancelled()?;
            let mut charge = Charge::of(self.name(), bytes_of(&piece))?;
            let value = self.inner.invoke_with_args(sliced(&args, &piece))?.into_array(piece.len())?;
            let took = charged::bytes_of(&value);
            charge.resize(took);
            sum = sum.saturating_add(took);
            self.check_column(sum)?;
            parts.push((value, charge));
        }
        let charge = Charge::of(self.name(), sum)?;
        let arrays: Vec<&dyn Array> = parts.iter().map(|(part, _)| part.as_ref()).collect();
        let whole = concat(&arrays)?;
        drop(parts);
        Ok(charge.hold(ColumnarValue::Array(whole)))
    }

    fn check_column(&self, bytes: u64) -> Result<()> {
        if bytes <= COLUMN_BYTES {
            return Ok(());
        }
        Err(DataFusionError::ResourcesExhausted(format!(
            "{} would make a column of {bytes} bytes in one batch, more than the {COLUMN_BYTES} that it can have",
            self.name()
        )))
    }
}

/// An error of ours, on its way through a plan.
fn refused(text: String) -> DataFusionError {
    SqlError::Refused(text).into_plan()
}

fn saturating_sum(sum: u64, more: &u64) -> u64 {
    sum.saturating_add(*more)
}

/// Ranges of rows that are run at once.
fn pieces(costs: &cost::Costs, rows: usize) -> Vec<Range<usize>> {
    let at = |of: &[u64], row: usize| of.get(row).copied().unwrap_or(0);
    let mut pieces = Vec::new();
    let (mut begin, mut bytes, mut steps) = (0, 0_u64, 0_u64);
    for row in 0..rows {
        let (more_bytes, more_steps) = (at(&costs.bytes, row), at(&costs.steps, row));
        let (all_bytes, all_steps) = (bytes.saturating_add(more_bytes), steps.saturating_add(more_steps));
        if row > begin && (all_bytes > PIECE_BYTES || all_steps > PIECE_STEPS) {
            pieces.push(begin..row);
            (begin, bytes, steps) = (row, more_bytes, more_steps);
        } else {
            (bytes, steps) = (all_bytes, all_steps);
        }
    }
    pieces.push(begin..rows);
    pieces
}

fn sliced(args: &ScalarFunctionArgs, piece: &Range<usize>) -> ScalarFunctionArgs {
    let slice = |arg: &ColumnarValue| match arg {
        ColumnarValue::Array(array) => ColumnarValue::Array(array.slice(piece.start, piece.len())),
        ColumnarValue::Scalar(scalar) => ColumnarValue::Scalar(scalar.clone()),
    };
    ScalarFunctionArgs {
        args: args.args.iter().map(slice).collect(),
        arg_fields: args.arg_fields.clone(),
        number_rows: piece.len(),
        return_field: Arc::clone(&args.return_field),
        config_options: Arc::clone(&args.config_options),
    }
}

impl ScalarUDFImpl for BoundedFunction {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        self.inner.schema_name(args)
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(arg_types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(arg_types)
    }

    fn is_strict(&self) -> bool {
        self.inner.inner().is_strict()
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        match self.cost {
            // To an operator, which compiles a pattern that is written out once, but keeps all those that rows bring.
            Cost::Regexp if matches!(args.get(1), Some(Expr::Literal(..))) => self.inner.simplify(args, info),
            // Others may answer with a call of themselves, without a bound.
            _ => Ok(ExprSimplifyResult::Original(args)),
        }
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let free = account::free_bytes();
        let costs = self.cost.of(&args, free);
        match costs.is_small(free) {
            true => self.inner.invoke_with_args(args),
            false => self.in_pieces(args, &costs),
        }
    }
}

#[cfg(test)]
mod tests;
