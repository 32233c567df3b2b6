//! A block of rows, as it goes in.

use crate::error::CubeError;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use arrow::compute::filter;

/// Rows in the order of the input: their key columns, the inputs of aggregates, and filters.
#[derive(Debug, Clone, Default)]
pub struct Block {
    /// How many rows; what tells it when there is no column at all.
    pub rows: usize,
    /// The key columns.
    pub keys: Vec<ArrayRef>,
    /// What aggregates read, by their input's number.
    pub inputs: Vec<ArrayRef>,
    /// What aggregates filter by; none keeps all rows of this block.
    pub filters: Vec<Option<BooleanArray>>,
}

impl Block {
    /// Refuses columns of another length.
    pub(super) fn check(&self) -> Result<(), CubeError> {
        let arrays = self.keys.iter().chain(&self.inputs).map(|array| array.len());
        let filters = self.filters.iter().flatten().map(Array::len);
        match arrays.chain(filters).find(|length| *length != self.rows) {
            None => Ok(()),
            Some(length) => Err(CubeError::InvalidQuery {
                problem: format!(
                    "a block of {} rows has a column of {length}; all need the same length",
                    self.rows
                ),
            }),
        }
    }

    /// What its rows take, in bytes, whatever else the buffers hold that they lie in.
    pub(super) fn bytes(&self) -> usize {
        let of = |array: &dyn Array| array.to_data().get_slice_memory_size().unwrap_or(0);
        let arrays = self.keys.iter().chain(&self.inputs).map(|array| of(array));
        arrays.sum::<usize>() + self.filters.iter().flatten().map(|filter| of(filter)).sum::<usize>()
    }

    /// The rows that `keep` says yes to.
    pub(super) fn filtered(&self, keep: &BooleanArray) -> Result<Self, CubeError> {
        let kept = |array: &dyn Array| filter(array, keep).map_err(|error| CubeError::arrow("block", &error));
        let filters = self.filters.iter().map(|filter| match filter {
            Some(filter) => kept(filter).map(|kept| Some(kept.as_boolean().clone())),
            None => Ok(None),
        });
        Ok(Self {
            rows: keep.true_count(),
            keys: self.keys.iter().map(|array| kept(array)).collect::<Result<_, _>>()?,
            inputs: self.inputs.iter().map(|array| kept(array)).collect::<Result<_, _>>()?,
            filters: filters.collect::<Result<_, _>>()?,
        })
    }

    /// Some of its rows; nothing is copied.
    pub(super) fn slice(&self, start: usize, rows: usize) -> Self {
        let slice = |array: &ArrayRef| array.slice(start, rows);
        Self {
            rows,
            keys: self.keys.iter().map(slice).collect(),
            inputs: self.inputs.iter().map(slice).collect(),
            filters: self
                .filters
                .iter()
                .map(|filter| filter.as_ref().map(|filter| filter.slice(start, rows)))
                .collect(),
        }
    }
}
