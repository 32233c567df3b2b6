//! Cells spread over the coordinates of a column that the table does not have.

use super::Run;
use super::group::Rows;
use crate::coordinate::Coordinate;
use crate::cuboid::{Cuboid, Distinct};
use crate::error::CubeError;
use crate::filter::ColumnSource;
use crate::plan::{Level, Spread};
use arrow::array::{Array, ArrayRef, Float64Array, UInt32Array, new_null_array};
use arrow::compute::{cast, concat, kernels::numeric, take};
use arrow::datatypes::DataType;
use std::sync::Arc;

/// Where the cells of one coordinate go.
struct Destination {
    /// Which of the targets that were met so far, and the part of the value that goes there.
    targets: Vec<(u32, f64)>,
}

impl Run {
    pub(super) fn dispatch(
        &self,
        place: &str,
        from: &Cuboid,
        to: &Level,
        spread: &Spread,
    ) -> Result<Cuboid, CubeError> {
        let source = from.level.iter().position(|column| *column == spread.from).ok_or_else(|| {
            CubeError::InvalidMeasure {
                measure: place.to_owned(),
                problem: format!("its underlying has no column {:?}", spread.from),
            }
        })?;
        self.aggregate(place, from, to, &spread.aggregation, |partition| {
            let part = &from.parts[partition];
            let keys = &part.slices.keys;
            let arrow = |error| CubeError::arrow(place, &error);
            let Distinct { of_row, first_rows } =
                Distinct::of(std::slice::from_ref(&keys[source]), part.slices.rows);
            let distinct = take(&keys[source], &UInt32Array::from(first_rows), None).map_err(arrow)?;
            let coordinates = self.keys.decode(&spread.from, &distinct)?;
            let mut targets: Vec<ArrayRef> = Vec::new();
            let mut destinations: Vec<Destination> = Vec::with_capacity(coordinates.len());
            for row in 0..coordinates.len() {
                destinations.push(self.destination(
                    &Coordinate::at(&coordinates, row),
                    spread,
                    &mut targets,
                )?);
            }
            let (mut rows, mut goes_to, mut weights) = (Vec::new(), Vec::new(), Vec::new());
            for (row, number) in of_row.iter().enumerate().filter(|(row, _)| part.values.is_valid(*row)) {
                for (target, weight) in &destinations[*number as usize].targets {
                    rows.push(row as u32);
                    goes_to.push(*target);
                    weights.push(*weight);
                }
            }
            let rows = UInt32Array::from(rows);
            let mut values = take(&part.values, &rows, None).map_err(arrow)?;
            if spread.is_weighted {
                let floats = cast(&values, &DataType::Float64).map_err(arrow)?;
                values = numeric::mul(&floats, &Float64Array::from(weights)).map_err(arrow)?;
            }
            let goes_to = UInt32Array::from(goes_to);
            let mut out = Vec::with_capacity(to.len());
            for column in to.iter() {
                out.push(match from.level.iter().position(|known| known == column) {
                    Some(position) => take(&keys[position], &rows, None).map_err(arrow)?,
                    None if targets.is_empty() => new_null_array(&self.keys.physical(column), 0),
                    None => {
                        let targets: Vec<&dyn Array> = targets.iter().map(AsRef::as_ref).collect();
                        take(&concat(&targets).map_err(arrow)?, &goes_to, None).map_err(arrow)?
                    }
                });
            }
            Ok(Rows { keys: out, values })
        })
    }

    /// Where the cells of a coordinate go; targets that are new are added to those that were met.
    fn destination(
        &self,
        coordinate: &Coordinate,
        spread: &Spread,
        targets: &mut Vec<ArrayRef>,
    ) -> Result<Destination, CubeError> {
        let mut wanted = Vec::new();
        for (target, weight) in spread.targets.of(coordinate) {
            let Some(target) = target.typed(&spread.output) else { continue };
            let column = cast(&target.array(1), &spread.output)
                .map_err(|error| CubeError::arrow("dispatch", &error))?;
            if spread.wanted.mask(&One { column })?.value(0) {
                wanted.push((target, weight));
            }
        }
        if !spread.is_grouped {
            // One cell: with the weights of all targets that are wanted, or once when there are no weights.
            let weight = if spread.is_weighted { wanted.iter().map(|(_, weight)| weight).sum() } else { 1.0 };
            let is_wanted = !wanted.is_empty();
            return Ok(Destination { targets: is_wanted.then_some((0, weight)).into_iter().collect() });
        }
        let mut destination = Destination { targets: Vec::with_capacity(wanted.len()) };
        for (target, weight) in wanted {
            destination.targets.push((targets.len() as u32, weight));
            targets.push(self.keys.key_of(&spread.to, &target)?);
        }
        Ok(destination)
    }
}

/// One row of the new column, to be looked at by a filter.
struct One {
    column: ArrayRef,
}

impl ColumnSource for One {
    fn rows(&self) -> usize {
        1
    }

    fn column(&self, _name: &str) -> Result<ArrayRef, CubeError> {
        Ok(Arc::clone(&self.column))
    }
}
