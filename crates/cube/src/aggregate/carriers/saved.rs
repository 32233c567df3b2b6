//! Carriers as columns, for groups that go to disk.

use super::super::saved::{wide_column, wides_of};
use crate::error::CubeError;
use arrow::array::{Array, ArrayRef, AsArray, FixedSizeBinaryArray, Float64Array, Int64Array};
use arrow::datatypes::{Float64Type, Int64Type, i256};
use std::sync::Arc;

/// A number that is written as it is.
pub(super) trait Saved: Copy {
    fn saved(values: Vec<Self>) -> ArrayRef;
    fn loaded(column: &ArrayRef) -> Vec<Self>;
}

impl Saved for f64 {
    fn saved(values: Vec<Self>) -> ArrayRef {
        Arc::new(Float64Array::from(values))
    }

    fn loaded(column: &ArrayRef) -> Vec<Self> {
        column.as_primitive::<Float64Type>().values().to_vec()
    }
}

impl Saved for i64 {
    fn saved(values: Vec<Self>) -> ArrayRef {
        Arc::new(Int64Array::from(values))
    }

    fn loaded(column: &ArrayRef) -> Vec<Self> {
        column.as_primitive::<Int64Type>().values().to_vec()
    }
}

impl Saved for i128 {
    fn saved(values: Vec<Self>) -> ArrayRef {
        wide_column(values.into())
    }

    fn loaded(column: &ArrayRef) -> Vec<Self> {
        wides_of(column).to_vec()
    }
}

impl Saved for i256 {
    fn saved(values: Vec<Self>) -> ArrayRef {
        let bytes: Vec<u8> = values.into_iter().flat_map(Self::to_le_bytes).collect();
        Arc::new(FixedSizeBinaryArray::new(size_of::<Self>() as i32, bytes.into(), None))
    }

    fn loaded(column: &ArrayRef) -> Vec<Self> {
        let bytes = column.as_fixed_size_binary();
        let of_row = |row| bytes.value(row).try_into().map_or(Self::default(), Self::from_le_bytes);
        (0..bytes.len()).map(of_row).collect()
    }
}

/// The numbers of chosen groups as a column.
pub(super) fn chosen<T: Saved>(numbers: &[T], groups: &[u32]) -> ArrayRef {
    T::saved(groups.iter().map(|group| numbers[*group as usize]).collect())
}

/// As many columns as carriers of this kind have.
pub(super) fn columns<const N: usize>(saved: &[ArrayRef]) -> Result<&[ArrayRef; N], CubeError> {
    saved.try_into().map_err(|_| CubeError::Computation {
        place: "spilled groups".to_owned(),
        message: format!("carriers have {} columns where {N} were written", saved.len()),
    })
}
