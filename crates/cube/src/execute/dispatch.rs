//! Cells spread over the coordinates of a column that the table does not have.

use super::Run;
use super::group::Rows;
use crate::coordinate::Coordinate;
use crate::cuboid::{Cuboid, Distinct};
use crate::error::CubeError;
use crate::filter::Filter;
use crate::memory::bytes_of;
use crate::plan::{Destination, Level, Spread};
use arrow::array::{Array, ArrayRef, AsArray, Float64Array, UInt32Array, new_null_array};
use arrow::compute::{cast, concat, filter, kernels::numeric, take};
use arrow::datatypes::{DataType, Float64Type};
use arrow::error::ArrowError;
use std::ops::Range;
use std::sync::Arc;

/// About what a key or a value of a cell takes.
const CELL_BYTES: usize = 8;

/// The cells that one cell of a coordinate becomes.
struct Cells {
    count: usize,
    /// Keys of the new column, where it is grouped by.
    keys: Option<ArrayRef>,
    /// The part of the value that goes to each; none when all of it does.
    parts: Option<Float64Array>,
}

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
            let Distinct { of_row, first_rows, held: _distinct } =
                Distinct::of(by, part.slices.rows, &self.memory)?;
            let coordinates = match source {
                None => new_null_array(&DataType::Utf8, first_rows.len()),
                Some((column, position)) => {
                    let distinct = take(&keys[position], &UInt32Array::from(first_rows), None);
                    self.keys.decode(column, &distinct.map_err(arrow)?)?
                }
            };
            let (mut targets, mut parts) = (Vec::new(), Vec::new());
            let mut listed = self.memory.try_reserve(0)?;
            // The rows of these for each coordinate.
            let mut destinations: Vec<Range<u32>> = Vec::with_capacity(coordinates.len());
            for row in 0..coordinates.len() {
                let Cells { count, keys, parts: of } =
                    self.destination(&Coordinate::at(&coordinates, row), spread)?;
                let start = destinations.last().map_or(0, |last| last.end);
                let end = u32::try_from(count).ok().and_then(|count| start.checked_add(count));
                let end = end.ok_or_else(|| CubeError::Computation {
                    place: place.to_owned(),
                    message: "its cells go to more than four billion targets".to_owned(),
                })?;
                destinations.push(start..end);
                let of = of.map(|parts| Arc::new(parts) as ArrayRef);
                // Once as they are, and once put together.
                listed.try_grow(2 * keys.iter().chain(&of).map(bytes_of).sum::<usize>())?;
                targets.extend(keys);
                parts.extend(of);
            }
            let goes = || of_row.iter().enumerate().filter(|(row, _)| part.values.is_valid(*row));
            let cells: usize = goes().map(|(_, number)| destinations[*number as usize].len()).sum();
            // One cell may become thousands, so they are counted before they are there.
            let mut held =
                self.memory.try_reserve(cells * (2 * size_of::<u32>() + CELL_BYTES * (1 + to.len())))?;
            let mut rows = Vec::with_capacity(cells);
            for (row, number) in goes() {
                rows.extend(std::iter::repeat_n(row as u32, destinations[*number as usize].len()));
            }
            let rows = UInt32Array::from(rows);
            // Where every coordinate has one cell, in their order, the lists are taken as they are.
            let is_whole = cells == destinations.last().map_or(0, |last| last.end as usize)
                && of_row.iter().enumerate().all(|(row, number)| row == *number as usize);
            let goes_to = (!is_whole).then(|| {
                let mut goes_to = Vec::with_capacity(cells);
                goes().for_each(|(_, number)| goes_to.extend(destinations[*number as usize].clone()));
                UInt32Array::from(goes_to)
            });
            let mut values = take(&part.values, &rows, None).map_err(arrow)?;
            if spread.is_weighted {
                values = cast(&values, &DataType::Float64).map_err(arrow)?;
            }
            if !parts.is_empty() {
                values =
                    numeric::mul(&values, &taken(&parts, goes_to.as_ref()).map_err(arrow)?).map_err(arrow)?;
            }
            let mut out = Vec::with_capacity(to.len());
            for column in to.iter() {
                out.push(match from.level.iter().position(|known| known == column) {
                    Some(position) => take(&keys[position], &rows, None).map_err(arrow)?,
                    None if targets.is_empty() => new_null_array(&self.keys.physical(column), 0),
                    None => taken(&targets, goes_to.as_ref()).map_err(arrow)?,
                });
            }
            held.try_resize(out.iter().chain([&values]).map(bytes_of).sum())?;
            Ok(Rows { keys: out, values, held })
        })
    }

    /// Where the cells of a coordinate go.
    fn destination(&self, coordinate: &Coordinate, spread: &Spread) -> Result<Cells, CubeError> {
        let arrow = |error| CubeError::arrow("dispatch", &error);
        let Destination { mut targets, mut parts } =
            spread.targets.of(coordinate, (&spread.to, &spread.output))?;
        if spread.wanted != Filter::All {
            let mask = spread.wanted.mask_of(&cast(&targets, &spread.output).map_err(arrow)?)?;
            targets = filter(&targets, &mask).map_err(arrow)?;
            if let Some(parts) = &mut parts {
                *parts = filter(parts, &mask).map_err(arrow)?.as_primitive::<Float64Type>().clone();
            }
        }
        if spread.is_grouped {
            let keys = self.keys.encode(&spread.to, &targets)?;
            return Ok(Cells { count: keys.len(), keys: Some(keys), parts });
        }
        // One cell: with the parts of all targets that are wanted, or once when there are none.
        let count = usize::from(!targets.is_empty());
        let parts = parts.map(|parts| Float64Array::from(vec![parts.values().iter().sum::<f64>(); count]));
        Ok(Cells { count, keys: None, parts })
    }
}

/// Rows of several arrays that follow each other; all of them without a choice.
fn taken(arrays: &[ArrayRef], rows: Option<&UInt32Array>) -> Result<ArrayRef, ArrowError> {
    let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
    let all = concat(&arrays)?;
    rows.map_or(Ok(Arc::clone(&all)), |rows| take(&all, rows, None))
}
