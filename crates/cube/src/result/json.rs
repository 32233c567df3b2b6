//! Results as JSON.

use super::CubeResult;
use crate::error::CubeError;

impl CubeResult {
    /// The rows as a JSON array of objects, one per row; a missing value is left out.
    pub fn to_json(&self) -> Result<String, CubeError> {
        let mut writer = arrow::json::ArrayWriter::new(Vec::new());
        let arrow = |error| CubeError::arrow("json", &error);
        writer.write(&self.batch).map_err(arrow)?;
        writer.finish().map_err(arrow)?;
        let text = String::from_utf8_lossy(&writer.into_inner()).into_owned();
        Ok(if text.is_empty() { "[]".to_owned() } else { text })
    }
}
