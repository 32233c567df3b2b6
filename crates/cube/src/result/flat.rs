//! Results as tables with a line for each row.

use super::CubeResult;
use super::grid::{Column, Grid, Group};
use super::layout::TableLayout;
use super::number::{self, MISSING, cells};
use crate::cell::on_terminal;
use crate::error::CubeError;
use arrow::array::{Array, RecordBatch, UInt64Array};
use arrow::compute::take_record_batch;

impl CubeResult {
    /// Makes a line of each row, missing coordinates behind the others.
    pub(super) fn flat(&self, layout: &TableLayout) -> Result<Grid, CubeError> {
        let batch = self.in_order()?;
        let columns = self.keys.len();
        let mut keys = Vec::with_capacity(columns);
        for position in 0..columns {
            keys.push(coordinates(&batch, position)?);
        }
        let mut groups = Vec::with_capacity(batch.num_columns() - columns);
        for position in columns..batch.num_columns() {
            let columns = vec![self.measure(&batch, position, layout)?];
            groups.push(Group { head: None, is_total: false, columns });
        }
        Ok(Grid { keys, groups, rows: batch.num_rows() })
    }

    /// Writes the measure at a position of a batch that has the columns of this result.
    pub(super) fn measure(
        &self,
        batch: &RecordBatch,
        position: usize,
        layout: &TableLayout,
    ) -> Result<Column, CubeError> {
        let (column, format) = (batch.column(position), self.formats[position - self.keys.len()]);
        let cells = number::measure(column.as_ref(), format, layout)?;
        Ok(Column::new(name(batch, position), column.data_type().is_numeric(), cells))
    }

    /// Moves missing coordinates, which come first for programs, behind the others.
    fn in_order(&self) -> Result<RecordBatch, CubeError> {
        let keys: Vec<usize> = (0..self.keys.len()).collect();
        if keys.iter().all(|position| self.batch.column(*position).logical_null_count() == 0) {
            return Ok(self.batch.clone());
        }
        let coordinates = self.coordinates(&keys)?;
        let mut order: Vec<u64> = (0..self.rows() as u64).collect();
        order.sort_by(|one, other| coordinates.row(*one as usize).cmp(&coordinates.row(*other as usize)));
        let order = UInt64Array::from(order);
        take_record_batch(&self.batch, &order).map_err(|error| CubeError::arrow("text", &error))
    }
}

/// Writes rows of a table as an aligned table.
pub(crate) fn table_of_rows(batch: &RecordBatch) -> Result<String, CubeError> {
    let keys = (0..batch.num_columns()).map(|position| coordinates(batch, position));
    let grid = Grid { keys: keys.collect::<Result<_, _>>()?, groups: Vec::new(), rows: batch.num_rows() };
    Ok(grid.table(None).text)
}

/// Writes the values of a column that are no measure.
fn coordinates(batch: &RecordBatch, position: usize) -> Result<Column, CubeError> {
    let column = batch.column(position);
    let cells = cells(column.as_ref(), MISSING)?;
    Ok(Column::new(name(batch, position), column.data_type().is_numeric(), cells))
}

/// The name of a column, as a terminal may be given it.
pub(super) fn name(batch: &RecordBatch, position: usize) -> String {
    on_terminal(batch.schema().field(position).name()).into_owned()
}
