//! What a query comes to: one Arrow batch, its columns first, then its measures; and the ways to show it.
//!
//! | File | What |
//! |---|---|
//! | `build`, `order` | the batch, and the order of its rows |
//! | `failed` | measures that failed |
//! | `totals` | what stands for all values of a column |
//! | `coordinates` | rows told apart by what they are, not by how they look |
//! | `layout`, `grid`, `flat`, `pivot`, `number` | tables for people |
//! | `rounded` | numbers with fewer digits |
//! | `csv`, `json` | for programs |

mod build;
mod coordinates;
pub(crate) mod csv;
mod failed;
mod flat;
mod grid;
pub(crate) mod json;
mod layout;
mod number;
mod order;
mod pivot;
mod rounded;
mod totals;

pub(crate) use build::build;
pub(crate) use flat::table_of_rows;
pub use layout::{TableLayout, TableText};

use crate::error::CubeError;
use crate::explain::Explanation;
use crate::forest::NumberFormat;
use arrow::array::RecordBatch;
use arrow::datatypes::DataType;

/// The answer to a query.
#[derive(Debug, Clone)]
pub struct CubeResult {
    pub(crate) batch: RecordBatch,
    /// Of the first columns, which were grouped by.
    keys: Vec<KeyColumn>,
    /// The formats of the measures, in their order.
    formats: Vec<Option<NumberFormat>>,
    pub(crate) failures: Vec<(String, CubeError)>,
    all_failed: bool,
    pub(crate) explanation: Option<Explanation>,
}

/// What is known of a column that was grouped by.
#[derive(Debug, Clone)]
struct KeyColumn {
    has_totals: bool,
    /// Its type where no totals make it texts.
    logical: DataType,
}

impl CubeResult {
    /// The answer as Arrow: the columns that were grouped by, in the order of the query, then the measures. Rows are in the order of the
    /// columns, missing values first, totals last.
    ///
    /// With totals the columns are texts, and so is a measure that failed somewhere ([`Query::errors_are_values`](crate::Query::errors_are_values)).
    pub fn batch(&self) -> &RecordBatch {
        &self.batch
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// How many of its first columns were grouped by.
    pub fn group_by(&self) -> usize {
        self.keys.len()
    }

    /// Measures that failed somewhere, when the query wanted errors as values; each with the first error.
    pub fn failures(&self) -> &[(String, CubeError)] {
        &self.failures
    }

    /// True when every measure failed everywhere. Which slices there are is not known then, so that only a total over everything has a row.
    pub fn all_failed(&self) -> bool {
        self.all_failed
    }

    /// How it was computed, when the query wanted to know.
    pub fn explanation(&self) -> Option<&Explanation> {
        self.explanation.as_ref()
    }
}
