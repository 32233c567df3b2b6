//! Cells spread over the coordinates of a column that the table does not have.

use super::Run;
use super::group::Rows;
use crate::coordinate::{Coordinate, logical_type};
use crate::cuboid::{Cuboid, Distinct};
use crate::error::CubeError;
use crate::filter::Filter;
use crate::plan::{Level, Spread};
use arrow::array::{Array, ArrayRef, AsArray, Float64Array, UInt32Array, new_null_array};
use arrow::compute::{cast, concat, filter, kernels::numeric, take};
use arrow::datatypes::{DataType, Float64Type};

impl Run {
    pub(super) fn dispatch(
        &self,
        place: &str,
        from: &Cuboid,
        to: &Level,
        spread: &Spread,
    ) -> Result<Cuboid, CubeError> {
        let source = spread.from.as_ref().map(|source| {
            let position = from.level.iter().position(|column| column == source);
            let position = position.ok_or_else(|| CubeError::InvalidMeasure {
                measure: place.to_owned(),
                problem: format!("its underlying has no column {source:?}"),
            })?;
            Ok::<_, CubeError>((source, position))
        });
        let source = source.transpose()?;
        let cells = from.rows().saturating_mul(spread.targets.mean());
        self.aggregate(place, (from, cells), to, &spread.aggregation, |partition| {
            let part = &from.parts[partition];
            let keys = &part.slices.keys;
            let arrow = |error| CubeError::arrow(place, &error);
            let by = source.map_or(&[][..], |(_, position)| std::slice::from_ref(&keys[position]));
            let Distinct { of_row, first_rows } = Distinct::of(by, part.slices.rows);
            let coordinates = match source {
                None => new_null_array(&DataType::Utf8, first_rows.len()),
                Some((column, position)) => {
                    let distinct = take(&keys[position], &UInt32Array::from(first_rows), None);
                    self.keys.decode(column, &distinct.map_err(arrow)?)?
                }
            };
            let (mut targets, mut count) = (Vec::new(), 0);
            let mut destinations: Vec<Vec<(u32, f64)>> = Vec::with_capacity(coordinates.len());
            for row in 0..coordinates.len() {
                let (keys, weights) = self.destination(&Coordinate::at(&coordinates, row), spread)?;
                destinations.push((count..).zip(weights).collect());
                count += keys.as_ref().map_or(0, |keys| keys.len() as u32);
                targets.extend(keys);
            }
            let (mut rows, mut goes_to, mut weights) = (Vec::new(), Vec::new(), Vec::new());
            for (row, number) in of_row.iter().enumerate().filter(|(row, _)| part.values.is_valid(*row)) {
                for (target, weight) in &destinations[*number as usize] {
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

    /// Where the cells of a coordinate go: keys of the new column, where it is grouped by, and the part of the value that goes there.
    fn destination(
        &self,
        coordinate: &Coordinate,
        spread: &Spread,
    ) -> Result<(Option<ArrayRef>, Vec<f64>), CubeError> {
        let arrow = |error| CubeError::arrow("dispatch", &error);
        let targets = spread.targets.of(coordinate);
        let typed =
            targets.iter().filter_map(|(target, weight)| Some((target.typed(&spread.output)?, *weight)));
        let (targets, weights): (Vec<Coordinate>, Vec<f64>) = typed.unzip();
        let mut column = Coordinate::column(&targets, &logical_type(&spread.output)).map_err(arrow)?;
        let mut weights = Float64Array::from(weights);
        if spread.wanted != Filter::All {
            let mask = spread.wanted.mask_of(&cast(&column, &spread.output).map_err(arrow)?)?;
            column = filter(&column, &mask).map_err(arrow)?;
            weights = filter(&weights, &mask).map_err(arrow)?.as_primitive::<Float64Type>().clone();
        }
        let weights = weights.values().to_vec();
        if spread.is_grouped {
            return Ok((Some(self.keys.encode(&spread.to, &column)?), weights));
        }
        // One cell: with the weights of all targets that are wanted, or once when there are no weights.
        let weight = if spread.is_weighted { weights.iter().sum() } else { 1.0 };
        Ok((None, (!weights.is_empty()).then_some(weight).into_iter().collect()))
    }
}
