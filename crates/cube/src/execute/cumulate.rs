//! Running totals: each cell goes to its own and to every later coordinate of a column.
//!
//! The coordinates are those that the underlying has in any slice, so a total goes on where nothing is added. They are walked in order, all
//! other columns side by side: what a coordinate gets is what the one before has and its own cells. So the cost is that of the cells that
//! come out, and each is added up in the order of the coordinates, whatever the partitions.
//!
//! Where the column does not decide the partition, every partition is walked alone. Elsewhere all slices are walked as one, and spread
//! anew.

use super::Run;
use super::combine::one_type;
use super::group::grouping_function;
use crate::aggregate::Running;
use crate::cuboid::{Cuboid, Distinct, Part, SliceIndex, Slices, Words};
use crate::error::CubeError;
use crate::memory::{Reservation, bytes_of};
use crate::plan::Along;
use arrow::array::{Array, ArrayRef, BooleanArray, UInt32Array, new_null_array};
use arrow::compute::{SortOptions, cast, concat, sort_to_indices, take};
use arrow::datatypes::DataType;

/// The coordinates of a column that the underlying has, in order, a missing one first.
struct Walk {
    keys: ArrayRef,
    /// From a key to its place in the order.
    index: SliceIndex,
    is_wanted: BooleanArray,
}

/// Slices with their values.
struct Cells {
    keys: Vec<ArrayRef>,
    values: ArrayRef,
}

impl Run {
    pub(super) fn cumulate(&self, place: &str, from: &Cuboid, along: &Along) -> Result<Cuboid, CubeError> {
        let position = from.level.iter().position(|column| *column == along.column).ok_or_else(|| {
            CubeError::InvalidMeasure {
                measure: place.to_owned(),
                problem: format!("its underlying has no column {:?}", along.column),
            }
        })?;
        let walk = self.cpu.run(|| self.walk(place, from, position, along))?;
        let rows = from.rows().saturating_mul(walk.is_wanted.true_count().max(1));
        let level = &from.level;
        if !self.decides_partition(level, position) {
            let parts = self.each_partition(place, from.parts.len(), rows, |partition| {
                let Part { slices, values } = &from.parts[partition];
                let made = self.cumulated(place, &slices.keys, values, position, along, &walk)?;
                let slices = Slices::new(made.keys, made.values.len(), &self.memory)?;
                Ok(Part { slices, values: made.values })
            })?;
            return Cuboid::new(level, one_type(parts)?, &self.memory);
        }
        let made = self.each_partition(place, 1, rows, |_| {
            let (keys, values) = self.as_one(place, from)?;
            self.cumulated(place, &keys, &values, position, along, &walk)
        })?;
        match made.into_iter().next() {
            Some(Cells { keys, values }) => self.spread_anew(level, keys, values),
            None => Cuboid::empty(level, &self.keys, self.partitions, &self.memory),
        }
    }

    /// The coordinates that cells have.
    fn walk(&self, place: &str, from: &Cuboid, position: usize, along: &Along) -> Result<Walk, CubeError> {
        let arrow = |error| CubeError::arrow(place, &error);
        let once = |keys: &ArrayRef| {
            let Distinct { first_rows, .. } =
                Distinct::of(std::slice::from_ref(keys), keys.len(), &self.memory)?;
            take(keys, &UInt32Array::from(first_rows), None).map_err(arrow)
        };
        let of_part = |part: &Part| {
            let cells = UInt32Array::from(cells_of(part.values.as_ref()));
            once(&take(&part.slices.keys[position], &cells, None).map_err(arrow)?)
        };
        let known: Result<Vec<ArrayRef>, CubeError> = from.parts.iter().map(of_part).collect();
        let known = known?;
        let known: Vec<&dyn Array> = known.iter().map(AsRef::as_ref).collect();
        let keys = once(&concat(&known).map_err(arrow)?)?;
        let logical = self.keys.logical(&along.column);
        let coordinates =
            |keys: &ArrayRef| cast(&self.keys.decode(&along.column, keys)?, &logical).map_err(arrow);
        let first = SortOptions { descending: false, nulls_first: true };
        let order = sort_to_indices(&coordinates(&keys)?, Some(first), None).map_err(arrow)?;
        let keys = take(&keys, &order, None).map_err(arrow)?;
        let is_wanted = along.wanted.mask_of(&coordinates(&keys)?)?;
        let index = SliceIndex::of(std::slice::from_ref(&keys), keys.len(), &self.memory)?;
        Ok(Walk { keys, index, is_wanted })
    }

    /// The cells that come of those of a partition.
    fn cumulated(
        &self,
        place: &str,
        keys: &[ArrayRef],
        values: &ArrayRef,
        position: usize,
        along: &Along,
        walk: &Walk,
    ) -> Result<Cells, CubeError> {
        let arrow = |error| CubeError::arrow(place, &error);
        let words = Words::of(std::slice::from_ref(&keys[position]), values.len(), &self.memory)?;
        let mut cells: Vec<(u32, u32)> = cells_of(values.as_ref())
            .into_iter()
            .filter_map(|row| Some((walk.index.find(words.row(row as usize))?, row)))
            .collect();
        // Rows in the order of the coordinates; within one, as they were.
        cells.sort_by_key(|(coordinate, _)| *coordinate);
        let rows = UInt32Array::from_iter_values(cells.iter().map(|(_, row)| *row));
        let values = take(values, &rows, None).map_err(arrow)?;
        let keys: Result<Vec<ArrayRef>, CubeError> =
            keys.iter().map(|key| take(key, &rows, None).map_err(arrow)).collect();
        let keys = keys?;
        let mut others = keys.clone();
        others.remove(position);
        let mut told = Told::default();
        // What has no coordinate comes before no other.
        let has_missing = walk.keys.null_count() > 0;
        let missing = cells.partition_point(|(coordinate, _)| has_missing && *coordinate == 0);
        let first = usize::from(has_missing);
        for (range, coordinates) in [(0..missing, 0..first), (missing..cells.len(), first..walk.keys.len())] {
            if range.is_empty() {
                continue;
            }
            let others: Vec<ArrayRef> =
                others.iter().map(|key| key.slice(range.start, range.len())).collect();
            let Distinct { of_row, first_rows, held: _held } =
                Distinct::of(&others, range.len(), &self.memory)?;
            let function = grouping_function(&along.aggregation, place, &self.forest)?;
            let mut running = Running::new(function, values.data_type().clone(), &self.memory)?;
            let (mut next, mut last): (usize, Option<ArrayRef>) = (range.start, None);
            for coordinate in coordinates {
                self.cancel.check()?;
                let begin = next;
                next += cells[begin..range.end].partition_point(|(at, _)| *at as usize == coordinate);
                if begin < next {
                    let groups = &of_row[begin - range.start..next - range.start];
                    running.add(groups, &values.slice(begin, next - begin))?;
                    last = None;
                }
                if running.groups() == 0 || !walk.is_wanted.value(coordinate) {
                    continue;
                }
                let values = match &last {
                    Some(values) => ArrayRef::clone(values),
                    None => running.values()?,
                };
                last = Some(ArrayRef::clone(&values));
                told.held.push(self.memory.try_reserve(bytes_of(&values) + values.len() * 8)?);
                told.slices.extend(first_rows[..running.groups()].iter().map(|row| row + range.start as u32));
                told.coordinates.extend(std::iter::repeat_n(coordinate as u32, values.len()));
                told.values.push(values);
            }
        }
        let (slices, coordinates) = (UInt32Array::from(told.slices), UInt32Array::from(told.coordinates));
        let keys: Result<Vec<ArrayRef>, CubeError> = keys
            .iter()
            .enumerate()
            .map(|(column, key)| {
                let (from, rows) =
                    if column == position { (&walk.keys, &coordinates) } else { (key, &slices) };
                take(from, rows, None).map_err(arrow)
            })
            .collect();
        let pieces: Vec<&dyn Array> = told.values.iter().map(AsRef::as_ref).collect();
        let values = if pieces.is_empty() {
            new_null_array(&DataType::Null, 0)
        } else {
            concat(&pieces).map_err(arrow)?
        };
        Ok(Cells { keys: keys?, values })
    }
}

/// What came out so far: slices by the row that they are first seen in, and their coordinates.
#[derive(Default)]
struct Told {
    slices: Vec<u32>,
    coordinates: Vec<u32>,
    values: Vec<ArrayRef>,
    /// Counts them until they are a cuboid.
    held: Vec<Reservation>,
}

/// The rows that have a value.
fn cells_of(values: &dyn Array) -> Vec<u32> {
    match values.logical_nulls() {
        None => (0..values.len() as u32).collect(),
        Some(nulls) => nulls.valid_indices().map(|row| row as u32).collect(),
    }
}
