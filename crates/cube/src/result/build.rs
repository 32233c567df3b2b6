//! From the cuboids of all measures to one batch.
//!
//! ```text
//!   partitions of each level ──► pieces: slices that have a value ──► their order, in ranges ──► a batch per range ──► one batch
//! ```
//!
//! Every arrow is shared by all workers, the last one column by column. What is made counts before it is: texts are expanded here, so a result
//! may be much larger than the groups that it is of. The ranges of a column go as soon as they are one. Threads: one of `mixed` that may wait for `cpu`.

use super::failed::{failed_value, of_one_type};
use super::order::{PieceKeys, Place, Survey, ordered};
use super::totals::{TOTAL, apart_from_totals};
use super::{CubeResult, KeyColumn};
use crate::cuboid::{Aligned, Part, align};
use crate::error::CubeError;
use crate::execute::{Made, Results, Run};
use crate::memory::{Reservation, bytes_of, bytes_of_rows};
use crate::plan::RootLevel;
use crate::query::Query;
use arrow::array::{
    Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, StringArray, new_null_array,
};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{cast, concat, filter, interleave};
use arrow::datatypes::{DataType, Field, Schema};
use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

/// Rows of one partition of one level: slices in which at least one measure has a value.
struct Piece {
    level: usize,
    rows: usize,
    keys: PieceKeys,
    /// The keys as texts, when there are totals.
    texts: Vec<ArrayRef>,
    /// The values of the measures that did not fail.
    values: Vec<ArrayRef>,
    /// Counts what no cuboid has.
    _held: Reservation,
}

/// A column, or the part of it that a range has, and what it holds.
type Counted = (ArrayRef, Reservation);

/// Brings the measures of all levels together.
pub(crate) fn build(query: &Query, run: &Run, results: &Results) -> Result<CubeResult, CubeError> {
    let arrow = |error| CubeError::arrow("result", &error);
    let mut failures: Vec<(String, CubeError)> = Vec::new();
    let (mut levels, mut pieces): (Vec<Vec<Made>>, Vec<Piece>) = (Vec::new(), Vec::new());
    let survey = Survey::new(&run.keys, &query.group_by);
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
            let piece = piece(query, run, root, level, &made, partition)?;
            piece.iter().for_each(|piece| survey.add(&piece.keys));
            Ok(piece)
        })?;
        pieces.extend(found.into_iter().flatten());
        // Which slices a level has is not known when all measures failed there, but a level without columns has one.
        if root.level.is_empty() && made.iter().all(Result::is_err) {
            pieces.push(only_total(query, run, level)?);
        }
        levels.push(made);
    }
    let rows: Vec<usize> = pieces.iter().map(|piece| piece.rows).collect();
    let keys: Vec<PieceKeys> = pieces.iter_mut().map(|piece| std::mem::take(&mut piece.keys)).collect();
    let (values, _held) = measures(query, run, &levels, &mut pieces)?;
    let failed: Vec<bool> = (0..values.len()).map(|measure| has_failed(&levels, measure)).collect();
    let total = rows.iter().sum();
    let has_totals = !query.totals.is_empty();
    let of_range = |places: &[Place]| {
        let mut columns = Vec::with_capacity(query.group_by.len() + query.measures.len());
        for (position, name) in query.group_by.iter().enumerate() {
            if has_totals {
                columns.push(gathered(run, pieces.iter().map(|piece| &piece.texts[position]), places)?);
                continue;
            }
            // Without totals there is one level, which has all columns.
            let name: Arc<str> = name.as_str().into();
            let of_pieces = keys.iter().filter_map(|keys| keys[position].as_ref());
            let (keys, _held) = gathered(run, of_pieces, places)?;
            columns.push(decoded(run, &name, &keys, &run.keys.logical(&name))?);
        }
        for (values, has_failed) in values.iter().zip(&failed) {
            // Where a measure failed, one row stands for all.
            let first = |(piece, row): &Place| (*piece, (*row).min(values[*piece].len() - 1));
            let places = match has_failed {
                true => Cow::Owned(places.iter().map(first).collect()),
                false => Cow::Borrowed(places),
            };
            columns.push(gathered(run, values.iter(), &places)?);
        }
        Ok(columns)
    };
    // Without rows there is nothing to gather from.
    let ranges = if total == 0 { Vec::new() } else { ordered(run, survey, &keys, &rows, of_range)? };
    let names: Vec<&String> = query.group_by.iter().chain(&query.measures).collect();
    let of_columns: Vec<Mutex<Vec<Counted>>> = by_column(names.len(), ranges);
    let columns = run.each_partition("result", names.len(), total, |position| {
        let of_ranges =
            std::mem::take(&mut *of_columns[position].lock().unwrap_or_else(PoisonError::into_inner));
        let none = match position.checked_sub(query.group_by.len()) {
            None if has_totals => DataType::Utf8,
            None => run.keys.logical(names[position]),
            Some(measure) => empty_type(&levels, measure),
        };
        joined(run, of_ranges, &none)
    })?;
    let (columns, _held): (Vec<ArrayRef>, Vec<Reservation>) = columns.into_iter().unzip();
    let fields =
        names.iter().zip(&columns).map(|(name, column)| Field::new(*name, column.data_type().clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let options = RecordBatchOptions::new().with_row_count(Some(total));
    let batch = RecordBatch::try_new_with_options(schema, columns, &options).map_err(arrow)?;
    let key = |name: &String| KeyColumn {
        has_totals: query.totals.contains(name),
        logical: run.keys.logical(name),
    };
    let keys = query.group_by.iter().map(key).collect();
    let formats = query.measures.iter().map(|measure| run.forest.format(measure)).collect();
    let all_failed = levels.iter().flatten().all(Result::is_err);
    Ok(CubeResult { batch, keys, formats, failures, all_failed, explanation: None })
}

/// The row of the total over everything, without a value.
fn only_total(query: &Query, run: &Run, level: usize) -> Result<Piece, CubeError> {
    let columns = query.group_by.len();
    let text: ArrayRef = Arc::new(StringArray::from(vec![TOTAL]));
    let (keys, texts, _held) = (vec![None; columns], vec![text; columns], run.memory.try_reserve(0)?);
    Ok(Piece { level, rows: 1, keys, texts, values: Vec::new(), _held })
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
    let Aligned { slices, values: aligned, mut held } = align(&parts, &run.memory)?;
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
    if present.is_some() {
        let copied = slices.keys.iter().chain(&aligned).map(|array| bytes_of_rows(array, rows));
        held.try_grow(copied.sum())?;
    }
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
                    let (texts, of_texts) = decoded(run, &root.level[position], key, &DataType::Utf8)?;
                    held.merge(of_texts);
                    if query.totals.contains(name) { apart_from_totals(texts) } else { texts }
                }
                _ => {
                    held.try_grow(rows * (TOTAL.len() + size_of::<i32>()))?;
                    Arc::new(StringArray::from(vec![TOTAL; rows]))
                }
            });
        }
        keys.push(key);
    }
    let values = aligned.iter().map(kept).collect::<Result<_, _>>()?;
    Ok(Some(Piece { level, rows, keys, texts, values, _held: held }))
}

/// The values of each measure, piece by piece, all of one type; where it failed, one row for all: what it said. With what texts hold that no
/// cuboid has.
fn measures(
    query: &Query,
    run: &Run,
    levels: &[Vec<Made>],
    pieces: &mut [Piece],
) -> Result<(Vec<Vec<ArrayRef>>, Reservation), CubeError> {
    let (mut all, mut held) = (Vec::with_capacity(query.measures.len()), run.memory.try_reserve(0)?);
    let mut values: Vec<std::vec::IntoIter<ArrayRef>> =
        pieces.iter_mut().map(|piece| std::mem::take(&mut piece.values).into_iter()).collect();
    for (measure, _) in query.measures.iter().enumerate() {
        let mut of_pieces: Vec<ArrayRef> = Vec::with_capacity(pieces.len());
        for (piece, values) in pieces.iter().zip(&mut values) {
            of_pieces.push(match &levels[piece.level][measure] {
                Ok(_) => values.next().unwrap_or_else(|| new_null_array(&DataType::Null, piece.rows)),
                Err(error) => failed_value(error),
            });
        }
        all.push(of_one_type(of_pieces, has_failed(levels, measure), &mut held)?);
    }
    Ok((all, held))
}

/// True when a measure failed at some level.
fn has_failed(levels: &[Vec<Made>], measure: usize) -> bool {
    levels.iter().any(|level| level[measure].is_err())
}

/// The type of a measure that has no value.
fn empty_type(levels: &[Vec<Made>], measure: usize) -> DataType {
    if has_failed(levels, measure) {
        return DataType::Utf8;
    }
    let made = levels.iter().filter_map(|level| level.get(measure)?.as_ref().ok());
    let types = made.filter_map(|cuboid| cuboid.parts.first()).map(|part| part.values.data_type().clone());
    types.into_iter().next().unwrap_or(DataType::Null)
}

/// Keys as the values that they stand for.
fn decoded(run: &Run, name: &Arc<str>, keys: &ArrayRef, to: &DataType) -> Result<Counted, CubeError> {
    let mut held = run.memory.try_reserve(run.keys.decoded_bytes(name, keys))?;
    let values =
        cast(&run.keys.decode(name, keys)?, to).map_err(|error| CubeError::arrow("result", &error))?;
    held.try_resize(bytes_of(&values))?;
    Ok((values, held))
}

/// The rows at these places, out of the arrays of all pieces.
fn gathered<'a>(
    run: &Run,
    arrays: impl Iterator<Item = &'a ArrayRef>,
    places: &[Place],
) -> Result<Counted, CubeError> {
    let arrays: Vec<&ArrayRef> = arrays.collect();
    // Values of any length are about as long everywhere.
    let total = arrays.iter().map(|array| array.len()).sum::<usize>().max(1) as u128;
    let bytes = arrays.iter().map(|array| bytes_of_rows(array, array.len()) as u128).sum::<u128>();
    let bytes = (bytes * places.len() as u128).div_ceil(total) as usize;
    let mut held = run.memory.try_reserve(bytes)?;
    let arrays: Vec<&dyn Array> = arrays.into_iter().map(|array| &**array).collect();
    let made = interleave(&arrays, places).map_err(|error| CubeError::arrow("result", &error))?;
    held.try_resize(bytes_of(&made))?;
    Ok((made, held))
}

/// The parts of each column, range after range; each to be taken by whoever joins them.
fn by_column(columns: usize, ranges: Vec<Vec<Counted>>) -> Vec<Mutex<Vec<Counted>>> {
    let mut turned: Vec<Vec<Counted>> = (0..columns).map(|_| Vec::with_capacity(ranges.len())).collect();
    for range in ranges {
        let filled = turned.iter_mut().zip(range).filter(|(_, (part, _))| !part.is_empty());
        filled.for_each(|(column, part)| column.push(part));
    }
    turned.into_iter().map(Mutex::new).collect()
}

/// The parts of a column as one; of the type `none` when there are none.
fn joined(run: &Run, mut parts: Vec<Counted>, none: &DataType) -> Result<Counted, CubeError> {
    if parts.len() == 1
        && let Some(only) = parts.pop()
    {
        return Ok(only);
    }
    if parts.is_empty() {
        return Ok((new_null_array(none, 0), run.memory.try_reserve(0)?));
    }
    let held = run.memory.try_reserve(parts.iter().map(|(_, held)| held.bytes()).sum())?;
    let arrays: Vec<&dyn Array> = parts.iter().map(|(part, _)| &**part).collect();
    Ok((concat(&arrays).map_err(|error| CubeError::arrow("result", &error))?, held))
}
