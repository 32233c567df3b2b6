//! Results as comma-separated values.

use super::CubeResult;
use crate::error::CubeError;

impl CubeResult {
    /// The rows as CSV, with the names of the columns first.
    pub fn to_csv(&self) -> Result<String, CubeError> {
        let mut bytes = Vec::new();
        let mut writer = arrow::csv::WriterBuilder::new().with_header(true).build(&mut bytes);
        writer.write(&self.batch).map_err(|error| CubeError::arrow("csv", &error))?;
        drop(writer);
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}
