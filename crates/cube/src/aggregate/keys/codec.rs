//! Which form the keys of a grouping have, and the way there and back.

use super::coded::Coded;
use super::words::{bits, column_of, normal, words_of};
use super::{Keys, Words};
use crate::error::CubeError;
use crate::value_type::plain;
use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, Float32Array, Float64Array};
use arrow::buffer::{BooleanBuffer, NullBuffer, ScalarBuffer};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float32Type, Float64Type};
use arrow::row::{RowConverter, SortField};
use std::ops::{BitOr, Shl};
use std::sync::Arc;

/// Turns key columns into [`Keys`] and back.
pub(in super::super) struct KeyCodec {
    /// The types that come out. What is dictionary-encoded comes out plain.
    types: Vec<DataType>,
    form: Form,
}

enum Form {
    /// One column of up to 64 bits.
    Word,
    /// Several columns in one word, the bits of each; no column at all is the word 0.
    Packed(Vec<u32>),
    /// The same in 128 bits.
    Wide(Vec<u32>),
    Rows(RowConverter),
}

/// The keys of a block: as they are, or each distinct one once.
pub(in super::super) struct BlockKeys {
    /// One per row, or one per code.
    pub(in super::super) keys: Keys,
    /// Which key each row has.
    pub(in super::super) codes: Option<Vec<u32>>,
}

impl KeyCodec {
    pub(in super::super) fn new(types: &[DataType]) -> Result<Self, CubeError> {
        let types: Vec<DataType> = types.iter().map(|data_type| key_type(data_type).clone()).collect();
        let widths: Option<Vec<u32>> = types.iter().map(bits).collect();
        let form = match widths {
            Some(widths) if widths.len() == 1 => Form::Word,
            Some(widths) if packed_bits(&widths) <= 64 => Form::Packed(widths),
            Some(widths) if packed_bits(&widths) <= 128 => Form::Wide(widths),
            _ => {
                for (position, data_type) in types.iter().enumerate() {
                    if data_type.is_nested() {
                        return Err(CubeError::UnsupportedType {
                            place: format!("key column {position}"),
                            problem: format!(
                                "{data_type} cannot be grouped by; group by a column of plain values"
                            ),
                        });
                    }
                }
                let fields = types.iter().cloned().map(SortField::new).collect();
                let converter = RowConverter::new(fields).map_err(|error| CubeError::UnsupportedType {
                    place: "key columns".to_owned(),
                    problem: error.to_string(),
                })?;
                Form::Rows(converter)
            }
        };
        Ok(Self { types, form })
    }

    /// The types that [`KeyCodec::decode`] gives.
    pub(in super::super) fn types(&self) -> &[DataType] {
        &self.types
    }

    /// The keys of no row.
    pub(in super::super) fn empty(&self) -> Keys {
        match &self.form {
            Form::Word | Form::Packed(_) => Keys::Words(Words { values: Vec::new().into(), nulls: None }),
            Form::Wide(_) => Keys::Wide(Words { values: Vec::new().into(), nulls: None }),
            Form::Rows(converter) => Keys::Rows(converter.empty_rows(0, 0)),
        }
    }

    /// The keys of a block, each distinct one once where that is cheap to find out.
    pub(in super::super) fn encode_block(
        &self,
        columns: &[ArrayRef],
        rows: usize,
    ) -> Result<BlockKeys, CubeError> {
        match Coded::of(columns, rows) {
            Some(Coded { codes, first_rows }) => {
                let indices = arrow::array::UInt32Array::from(first_rows);
                let firsts: Vec<ArrayRef> = columns
                    .iter()
                    .map(|column| arrow::compute::take(column, &indices, None))
                    .collect::<Result<_, _>>()
                    .map_err(|error| CubeError::arrow("key columns", &error))?;
                Ok(BlockKeys { keys: self.encode(&firsts, indices.len())?, codes: Some(codes) })
            }
            None => Ok(BlockKeys { keys: self.encode(columns, rows)?, codes: None }),
        }
    }

    /// The keys of some rows.
    pub(in super::super) fn encode(&self, columns: &[ArrayRef], rows: usize) -> Result<Keys, CubeError> {
        if columns.len() != self.types.len() {
            return Err(CubeError::InvalidQuery {
                problem: format!(
                    "a block has {} key columns where {} were declared",
                    columns.len(),
                    self.types.len()
                ),
            });
        }
        let columns: Vec<ArrayRef> = columns
            .iter()
            .zip(&self.types)
            .map(|(column, data_type)| as_plain(column, data_type))
            .collect::<Result<_, _>>()?;
        match &self.form {
            Form::Word => {
                let nulls = columns[0].logical_nulls().filter(|nulls| nulls.null_count() > 0);
                Ok(Keys::Words(Words {
                    values: words_of(&columns[0]),
                    nulls: nulls.map(|nulls| !nulls.inner()),
                }))
            }
            Form::Packed(widths) => {
                Ok(Keys::Words(Words { values: packed::<u64>(&columns, widths, rows).into(), nulls: None }))
            }
            Form::Wide(widths) => {
                let packed = packed::<u128>(&columns, widths, rows);
                let values = packed.into_iter().map(|word| word as i128).collect::<Vec<_>>().into();
                Ok(Keys::Wide(Words { values, nulls: None }))
            }
            Form::Rows(converter) => {
                let columns: Vec<ArrayRef> = columns.iter().map(normalised).collect();
                let rows = converter.convert_columns(&columns);
                rows.map(Keys::Rows).map_err(|error| CubeError::arrow("key columns", &error))
            }
        }
    }

    /// Keys that were rows of bytes; nothing when keys have another form.
    pub(in super::super) fn rows_of(&self, bytes: &BinaryArray) -> Option<Keys> {
        let Form::Rows(converter) = &self.form else { return None };
        let parser = converter.parser();
        let mut rows = converter.empty_rows(bytes.len(), bytes.value_data().len());
        bytes.iter().flatten().for_each(|row| rows.push(parser.parse(row)));
        Some(Keys::Rows(rows))
    }

    /// The columns of these keys.
    pub(in super::super) fn decode(&self, keys: &Keys) -> Result<Vec<ArrayRef>, CubeError> {
        match (&self.form, keys) {
            (Form::Rows(converter), Keys::Rows(rows)) => {
                converter.convert_rows(rows.iter()).map_err(|error| CubeError::arrow("key columns", &error))
            }
            (Form::Packed(widths), Keys::Words(words)) => {
                self.unpacked(widths, words.values.len(), |row| u128::from(words.values[row]))
            }
            (Form::Wide(widths), Keys::Wide(words)) => {
                self.unpacked(widths, words.values.len(), |row| words.values[row] as u128)
            }
            (_, Keys::Words(words)) => {
                let nulls = words.nulls.as_ref().map(|nulls| NullBuffer::new(!nulls));
                Ok(vec![column_of(words.values.clone(), nulls, &self.types[0])?])
            }
            (_, Keys::Wide(_) | Keys::Rows(_)) => unreachable!("a codec has one form"),
        }
    }

    /// The columns that were packed into words.
    fn unpacked(
        &self,
        widths: &[u32],
        rows: usize,
        word: impl Fn(usize) -> u128,
    ) -> Result<Vec<ArrayRef>, CubeError> {
        let mut shift = 0;
        let mut columns = Vec::with_capacity(widths.len());
        for (width, data_type) in widths.iter().zip(&self.types).rev() {
            let valid = BooleanBuffer::collect_bool(rows, |row| (word(row) >> shift) & 1 == 0);
            let mask = u64::MAX >> (64 - width);
            let values: Vec<u64> = (0..rows).map(|row| (word(row) >> (shift + 1)) as u64 & mask).collect();
            let nulls = Some(NullBuffer::new(valid)).filter(|nulls| nulls.null_count() > 0);
            columns.push(column_of(ScalarBuffer::from(values), nulls, data_type)?);
            shift += width + 1;
        }
        columns.reverse();
        Ok(columns)
    }
}

/// How many bits columns of these widths take together, with one for NULL each.
fn packed_bits(widths: &[u32]) -> u32 {
    widths.iter().map(|width| width + 1).sum()
}

/// Columns side by side in one word per row: the value of each, then a bit that says NULL.
fn packed<W>(columns: &[ArrayRef], widths: &[u32], rows: usize) -> Vec<W>
where
    W: Copy + Default + From<u64> + Shl<u32, Output = W> + BitOr<Output = W>,
{
    let mut packed = vec![W::default(); rows];
    for (column, width) in columns.iter().zip(widths) {
        let words = words_of(column);
        let each = packed.iter_mut().zip(words.iter());
        match column.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
            None => each.for_each(|(packed, word)| *packed = *packed << (width + 1) | W::from(*word) << 1),
            Some(nulls) => {
                for ((packed, word), is_valid) in each.zip(nulls.iter()) {
                    let value = if is_valid { W::from(*word) << 1 } else { W::from(1) };
                    *packed = *packed << (width + 1) | value;
                }
            }
        }
    }
    packed
}

/// The type that keys of a column have; halves become floats, which are normalised.
fn key_type(data_type: &DataType) -> &DataType {
    match plain(data_type) {
        DataType::Float16 => &DataType::Float32,
        other => other,
    }
}

fn as_plain(column: &ArrayRef, data_type: &DataType) -> Result<ArrayRef, CubeError> {
    if column.data_type() == data_type {
        return Ok(Arc::clone(column));
    }
    cast(column, data_type).map_err(|error| CubeError::arrow("key column", &error))
}

/// One zero and one NaN.
fn normalised(column: &ArrayRef) -> ArrayRef {
    match column.data_type() {
        DataType::Float64 => {
            let values: Float64Array = column.as_primitive::<Float64Type>().unary(normal);
            Arc::new(values)
        }
        DataType::Float32 => {
            let one = |value| normal(f64::from(value)) as f32;
            let values: Float32Array = column.as_primitive::<Float32Type>().unary(one);
            Arc::new(values)
        }
        _ => Arc::clone(column),
    }
}
