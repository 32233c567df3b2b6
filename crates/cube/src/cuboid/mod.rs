//! A cuboid: all slices of one level with their values, in P partitions of Arrow arrays.
//!
//! ```text
//!   level (ccy, desk)      partition 0              partition 1 ...
//!     keys                 ccy  [0, 2, 0]           ccy  [1]
//!                          desk [4, 4, 7]           desk [5]
//!     values               pnl  [1.5, 2.0, null]    pnl  [3.5]
//! ```
//!
//! Texts are codes of a dictionary that all cuboids share, so slices of different steps compare as numbers. A cell without a value is null,
//! which is the same as not being there. Steps of one origin share their slices: they are then combined without a look at the keys.
//!
//! Within a query a slice of a level always lies in the same partition, so cuboids of one level are joined partition by partition.

mod align;
mod dictionary;
mod entries;
mod index;
mod keys;

pub(crate) use align::{Aligned, align};
pub(crate) use dictionary::Dictionaries;
pub(crate) use index::{Distinct, SliceIndex, Words};
pub(crate) use keys::KeySpace;

use crate::error::CubeError;
use crate::memory::{MemoryAccount, Reservation, bytes_of};
use crate::plan::Level;
use arrow::array::{ArrayRef, new_null_array};
use arrow::datatypes::DataType;
use std::collections::HashMap;
use std::sync::Arc;

/// The keys of one partition of a cuboid, a column each.
#[derive(Debug)]
pub(crate) struct Slices {
    pub(crate) keys: Vec<ArrayRef>,
    pub(crate) rows: usize,
    bytes: usize,
    /// Counts them as long as they are there; none when whoever keeps them counts himself.
    _held: Option<Reservation>,
}

/// One partition of a cuboid.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) slices: Arc<Slices>,
    pub(crate) values: ArrayRef,
}

/// Slices with their values.
#[derive(Debug, Clone)]
pub(crate) struct Cuboid {
    pub(crate) level: Level,
    pub(crate) parts: Arc<[Part]>,
    bytes: usize,
    /// Counts the values, likewise.
    _held: Option<Arc<Reservation>>,
}

impl Slices {
    /// Slices that count in the account of their query.
    pub(crate) fn new(
        keys: Vec<ArrayRef>,
        rows: usize,
        memory: &MemoryAccount,
    ) -> Result<Arc<Self>, CubeError> {
        let bytes = keys.iter().map(bytes_of).sum();
        Ok(Arc::new(Self { keys, rows, bytes, _held: Some(memory.try_reserve(bytes)?) }))
    }

    /// No slices.
    pub(crate) fn none(columns: &[DataType]) -> Arc<Self> {
        let keys = columns.iter().map(arrow::array::new_empty_array).collect();
        Arc::new(Self { keys, rows: 0, bytes: 0, _held: None })
    }

    /// What they hold, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Cuboid {
    /// A cuboid that counts in the account of its query.
    pub(crate) fn new(level: &Level, parts: Vec<Part>, memory: &MemoryAccount) -> Result<Self, CubeError> {
        let bytes = parts.iter().map(|part| bytes_of(&part.values)).sum();
        let held = Some(Arc::new(memory.try_reserve(bytes)?));
        Ok(Self { level: Arc::clone(level), parts: parts.into(), bytes, _held: held })
    }

    /// A cuboid without slices.
    pub(crate) fn empty(
        level: &Level,
        keys: &KeySpace,
        partitions: usize,
        memory: &MemoryAccount,
    ) -> Result<Self, CubeError> {
        let types: Vec<DataType> = level.iter().map(|column| keys.physical(column)).collect();
        let slices = Slices::none(&types);
        let part = Part { slices, values: new_null_array(&DataType::Null, 0) };
        Self::new(level, vec![part; partitions], memory)
    }

    /// The same cells for whoever outlives the query: they count in no account, and go on when the query gave its own back. `known` are slices
    /// that went this way before: what cuboids share they share still.
    pub(crate) fn uncounted(&self, known: &mut HashMap<*const Slices, Arc<Slices>>) -> Self {
        let mut part = |Part { slices, values }: &Part| {
            let alone = || {
                let Slices { keys, rows, bytes, .. } = &**slices;
                Arc::new(Slices { keys: keys.clone(), rows: *rows, bytes: *bytes, _held: None })
            };
            let slices = Arc::clone(known.entry(Arc::as_ptr(slices)).or_insert_with(alone));
            Part { slices, values: Arc::clone(values) }
        };
        let parts = self.parts.iter().map(&mut part).collect();
        Self { level: Arc::clone(&self.level), parts, bytes: self.bytes, _held: None }
    }

    /// A part of another cuboid of that level, which goes on to count it.
    pub(crate) fn part(level: &Level, part: &Part) -> Self {
        Self { level: Arc::clone(level), parts: Arc::new([part.clone()]), bytes: 0, _held: None }
    }

    /// How many slices it has.
    pub(crate) fn rows(&self) -> usize {
        self.parts.iter().map(|part| part.slices.rows).sum()
    }

    /// How many of its slices have a value.
    pub(crate) fn cells(&self) -> usize {
        self.parts.iter().map(|part| part.values.len() - part.values.logical_null_count()).sum()
    }

    /// What it holds, its slices included, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.bytes + self.parts.iter().map(|part| part.slices.bytes()).sum::<usize>()
    }

    /// The largest partition as a multiple of the mean one: 1 is even.
    pub(crate) fn skew(&self) -> f64 {
        let largest = self.parts.iter().map(|part| part.slices.rows).max().unwrap_or(0);
        let mean = self.rows() as f64 / self.parts.len().max(1) as f64;
        if mean == 0.0 { 1.0 } else { largest as f64 / mean }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::Int64Array;

    /// The partitions of few groups are parts of one array, which was counted once for each of them.
    #[test]
    fn partitions_that_share_a_buffer_count_what_is_theirs() {
        let (groups, partitions) = (16_384, 4_096);
        let key: ArrayRef = Arc::new(Int64Array::from_iter_values(0..groups as i64));
        let memory = MemoryAccount::unlimited();
        let each = groups / partitions;
        let parts: Vec<Arc<Slices>> = (0..partitions)
            .map(|part| Slices::new(vec![key.slice(part * each, each); 2], each, &memory).unwrap())
            .collect();
        assert_eq!(memory.held(), 2 * groups * size_of::<i64>());
        assert_eq!(parts.iter().map(|part| part.bytes()).sum::<usize>(), memory.held());
    }
}
