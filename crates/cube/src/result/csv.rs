//! Results as comma-separated values.

use super::CubeResult;
use crate::cell::csv_line;
use crate::error::CubeError;
use arrow::array::{Array, RecordBatch};
use arrow::util::display::{ArrayFormatter, FormatOptions};

impl CubeResult {
    /// The rows as CSV, with the names of the columns first. A missing value is nothing, an empty text is `""`.
    pub fn to_csv(&self) -> Result<String, CubeError> {
        of(&self.batch)
    }
}

/// A batch as CSV.
pub(crate) fn of(batch: &RecordBatch) -> Result<String, CubeError> {
    let arrow = |error| CubeError::arrow("csv", &error);
    let options = FormatOptions::new().with_display_error(false);
    let mut columns = Vec::with_capacity(batch.num_columns());
    for column in batch.columns() {
        columns.push((
            ArrayFormatter::try_new(column.as_ref(), &options).map_err(arrow)?,
            column.logical_nulls(),
        ));
    }
    let schema = batch.schema();
    let mut text = csv_line(schema.fields().iter().map(|field| Some(field.name().clone()))) + "\n";
    for row in 0..batch.num_rows() {
        let mut cells = Vec::with_capacity(columns.len());
        for (values, nulls) in &columns {
            let is_missing = nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
            let cell = (!is_missing).then(|| values.value(row).try_to_string()).transpose();
            cells.push(cell.map_err(arrow)?);
        }
        text += &csv_line(cells);
        text.push('\n');
    }
    Ok(text)
}
