//! Numbers of different types compared as what they are, and not as what a cast makes of them.
//!
//! A column may have values that neither `i64` nor `f64` has: unsigned ones above `i64::MAX`, decimals of 38 digits. A cast would turn them
//! into other numbers, or into no value. So what a filter compares with is brought to the column: all whole numbers and decimals are `i128` of
//! the column's scale, and the value that they are compared with becomes a [`Threshold`] among these.
//!
//! Floats have one zero and one NaN, which is above all numbers: as keys, in filters and in formulas.

use crate::error::CubeError;
use arrow::array::{Array, ArrayRef, AsArray, Float64Array};
use arrow::compute::{CastOptions, cast, cast_with_options};
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type, UInt64Type};
use std::cmp::Ordering;
use std::sync::Arc;

use crate::coordinate::Coordinate;

/// A decimal of at most so many digits is a double that no other such decimal is.
const DIGITS_OF_DOUBLE: u32 = 15;

/// One zero and one NaN.
#[inline]
pub(crate) fn one_zero(value: f64) -> f64 {
    if value == 0.0 {
        0.0
    } else if value.is_nan() {
        f64::NAN
    } else {
        value
    }
}

/// The order of floats: one zero, and one NaN above all.
pub(crate) fn compare_floats(a: f64, b: f64) -> Ordering {
    one_zero(a).total_cmp(&one_zero(b))
}

/// How a whole number compares with a float, exactly.
pub(crate) fn compare_int_float(a: i64, b: f64) -> Ordering {
    Threshold::of_float(b).compare(i128::from(a))
}

/// The whole number that a float is; none when it has a fraction or does not fit.
pub(crate) fn whole(value: f64) -> Option<i64> {
    // The bounds are exact: -2^63 is a whole number of 64 bits, 2^63 is not.
    let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value);
    (fits && value.fract() == 0.0).then_some(value as i64)
}

/// True when a double is exactly this whole number.
pub(crate) fn is_double(value: i64) -> bool {
    whole(value as f64) == Some(value)
}

/// A column of floats with one zero and one NaN; any other as it is.
pub(crate) fn with_one_zero(column: &ArrayRef) -> ArrayRef {
    match column.as_primitive_opt::<Float64Type>() {
        None => Arc::clone(column),
        Some(floats) => Arc::new(floats.unary::<_, Float64Type>(one_zero)) as Arc<Float64Array>,
    }
}

/// A number among the whole numbers of a column: how each of them compares with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Threshold {
    /// The greatest whole number that is not above it.
    floor: i128,
    /// True when it lies above that one.
    has_fraction: bool,
}

impl Threshold {
    /// A value among the unscaled values of a column; nothing for what is no number. `scale` is none for whole numbers, among which a
    /// double is the number that it is; among decimals it is the one that people write for it: 0.1 is a tenth.
    pub(crate) fn of(value: &Coordinate, scale: Option<i8>) -> Option<Self> {
        match (value, scale) {
            (Coordinate::Int(value), scale) => {
                Some(Self::scaled(i128::from(*value), i32::from(scale.unwrap_or(0))))
            }
            (Coordinate::Float(value), None) => Some(Self::of_float(*value)),
            (Coordinate::Float(value), Some(_)) if !value.is_finite() => Some(Self::of_float(*value)),
            // What is written for it is the negative of the least whole number.
            (Coordinate::Float(value), Some(scale)) if value.abs() == 2_f64.powi(63) => {
                Some(Self::scaled(*value as i128, i32::from(scale)))
            }
            (Coordinate::Float(value), Some(scale)) => {
                let written = format!("{value:e}");
                let (digits, exponent) = written.split_once('e')?;
                let after = digits.split_once('.').map_or(0, |(_, after)| after.len() as i32);
                let digits: i128 = digits.replace('.', "").parse().ok()?;
                Some(Self::scaled(digits, exponent.parse::<i32>().ok()? - after + i32::from(scale)))
            }
            _ => None,
        }
    }

    fn of_float(value: f64) -> Self {
        if value.is_nan() {
            return Self { floor: i128::MAX, has_fraction: true };
        }
        // Saturates, far from all whole numbers that columns have.
        Self { floor: value.floor() as i128, has_fraction: value.fract() != 0.0 }
    }

    /// `digits` times ten to the power of `exponent`.
    fn scaled(digits: i128, exponent: i32) -> Self {
        let power = 10_i128.checked_pow(exponent.unsigned_abs());
        if exponent >= 0 {
            let end = if digits < 0 { i128::MIN } else { i128::MAX };
            let floor = if digits == 0 {
                0
            } else {
                power.and_then(|power| digits.checked_mul(power)).unwrap_or(end)
            };
            return Self { floor, has_fraction: false };
        }
        match power {
            Some(power) => {
                Self { floor: digits.div_euclid(power), has_fraction: digits.rem_euclid(power) != 0 }
            }
            None => Self { floor: if digits < 0 { -1 } else { 0 }, has_fraction: digits != 0 },
        }
    }

    /// How a whole number compares with it.
    #[inline]
    pub(crate) fn compare(self, value: i128) -> Ordering {
        match value.cmp(&self.floor) {
            Ordering::Equal if self.has_fraction => Ordering::Less,
            other => other,
        }
    }

    /// The whole number that it is.
    pub(crate) fn whole(self) -> Option<i128> {
        (!self.has_fraction).then_some(self.floor)
    }
}

/// A column of whole numbers or decimals, as unscaled whole numbers that nothing is lost of.
pub(crate) enum WholeColumn {
    Int(ArrayRef),
    Unsigned(ArrayRef),
    Wide(ArrayRef, i8),
}

impl WholeColumn {
    /// Nothing for columns of other types.
    pub(crate) fn of(column: &ArrayRef) -> Result<Option<Self>, CubeError> {
        let strictly = |data_type: &DataType| strict(column, data_type);
        Ok(match column.data_type() {
            DataType::UInt64 => Some(Self::Unsigned(Arc::clone(column))),
            integer if integer.is_integer() => Some(Self::Int(strictly(&DataType::Int64)?)),
            DataType::Decimal32(_, scale)
            | DataType::Decimal64(_, scale)
            | DataType::Decimal128(_, scale)
            | DataType::Decimal256(_, scale) => {
                Some(Self::Wide(strictly(&DataType::Decimal128(38, *scale))?, *scale))
            }
            _ => None,
        })
    }

    /// The scale of decimals.
    pub(crate) fn scale(&self) -> Option<i8> {
        match self {
            Self::Wide(_, scale) => Some(*scale),
            Self::Int(_) | Self::Unsigned(_) => None,
        }
    }

    /// Whether each value is as `is_wanted` says; missing where the value is.
    pub(crate) fn mask(&self, is_wanted: impl Fn(i128) -> bool) -> arrow::array::BooleanArray {
        use arrow::array::BooleanArray;
        match self {
            Self::Int(column) => {
                BooleanArray::from_unary(column.as_primitive::<Int64Type>(), |value| is_wanted(value.into()))
            }
            Self::Unsigned(column) => {
                BooleanArray::from_unary(column.as_primitive::<UInt64Type>(), |value| is_wanted(value.into()))
            }
            Self::Wide(column, _) => {
                BooleanArray::from_unary(column.as_primitive::<Decimal128Type>(), is_wanted)
            }
        }
    }
}

/// A column in another type; a value that it does not have is an error, never a missing value.
pub(crate) fn strict(column: &ArrayRef, data_type: &DataType) -> Result<ArrayRef, CubeError> {
    if column.data_type() == data_type {
        return Ok(Arc::clone(column));
    }
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(column, data_type, &options).map_err(|error| CubeError::arrow("cast", &error))
}

/// A column in the type that its values are told apart by. Different values stay different: those that would not are an error.
pub(crate) fn logical(name: &str, column: &ArrayRef, data_type: &DataType) -> Result<ArrayRef, CubeError> {
    let column = match column.data_type() {
        DataType::Dictionary(_, values) => {
            &cast(column, values).map_err(|error| CubeError::arrow(name, &error))?
        }
        _ => column,
    };
    if let (DataType::Float64, Some(WholeColumn::Wide(decimals, _))) = (data_type, decimal(name, column)?) {
        const MOST: u128 = 10_u128.pow(DIGITS_OF_DOUBLE);
        let decimals = decimals.as_primitive::<Decimal128Type>();
        if decimals.iter().flatten().any(|value| value.unsigned_abs() >= MOST) {
            return Err(CubeError::UnsupportedType {
                place: format!("column {name:?}"),
                problem: format!(
                    "it has decimals of more than {DIGITS_OF_DOUBLE} digits, which cannot be told apart as coordinates; \
                     cast them to texts to group by them"
                ),
            });
        }
    }
    strict(column, data_type).map_err(|error| does_not_fit(name, error))
}

fn decimal(name: &str, column: &ArrayRef) -> Result<Option<WholeColumn>, CubeError> {
    match column.data_type().is_decimal() {
        true => WholeColumn::of(column).map_err(|error| does_not_fit(name, error)),
        false => Ok(None),
    }
}

/// What Arrow said of a value, told of its column.
pub(crate) fn does_not_fit(column: &str, error: CubeError) -> CubeError {
    match error {
        CubeError::Computation { message, .. } => {
            CubeError::Computation { place: format!("column {column:?}"), message }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_and_floats_compare_exactly() {
        assert_eq!(compare_int_float(i64::MAX, 9_223_372_036_854_775_808.0), Ordering::Less);
        assert_eq!(compare_int_float(i64::MIN, -9_223_372_036_854_775_808.0), Ordering::Equal);
        assert_eq!(compare_int_float(9_007_199_254_740_993, 9_007_199_254_740_992.0), Ordering::Greater);
        assert_eq!(compare_int_float(-2, -1.5), Ordering::Less);
        assert_eq!(compare_int_float(-1, -1.5), Ordering::Greater);
        for above in [1e19, f64::INFINITY, f64::NAN, -f64::NAN] {
            assert_eq!(compare_int_float(i64::MAX, above), Ordering::Less, "{above}");
        }
        assert_eq!(compare_int_float(i64::MIN, f64::NEG_INFINITY), Ordering::Greater);
        assert_eq!(
            (whole(9_223_372_036_854_775_808.0), whole(-9_223_372_036_854_775_808.0)),
            (None, Some(i64::MIN))
        );
        assert_eq!((whole(1.5), whole(f64::NAN), whole(-0.0)), (None, None, Some(0)));
    }

    #[test]
    fn doubles_are_the_decimals_that_people_write() {
        let among = |value: f64, scale| Threshold::of(&Coordinate::Float(value), Some(scale)).unwrap();
        assert_eq!(among(0.1, 1), Threshold { floor: 1, has_fraction: false });
        assert_eq!(among(0.25, 1), Threshold { floor: 2, has_fraction: true });
        assert_eq!(among(-0.25, 1), Threshold { floor: -3, has_fraction: true });
        assert_eq!(among(1e23, 0), Threshold { floor: 10_i128.pow(23), has_fraction: false });
        assert_eq!(among(1e-300, 2), Threshold { floor: 0, has_fraction: true });
        assert_eq!(among(-1e300, 2), Threshold { floor: i128::MIN, has_fraction: false });
        assert_eq!(among(150.0, -2), Threshold { floor: 1, has_fraction: true });
        assert_eq!(Threshold::of(&Coordinate::Int(7), Some(38)).unwrap().whole(), Some(i128::MAX));
    }
}
