//! Results as an aligned table of text: texts to the left, numbers to the right.
//!
//! A coordinate that is missing is `NULL`, a measure without a value is nothing, and an empty text is `''`: each looks like itself.

use super::CubeResult;
use crate::cell::{apart_from, on_terminal};
use crate::error::CubeError;
use arrow::array::{Array, RecordBatch};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use std::fmt::Write;

/// What stands for a missing coordinate.
pub(super) const MISSING: &str = "NULL";

/// What stands for a measure that has no value: its cell is not there.
pub(super) const NO_VALUE: &str = "";

impl CubeResult {
    /// The rows as an aligned table.
    pub fn to_text(&self) -> Result<String, CubeError> {
        written(&self.batch, self.keys.len())
    }
}

/// Rows of a table as an aligned table.
pub(crate) fn of(batch: &RecordBatch) -> Result<String, CubeError> {
    written(batch, batch.num_columns())
}

/// A batch as an aligned table; the first columns are coordinates.
fn written(batch: &RecordBatch, coordinates: usize) -> Result<String, CubeError> {
    let schema = batch.schema();
    let heads: Vec<String> = schema.fields().iter().map(|field| head(field.name())).collect();
    let mut columns = Vec::with_capacity(heads.len());
    for (position, column) in batch.columns().iter().enumerate() {
        let missing = if position < coordinates { MISSING } else { NO_VALUE };
        columns.push((column.data_type().is_numeric(), cells(column.as_ref(), missing)?));
    }
    Ok(table(&heads, &columns))
}

/// The name of a column.
pub(super) fn head(name: &str) -> String {
    on_terminal(name).into_owned()
}

/// The values of a column as people see them; `missing` where there is none. A text that looks like nothing, or like `missing`, is quoted.
pub(super) fn cells(column: &dyn Array, missing: &str) -> Result<Vec<String>, CubeError> {
    let options = FormatOptions::default();
    let formatter =
        ArrayFormatter::try_new(column, &options).map_err(|error| CubeError::arrow("text", &error))?;
    let nulls = column.logical_nulls();
    let cell = |row: usize| match nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
        true => missing.to_owned(),
        false => on_terminal(&apart_from(&formatter.value(row).to_string(), &["", missing])).into_owned(),
    };
    Ok((0..column.len()).map(cell).collect())
}

/// A table with a line under its head; columns that are numbers stand to the right.
pub(super) fn table(heads: &[String], columns: &[(bool, Vec<String>)]) -> String {
    let width = |text: &String| text.chars().count();
    let widths: Vec<usize> = heads
        .iter()
        .zip(columns)
        .map(|(head, (_, cells))| cells.iter().map(width).chain([width(head)]).max().unwrap_or(0))
        .collect();
    let rows = columns.first().map_or(0, |(_, cells)| cells.len());
    let mut text = String::new();
    let mut line = |cell: &dyn Fn(usize) -> String| {
        let mut line = String::new();
        for (position, width) in widths.iter().enumerate() {
            let gap = if position == 0 { "" } else { "  " };
            let cell = cell(position);
            let _ = if columns[position].0 {
                write!(line, "{gap}{cell:>width$}")
            } else {
                write!(line, "{gap}{cell:<width$}")
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    };
    line(&|position| heads[position].clone());
    line(&|position| "-".repeat(widths[position]));
    for row in 0..rows {
        line(&|position| columns[position].1[row].clone());
    }
    text
}
