//! What a query comes to: one Arrow batch, its columns first, then its measures; and the ways to show it.

mod build;
pub(crate) mod csv;
pub(crate) mod json;
mod order;
mod pivot;
pub(crate) mod text;

pub(crate) use build::build;

use crate::error::CubeError;
use crate::explain::Explanation;
use arrow::array::RecordBatch;

/// The answer to a query.
#[derive(Debug, Clone)]
pub struct CubeResult {
    pub(crate) batch: RecordBatch,
    pub(crate) columns: usize,
    pub(crate) failures: Vec<(String, CubeError)>,
    pub(crate) explanation: Option<Explanation>,
}

impl CubeResult {
    /// The answer as Arrow: the columns that were grouped by, in the order of the query, then the measures. Rows are in the order of the
    /// columns, missing values first.
    pub fn batch(&self) -> &RecordBatch {
        &self.batch
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// How many of its first columns were grouped by.
    pub fn group_by(&self) -> usize {
        self.columns
    }

    /// Measures that failed, when the query wanted errors as values.
    pub fn failures(&self) -> &[(String, CubeError)] {
        &self.failures
    }

    /// How it was computed, when the query wanted to know.
    pub fn explanation(&self) -> Option<&Explanation> {
        self.explanation.as_ref()
    }
}
