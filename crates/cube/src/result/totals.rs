//! Totals among values: `*` stands for all values of a column, and no value is taken for it.
//!
//! A column with totals is one of texts. A real value that is a star stands in single quotes there, so that every format tells the two
//! apart: CSV and JSON have no place to say it elsewhere.
//!
//! Rejected: a column more for each column with totals, which whoever has no star would have to leave out; no value for a total, as SQL has
//! it, which is what a missing value is.

use super::CubeResult;
use crate::cell::apart_from;
use arrow::array::{Array, ArrayRef, AsArray, StringArray};
use std::sync::Arc;

/// What stands for all values of a column.
pub(super) const TOTAL: &str = "*";

/// The values of a column with totals, none of which looks like one.
pub(super) fn apart_from_totals(texts: ArrayRef) -> ArrayRef {
    let of_column = texts.as_string::<i32>();
    // Stars are rare, and columns are long.
    if !of_column.iter().flatten().any(|text| text.contains(TOTAL)) {
        return texts;
    }
    let apart = of_column.iter().map(|text| text.map(|text| apart_from(text, &[TOTAL])));
    Arc::new(apart.collect::<StringArray>())
}

impl CubeResult {
    /// True when this row is a total over the column at this position, among those that were grouped by.
    ///
    /// ```
    /// # use arrow::array::{Int64Array, RecordBatch, StringArray};
    /// # use filbert_cube::{Aggregator, Cube, Forest, MemoryTable, Query};
    /// # use std::sync::Arc;
    /// # let stages = filbert_pool::Stages::start()?;
    /// # let batch = RecordBatch::try_from_iter([
    /// #     ("desk", Arc::new(StringArray::from(vec!["FX", "*"])) as _),
    /// #     ("lots", Arc::new(Int64Array::from(vec![1, 2])) as _),
    /// # ])?;
    /// # let trades = MemoryTable::new("trades", batch.schema(), vec![batch])?;
    /// # let forest = Forest::builder().measure("sum", Aggregator::sum("lots")).build()?;
    /// # let cube = Cube::builder(&stages, forest, trades).build()?;
    /// let result = cube.query(Query::new(["sum"]).by(["desk"]).totals(["desk"]))?.wait()?;
    /// assert_eq!(result.to_csv()?, "desk,sum\n'*',2\nFX,1\n*,3\n");
    /// assert!(!result.is_total(0, 0) && result.is_total(2, 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_total(&self, row: usize, column: usize) -> bool {
        let has_totals = self.keys.get(column).is_some_and(|key| key.has_totals);
        has_totals && row < self.rows() && {
            let texts = self.batch.column(column).as_string::<i32>();
            texts.is_valid(row) && texts.value(row) == TOTAL
        }
    }
}
