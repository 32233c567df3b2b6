//! Key columns inside cuboids: texts as codes, everything else as 64-bit integers, and the way back.

use super::dictionary::{AddedTexts, Dictionaries, of_rows};
use super::entries::KnownEntries;
use crate::aggregate::CodeHashes;
use crate::coordinate::Coordinate;
use crate::error::CubeError;
use crate::exact;
use crate::memory::{MemoryAccount, bytes_of};
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, UInt32Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type, UInt32Type};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// How the keys of a query's cuboids are written.
#[derive(Debug, Clone)]
pub(crate) struct KeySpace {
    pub(crate) dictionaries: Arc<Dictionaries>,
    /// The logical type of every column.
    types: Arc<BTreeMap<Arc<str>, DataType>>,
    /// What the query holds of texts that it brings.
    added: Arc<AddedTexts>,
    /// Codes of the dictionaries that its batches have.
    entries: Arc<KnownEntries>,
}

impl KeySpace {
    pub(crate) fn new(
        dictionaries: Arc<Dictionaries>,
        types: &BTreeMap<Arc<str>, DataType>,
        memory: &MemoryAccount,
    ) -> Result<Self, CubeError> {
        for (column, data_type) in types {
            let is_known =
                matches!(data_type, DataType::Utf8 | DataType::Int64 | DataType::Float64 | DataType::Boolean)
                    || data_type.is_temporal() && data_type.primitive_width().is_some_and(|width| width <= 8);
            if !is_known {
                return Err(CubeError::UnsupportedType {
                    place: format!("column {column:?}"),
                    problem: format!(
                        "values of type {data_type} cannot be grouped by; use texts, numbers, booleans or dates"
                    ),
                });
            }
        }
        let added = Arc::new(Mutex::new(memory.try_reserve(0)?));
        let entries = Arc::new(KnownEntries::new(memory)?);
        Ok(Self { dictionaries, types: Arc::new(types.clone()), added, entries })
    }

    /// The logical type of a column.
    pub(crate) fn logical(&self, column: &str) -> DataType {
        self.types.get(column).cloned().unwrap_or(DataType::Utf8)
    }

    /// The type of a key column.
    pub(crate) fn physical(&self, column: &str) -> DataType {
        if self.logical(column) == DataType::Utf8 { DataType::UInt32 } else { DataType::Int64 }
    }

    /// Hashes of what the codes of a column stand for; none when it has no codes.
    pub(crate) fn code_hashes(&self, column: &Arc<str>) -> Option<Arc<CodeHashes>> {
        (self.logical(column) == DataType::Utf8).then(|| self.dictionaries.of(column).hashes())
    }

    /// Texts in a form whose entries are looked up once each; all else as it is.
    fn prepare(&self, column: &str, values: &ArrayRef) -> Result<ArrayRef, CubeError> {
        // Views are such a form.
        let is_plain_text = matches!(values.data_type(), DataType::Utf8 | DataType::LargeUtf8);
        if !is_plain_text || values.len() < 64 {
            return Ok(Arc::clone(values));
        }
        let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        cast(values, &dictionary).map_err(|error| CubeError::arrow(column, &error))
    }

    /// A column of the table as a key column. Out of order and side by side: codes are given to texts as they come, and nothing depends on
    /// which one a text has.
    pub(crate) fn encode(&self, column: &Arc<str>, values: &ArrayRef) -> Result<ArrayRef, CubeError> {
        let arrow = |error| CubeError::arrow(&**column, &error);
        let in_column = |error: CubeError| error.of_place(&format!("column {column:?}"));
        let logical = self.logical(column);
        if logical == DataType::Utf8 {
            let texts = self.prepare(column, values)?;
            let known = self.dictionaries.of(column);
            let encode = |texts: &ArrayRef| known.encode(texts, &self.added).map_err(in_column);
            return Ok(Arc::new(match texts.as_any_dictionary_opt() {
                None => encode(&texts)?,
                Some(rows) => {
                    let entries = rows.values();
                    of_rows(rows, &self.entries.codes(column, entries, || encode(entries))?)?
                }
            }));
        }
        let values = exact::logical(column, values, &logical)?;
        Ok(match logical {
            DataType::Int64 => values,
            DataType::Float64 => {
                let bits = |value: f64| exact::one_zero(value).to_bits() as i64;
                Arc::new(values.as_primitive::<Float64Type>().unary::<_, Int64Type>(bits))
            }
            DataType::Boolean => cast(&values, &DataType::Int64).map_err(arrow)?,
            DataType::Date32 | DataType::Time32(_) => {
                let days = cast(&values, &DataType::Int32).map_err(arrow)?;
                cast(&days, &DataType::Int64).map_err(arrow)?
            }
            _ => cast(&values, &DataType::Int64).map_err(arrow)?,
        })
    }

    /// A key column as the values that it stands for; texts stay dictionary-encoded.
    pub(crate) fn decode(&self, column: &Arc<str>, keys: &ArrayRef) -> Result<ArrayRef, CubeError> {
        let arrow = |error| CubeError::arrow(&**column, &error);
        let logical = self.logical(column);
        if logical == DataType::Utf8 {
            return self.dictionaries.of(column).decode(keys.as_primitive::<UInt32Type>());
        }
        let numbers = keys.as_primitive::<Int64Type>();
        Ok(match logical {
            DataType::Int64 => Arc::clone(keys),
            DataType::Float64 => {
                Arc::new(numbers.unary::<_, Float64Type>(|bits| f64::from_bits(bits as u64)))
                    as Arc<Float64Array>
            }
            DataType::Boolean => {
                Arc::new(numbers.iter().map(|bit| bit.map(|bit| bit != 0)).collect::<BooleanArray>())
            }
            DataType::Date32 | DataType::Time32(_) => {
                let days = cast(keys, &DataType::Int32).map_err(arrow)?;
                cast(&days, &logical).map_err(arrow)?
            }
            _ => cast(keys, &logical).map_err(arrow)?,
        })
    }

    /// What these keys hold as the values that they stand for, every text once for each key that it has.
    pub(crate) fn decoded_bytes(&self, column: &Arc<str>, keys: &ArrayRef) -> usize {
        if self.logical(column) != DataType::Utf8 {
            return bytes_of(keys);
        }
        let texts = self.dictionaries.of(column).texts();
        let codes = keys.as_primitive::<UInt32Type>();
        let lengths = codes.iter().flatten().map(|code| texts.value_length(code as usize) as usize);
        lengths.sum::<usize>() + bytes_of(keys)
    }

    /// A coordinate as a key of its column: one row. A text that no slice has gets a code all the same.
    pub(crate) fn key_of(&self, column: &Arc<str>, coordinate: &Coordinate) -> Result<ArrayRef, CubeError> {
        let logical = self.logical(column);
        match coordinate.typed(&logical) {
            None | Some(Coordinate::Null) => Ok(arrow::array::new_null_array(&self.physical(column), 1)),
            Some(Coordinate::Text(text)) if logical == DataType::Utf8 => {
                Ok(Arc::new(UInt32Array::from(vec![self.dictionaries.of(column).code(&text, &self.added)?])))
            }
            Some(Coordinate::Int(value)) if logical == DataType::Int64 => {
                Ok(Arc::new(Int64Array::from(vec![value])))
            }
            Some(other) => self.encode(column, &other.array(1)),
        }
    }
}
