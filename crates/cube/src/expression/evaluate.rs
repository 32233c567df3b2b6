//! A formula over Arrow arrays. Recursion is as deep as the parser allows: some 200 nodes. Threads: `cpu`.

use super::arithmetic::{Operand, arithmetic, numeric, promoted};
use super::{Arithmetic, Expression, Function, Node, Sign};
use crate::coordinate::{Coordinate, is_date_or_time, logical_type, wanted};
use crate::error::CubeError;
use crate::exact::{compare_int_float, does_not_fit, strict, with_one_zero};
use crate::filter::{ColumnSource, Literal};
use crate::literal::Number;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, StringArray};
use arrow::compute::kernels::{cmp, numeric as kernels, zip::zip};
use arrow::compute::{cast, is_not_null};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use arrow::error::ArrowError;
use foldhash::{HashMap, HashMapExt};
use std::cmp::Ordering;
use std::sync::Arc;

impl Expression {
    /// Its value in every row.
    pub(crate) fn evaluate(&self, columns: &dyn ColumnSource) -> Result<ArrayRef, CubeError> {
        let value = node(&self.node, columns)?;
        if !value.is_scalar {
            return Ok(value.array);
        }
        let indices = arrow::array::UInt32Array::from(vec![0; columns.rows()]);
        arrow::compute::take(&value.array, &indices, None).map_err(|error| failed(&error))
    }
}

fn failed(error: &arrow::error::ArrowError) -> CubeError {
    CubeError::arrow("expression", error)
}

fn node(of: &Node, columns: &dyn ColumnSource) -> Result<Operand, CubeError> {
    Ok(match of {
        Node::Name(name) => {
            let column = columns.column(name)?;
            // A whole number that formulas cannot have is told of its column.
            Operand::rows(match column.data_type() {
                DataType::UInt64 => {
                    strict(&column, &DataType::Int64).map_err(|error| does_not_fit(name, error))?
                }
                _ => column,
            })
        }
        Node::Int(value) => Operand::scalar(Arc::new(Int64Array::from(vec![*value]))),
        Node::Float(value) => Operand::scalar(Arc::new(Float64Array::from(vec![*value]))),
        Node::Text(text) => Operand::scalar(Arc::new(StringArray::from(vec![text.as_ref()]))),
        Node::Negative(inner) => {
            let zero = Operand::scalar(Arc::new(Int64Array::from(vec![0])));
            arithmetic(Arithmetic::Subtract, &zero, &node(inner, columns)?)?
        }
        Node::Chain(first, others) => {
            let mut left = node(first, columns)?;
            for (sign, operand) in others {
                left = binary(*sign, &left, &node(operand, columns)?)?;
            }
            left
        }
        Node::Call(function, arguments) => {
            let arguments: Result<Vec<Operand>, CubeError> =
                arguments.iter().map(|argument| node(argument, columns)).collect();
            call(*function, arguments?)?
        }
    })
}

fn binary(sign: Sign, left: &Operand, right: &Operand) -> Result<Operand, CubeError> {
    let is_scalar = left.is_scalar && right.is_scalar;
    let compare = match sign {
        Sign::Arithmetic(sign) => return arithmetic(sign, left, right),
        Sign::Divide => {
            let (left, right) =
                (numeric(left)?.cast(&DataType::Float64)?, numeric(right)?.cast(&DataType::Float64)?);
            let array = kernels::div(&*left.datum(), &*right.datum()).map_err(|error| failed(&error))?;
            return Ok(Operand { array, is_scalar });
        }
        Sign::Equal => cmp::eq,
        Sign::NotEqual => cmp::neq,
        Sign::Less => cmp::lt,
        Sign::AtMost => cmp::lt_eq,
        Sign::Greater => cmp::gt,
        Sign::AtLeast => cmp::gt_eq,
    };
    let exactly = match compared_exactly(sign, left, right)? {
        None => compared_between(sign, left, right)?,
        exactly => exactly,
    };
    let array = match exactly {
        Some(array) => array,
        None => {
            let (left, right) = comparable(left, right)?;
            compare(&*left.datum(), &*right.datum()).map_err(|error| failed(&error))?
        }
    };
    Ok(Operand { array: Arc::new(array), is_scalar })
}

/// Whole numbers compared with floats: as a double, a large whole number would be another one. Nothing for other operands.
fn compared_exactly(sign: Sign, left: &Operand, right: &Operand) -> Result<Option<BooleanArray>, CubeError> {
    let (is_reversed, whole, float) = match (left.array.data_type(), right.array.data_type()) {
        (of, DataType::Float64) if of.is_integer() => (false, left, right),
        (DataType::Float64, of) if of.is_integer() => (true, right, left),
        _ => return Ok(None),
    };
    let rows = if whole.is_scalar { float.array.len() } else { whole.array.len() };
    let (whole, float) = (spread(&numeric(whole)?, rows)?, spread(float, rows)?);
    let compare = |(whole, float): (Option<i64>, Option<f64>)| {
        let order = compare_int_float(whole?, float?);
        holds(sign, if is_reversed { order.reverse() } else { order })
    };
    let (whole, float) = (whole.as_primitive::<Int64Type>(), float.as_primitive::<Float64Type>());
    Ok(Some(whole.iter().zip(float).map(compare).collect()))
}

/// Whether values that compare so are in a relation; nothing for what is no relation.
fn holds(sign: Sign, order: Ordering) -> Option<bool> {
    Some(match sign {
        Sign::Equal => order.is_eq(),
        Sign::NotEqual => order.is_ne(),
        Sign::Less => order.is_lt(),
        Sign::AtMost => order.is_le(),
        Sign::Greater => order.is_gt(),
        Sign::AtLeast => order.is_ge(),
        Sign::Arithmetic(_) | Sign::Divide => return None,
    })
}

/// Times compared with a literal that lies between two of theirs: each is below or above it. Nothing for other operands.
fn compared_between(sign: Sign, left: &Operand, right: &Operand) -> Result<Option<BooleanArray>, CubeError> {
    let type_of = |operand: &Operand| logical_type(operand.array.data_type());
    let (is_reversed, times, literal) = match (is_date_or_time(&type_of(left)), right.is_scalar) {
        (true, true) => (false, left, right),
        _ if left.is_scalar && is_date_or_time(&type_of(right)) => (true, right, left),
        _ => return Ok(None),
    };
    let data_type = type_of(times);
    if type_of(literal) != DataType::Utf8 || literal.array.is_empty() {
        return Ok(None);
    }
    let Some((floor, true)) = Coordinate::at(&literal.array, 0).moment(&data_type) else { return Ok(None) };
    let floor = Operand::scalar(Coordinate::column(&[floor], &data_type).map_err(|error| failed(&error))?);
    let above =
        cmp::gt(&*times.cast(&data_type)?.datum(), &*floor.datum()).map_err(|error| failed(&error))?;
    let order = |is_above: bool| if is_above != is_reversed { Ordering::Greater } else { Ordering::Less };
    Ok(Some(above.iter().map(|is_above| holds(sign, order(is_above?))).collect()))
}

/// Both of one type: numbers as numbers with one zero and one NaN, all else as the type of the one that is no literal.
fn comparable(left: &Operand, right: &Operand) -> Result<(Operand, Operand), CubeError> {
    let is_numeric = |operand: &Operand| operand.array.data_type().is_numeric();
    if is_numeric(left) && is_numeric(right) {
        let (left, right) = promoted(left, right)?;
        return Ok((one_zero(&left), one_zero(&right)));
    }
    let of = if left.is_scalar { right } else { left };
    let data_type = logical_type(of.array.data_type());
    Ok((read_as(left, &data_type)?, read_as(right, &data_type)?))
}

fn one_zero(operand: &Operand) -> Operand {
    Operand { array: with_one_zero(&operand.array), is_scalar: operand.is_scalar }
}

/// The operand as values of a type. Texts are read as filters read them: one that is no date is an error where there are dates, and so is a
/// number; a literal that is no number is one where there are numbers.
fn read_as(operand: &Operand, data_type: &DataType) -> Result<Operand, CubeError> {
    let from = operand.array.data_type();
    let (is_text, is_time) = (logical_type(from) == DataType::Utf8, is_date_or_time(data_type));
    let wrong = |value: &Coordinate| CubeError::InvalidExpression {
        at: 0,
        problem: format!("{} is no {}", Literal(value), wanted(data_type)),
    };
    let finer = |value: &Coordinate| CubeError::InvalidExpression {
        at: 0,
        problem: format!("{} has more digits than times of {data_type}; leave them out", Literal(value)),
    };
    if !is_text || *data_type == DataType::Utf8 || *from == DataType::Null {
        if is_time && from.is_numeric() && !operand.array.is_empty() {
            return Err(wrong(&Coordinate::at(&operand.array, 0)));
        }
        return operand.cast(data_type);
    }
    let texts = operand.cast(&DataType::Utf8)?;
    let mut values = Vec::with_capacity(texts.array.len());
    // Each text is read once: that is dear, and columns repeat theirs.
    let mut known: HashMap<Option<&str>, Coordinate> = HashMap::new();
    for text in texts.array.as_string::<i32>() {
        if let Some(value) = known.get(&text) {
            values.push(value.clone());
            continue;
        }
        let value = Coordinate::from(text);
        if let (true, true, Some(Number::Near(near))) =
            (operand.is_scalar, data_type.is_numeric(), text.map(Number::of))
        {
            let problem = format!("{} is no number here: {}", Literal(&value), Number::advice(near));
            return Err(CubeError::InvalidExpression { at: 0, problem });
        }
        let typed = match value.typed(data_type) {
            None if is_time && value.moment(data_type).is_some() => return Err(finer(&value)),
            None if is_time || operand.is_scalar => return Err(wrong(&value)),
            typed => typed.unwrap_or(Coordinate::Null),
        };
        known.insert(text, typed.clone());
        values.push(typed);
    }
    let array = Coordinate::column(&values, data_type).map_err(|error| failed(&error))?;
    Ok(Operand { array, is_scalar: operand.is_scalar })
}

fn call(function: Function, arguments: Vec<Operand>) -> Result<Operand, CubeError> {
    match function {
        Function::Coalesce => fold(arguments, |left, right| {
            let (left, right) = one_type(left, right)?;
            let present = is_not_null(&left.array).map_err(|error| failed(&error))?;
            choose(&present, left.is_scalar, &left, &right)
        }),
        Function::Min | Function::Max => fold(arguments, |left, right| {
            let (left, right) = promoted(left, right)?;
            let (left, right) = (one_zero(&left), one_zero(&right));
            let compare = if function == Function::Min { cmp::lt_eq } else { cmp::gt_eq };
            let first = compare(&*left.datum(), &*right.datum()).map_err(|error| failed(&error))?;
            let is_scalar = left.is_scalar && right.is_scalar;
            let both = choose(&first, is_scalar, &left, &right)?;
            // A comparison with a missing value is missing, and so is the result.
            let mask = arrow::compute::is_null(&first).map_err(|error| failed(&error))?;
            let array = arrow::compute::nullif(&both.array, &mask).map_err(|error| failed(&error))?;
            Ok(Operand { array, is_scalar: both.is_scalar })
        }),
        Function::If => {
            let [condition, then, otherwise] =
                <[Operand; 3]>::try_from(arguments).map_err(|_| wrong_arguments())?;
            let (then, otherwise) = one_type(&then, &otherwise)?;
            let condition = condition.cast(&DataType::Boolean)?;
            choose(condition.array.as_boolean(), condition.is_scalar, &then, &otherwise)
        }
        Function::Power => {
            let [base, exponent] = <[Operand; 2]>::try_from(arguments).map_err(|_| wrong_arguments())?;
            let rows = base.array.len().max(exponent.array.len());
            let is_scalar = base.is_scalar && exponent.is_scalar;
            let (base, exponent) = (floats(&spread(&base, rows)?)?, floats(&spread(&exponent, rows)?)?);
            let powers: Float64Array = base
                .iter()
                .zip(exponent.iter())
                .map(|(base, exponent)| Some(base?.powf(exponent?)))
                .collect();
            Ok(Operand { array: Arc::new(powers), is_scalar })
        }
        Function::Abs | Function::Ceil | Function::Exp | Function::Floor | Function::Ln | Function::Sqrt => {
            let argument = numeric(arguments.first().ok_or_else(wrong_arguments)?)?;
            let is_scalar = argument.is_scalar;
            if let (Function::Abs, DataType::Int64) = (function, argument.array.data_type()) {
                let whole = argument.array.as_primitive::<Int64Type>();
                let abs = |value: i64| {
                    let overflow =
                        || ArrowError::ArithmeticOverflow(format!("Overflow happened on: abs({value})"));
                    value.checked_abs().ok_or_else(overflow)
                };
                let array = whole.try_unary::<_, Int64Type, _>(abs).map_err(|error| failed(&error))?;
                return Ok(Operand { array: Arc::new(array), is_scalar });
            }
            let compute = match function {
                Function::Abs => f64::abs,
                Function::Ceil => f64::ceil,
                Function::Exp => f64::exp,
                Function::Floor => f64::floor,
                Function::Ln => f64::ln,
                _ => f64::sqrt,
            };
            Ok(Operand {
                array: Arc::new(floats(&argument.array)?.unary::<_, Float64Type>(compute)),
                is_scalar,
            })
        }
    }
}

fn wrong_arguments() -> CubeError {
    CubeError::InvalidExpression { at: 0, problem: "a function was given too few arguments".to_owned() }
}

fn floats(array: &ArrayRef) -> Result<Float64Array, CubeError> {
    Ok(cast(array, &DataType::Float64).map_err(|error| failed(&error))?.as_primitive::<Float64Type>().clone())
}

fn fold(
    arguments: Vec<Operand>,
    combine: impl Fn(&Operand, &Operand) -> Result<Operand, CubeError>,
) -> Result<Operand, CubeError> {
    let mut arguments = arguments.into_iter();
    let first = arguments.next().ok_or_else(wrong_arguments)?;
    arguments.try_fold(first, |left, right| combine(&left, &right))
}

/// Both as one type: numbers promoted, all else as texts unless they agree.
fn one_type(left: &Operand, right: &Operand) -> Result<(Operand, Operand), CubeError> {
    if left.array.data_type() == right.array.data_type() {
        return Ok((left.clone(), right.clone()));
    }
    promoted(left, right).or_else(|_| comparable(left, right))
}

fn spread(operand: &Operand, rows: usize) -> Result<ArrayRef, CubeError> {
    if operand.array.len() == rows {
        return Ok(operand.array.clone());
    }
    let indices = arrow::array::UInt32Array::from(vec![0; rows]);
    arrow::compute::take(&operand.array, &indices, None).map_err(|error| failed(&error))
}

/// `first` where the condition holds, `second` elsewhere.
fn choose(
    condition: &BooleanArray,
    is_scalar: bool,
    first: &Operand,
    second: &Operand,
) -> Result<Operand, CubeError> {
    if is_scalar {
        return Ok(if condition.is_valid(0) && condition.value(0) { first.clone() } else { second.clone() });
    }
    let array = zip(condition, &*first.datum(), &*second.datum()).map_err(|error| failed(&error))?;
    Ok(Operand::rows(array))
}
