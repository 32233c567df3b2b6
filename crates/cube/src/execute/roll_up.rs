//! Slices of a finer level aggregated to a coarser one: what Partitionors do, and leaves that are induced from others.

use super::Run;
use super::group::Rows;
use crate::cuboid::Cuboid;
use crate::error::CubeError;
use crate::filter::{ColumnSource, Filter};
use crate::forest::Aggregation;
use crate::plan::Level;
use arrow::array::{Array, ArrayRef};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use std::sync::Arc;

/// The slices of a partition as columns that a filter can look at.
pub(super) struct SliceColumns<'a> {
    pub(super) run: &'a Run,
    pub(super) level: &'a Level,
    pub(super) keys: &'a [ArrayRef],
    pub(super) rows: usize,
}

impl ColumnSource for SliceColumns<'_> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn column(&self, name: &str) -> Result<ArrayRef, CubeError> {
        let position = self.level.iter().position(|column| &**column == name).ok_or_else(|| {
            CubeError::InvalidFilter { at: 0, problem: format!("{name:?} is not a column of these slices") }
        })?;
        self.run.keys.decode(&self.level[position], &self.keys[position])
    }
}

impl Run {
    /// Slices of a finer level, those that `keep` wants, aggregated.
    pub(super) fn roll_up(
        &self,
        place: &str,
        from: &Cuboid,
        to: &Level,
        keep: &Filter,
        aggregation: &Aggregation,
    ) -> Result<Cuboid, CubeError> {
        let positions: Vec<usize> =
            to.iter().filter_map(|column| from.level.iter().position(|known| known == column)).collect();
        self.aggregate(place, (from, from.rows()), to, aggregation, |partition| {
            let part = &from.parts[partition];
            let slices = &part.slices;
            let mut keys: Vec<ArrayRef> =
                positions.iter().map(|position| Arc::clone(&slices.keys[*position])).collect();
            let mut values = Arc::clone(&part.values);
            if *values.data_type() == DataType::Null {
                values =
                    cast(&values, &DataType::Float64).map_err(|error| CubeError::arrow(place, &error))?;
            }
            if *keep != Filter::All {
                let columns =
                    SliceColumns { run: self, level: &from.level, keys: &slices.keys, rows: slices.rows };
                let mask = keep.mask(&columns)?;
                let filter = |array: &ArrayRef| {
                    arrow::compute::filter(array, &mask).map_err(|error| CubeError::arrow(place, &error))
                };
                keys = keys.iter().map(filter).collect::<Result<_, _>>()?;
                values = filter(&values)?;
            }
            Ok(Rows { keys, values, held: self.memory.try_reserve(0)? })
        })
    }
}
