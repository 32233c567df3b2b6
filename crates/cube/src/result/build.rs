//! From the cuboids of all measures to one batch.

use super::CubeResult;
use crate::cuboid::{Part, align};
use crate::error::CubeError;
use crate::execute::{Made, Results, Run};
use crate::plan::RootLevel;
use crate::query::Query;
use arrow::array::{
    Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, StringArray, new_null_array,
};
use arrow::buffer::BooleanBuffer;
use arrow::compute::{SortColumn, cast, concat, filter, lexsort_to_indices, take_record_batch};
use arrow::datatypes::{DataType, Field, Schema};
use std::sync::Arc;

/// What stands for all values of a column.
const TOTAL: &str = "*";

/// One level of a result: its columns as the query has them, then its measures.
struct Rows {
    columns: Vec<ArrayRef>,
    measures: Vec<ArrayRef>,
    rows: usize,
}

/// Brings the measures of all levels together. Computes: on `cpu`.
pub(crate) fn build(query: &Query, run: &Run, results: &Results) -> Result<CubeResult, CubeError> {
    let arrow = |error| CubeError::arrow("result", &error);
    let mut failures: Vec<(String, CubeError)> = Vec::new();
    let mut levels = Vec::new();
    for root in &run.plan.roots {
        let made: Result<Vec<Made>, CubeError> = root.steps.iter().map(|step| results.get(*step)).collect();
        let made = made?;
        for (measure, made) in query.measures.iter().zip(&made) {
            if let Err(error) = made
                && !failures.iter().any(|(known, _)| known == measure)
            {
                failures.push((measure.clone(), error.clone()));
            }
        }
        levels.push(rows(query, run, root, &made)?);
    }
    let has_totals = !query.totals.is_empty();
    let joined = |pieces: Vec<&ArrayRef>| -> Result<ArrayRef, CubeError> {
        let types = || pieces.iter().filter(|piece| !piece.is_empty()).map(|piece| piece.data_type());
        let Some(mut data_type) = types().find(|data_type| **data_type != DataType::Null).cloned() else {
            let rows = pieces.iter().map(|piece| piece.len()).sum();
            return Ok(new_null_array(
                pieces.first().map_or(&DataType::Null, |piece| piece.data_type()),
                rows,
            ));
        };
        if types().any(|other| *other != data_type && *other != DataType::Null) {
            data_type = DataType::Float64;
        }
        let pieces: Result<Vec<ArrayRef>, CubeError> = pieces
            .into_iter()
            .filter(|piece| !piece.is_empty())
            .map(|piece| cast(piece, &data_type).map_err(arrow))
            .collect();
        let pieces = pieces?;
        let pieces: Vec<&dyn Array> = pieces.iter().map(AsRef::as_ref).collect();
        concat(&pieces).map_err(arrow)
    };
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (position, name) in query.group_by.iter().enumerate() {
        let data_type = if has_totals { DataType::Utf8 } else { run.keys.logical(name) };
        let column = joined(levels.iter().map(|level| &level.columns[position]).collect())?;
        columns.push(cast(&column, &data_type).map_err(arrow)?);
        fields.push(Field::new(name, data_type, true));
    }
    for (position, name) in query.measures.iter().enumerate() {
        let column = joined(levels.iter().map(|level| &level.measures[position]).collect())?;
        fields.push(Field::new(name, column.data_type().clone(), true));
        columns.push(column);
    }
    let rows = levels.iter().map(|level| level.rows).sum();
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch =
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options).map_err(arrow)?;
    let batch = in_order(&batch, query.group_by.len())?;
    Ok(CubeResult { batch, columns: query.group_by.len(), failures, explanation: None })
}

/// The rows of one level: every slice in which at least one measure has a value.
fn rows(query: &Query, run: &Run, root: &RootLevel, made: &[Made]) -> Result<Rows, CubeError> {
    let arrow = |error| CubeError::arrow("result", &error);
    let cuboids: Vec<_> = made.iter().flatten().collect();
    let (mut keys, mut values) = (vec![Vec::new(); root.level.len()], vec![Vec::new(); cuboids.len()]);
    let mut rows = 0;
    for partition in 0..run.partitions {
        run.cancel.check()?;
        let parts: Vec<&Part> = cuboids.iter().map(|cuboid| &cuboid.parts[partition]).collect();
        let (slices, aligned) = align(&parts, &run.memory)?;
        if slices.rows == 0 {
            continue;
        }
        let mut present = BooleanBuffer::new_unset(slices.rows);
        for values in &aligned {
            present = match values.logical_nulls() {
                None => BooleanBuffer::new_set(slices.rows),
                Some(nulls) => &present | nulls.inner(),
            };
        }
        let present = BooleanArray::new(present, None);
        rows += present.true_count();
        for (known, key) in keys.iter_mut().zip(&slices.keys) {
            known.push(filter(key, &present).map_err(arrow)?);
        }
        for (known, values) in values.iter_mut().zip(&aligned) {
            known.push(filter(values, &present).map_err(arrow)?);
        }
    }
    let joined = |pieces: &[ArrayRef], empty: &DataType| {
        let data_type =
            pieces.iter().map(|piece| piece.data_type()).find(|data_type| **data_type != DataType::Null);
        let data_type = data_type.unwrap_or(empty);
        let pieces: Result<Vec<ArrayRef>, CubeError> =
            pieces.iter().map(|piece| cast(piece, data_type).map_err(arrow)).collect();
        let pieces = pieces?;
        let pieces: Vec<&dyn Array> = pieces.iter().map(AsRef::as_ref).collect();
        if pieces.is_empty() { Ok(new_null_array(data_type, 0)) } else { concat(&pieces).map_err(arrow) }
    };
    let mut columns = Vec::new();
    for name in &query.group_by {
        columns.push(match root.level.iter().position(|column| **column == *name) {
            None => Arc::new(StringArray::from(vec![TOTAL; rows])) as ArrayRef,
            Some(position) => {
                let column = &root.level[position];
                let key = joined(&keys[position], &run.keys.physical(column))?;
                let decoded = run.keys.decode(column, &key)?;
                cast(&decoded, &run.keys.logical(column)).map_err(arrow)?
            }
        });
        if !query.totals.is_empty()
            && let Some(column) = columns.last_mut()
        {
            *column = cast(column, &DataType::Utf8).map_err(arrow)?;
        }
    }
    let mut values = values.iter();
    let mut measures = Vec::new();
    for made in made {
        measures.push(match made {
            Ok(cuboid) => {
                let data_type =
                    cuboid.parts.first().map_or(DataType::Null, |part| part.values.data_type().clone());
                joined(values.next().map_or(&[][..], Vec::as_slice), &data_type)?
            }
            Err(error) => Arc::new(StringArray::from(vec![format!("error: {error}"); rows])),
        });
    }
    Ok(Rows { columns, measures, rows })
}

/// The rows in the order of the columns; those of totals after all others.
fn in_order(batch: &RecordBatch, columns: usize) -> Result<RecordBatch, CubeError> {
    if columns == 0 || batch.num_rows() < 2 {
        return Ok(batch.clone());
    }
    let arrow = |error| CubeError::arrow("result", &error);
    let mut by = Vec::with_capacity(2 * columns);
    for column in &batch.columns()[..columns] {
        if let Some(texts) = column.as_any().downcast_ref::<StringArray>() {
            let is_total: BooleanArray = texts.iter().map(|text| Some(text == Some(TOTAL))).collect();
            by.push(SortColumn { values: Arc::new(is_total), options: None });
        }
        by.push(SortColumn { values: Arc::clone(column), options: None });
    }
    let order = lexsort_to_indices(&by, None).map_err(arrow)?;
    take_record_batch(batch, &order).map_err(arrow)
}
