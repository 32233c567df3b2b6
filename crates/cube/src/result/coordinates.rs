//! The coordinates of rows in a result as what they are: a value, none, or the total.
//!
//! Texts that are shown are not what rows are told apart by: an empty text and a missing one look alike, and so may others.

use super::CubeResult;
use crate::error::CubeError;
use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::compute::{SortOptions, cast, nullif};
use arrow::error::ArrowError;
use arrow::row::{RowConverter, Rows, SortField};
use std::sync::Arc;

impl CubeResult {
    /// The coordinates of all rows in these columns: the same exactly where all of them are. Numbers and dates are in
    /// their own order, then come missing values, then totals: the order of tables for people.
    pub(super) fn coordinates(&self, columns: &[usize]) -> Result<Rows, CubeError> {
        self.comparable(columns).map_err(|error| CubeError::arrow("coordinates", &error))
    }

    fn comparable(&self, columns: &[usize]) -> Result<Rows, ArrowError> {
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(2 * columns.len());
        for column in columns {
            let is_total: BooleanArray =
                (0..self.rows()).map(|row| Some(self.is_total(row, *column))).collect();
            arrays.push(Arc::new(is_total.clone()));
            arrays.push(self.typed(*column, &is_total)?);
        }
        // Without columns all rows are at one place.
        if arrays.is_empty() {
            arrays.push(Arc::new(BooleanArray::from(vec![true; self.rows()])));
        }
        let options = SortOptions { descending: false, nulls_first: false };
        let field = |array: &ArrayRef| SortField::new_with_options(array.data_type().clone(), options);
        let fields = arrays.iter().map(field).collect();
        RowConverter::new(fields)?.convert_columns(&arrays)
    }

    /// A column without its totals, in the type that it had before these made it texts.
    fn typed(&self, column: usize, is_total: &BooleanArray) -> Result<ArrayRef, ArrowError> {
        let values = nullif(self.batch.column(column), is_total)?;
        // A text that cannot be read back would be taken for a missing value, and durations are not read at all: these stay texts.
        let typed = cast(&values, &self.keys[column].logical).ok();
        let typed = typed.filter(|typed| typed.logical_null_count() == values.logical_null_count());
        Ok(typed.unwrap_or(values))
    }
}
