//! Keys of at most 64 bits, and how a column becomes words and words become a column.

use crate::error::CubeError;
use arrow::array::{Array, ArrayData, ArrayRef, AsArray, BooleanArray, make_array};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow::datatypes::{ArrowNativeType, DataType};
use std::sync::Arc;

/// A key of fixed size.
pub(in super::super) trait Word: ArrowNativeType + Default + Eq {
    /// Where its search in a table of `2^(64 - shift)` slots begins.
    fn slot(self, shift: u32) -> usize;

    /// Its hash: a full product, folded, so that all bits of the word reach all bits of the hash. Independent of [`Word::slot`].
    fn hash(self) -> u64;
}

#[inline(always)]
pub(super) fn folded(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    (product as u64) ^ ((product >> 64) as u64)
}

impl Word for u64 {
    /// The high bits of a product: one multiplication and one shift.
    #[inline(always)]
    fn slot(self, shift: u32) -> usize {
        (self.wrapping_mul(0xd6e8_feb8_6659_fd93) >> shift) as usize
    }

    #[inline(always)]
    fn hash(self) -> u64 {
        folded(self ^ 0x243f_6a88_85a3_08d3, 0x9e37_79b9_7f4a_7c15)
    }
}

impl Word for i128 {
    #[inline(always)]
    fn slot(self, shift: u32) -> usize {
        let high = ((self >> 64) as u64).wrapping_mul(0xa076_1d64_78bd_642f);
        (((self as u64) ^ high.rotate_left(32)).wrapping_mul(0xd6e8_feb8_6659_fd93) >> shift) as usize
    }

    #[inline(always)]
    fn hash(self) -> u64 {
        folded((self as u64) ^ 0x243f_6a88_85a3_08d3, 0x9e37_79b9_7f4a_7c15 ^ ((self >> 64) as u64).hash())
    }
}

/// The hash of a NULL that is told beside its word.
pub(super) const NULL_HASH: u64 = 0x1319_8a2e_0370_7344;

/// One word per row.
#[derive(Clone)]
pub(in super::super) struct Words<W: Word> {
    /// The words; anything where the row is NULL.
    pub(in super::super) values: ScalarBuffer<W>,
    /// Which rows are NULL, where the words do not say so themselves.
    pub(in super::super) nulls: Option<BooleanBuffer>,
}

impl<W: Word> Words<W> {
    pub(super) fn bytes(&self) -> usize {
        self.values.len() * size_of::<W>() + self.nulls.as_ref().map_or(0, |nulls| nulls.len() / 8)
    }

    pub(super) fn by_hash<T>(&self, of: impl Fn(u64) -> T) -> Vec<T> {
        let mut made: Vec<T> = self.values.iter().map(|word| of(word.hash())).collect();
        if let Some(nulls) = &self.nulls {
            nulls.set_indices().for_each(|row| made[row] = of(NULL_HASH));
        }
        made
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
