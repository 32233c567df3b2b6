//! Sums, differences and products of arrays: whole numbers stay whole, all else is a float.

use crate::error::CubeError;
use arrow::array::{Array, ArrayRef, Datum, Scalar};
use arrow::compute::{cast, kernels::numeric};
use arrow::datatypes::DataType;

/// The operators that whole numbers stay whole under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
}

/// An array, or one value for all rows.
#[derive(Debug, Clone)]
pub(crate) struct Operand {
    /// The array; of one row when the operand is a value.
    pub(crate) array: ArrayRef,
    pub(crate) is_scalar: bool,
}

impl Operand {
    pub(crate) fn rows(array: ArrayRef) -> Self {
        Self { array, is_scalar: false }
    }

    pub(crate) fn scalar(array: ArrayRef) -> Self {
        Self { array, is_scalar: true }
    }

    pub(crate) fn datum(&self) -> Box<dyn Datum> {
        if self.is_scalar { Box::new(Scalar::new(self.array.clone())) } else { Box::new(self.array.clone()) }
    }

    pub(crate) fn cast(&self, data_type: &DataType) -> Result<Self, CubeError> {
        if self.array.data_type() == data_type {
            return Ok(self.clone());
        }
        let array = cast(&self.array, data_type).map_err(|error| CubeError::arrow("expression", &error))?;
        Ok(Self { array, is_scalar: self.is_scalar })
    }
}

/// The array as whole numbers or floats; an error when it is neither.
pub(crate) fn numeric(operand: &Operand) -> Result<Operand, CubeError> {
    let data_type = operand.array.data_type();
    match data_type {
        DataType::Int64 | DataType::Float64 => Ok(operand.clone()),
        DataType::Boolean => operand.cast(&DataType::Int64),
        DataType::Null => operand.cast(&DataType::Float64),
        other if other.is_integer() => {
            let array = crate::exact::strict(&operand.array, &DataType::Int64)?;
            Ok(Operand { array, is_scalar: operand.is_scalar })
        }
        other if other.is_numeric() => operand.cast(&DataType::Float64),
        other => Err(CubeError::UnsupportedType {
            place: "expression".into(),
            problem: format!("values of type {other} are no numbers; use numbers here"),
        }),
    }
}

/// Both as numbers of one type.
pub(crate) fn promoted(left: &Operand, right: &Operand) -> Result<(Operand, Operand), CubeError> {
    // Where there is no value at all, the other one's type is as good as any.
    let is_null = |operand: &Operand| *operand.array.data_type() == DataType::Null;
    let (left, right) = match (is_null(left), is_null(right)) {
        (true, false) => (left.cast(numeric(right)?.array.data_type())?, numeric(right)?),
        (false, true) => (numeric(left)?, right.cast(numeric(left)?.array.data_type())?),
        _ => (numeric(left)?, numeric(right)?),
    };
    if left.array.data_type() == right.array.data_type() {
        return Ok((left, right));
    }
    Ok((left.cast(&DataType::Float64)?, right.cast(&DataType::Float64)?))
}

/// `left sign right`, missing where one of them is.
pub(crate) fn arithmetic(sign: Arithmetic, left: &Operand, right: &Operand) -> Result<Operand, CubeError> {
    let (left, right) = promoted(left, right)?;
    let compute = match sign {
        Arithmetic::Add => numeric::add,
        Arithmetic::Subtract => numeric::sub,
        Arithmetic::Multiply => numeric::mul,
    };
    let array =
        compute(&*left.datum(), &*right.datum()).map_err(|error| CubeError::arrow("expression", &error))?;
    Ok(Operand { array, is_scalar: left.is_scalar && right.is_scalar })
}
