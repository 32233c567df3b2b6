//! Arithmetic of whole numbers that ends with an error where its result does not fit, and an exclusive or that the optimizer leaves alone.
//!
//! DataFusion's own operators wrap around without a word. Their places are taken after types are coerced (see `plan::operators`), so both
//! sides have one type. Constants are computed while the statement is planned, as any function of constants.

use crate::error::SqlError;
use arrow::array::{ArrayRef, Datum};
use arrow::compute::kernels::bitwise::bitwise_xor;
use arrow::compute::kernels::numeric::{add, mul, sub};
use arrow::datatypes::{DataType, Field, FieldRef, Int8Type, Int16Type, Int32Type, Int64Type};
use arrow::datatypes::{UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow::error::ArrowError;
use datafusion::common::{Result, internal_err};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{
    ColumnarValue, Expr, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use datafusion::physical_expr_common::datum::apply;
use std::sync::{Arc, LazyLock};

/// `a + b`, `a - b` or `a * b` of whole numbers of one type, with an error instead of an overflow; nothing for other operators.
pub(crate) fn checked(op: Operator) -> Option<Arc<ScalarUDF>> {
    static FUNCTIONS: LazyLock<[(Operator, Arc<ScalarUDF>); 3]> =
        LazyLock::new(|| [Operator::Plus, Operator::Minus, Operator::Multiply].map(|op| (op, of(op))));
    FUNCTIONS.iter().find_map(|(known, function)| (*known == op).then(|| Arc::clone(function)))
}

/// The exclusive or of whole numbers of one type.
pub(crate) fn xor() -> Arc<ScalarUDF> {
    static FUNCTION: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| of(Operator::BitwiseXor));
    Arc::clone(&FUNCTION)
}

fn of(op: Operator) -> Arc<ScalarUDF> {
    let name = op.to_string();
    let signature = Signature::any(2, Volatility::Immutable);
    Arc::new(ScalarUDF::new_from_impl(CheckedOperator { op, name, signature }))
}

/// An operator as a function.
#[derive(Debug, PartialEq, Eq, Hash)]
struct CheckedOperator {
    op: Operator,
    name: String,
    signature: Signature,
}

impl ScalarUDFImpl for CheckedOperator {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [left, right] if left == right && left.is_integer() => Ok(left.clone()),
            _ => internal_err!("{} takes two whole numbers of one type", self.name),
        }
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let types: Vec<DataType> = args.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let is_nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(&self.name, self.return_type(&types)?, is_nullable)))
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        let names: Vec<String> = args.iter().map(ToString::to_string).collect();
        Ok(names.join(&format!(" {} ", self.name)))
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let names: Vec<String> = args.iter().map(|one| one.schema_name().to_string()).collect();
        Ok(names.join(&format!(" {} ", self.name)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [left, right] = args.args.as_slice() else {
            return internal_err!("{} takes two whole numbers", self.name);
        };
        let answer = match self.op {
            Operator::Plus => apply(left, right, add),
            Operator::Minus => apply(left, right, sub),
            Operator::Multiply => apply(left, right, mul),
            _ => apply(left, right, both_or_neither),
        };
        answer.map_err(|error| {
            let is_overflow = matches!(error.find_root(), DataFusionError::ArrowError(cause, _)
                if matches!(cause.as_ref(), ArrowError::ArithmeticOverflow(_)));
            match is_overflow {
                true => {
                    let kind = word(args.return_field.data_type());
                    SqlError::OutOfRange { operator: self.name.clone(), kind }.into_plan()
                }
                false => error,
            }
        })
    }
}

/// What SQL calls a type of numbers.
pub(super) fn word(kind: &DataType) -> &'static str {
    match kind {
        DataType::Int8 => "TINYINT",
        DataType::Int16 => "SMALLINT",
        DataType::Int32 => "INTEGER",
        DataType::Int64 => "BIGINT",
        DataType::UInt8 => "TINYINT UNSIGNED",
        DataType::UInt16 => "SMALLINT UNSIGNED",
        DataType::UInt32 => "INTEGER UNSIGNED",
        DataType::Decimal32(_, _) | DataType::Decimal64(_, _) | DataType::Decimal128(_, _) => "DECIMAL",
        _ => "BIGINT UNSIGNED",
    }
}

fn both_or_neither(left: &dyn Datum, right: &dyn Datum) -> std::result::Result<ArrayRef, ArrowError> {
    use arrow::array::AsArray;
    let ((left, left_is_one), (right, right_is_one)) = (left.get(), right.get());
    let rows = if left_is_one { right.len() } else { left.len() };
    let whole =
        |array: &dyn arrow::array::Array, is_one: bool| -> std::result::Result<ArrayRef, ArrowError> {
            if !is_one || rows == 1 {
                return Ok(arrow::array::make_array(array.to_data()));
            }
            let same = arrow::array::UInt64Array::from_value(0, rows);
            arrow::compute::take(array, &same, None)
        };
    let (left, right) = (whole(left, left_is_one)?, whole(right, right_is_one)?);
    macro_rules! of {
        ($($kind:ident => $primitive:ident),*) => {
            match left.data_type() {
                $(DataType::$kind => Ok(Arc::new(bitwise_xor(
                    left.as_primitive::<$primitive>(),
                    right.as_primitive::<$primitive>(),
                )?) as ArrayRef),)*
                other => Err(ArrowError::ComputeError(format!("{other} has no exclusive or"))),
            }
        };
    }
    of!(Int8 => Int8Type, Int16 => Int16Type, Int32 => Int32Type, Int64 => Int64Type,
        UInt8 => UInt8Type, UInt16 => UInt16Type, UInt32 => UInt32Type, UInt64 => UInt64Type)
}
