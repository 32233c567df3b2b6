//! The rows of a statement, in batches. DuckDB gives a few thousand at a time, as it computes them; here they are brought together into pieces
//! of work for a stage. Between two batches DuckDB stands still when what it has computed ahead is about a megabyte.

use super::super::reading;
use super::columns::{Columns, changed, is_it, no_rows};
use super::line::{Line, Reins, failed};
use super::place::DuckDb;
use super::values;
use crate::error::CubeError;
use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::sync::Arc;

/// Rows of a batch: a piece of work for one worker.
const BATCH_ROWS: usize = 64 * 1024;

/// What a batch is to have at most, in bytes, unless DuckDB gives more at a time.
const BATCH_BYTES: usize = 8 << 20;

/// What is to be read, and from where.
pub(super) struct Reading {
    pub(super) place: DuckDb,
    pub(super) table: Arc<str>,
    /// What stands after `FROM`.
    pub(super) from: Arc<str>,
    /// The columns that the statement was written for.
    pub(super) columns: Arc<Columns>,
    pub(super) statement: String,
    /// The columns that it gives; none for groups, whose columns do not tell the types of the table's.
    pub(super) wanted: Option<Vec<String>>,
    pub(super) reins: Arc<Reins>,
}

/// The batches of a statement. All of it waits for DuckDB.
pub(super) struct Cursor {
    table: Arc<str>,
    /// None at the end.
    line: Option<Line>,
    /// As DuckDB gives them, and as the cube takes them: nothing where it takes them as they come.
    given: SchemaRef,
    wanted: Vec<Option<DataType>>,
}

impl Reading {
    /// Opens the database, and has DuckDB begin.
    pub(super) fn begin(self) -> Result<Cursor, CubeError> {
        let Self { place, table, from, columns, statement, wanted, reins } = self;
        let mut line = Line::open(&place, &table, &reins)?;
        if wanted.is_none() {
            columns.check(&line.execute(&no_rows(&from))?.schema(), &table)?;
        }
        let given = line.execute(&statement)?.schema();
        // Groups are taken as they come, and so is what only tells the number of rows.
        let mut types = vec![None; given.fields().len()];
        for ((name, field), known) in wanted.iter().flatten().zip(given.fields()).zip(&mut types) {
            *known = columns.of(name).cloned();
            if !known.as_ref().is_some_and(|known| is_it(field, known)) {
                return Err(changed(name, &table));
            }
        }
        Ok(Cursor { table, line: Some(line), given, wanted: types })
    }
}

impl reading::Cursor for Cursor {
    fn end(&mut self) {
        self.line = None;
    }

    fn read(&mut self) -> Result<Option<RecordBatch>, CubeError> {
        let Some(line) = &mut self.line else { return Ok(None) };
        let (mut batches, mut rows, mut bytes) = (Vec::new(), 0, 0);
        let is_over = line.take(|given| {
            while rows < BATCH_ROWS && bytes < BATCH_BYTES {
                let Some(batch) = given.next().transpose()? else { return Ok(true) };
                rows += batch.num_rows();
                bytes += batch.get_array_memory_size();
                batches.push(batch);
            }
            Ok(false)
        })?;
        if is_over {
            self.line = None;
        }
        if rows == 0 {
            return Ok(None);
        }
        let arrow = |error| CubeError::arrow(&*self.table, &error);
        let batch = concat_batches(&self.given, &batches).map_err(arrow)?;
        let (mut columns, mut fields): (Vec<ArrayRef>, Vec<Field>) = (Vec::new(), Vec::new());
        for ((column, wanted), field) in batch.columns().iter().zip(&self.wanted).zip(self.given.fields()) {
            let column = values::taken(column, wanted.as_ref())
                .map_err(|problem| failed(&self.table, &format!("column {:?}: {problem}", field.name())))?;
            fields.push(Field::new(field.name(), column.data_type().clone(), true));
            columns.push(column);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = Arc::new(Schema::new(fields));
        RecordBatch::try_new_with_options(schema, columns, &options).map(Some).map_err(arrow)
    }
}
