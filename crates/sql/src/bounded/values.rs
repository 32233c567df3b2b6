//! Reads the arguments of a function row by row, whether they are columns or constants.

use super::charged::bytes_of;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::ColumnarValue;
use std::sync::Arc;

/// A column of whole numbers, or a constant.
pub(super) enum Numbers {
    One(i64),
    Many(Int64Array),
}

impl Numbers {
    /// Nothing when the argument is no number that fits.
    pub(super) fn of(arg: &ColumnarValue) -> Option<Self> {
        match arg {
            ColumnarValue::Array(array) => {
                let numbers = cast(array, &DataType::Int64).ok()?;
                Some(Self::Many(numbers.as_primitive::<Int64Type>().clone()))
            }
            ColumnarValue::Scalar(scalar) if scalar.is_null() => Some(Self::One(0)),
            ColumnarValue::Scalar(scalar) => match scalar.cast_to(&DataType::Int64).ok()? {
                ScalarValue::Int64(Some(number)) => Some(Self::One(number)),
                _ => None,
            },
        }
    }

    /// The number of a row, 0 where it has none.
    pub(super) fn at(&self, row: usize) -> i64 {
        match self {
            Self::One(number) => *number,
            Self::Many(numbers) if numbers.is_null(row) => 0,
            Self::Many(numbers) => numbers.value(row),
        }
    }

    /// The same, and 0 for what is less.
    pub(super) fn count(&self, row: usize) -> u64 {
        u64::try_from(self.at(row)).unwrap_or(0)
    }
}

/// A column of texts or bytes, or a constant.
pub(super) enum Texts<'a> {
    One(&'a str),
    Many(&'a ArrayRef),
}

impl<'a> Texts<'a> {
    /// Nothing when the argument has no texts.
    pub(super) fn of(arg: &'a ColumnarValue) -> Option<Self> {
        match arg {
            ColumnarValue::Scalar(scalar) => {
                scalar.try_as_str().map(|text| Self::One(text.unwrap_or_default()))
            }
            ColumnarValue::Array(array) => {
                let is_text =
                    matches!(array.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
                is_text.then_some(Self::Many(array))
            }
        }
    }

    /// The text of a row, empty where it has none.
    pub(super) fn at(&self, row: usize) -> &'a str {
        match self {
            Self::One(text) => text,
            Self::Many(array) if array.is_null(row) => "",
            Self::Many(array) => match array.data_type() {
                DataType::Utf8 => array.as_string::<i32>().value(row),
                DataType::LargeUtf8 => array.as_string::<i64>().value(row),
                _ => array.as_string_view().value(row),
            },
        }
    }

    pub(super) fn bytes(&self, row: usize) -> u64 {
        self.at(row).len() as u64
    }
}

/// How large the values of an argument are.
pub(super) enum Sizes<'a> {
    Each(u64),
    Texts(Texts<'a>),
    /// Of anything else: the values themselves.
    Values(&'a ArrayRef),
}

impl<'a> Sizes<'a> {
    pub(super) fn of(arg: &'a ColumnarValue) -> Self {
        match arg {
            ColumnarValue::Scalar(scalar) => match scalar.try_as_str() {
                Some(text) => Self::Each(text.map_or(0, |text| text.len() as u64)),
                None => Self::Each(scalar.to_array().map_or(0, |array| bytes_of(&array))),
            },
            ColumnarValue::Array(array) => match (array.data_type().primitive_width(), Texts::of(arg)) {
                (Some(width), _) => Self::Each(width as u64),
                (None, Some(texts)) => Self::Texts(texts),
                (None, None) => Self::Values(array),
            },
        }
    }

    pub(super) fn at(&self, row: usize) -> u64 {
        match self {
            Self::Each(bytes) => *bytes,
            Self::Texts(texts) => texts.bytes(row),
            Self::Values(values) => bytes_of(&values.slice(row, 1)),
        }
    }

    /// Of all rows, as a quick bound.
    pub(super) fn sum(arg: &ColumnarValue, rows: usize) -> u64 {
        match arg {
            ColumnarValue::Array(array) => bytes_of(array),
            ColumnarValue::Scalar(_) => Sizes::of(arg).at(0).saturating_mul(rows as u64),
        }
    }
}

/// The elements of a list, one row at a time.
pub(super) fn elements(arg: &ColumnarValue, row: usize) -> u64 {
    let array: ArrayRef = match arg {
        ColumnarValue::Array(array) => Arc::clone(array),
        ColumnarValue::Scalar(ScalarValue::List(list)) => Arc::clone(list) as ArrayRef,
        ColumnarValue::Scalar(ScalarValue::LargeList(list)) => Arc::clone(list) as ArrayRef,
        ColumnarValue::Scalar(ScalarValue::FixedSizeList(list)) => Arc::clone(list) as ArrayRef,
        ColumnarValue::Scalar(_) => return 0,
    };
    let row = row.min(array.len().saturating_sub(1));
    if array.is_empty() || array.is_null(row) {
        return 0;
    }
    match array.data_type() {
        DataType::List(_) => u64::try_from(array.as_list::<i32>().value_length(row)).unwrap_or(0),
        DataType::LargeList(_) => u64::try_from(array.as_list::<i64>().value_length(row)).unwrap_or(0),
        DataType::FixedSizeList(_, size) => u64::try_from(*size).unwrap_or(0),
        _ => 0,
    }
}
