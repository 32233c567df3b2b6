//! Slices aggregated to another level: roll-ups, and what a dispatch spreads.
//!
//! Where both levels have the shard columns, a slice stays in its partition and every partition is aggregated alone. Elsewhere all
//! partitions go, in their order, through one grouping that spreads them anew.

use super::Run;
use super::rank::Rank;
use crate::aggregate::{Aggregate, Block, Function, Grouped, Grouping, GroupingOptions};
use crate::cuboid::{Cuboid, Part, Slices};
use crate::error::CubeError;
use crate::forest::{Aggregation, Forest, Quantile};
use crate::memory::Reservation;
use crate::plan::{CubeColumns, Level};
use crate::quantile::SketchOf;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::{cast, nullif};
use arrow::datatypes::{DataType, Int64Type};
use std::sync::Arc;

/// Keys of slices with their values, to be aggregated.
pub(super) struct Rows {
    pub(super) keys: Vec<ArrayRef>,
    pub(super) values: ArrayRef,
    /// What they hold that no cuboid has, until a grouping counts it.
    pub(super) held: Reservation,
}

/// The kernel's function for an aggregation.
pub(crate) fn grouping_function(
    aggregation: &Aggregation,
    of: &str,
    forest: &Forest,
) -> Result<Function, CubeError> {
    let rank =
        |nth: usize, is_largest| Function::Custom(Arc::new(Rank { of: of.to_owned(), nth, is_largest }));
    Ok(match aggregation {
        // What differs is the type that it adds up in.
        Aggregation::Sum | Aggregation::WideSum => Function::Sum,
        Aggregation::ExactSum => Function::ExactSum,
        Aggregation::Count => Function::Count,
        Aggregation::Avg => Function::Avg,
        Aggregation::Min => Function::Min,
        Aggregation::Max => Function::Max,
        Aggregation::Product => Function::Product,
        Aggregation::CountDistinct => Function::CountDistinct,
        Aggregation::Largest(nth) => rank(*nth, true),
        Aggregation::Smallest(nth) => rank(*nth, false),
        Aggregation::Quantile(part) => Function::Custom(Arc::new(SketchOf(Some(*part)))),
        Aggregation::Median => Function::Custom(Arc::new(SketchOf(Some(Quantile::MEDIAN)))),
        Aggregation::Sketch => Function::Custom(Arc::new(SketchOf(None))),
        Aggregation::Custom(name) => {
            let code = forest.registry().aggregates.get(name).ok_or_else(|| CubeError::InvalidForest {
                problem: format!("no aggregation is registered as {name:?}"),
            })?;
            Function::Custom(Arc::clone(code))
        }
    })
}

/// What the kernel computes for an aggregation of a column of the table, which is this input of every block.
pub(super) fn leaf_aggregate(
    columns: &CubeColumns,
    (aggregation, column): (&Aggregation, &str),
    input: usize,
    forest: &Forest,
) -> Result<Aggregate, CubeError> {
    let data_type = match aggregation {
        Aggregation::WideSum => WIDE,
        _ => columns.value_type(column)?,
    };
    Ok(Aggregate::new(grouping_function(aggregation, column, forest)?, input, data_type))
}

/// The type in which whole numbers are added up where their total is only divided: it has room for all of them.
pub(super) const WIDE: DataType = DataType::Decimal128(38, 0);

/// A count of nothing is no value: such a cell is not there.
pub(super) fn present(aggregation: &Aggregation, values: &ArrayRef) -> Result<ArrayRef, CubeError> {
    if !matches!(aggregation, Aggregation::Count | Aggregation::CountDistinct) {
        return Ok(Arc::clone(values));
    }
    let counts = cast(values, &DataType::Int64).map_err(|error| CubeError::arrow("count", &error))?;
    let zero = arrow::array::BooleanArray::from_unary(counts.as_primitive::<Int64Type>(), |count| count == 0);
    nullif(&counts, &zero).map_err(|error| CubeError::arrow("count", &error))
}

impl Run {
    pub(super) fn grouping_options(&self, level: &Level, partitions: usize) -> GroupingOptions {
        GroupingOptions {
            parallelism: self.parallelism,
            partitions,
            shard: self.shard_of(level),
            codes: level.iter().map(|column| self.keys.code_hashes(column)).collect(),
            memory: self.memory.clone(),
            spill: self.spill.clone(),
            cancelled: self.cancel.flag(),
            observed: self.observed.clone(),
            ..GroupingOptions::new(self.cpu.clone())
        }
    }

    /// Aggregates rows that `rows(p)` gives for every partition of a cuboid, `total` in all or about so many.
    pub(super) fn aggregate(
        &self,
        place: &str,
        (from, total): (&Cuboid, usize),
        to: &Level,
        aggregation: &Aggregation,
        rows: impl Fn(usize) -> Result<Rows, CubeError> + Sync,
    ) -> Result<Cuboid, CubeError> {
        let function = grouping_function(aggregation, place, &self.forest)?;
        let count = from.parts.len();
        let grouping = |data_type: DataType, partitions: usize| {
            let aggregate = Aggregate::new(function.clone(), 0, data_type);
            Grouping::new(self.key_types(to), vec![aggregate], self.grouping_options(to, partitions))
        };
        let grouped: Vec<Grouped> = if self.is_local(&from.level, to) {
            self.each_partition(place, count, total, |partition| {
                let rows = rows(partition)?;
                let mut grouping = grouping(rows.values.data_type().clone(), 1)?;
                grouping.push(rows.into_block())?;
                grouping.finish()
            })?
        } else {
            self.observed.note_spread_anew();
            let made = self.each_partition(place, count, total, &rows)?;
            let types = made.iter().map(|rows| rows.values.data_type());
            let data_type = types.clone().find(|data_type| **data_type != DataType::Null).cloned();
            let data_type = data_type.unwrap_or(DataType::Float64);
            let mut grouping = grouping(data_type.clone(), self.partitions)?;
            for mut rows in made {
                rows.values =
                    cast(&rows.values, &data_type).map_err(|error| CubeError::arrow(place, &error))?;
                grouping.push(rows.into_block())?;
            }
            vec![grouping.finish()?]
        };
        let partitions = grouped.into_iter().flat_map(|grouped| grouped.partitions);
        let parts: Result<Vec<Part>, CubeError> = partitions
            .map(|partition| {
                let slices = Slices::new(partition.keys, partition.groups, &self.memory)?;
                Ok(Part { slices, values: present(aggregation, &partition.values[0])? })
            })
            .collect();
        Cuboid::new(to, parts?, &self.memory)
    }
}

impl Rows {
    fn into_block(self) -> Block {
        drop(self.held);
        Block { rows: self.values.len(), keys: self.keys, inputs: vec![self.values], filters: Vec::new() }
    }
}
