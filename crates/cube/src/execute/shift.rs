//! A measure read at another coordinate: for each slice, the value of the slice that differs in one column.
//!
//! Where that column does not decide the partition, both slices lie in the same one. Elsewhere one index over all partitions is made.

use super::Run;
use crate::coordinate::Coordinate;
use crate::cuboid::{Cuboid, Distinct, Part, SliceIndex, Words};
use crate::error::CubeError;
use crate::memory::bytes_of;
use crate::plan::ShiftBy;
use arrow::array::{Array, ArrayRef, AsArray, UInt32Array};
use arrow::compute::{concat, take};
use arrow::datatypes::{DataType, Int64Type};
use std::sync::Arc;

impl Run {
    pub(super) fn shift(
        &self,
        place: &str,
        read: &Cuboid,
        write: &Cuboid,
        column: &Arc<str>,
        shift: &ShiftBy,
    ) -> Result<Cuboid, CubeError> {
        let arrow = |error| CubeError::arrow(place, &error);
        let level = &write.level;
        let position = level.iter().position(|known| known == column);
        let decides = position.is_some_and(|position| self.decides_partition(level, position));
        let rows = write.rows() + read.rows();
        // All of what is read as one partition, when a slice and its shifted one may lie apart.
        let all = if decides {
            let all = self.cpu.run(|| {
                let held = self.memory.try_reserve(read.size())?;
                let (keys, values) = self.as_one(place, read)?;
                let index = SliceIndex::of(&keys, values.len(), &self.memory)?;
                // The keys are in the index, the values are needed to the end.
                Ok::<_, CubeError>((index, values, held))
            })?;
            Some(all)
        } else {
            None
        };
        let parts = self.each_partition(place, write.parts.len(), rows, |partition| {
            let part = &write.parts[partition];
            let own;
            let (index, values) = match &all {
                Some((index, values, _)) => (index, values),
                None => {
                    let read = &read.parts[partition];
                    own = SliceIndex::of(&read.slices.keys, read.slices.rows, &self.memory)?;
                    (&own, &read.values)
                }
            };
            let mut keys = part.slices.keys.clone();
            let mut _held = self.memory.try_reserve(0)?;
            if let Some(position) = position {
                _held.try_grow(bytes_of(&keys[position]))?;
                keys[position] = self.shifted(place, column, &keys[position], shift)?;
            }
            let words = Words::of(&keys, part.slices.rows, &self.memory)?;
            let is_written = |row: usize| part.values.is_valid(row);
            let found: UInt32Array = (0..part.slices.rows)
                .map(|row| is_written(row).then(|| index.find(words.row(row))).flatten())
                .collect();
            let values = take(values, &found, None).map_err(arrow)?;
            Ok(Part { slices: Arc::clone(&part.slices), values })
        })?;
        Cuboid::new(level, parts, &self.memory)
    }

    /// The keys and values of all partitions, one after the other.
    pub(super) fn as_one(
        &self,
        place: &str,
        cuboid: &Cuboid,
    ) -> Result<(Vec<ArrayRef>, ArrayRef), CubeError> {
        let arrow = |error| CubeError::arrow(place, &error);
        let key = |key: usize| {
            let pieces: Vec<&dyn Array> =
                cuboid.parts.iter().map(|part| part.slices.keys[key].as_ref()).collect();
            concat(&pieces).map_err(arrow)
        };
        let keys: Result<Vec<ArrayRef>, CubeError> = (0..cuboid.level.len()).map(key).collect();
        Ok((keys?, self.values_as_one(cuboid)?))
    }

    /// A key column with every coordinate shifted; each distinct one is asked for once.
    fn shifted(
        &self,
        place: &str,
        column: &Arc<str>,
        keys: &ArrayRef,
        shift: &ShiftBy,
    ) -> Result<ArrayRef, CubeError> {
        let arrow = |error| CubeError::arrow(place, &error);
        let function = match shift {
            ShiftBy::Function(function) => function,
            ShiftBy::Offset(offset) => {
                // Numbers and days are keys as they are. What there is not is the missing one.
                let is_date = self.keys.logical(column) == DataType::Date32;
                let is_there = |number: &i64| !is_date || i32::try_from(*number).is_ok();
                let further = |number: i64| number.checked_add(*offset).filter(is_there);
                let numbers = keys.as_primitive::<Int64Type>();
                return Ok(Arc::new(numbers.unary_opt::<_, Int64Type>(further)));
            }
        };
        let Distinct { of_row, first_rows, held: _held } =
            Distinct::of(std::slice::from_ref(keys), keys.len(), &self.memory)?;
        if first_rows.is_empty() {
            return Ok(Arc::clone(keys));
        }
        let distinct = take(keys, &UInt32Array::from(first_rows), None).map_err(arrow)?;
        let distinct = self.keys.decode(column, &distinct)?;
        let shifted: Result<Vec<ArrayRef>, CubeError> = (0..distinct.len())
            .map(|row| self.keys.key_of(column, &function(&Coordinate::at(&distinct, row))))
            .collect();
        let shifted = shifted?;
        let shifted: Vec<&dyn Array> = shifted.iter().map(AsRef::as_ref).collect();
        take(&concat(&shifted).map_err(arrow)?, &UInt32Array::from(of_row), None).map_err(arrow)
    }
}
