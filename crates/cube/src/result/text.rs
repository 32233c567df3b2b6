//! Results as an aligned table of text: texts to the left, numbers to the right.

use super::CubeResult;
use crate::error::CubeError;
use arrow::array::{Array, RecordBatch};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use std::fmt::Write;

impl CubeResult {
    /// The rows as an aligned table.
    pub fn to_text(&self) -> Result<String, CubeError> {
        of(&self.batch)
    }
}

/// A batch as an aligned table.
pub(crate) fn of(batch: &RecordBatch) -> Result<String, CubeError> {
    let schema = batch.schema();
    let heads: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    let mut columns = Vec::with_capacity(heads.len());
    for column in batch.columns() {
        columns.push((column.data_type().is_numeric(), cells(column.as_ref())?));
    }
    Ok(table(&heads, &columns))
}

/// The values of a column as text.
pub(super) fn cells(column: &dyn Array) -> Result<Vec<String>, CubeError> {
    let options = FormatOptions::default();
    let formatter =
        ArrayFormatter::try_new(column, &options).map_err(|error| CubeError::arrow("text", &error))?;
    Ok((0..column.len()).map(|row| formatter.value(row).to_string()).collect())
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
