//! Drill-through: from the cells of a query to the rows of the table that stand behind them.
//!
//! ```text
//!   measures ──► steps ──► leaves: an aggregation and the filter of its rows ──► one pass over the table
//!                                                                                   └──► batches, rows that at least one leaf wants
//! ```
//!
//! A row comes once, though several aggregations may use it, in the order of the table. Where these use different rows, a column for each
//! of the different filters says whether the row is one of theirs. What the user may see is part of every leaf's filter, as it is when
//! cells are computed.
//!
//! Threads: one future on `mixed` reads and never blocks; rows are chosen on `cpu`, a piece at a time, or on a thread of `mixed` while `cpu`
//! has no room; what is not taken yet is one batch.
//!
//! Rejected: a line per row and aggregation (an analyst who adds up a column would count rows twice).

mod lead;
mod rows;

pub(crate) use lead::{Drilled, Outlet, drill};
pub use rows::{DrillRows, DrilledRows};

use crate::coordinate::Coordinate;
use crate::error::CubeError;
use crate::plan::Area;
use crate::query::Query;
use std::collections::BTreeSet;

/// A question for the rows behind cells.
///
/// ```
/// use arrow::array::{Float64Array, RecordBatch, StringArray};
/// use filbert_cube::{Aggregator, Cube, DrillThrough, Forest, MemoryTable, Query};
/// use std::sync::Arc;
///
/// let stages = filbert_pool::Stages::start()?;
/// let batch = RecordBatch::try_from_iter([
///     ("desk", Arc::new(StringArray::from(vec!["FX", "Rates", "FX"])) as _),
///     ("pnl", Arc::new(Float64Array::from(vec![1.5, 2.0, 3.0])) as _),
/// ])?;
/// let trades = MemoryTable::new("trades", batch.schema(), vec![batch])?;
/// let forest = Forest::builder().measure("pnl", Aggregator::sum("pnl")).build()?;
/// let cube = Cube::builder(&stages, forest, trades).build()?;
/// let query = Query::new(["pnl"]).by(["desk"]);
/// let rows = cube.drill_through(DrillThrough::new(query).cell("desk", "FX"))?.wait()?;
/// assert_eq!(rows.to_csv()?, "desk,pnl\nFX,1.5\nFX,3.0\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct DrillThrough {
    query: Query,
    cell: Vec<(String, Coordinate)>,
    columns: Option<Vec<String>>,
    limit: Option<usize>,
}

/// What rows are read for: cells of several queries at a time.
#[derive(Debug, Clone)]
pub(crate) struct Through {
    /// Of one user each.
    pub(crate) asked: Vec<(Query, Area)>,
    pub(crate) columns: Option<Vec<String>>,
    pub(crate) limit: Option<usize>,
}

impl DrillThrough {
    /// The rows behind all cells of a query, with all columns. Its filter, user, marker, time-out and memory limit are the query's.
    pub fn new(query: Query) -> Self {
        Self { query, cell: Vec::new(), columns: None, limit: None }
    }

    /// Only of cells with this coordinate, which is one of a column that the query groups by. One for each of these columns is one cell.
    #[must_use]
    pub fn cell(mut self, column: &str, coordinate: impl Into<Coordinate>) -> Self {
        self.cell.push((column.to_owned(), coordinate.into()));
        self
    }

    /// These columns of the table or of the forest, in this order; otherwise those of the table and then the calculated ones.
    #[must_use]
    pub fn columns<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.columns = Some(columns.into_iter().map(Into::into).collect());
        self
    }

    /// What is read for it.
    pub(crate) fn through(self) -> Result<(Query, Through), CubeError> {
        let mut area = Area::default();
        for (column, coordinate) in self.cell {
            if area.slices.insert(column.as_str().into(), BTreeSet::from([coordinate])).is_some() {
                let problem = format!("a cell has two coordinates of {column:?}; name one");
                return Err(CubeError::InvalidQuery { problem });
            }
        }
        let asked = vec![(self.query.clone(), area)];
        Ok((self.query, Through { asked, columns: self.columns, limit: self.limit }))
    }

    /// At most so many rows; [`DrillRows::has_more`] tells whether there are others.
    #[must_use]
    pub fn limit(mut self, rows: usize) -> Self {
        self.limit = Some(rows);
        self
    }
}
