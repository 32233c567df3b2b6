//! Keys of at most 64 bits, and how a column becomes words and words become a column.

use crate::error::CubeError;
use arrow::array::{Array, ArrayData, ArrayRef, AsArray, BooleanArray, make_array};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow::datatypes::{ArrowNativeType, DataType};
use std::sync::Arc;

/// One word per row.
#[derive(Clone)]
pub(in super::super) struct Words {
    /// The words; anything where the row is NULL.
    pub(in super::super) values: ScalarBuffer<u64>,
    /// Which rows are NULL, where the words do not say so themselves.
    pub(in super::super) nulls: Option<BooleanBuffer>,
}

impl Words {
    pub(in super::super) fn bytes(&self) -> usize {
        self.values.len() * 8 + self.nulls.as_ref().map_or(0, |nulls| nulls.len() / 8)
    }
}

/// How many bits a value of this type has, when it becomes a word.
pub(super) fn bits(data_type: &DataType) -> Option<u32> {
    match data_type {
        DataType::Boolean => Some(1),
        other => other.primitive_width().filter(|width| *width <= 8).map(|width| 8 * width as u32),
    }
}

/// The values of a column as words. What stands at a NULL means nothing.
pub(super) fn words_of(column: &ArrayRef) -> ScalarBuffer<u64> {
    if let Some(booleans) = column.as_boolean_opt() {
        return booleans.values().iter().map(u64::from).collect::<Vec<_>>().into();
    }
    let data = column.to_data();
    match column.data_type() {
        DataType::Float64 => {
            values::<f64>(&data).iter().map(|value| normal(*value).to_bits()).collect::<Vec<_>>().into()
        }
        DataType::Float32 => values::<f32>(&data)
            .iter()
            .map(|value| u64::from((normal(f64::from(*value)) as f32).to_bits()))
            .collect::<Vec<_>>()
            .into(),
        other => match other.primitive_width() {
            Some(8) => values::<u64>(&data),
            Some(4) => widened::<u32>(&data),
            Some(2) => widened::<u16>(&data),
            _ => widened::<u8>(&data),
        },
    }
}

/// One zero and one NaN, so that what compares equal is one coordinate.
pub(super) fn normal(value: f64) -> f64 {
    if value.is_nan() { f64::NAN } else { value + 0.0 }
}

fn values<T: ArrowNativeType>(data: &ArrayData) -> ScalarBuffer<T> {
    ScalarBuffer::new(data.buffers()[0].clone(), data.offset(), data.len())
}

fn widened<T: ArrowNativeType + Into<u64>>(data: &ArrayData) -> ScalarBuffer<u64> {
    values::<T>(data).iter().map(|value| (*value).into()).collect::<Vec<u64>>().into()
}

/// The column of these words.
pub(super) fn column_of(
    words: ScalarBuffer<u64>,
    nulls: Option<NullBuffer>,
    data_type: &DataType,
) -> Result<ArrayRef, CubeError> {
    let rows = words.len();
    let buffer: Buffer = match data_type.primitive_width() {
        _ if *data_type == DataType::Boolean => {
            let values = BooleanBuffer::collect_bool(rows, |row| words[row] & 1 == 1);
            return Ok(Arc::new(BooleanArray::new(values, nulls)));
        }
        Some(8) => words.into_inner(),
        Some(4) => words.iter().map(|word| *word as u32).collect::<Vec<_>>().into(),
        Some(2) => words.iter().map(|word| *word as u16).collect::<Vec<_>>().into(),
        _ => words.iter().map(|word| *word as u8).collect::<Vec<_>>().into(),
    };
    let data = ArrayData::builder(data_type.clone()).len(rows).add_buffer(buffer).nulls(nulls).build();
    data.map(make_array).map_err(|error| CubeError::arrow("key column", &error))
}
