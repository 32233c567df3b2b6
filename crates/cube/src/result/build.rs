//! From the cuboids of all measures to one batch.
//!
//! ```text
//!   partitions of each level ──► pieces: slices that have a value ──► their order, in ranges ──► a batch per range ──► one batch
//! ```
//!
//! Every arrow is shared by all workers, the last one column by column. Threads: one of `mixed` that may wait for `cpu`.

use super::CubeResult;
use super::order::{PieceKeys, Place, ordered};
use crate::cuboid::{Part, align};
use crate::error::CubeError;
use crate::execute::{Made, Results, Run};
use crate::plan::RootLevel;
use crate::query::Query;
use arrow::array::{
    Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, StringArray, new_null_array,
};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{cast, concat, filter, interleave};
use arrow::datatypes::{DataType, Field, Schema};
use std::sync::Arc;

/// What stands for all values of a column.
const TOTAL: &str = "*";

/// Rows of one partition of one level: slices in which at least one measure has a value.
struct Piece {
    level: usize,
    rows: usize,
    keys: PieceKeys,
    /// The keys as texts, when there are totals.
    texts: Vec<ArrayRef>,
    /// The values of the measures that did not fail.
    values: Vec<ArrayRef>,
}

/// Brings the measures of all levels together.
pub(crate) fn build(query: &Query, run: &Run, results: &Results) -> Result<CubeResult, CubeError> {
    let arrow = |error| CubeError::arrow("result", &error);
    let mut failures: Vec<(String, CubeError)> = Vec::new();
    let (mut levels, mut pieces): (Vec<Vec<Made>>, Vec<Piece>) = (Vec::new(), Vec::new());
    for (level, root) in run.plan.roots.iter().enumerate() {
        let made: Result<Vec<Made>, CubeError> = root.steps.iter().map(|step| results.get(*step)).collect();
        let made = made?;
        for (measure, made) in query.measures.iter().zip(&made) {
            if let Err(error) = made
                && !failures.iter().any(|(known, _)| known == measure)
            {
                failures.push((measure.clone(), error.clone()));
            }
        }
        let rows = made.iter().flatten().map(|cuboid| cuboid.rows()).max().unwrap_or(0);
        let found = run.each_partition("result", run.partitions, rows, |partition| {
            piece(query, run, root, level, &made, partition)
        })?;
        pieces.extend(found.into_iter().flatten());
        levels.push(made);
    }
    let rows: Vec<usize> = pieces.iter().map(|piece| piece.rows).collect();
    let keys: Vec<PieceKeys> = pieces.iter_mut().map(|piece| std::mem::take(&mut piece.keys)).collect();
    let values = measures(query, &levels, &mut pieces)?;
    let total = rows.iter().sum();
    let has_totals = !query.totals.is_empty();
    let of_range = |places: &[Place]| {
        let mut columns = Vec::with_capacity(query.group_by.len() + query.measures.len());
        for (position, name) in query.group_by.iter().enumerate() {
            if has_totals {
                columns.push(
                    gathered(pieces.iter().map(|piece| &piece.texts[position]), places).map_err(arrow)?,
                );
                continue;
            }
            // Without totals there is one level, which has all columns.
            let name: Arc<str> = name.as_str().into();
            let of_pieces = keys.iter().filter_map(|keys| keys[position].as_ref());
            let decoded = run.keys.decode(&name, &gathered(of_pieces, places).map_err(arrow)?)?;
            columns.push(cast(&decoded, &run.keys.logical(&name)).map_err(arrow)?);
        }
        for values in &values {
            columns.push(gathered(values.iter(), places).map_err(arrow)?);
        }
        Ok(columns)
    };
    // Without rows there is nothing to gather from.
    let ranges = if total == 0 { Vec::new() } else { ordered(run, &query.group_by, &keys, &rows, of_range)? };
    let names: Vec<&String> = query.group_by.iter().chain(&query.measures).collect();
    let columns = run.each_partition("result", names.len(), total, |position| {
        let of_ranges: Vec<&dyn Array> =
            ranges.iter().map(|columns| &*columns[position]).filter(|column| !column.is_empty()).collect();
        Ok(match (of_ranges.as_slice(), position < query.group_by.len()) {
            ([], true) if has_totals => new_null_array(&DataType::Utf8, 0),
            ([], true) => new_null_array(&run.keys.logical(names[position]), 0),
            ([], false) => new_null_array(&empty_type(&levels, position - query.group_by.len()), 0),
            (of_ranges, _) => concat(of_ranges).map_err(arrow)?,
        })
    })?;
    let fields =
        names.iter().zip(&columns).map(|(name, column)| Field::new(*name, column.data_type().clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let options = RecordBatchOptions::new().with_row_count(Some(total));
    let batch = RecordBatch::try_new_with_options(schema, columns, &options).map_err(arrow)?;
    Ok(CubeResult { batch, columns: query.group_by.len(), failures, explanation: None })
}

/// The rows of one partition of a level, if it has any.
fn piece(
    query: &Query,
    run: &Run,
    root: &RootLevel,
    level: usize,
    made: &[Made],
    partition: usize,
) -> Result<Option<Piece>, CubeError> {
    let arrow = |error| CubeError::arrow("result", &error);
    let parts: Vec<&Part> = made.iter().flatten().map(|cuboid| &cuboid.parts[partition]).collect();
    let (slices, aligned) = align(&parts, &run.memory)?;
    let mut present = BooleanBuffer::new_unset(slices.rows);
    for values in &aligned {
        present = match values.logical_nulls() {
            None => BooleanBuffer::new_set(slices.rows),
            Some(nulls) => &present | nulls.inner(),
        };
    }
    let rows = present.count_set_bits();
    if rows == 0 {
        return Ok(None);
    }
    let present = (rows < slices.rows).then(|| BooleanArray::new(present, None));
    let kept = |array: &ArrayRef| match &present {
        None => Ok(Arc::clone(array)),
        Some(present) => filter(array, present).map_err(arrow),
    };
    let (mut keys, mut texts) = (Vec::new(), Vec::new());
    for name in &query.group_by {
        let position = root.level.iter().position(|column| **column == *name);
        let key = position.map(|position| kept(&slices.keys[position])).transpose()?;
        if !query.totals.is_empty() {
            texts.push(match (&key, position) {
                (Some(key), Some(position)) => {
                    let decoded = run.keys.decode(&root.level[position], key)?;
                    cast(&decoded, &DataType::Utf8).map_err(arrow)?
                }
                _ => Arc::new(StringArray::from(vec![TOTAL; rows])),
            });
        }
        keys.push(key);
    }
    let values = aligned.iter().map(kept).collect::<Result<_, _>>()?;
    Ok(Some(Piece { level, rows, keys, texts, values }))
}

/// The values of each measure, piece by piece, all of one type; what failed as what it said.
fn measures(
    query: &Query,
    levels: &[Vec<Made>],
    pieces: &mut [Piece],
) -> Result<Vec<Vec<ArrayRef>>, CubeError> {
    let arrow = |error| CubeError::arrow("result", &error);
    let mut all = Vec::with_capacity(query.measures.len());
    let mut values: Vec<std::vec::IntoIter<ArrayRef>> =
        pieces.iter_mut().map(|piece| std::mem::take(&mut piece.values).into_iter()).collect();
    for (measure, _) in query.measures.iter().enumerate() {
        let mut of_pieces: Vec<ArrayRef> = Vec::with_capacity(pieces.len());
        for (piece, values) in pieces.iter().zip(&mut values) {
            of_pieces.push(match &levels[piece.level][measure] {
                Ok(_) => values.next().unwrap_or_else(|| new_null_array(&DataType::Null, piece.rows)),
                Err(error) => Arc::new(StringArray::from(vec![format!("error: {error}"); piece.rows])),
            });
        }
        let mut types = of_pieces.iter().map(|values| values.data_type()).filter(|of| **of != DataType::Null);
        let Some(first) = types.next().cloned() else {
            all.push(of_pieces);
            continue;
        };
        let data_type = if types.all(|other| *other == first) { first } else { DataType::Float64 };
        let cast = |values: ArrayRef| match *values.data_type() == data_type {
            true => Ok(values),
            false => cast(&values, &data_type).map_err(arrow),
        };
        all.push(of_pieces.into_iter().map(cast).collect::<Result<_, _>>()?);
    }
    Ok(all)
}

/// The type of a measure that has no value.
fn empty_type(levels: &[Vec<Made>], measure: usize) -> DataType {
    let made = levels.iter().filter_map(|level| level.get(measure)?.as_ref().ok());
    let types = made.filter_map(|cuboid| cuboid.parts.first()).map(|part| part.values.data_type().clone());
    types.into_iter().next().unwrap_or(DataType::Null)
}

/// The rows at these places, out of the arrays of all pieces.
fn gathered<'a>(
    arrays: impl Iterator<Item = &'a ArrayRef>,
    places: &[Place],
) -> Result<ArrayRef, arrow::error::ArrowError> {
    let arrays: Vec<&dyn Array> = arrays.map(|array| &**array).collect();
    let places: Vec<(usize, usize)> =
        places.iter().map(|place| (place.piece as usize, place.row as usize)).collect();
    interleave(&arrays, &places)
}
