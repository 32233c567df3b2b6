//! One value of a column: where a slice lies, what a filter compares with.
//!
//! Only definitions, filters and results hold coordinates; data stays in Arrow arrays. Two coordinates are equal when they are of one kind
//! and the same value, so filters are given the type of their column first ([`Coordinate::typed`]). A date is written as text, `2026-03-31`,
//! and in no other way: Arrow would read `2026-03-3x` as the third, and answer a question that nobody asked.

use crate::exact;
use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Date32Array, Float64Array, Int64Array, StringArray,
};
use arrow::compute::{CastOptions, cast, cast_with_options};
use arrow::datatypes::{DataType, Date32Type, Float64Type, Int64Type, TimeUnit};
use arrow::error::ArrowError;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A value of a column, or its absence. Floats have one zero and one NaN, which is above all numbers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub enum Coordinate {
    /// No value.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Any other number.
    Float(f64),
    /// A text, or a date or time in its ISO form.
    Text(Arc<str>),
}

/// A coordinate in the text of a forest.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Null(()),
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
}

impl From<Written> for Coordinate {
    fn from(written: Written) -> Self {
        match written {
            Written::Null(()) => Self::Null,
            Written::Bool(value) => Self::Bool(value),
            Written::Int(value) => Self::Int(value),
            Written::Float(value) => Self::Float(value),
            Written::Text(value) => Self::Text(value.into()),
        }
    }
}

impl From<Coordinate> for Written {
    fn from(coordinate: Coordinate) -> Self {
        match coordinate {
            Coordinate::Null => Self::Null(()),
            Coordinate::Bool(value) => Self::Bool(value),
            Coordinate::Int(value) => Self::Int(value),
            Coordinate::Float(value) => Self::Float(value),
            Coordinate::Text(value) => Self::Text(value.to_string()),
        }
    }
}

impl Coordinate {
    /// The coordinate as a column of this type has it. Nothing when no value of the type equals it, such as `x` as a number.
    pub(crate) fn typed(&self, data_type: &DataType) -> Option<Coordinate> {
        if matches!(self, Self::Null) {
            return Some(Self::Null);
        }
        let logical = logical_type(data_type);
        match (&logical, self) {
            (DataType::Int64, Self::Int(_))
            | (DataType::Float64, Self::Float(_))
            | (DataType::Boolean, Self::Bool(_))
            | (DataType::Utf8, Self::Text(_)) => return Some(self.clone()),
            (DataType::Int64, Self::Float(value)) => return exact::whole(*value).map(Self::Int),
            // No double, but a decimal can be it: filters compare them as what they are.
            (DataType::Float64, Self::Int(value)) if !exact::is_double(*value) => return Some(self.clone()),
            (DataType::Utf8, other) => return Some(Self::Text(other.to_string().into())),
            (temporal, other) if is_date_or_time(temporal) => {
                let (floor, is_finer) = other.moment(temporal)?;
                return (!is_finer).then_some(floor);
            }
            _ => {}
        }
        self.as_cast(&logical)
    }

    /// What Arrow reads it as in this type.
    pub(crate) fn as_cast(&self, data_type: &DataType) -> Option<Coordinate> {
        let strict = CastOptions { safe: true, ..CastOptions::default() };
        let value = cast_with_options(&self.array(1), data_type, &strict).ok()?;
        Some(Self::at(&value, 0)).filter(|value| *value != Self::Null)
    }

    /// An array of `rows` times this value.
    pub(crate) fn array(&self, rows: usize) -> ArrayRef {
        match self {
            Self::Null => arrow::array::new_null_array(&DataType::Int64, rows),
            Self::Bool(value) => Arc::new(BooleanArray::from(vec![*value; rows])),
            Self::Int(value) => Arc::new(Int64Array::from(vec![*value; rows])),
            Self::Float(value) => Arc::new(Float64Array::from(vec![*value; rows])),
            Self::Text(value) => Arc::new(StringArray::from_iter_values((0..rows).map(|_| value))),
        }
    }

    /// An array of coordinates that are all of this logical type, or missing.
    pub(crate) fn column(coordinates: &[Coordinate], data_type: &DataType) -> Result<ArrayRef, ArrowError> {
        let each = coordinates.iter();
        Ok(match data_type {
            DataType::Int64 => Arc::new(
                each.map(|of| if let Self::Int(value) = of { Some(*value) } else { None })
                    .collect::<Int64Array>(),
            ),
            DataType::Float64 => Arc::new(
                each.map(|of| if let Self::Float(value) = of { Some(*value) } else { None })
                    .collect::<Float64Array>(),
            ),
            DataType::Boolean => Arc::new(
                each.map(|of| if let Self::Bool(value) = of { Some(*value) } else { None })
                    .collect::<BooleanArray>(),
            ),
            other => {
                let texts: StringArray =
                    each.map(|of| if let Self::Text(text) = of { Some(&**text) } else { None }).collect();
                cast_with_options(&texts, other, &CastOptions { safe: true, ..CastOptions::default() })?
            }
        })
    }

    /// The value of an array at a row. What has no kind of its own is told as text.
    pub(crate) fn at(array: &dyn Array, row: usize) -> Coordinate {
        if array.is_null(row) {
            return Self::Null;
        }
        match array.data_type() {
            DataType::Boolean => Self::Bool(array.as_boolean().value(row)),
            DataType::Int64 => Self::Int(array.as_primitive::<Int64Type>().value(row)),
            DataType::Float64 => Self::Float(array.as_primitive::<Float64Type>().value(row)),
            DataType::Utf8 => Self::Text(array.as_string::<i32>().value(row).into()),
            DataType::Timestamp(unit, Some(_)) => zoned(array, row, *unit),
            _ => match arrow::util::display::array_value_to_string(array, row) {
                Ok(text) => match logical_type(array.data_type()) {
                    DataType::Int64 => text.parse().map_or(Self::Null, Self::Int),
                    DataType::Float64 => text.parse().map_or(Self::Null, Self::Float),
                    _ => Self::Text(text.into()),
                },
                Err(_) => Self::Null,
            },
        }
    }

    /// The days since 1970, of a text that is a date and nothing else.
    pub(crate) fn days(&self) -> Option<i32> {
        let Self::Text(_) = self else { return None };
        let strict = CastOptions { safe: true, ..CastOptions::default() };
        let days = cast_with_options(&self.array(1), &DataType::Date32, &strict).ok()?;
        let days = (!days.is_null(0)).then(|| days.as_primitive::<Date32Type>().value(0))?;
        (Self::of_days(days) == *self).then_some(days)
    }

    /// The date of so many days since 1970.
    pub(crate) fn of_days(days: i32) -> Coordinate {
        Self::at(&Date32Array::from(vec![days]), 0)
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Bool(_) => 1,
            Self::Int(_) => 2,
            Self::Float(_) => 3,
            Self::Text(_) => 4,
        }
    }
}

/// What the values of a type are called, and how they are written.
pub(crate) fn wanted(data_type: &DataType) -> String {
    match logical_type(data_type) {
        DataType::Date32 => "date; write dates like '2026-03-31'".to_owned(),
        DataType::Date64 | DataType::Timestamp(..) => {
            "time; write times like '2026-03-31T09:30:00' or '2026-03-31'".to_owned()
        }
        DataType::Time32(_) | DataType::Time64(_) => "time of a day; write times like '09:30:00'".to_owned(),
        DataType::Int64 => "whole number".to_owned(),
        DataType::Float64 => "number".to_owned(),
        other => format!("value of type {other}"),
    }
}

/// A time with a zone: in UTC and with all digits of its unit, so that the order of texts is that of times.
fn zoned(array: &dyn Array, row: usize, unit: TimeUnit) -> Coordinate {
    let digits = match unit {
        TimeUnit::Second => "%Y-%m-%dT%H:%M:%SZ",
        TimeUnit::Millisecond => "%Y-%m-%dT%H:%M:%S%.3fZ",
        TimeUnit::Microsecond => "%Y-%m-%dT%H:%M:%S%.6fZ",
        TimeUnit::Nanosecond => "%Y-%m-%dT%H:%M:%S%.9fZ",
    };
    let options = FormatOptions::new().with_timestamp_tz_format(Some(digits));
    let text = cast(&array.slice(row, 1), &DataType::Timestamp(unit, Some("+00:00".into())))
        .and_then(|utc| ArrayFormatter::try_new(&utc, &options)?.value(0).try_to_string());
    text.map_or(Coordinate::Null, |text| Coordinate::Text(text.into()))
}

/// True for types whose values are written as texts of one form.
pub(crate) fn is_date_or_time(logical: &DataType) -> bool {
    matches!(
        logical,
        DataType::Date32
            | DataType::Date64
            | DataType::Timestamp(..)
            | DataType::Time32(_)
            | DataType::Time64(_)
    )
}

/// The type that columns of a type are told apart by: one for whole numbers, one for other numbers, one for texts; dates and times stay.
/// Decimals without digits after the point are whole numbers. A value that the type does not have is an error where it is a coordinate
/// ([`exact::logical`]), and compared as what it is in filters.
pub(crate) fn logical_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Dictionary(_, values) => logical_type(values),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => DataType::Utf8,
        integer if integer.is_integer() => DataType::Int64,
        float if float.is_floating() => DataType::Float64,
        DataType::Decimal32(_, 0)
        | DataType::Decimal64(_, 0)
        | DataType::Decimal128(_, 0)
        | DataType::Decimal256(_, 0) => DataType::Int64,
        DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => DataType::Float64,
        other => other.clone(),
    }
}

impl PartialEq for Coordinate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Coordinate {}

impl PartialOrd for Coordinate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Coordinate {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Int(a), Self::Int(b)) => a.cmp(b),
            (Self::Float(a), Self::Float(b)) => exact::compare_floats(*a, *b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl Hash for Coordinate {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.rank().hash(state);
        match self {
            Self::Null => {}
            Self::Bool(value) => value.hash(state),
            Self::Int(value) => value.hash(state),
            Self::Float(value) => exact::one_zero(*value).to_bits().hash(state),
            Self::Text(value) => value.hash(state),
        }
    }
}

impl fmt::Display for Coordinate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => value.fmt(f),
            Self::Int(value) => value.fmt(f),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Text(value) => f.write_str(value),
        }
    }
}

impl From<bool> for Coordinate {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Coordinate {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<i32> for Coordinate {
    fn from(value: i32) -> Self {
        Self::Int(value.into())
    }
}

impl From<f64> for Coordinate {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

impl From<&str> for Coordinate {
    fn from(value: &str) -> Self {
        Self::Text(value.into())
    }
}

impl From<String> for Coordinate {
    fn from(value: String) -> Self {
        Self::Text(value.into())
    }
}

impl<T: Into<Coordinate>> From<Option<T>> for Coordinate {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_zero_and_one_nan() {
        use std::collections::HashSet;
        let floats = [0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY];
        let different: HashSet<Coordinate> = floats.into_iter().map(Coordinate::Float).collect();
        assert_eq!(different.len(), 3);
        assert!(Coordinate::Float(-f64::NAN) > Coordinate::Float(f64::INFINITY));
    }

    #[test]
    fn a_literal_takes_the_type_of_its_column() {
        let typed = |value: Coordinate, data_type| value.typed(&data_type);
        assert_eq!(typed("7".into(), DataType::Int32), Some(Coordinate::Int(7)));
        assert_eq!(typed(7.0.into(), DataType::Int64), Some(Coordinate::Int(7)));
        assert_eq!(typed(7.5.into(), DataType::Int64), None);
        assert_eq!(typed(9_223_372_036_854_775_808.0.into(), DataType::Int64), None);
        assert_eq!(typed(f64::NAN.into(), DataType::Int64), None);
        assert_eq!(typed("x".into(), DataType::Int64), None);
        assert_eq!(typed(7.into(), DataType::Utf8), Some("7".into()));
        assert_eq!(typed(7.into(), DataType::Float32), Some(7.0.into()));
        assert_eq!(typed("2026-03-31".into(), DataType::Date32), Some("2026-03-31".into()));
        assert_eq!(typed("31.3.".into(), DataType::Date32), None);
        assert_eq!(typed(Coordinate::Null, DataType::Date32), Some(Coordinate::Null));
        let moment = DataType::Timestamp(arrow::datatypes::TimeUnit::Millisecond, None);
        assert_eq!(typed("2026-03-31".into(), moment.clone()), Some("2026-03-31T00:00:00".into()));
        assert_eq!(typed("2026-03-31".into(), DataType::Date64), Some("2026-03-31T00:00:00".into()));
        let wrong =
            ["2026-03-3x", "2026-03-3", "2026-3-31x", "2026-03-3-", "2026-03-30x", "2026-02-31", "20260331"];
        for (wrong, of_type) in wrong
            .into_iter()
            .flat_map(|wrong| [(wrong, DataType::Date32), (wrong, DataType::Date64), (wrong, moment.clone())])
        {
            assert_eq!(typed(wrong.into(), of_type), None, "{wrong}");
        }
        for of_type in [DataType::Date32, DataType::Date64, moment] {
            assert_eq!(typed(20_260_331.into(), of_type), None);
        }
        let time = DataType::Time64(arrow::datatypes::TimeUnit::Microsecond);
        assert_eq!(typed("09:30:00".into(), time.clone()), Some("09:30:00".into()));
        for wrong in ["soon".into(), "09:30:00x".into(), Coordinate::Int(34_200), Coordinate::Float(0.5)] {
            assert_eq!(typed(wrong.clone(), time.clone()), None, "{wrong}");
            let error = wrong.typed_in("at", &time).unwrap_err().to_string();
            assert!(error.contains("is no time of a day; write times like '09:30:00'"), "{error}");
        }
        let date = Coordinate::from("1970-01-03");
        assert_eq!((date.days(), Coordinate::of_days(2)), (Some(2), date));
    }
}
