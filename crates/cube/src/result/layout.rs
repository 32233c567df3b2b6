//! The layout of an answer as a table for people, and the table.

use super::CubeResult;
use crate::error::CubeError;
use crate::forest::NumberFormat;

/// The layout of an answer as a table: which values stand side by side, how many decimals numbers have, and how wide the terminal is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use]
pub struct TableLayout {
    pub(super) across: Option<String>,
    pub(super) digits: Option<u8>,
    pub(super) width: Option<usize>,
}

impl TableLayout {
    /// Makes a layout with a line for each row, numbers rounded as their formats say, and no bound on its width.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts the values of a column side by side.
    pub fn across(mut self, column: &str) -> Self {
        self.across = Some(column.to_owned());
        self
    }

    /// Writes measures with so many decimals, whatever their formats say; at most [`NumberFormat::MOST_DECIMALS`].
    pub fn digits(mut self, digits: u8) -> Self {
        self.digits = Some(digits.min(NumberFormat::MOST_DECIMALS));
        self
    }

    /// Leaves out columns of measures that have no room on lines of so many letters.
    pub fn width(mut self, letters: usize) -> Self {
        self.width = Some(letters);
        self
    }
}

/// An answer as a table, and which part of it had room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableText {
    /// The lines.
    pub text: String,
    /// The number of columns of measures.
    pub columns: usize,
    /// The number of those that had no room.
    pub left_out: usize,
}

impl CubeResult {
    /// Lays the rows out as a table for people. Floats are rounded, unless their measures have a format; missing coordinates are `(none)`
    /// and stand behind all values, totals (`*`) behind these.
    ///
    /// Refused when the column whose values stand side by side was not grouped by, or has more than 200 values.
    ///
    /// ```
    /// # use arrow::array::{Float64Array, RecordBatch, StringArray};
    /// # use filbert_cube::{Aggregator, Cube, Forest, MemoryTable, Query, TableLayout};
    /// # use std::sync::Arc;
    /// # let stages = filbert_pool::Stages::start()?;
    /// # let batch = RecordBatch::try_from_iter([
    /// #     ("desk", Arc::new(StringArray::from(vec!["FX", "Rates"])) as _),
    /// #     ("pnl", Arc::new(Float64Array::from(vec![1234.5, -2.25])) as _),
    /// # ])?;
    /// # let trades = MemoryTable::new("trades", batch.schema(), vec![batch])?;
    /// let forest = Forest::builder().measure("pnl", Aggregator::sum("pnl")).format("pnl", "#,##0.00".parse()?);
    /// # let cube = Cube::builder(&stages, forest.build()?, trades).build()?;
    /// let result = cube.query(Query::new(["pnl"]).by(["desk"]))?.wait()?;
    /// let table = result.to_table(&TableLayout::new())?;
    /// assert_eq!(table.text, "desk        pnl\n-----  --------\nFX     1,234.50\nRates     -2.25\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_table(&self, layout: &TableLayout) -> Result<TableText, CubeError> {
        let grid = match &layout.across {
            Some(column) => self.pivot(column, layout)?,
            None => self.flat(layout)?,
        };
        Ok(grid.table(layout.width))
    }

    /// Writes the rows as an aligned table, as [`CubeResult::to_table`] does.
    pub fn to_text(&self) -> Result<String, CubeError> {
        Ok(self.to_table(&TableLayout::new())?.text)
    }

    /// Writes the rows as an aligned table in which each value of `column` is a column of its own, for each measure.
    ///
    /// Refused when `column` was not grouped by, or has more than 200 values.
    pub fn to_pivot(&self, column: &str) -> Result<String, CubeError> {
        Ok(self.to_table(&TableLayout::new().across(column))?.text)
    }
}
