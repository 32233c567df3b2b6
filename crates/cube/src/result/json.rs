//! Results as JSON.

use super::CubeResult;
use crate::error::CubeError;
use arrow::array::RecordBatch;

impl CubeResult {
    /// The rows as a JSON array of objects, one per row; a missing value is left out.
    pub fn to_json(&self) -> Result<String, CubeError> {
        of(&self.batch)
    }
}

/// A batch as a JSON array.
pub(crate) fn of(batch: &RecordBatch) -> Result<String, CubeError> {
    let mut writer = arrow::json::ArrayWriter::new(Vec::new());
    let arrow = |error| CubeError::arrow("json", &error);
    writer.write(batch).map_err(arrow)?;
    writer.finish().map_err(arrow)?;
    let text = String::from_utf8_lossy(&writer.into_inner()).into_owned();
    Ok(if text.is_empty() { "[]".to_owned() } else { text })
}
