//! What is aggregated: the columns of a block as lanes of numbers, with a mask of the rows that count.
//!
//! Integers, dates and times become `i64`, floats `f64`, decimals `i128`; where a column has that type already its buffer is shared, not
//! copied. A row counts when its value is not NULL and its filter says yes: both become one mask, and there is none where all rows count.

use crate::error::CubeError;
use crate::memory::bytes_of;
use crate::value_type::{is_text, plain};
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::buffer::{BooleanBuffer, ScalarBuffer};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Decimal128Type, Float64Type, Int64Type};
use std::ops::Range;
use std::sync::Arc;

/// What an aggregate looks at in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// Only which rows count.
    Mask,
    /// Numbers.
    Number,
    /// Texts, plain.
    Text,
    /// Texts, plain or as entries of a dictionary.
    Entry,
    /// The column as it is.
    Array,
}

/// A column as aggregates want it; several aggregates share one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ColumnNeed {
    /// Which input; none counts rows.
    pub(super) input: Option<usize>,
    pub(super) data_type: DataType,
    /// Which filter.
    pub(super) filter: Option<usize>,
    pub(super) need: Need,
}

impl ColumnNeed {
    /// True for a column that stays of the type that it was declared with.
    pub(super) fn is_as_declared(&self) -> bool {
        self.need == Need::Array
    }

    /// The need, with plain texts instead of entries of a dictionary.
    pub(super) fn without_entries(&self) -> Self {
        let need = if self.need == Need::Entry { Need::Text } else { self.need };
        Self { need, ..self.clone() }
    }
}

/// The values of some rows.
#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) lane: Lane,
    /// Which rows count; all when there is none.
    pub(super) mask: Option<BooleanBuffer>,
}

/// Values of one kind.
#[derive(Debug, Clone)]
pub(super) enum Lane {
    None,
    Int(ScalarBuffer<i64>),
    Float(ScalarBuffer<f64>),
    Wide(ScalarBuffer<i128>),
    Array(ArrayRef),
}

/// The kind of numbers that a type becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Int,
    Float,
    Wide,
}

impl Kind {
    pub(super) fn of(data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Float16 | DataType::Float32 | DataType::Float64 => Some(Self::Float),
            DataType::Decimal128(..) => Some(Self::Wide),
            DataType::Null => Some(Self::Int),
            other if other.is_integer() || other.is_temporal() => {
                matches!(other.primitive_width(), Some(1..=8)).then_some(Self::Int)
            }
            _ => None,
        }
    }
}

impl Column {
    /// The column of a block that an aggregate needs.
    pub(super) fn of(
        need: &ColumnNeed,
        inputs: &[ArrayRef],
        filters: &[Option<BooleanArray>],
    ) -> Result<Self, CubeError> {
        let filter = match need.filter {
            None => None,
            Some(filter) => filters
                .get(filter)
                .ok_or_else(|| missing("filter", filter, filters.len()))?
                .as_ref()
                .map(selected),
        };
        let Some(input) = need.input else { return Ok(Self { lane: Lane::None, mask: filter }) };
        let array = inputs.get(input).ok_or_else(|| missing("input", input, inputs.len()))?;
        let place = || format!("input {input}");
        let (lane, nulls) = match (need.need, Kind::of(plain(&need.data_type))) {
            (Need::Mask, _) => (Lane::None, array.logical_nulls()),
            (Need::Number, Some(kind)) => {
                let array = numbers(array, kind, &need.data_type)
                    .map_err(|error| CubeError::arrow(place(), &error))?;
                let nulls = array.nulls().cloned();
                let lane = match kind {
                    Kind::Int => Lane::Int(array.as_primitive::<Int64Type>().values().clone()),
                    Kind::Float => Lane::Float(array.as_primitive::<Float64Type>().values().clone()),
                    Kind::Wide => Lane::Wide(array.as_primitive::<Decimal128Type>().values().clone()),
                };
                (lane, nulls)
            }
            (Need::Number, None) => {
                return Err(CubeError::UnsupportedType {
                    place: place(),
                    problem: format!("{} is no number; count it, or aggregate a number", need.data_type),
                });
            }
            (Need::Array | Need::Text | Need::Entry, _) => {
                let is_entry =
                    matches!(array.data_type(), DataType::Dictionary(_, entries) if is_text(entries));
                let wanted = match need.need {
                    Need::Entry if is_entry => array.data_type(),
                    Need::Entry | Need::Text => &DataType::Utf8,
                    _ => &need.data_type,
                };
                let array = cast_to(array, wanted).map_err(|error| CubeError::arrow(place(), &error))?;
                let nulls = array.logical_nulls();
                (Lane::Array(array), nulls)
            }
        };
        let valid = nulls.filter(|nulls| nulls.null_count() > 0).map(|nulls| nulls.inner().clone());
        let mask = match (valid, filter) {
            (Some(valid), Some(filter)) => Some(&valid & &filter),
            (valid, filter) => valid.or(filter),
        };
        Ok(Self { lane, mask })
    }

    /// Some of the rows.
    pub(super) fn values(&self, rows: Range<usize>) -> Values<'_> {
        Values { column: self, rows }
    }

    /// What it holds, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let lane = match &self.lane {
            Lane::None => 0,
            Lane::Int(values) => values.len() * 8,
            Lane::Float(values) => values.len() * 8,
            Lane::Wide(values) => values.len() * 16,
            Lane::Array(array) => bytes_of(array),
        };
        lane + self.mask.as_ref().map_or(0, |mask| mask.len() / 8)
    }
}

fn missing(what: &str, index: usize, known: usize) -> CubeError {
    CubeError::InvalidQuery {
        problem: format!("an aggregate wants {what} {index} of a block that has {known}"),
    }
}

/// The rows that a filter keeps: NULL is no.
fn selected(filter: &BooleanArray) -> BooleanBuffer {
    match filter.nulls() {
        Some(nulls) => filter.values() & nulls.inner(),
        None => filter.values().clone(),
    }
}

fn cast_to(array: &ArrayRef, data_type: &DataType) -> Result<ArrayRef, arrow::error::ArrowError> {
    if array.data_type() == data_type {
        return Ok(Arc::clone(array));
    }
    // What does not fit is an error and not a NULL.
    cast_with_options(array, data_type, &CastOptions { safe: false, ..Default::default() })
}

/// The column in the type of its lane.
fn numbers(array: &ArrayRef, kind: Kind, declared: &DataType) -> Result<ArrayRef, arrow::error::ArrowError> {
    let plain = plain(declared);
    match kind {
        Kind::Float => cast_to(array, &DataType::Float64),
        // Means of dates and times are those of their numbers.
        Kind::Wide if array.data_type().is_temporal() => cast_to(&whole(array)?, plain),
        Kind::Wide => cast_to(array, plain),
        Kind::Int => whole(&cast_to(array, plain)?),
    }
}

/// Integers, dates and times as integers of 64 bits.
fn whole(array: &ArrayRef) -> Result<ArrayRef, arrow::error::ArrowError> {
    match array.data_type() {
        // Dates of 32 bits have no cast to 64.
        DataType::Date32 | DataType::Time32(_) => {
            cast_to(&cast_to(array, &DataType::Int32)?, &DataType::Int64)
        }
        _ => cast_to(array, &DataType::Int64),
    }
}

/// The values of some rows, for [`Carriers`](super::Carriers): those that are not NULL and pass the aggregate's filter count.
#[derive(Debug)]
pub struct Values<'a> {
    column: &'a Column,
    rows: Range<usize>,
}

impl Values<'_> {
    /// How many rows there are, those that do not count included.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True when there is no row.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The column as it was declared, for aggregates of one's own; none for built-in ones.
    pub fn array(&self) -> Option<ArrayRef> {
        match &self.column.lane {
            Lane::Array(array) => Some(array.slice(self.rows.start, self.rows.len())),
            _ => None,
        }
    }

    /// Which rows count; all when there is none.
    pub fn mask(&self) -> Option<BooleanBuffer> {
        self.column.mask.as_ref().map(|mask| mask.slice(self.rows.start, self.rows.len()))
    }

    /// Calls `body` with the position of every row that counts.
    #[inline]
    pub fn for_each_selected(&self, mut body: impl FnMut(usize)) {
        match self.mask() {
            None => (0..self.len()).for_each(body),
            Some(mask) => mask.set_indices().for_each(&mut body),
        }
    }

    pub(super) fn ints(&self) -> &[i64] {
        match &self.column.lane {
            Lane::Int(values) => &values[self.rows.clone()],
            _ => unreachable!("carriers are made for the lane of their input"),
        }
    }

    pub(super) fn floats(&self) -> &[f64] {
        match &self.column.lane {
            Lane::Float(values) => &values[self.rows.clone()],
            _ => unreachable!("carriers are made for the lane of their input"),
        }
    }

    pub(super) fn wides(&self) -> &[i128] {
        match &self.column.lane {
            Lane::Wide(values) => &values[self.rows.clone()],
            _ => unreachable!("carriers are made for the lane of their input"),
        }
    }
}
