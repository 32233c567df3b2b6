//! Results as comma-separated values.

use super::CubeResult;
use crate::error::CubeError;
use arrow::array::RecordBatch;

impl CubeResult {
    /// The rows as CSV, with the names of the columns first.
    pub fn to_csv(&self) -> Result<String, CubeError> {
        of(&self.batch)
    }
}

/// A batch as CSV.
pub(crate) fn of(batch: &RecordBatch) -> Result<String, CubeError> {
    let mut bytes = Vec::new();
    let mut writer = arrow::csv::WriterBuilder::new().with_header(true).build(&mut bytes);
    writer.write(batch).map_err(|error| CubeError::arrow("csv", &error))?;
    drop(writer);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
