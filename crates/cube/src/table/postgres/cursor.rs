//! Rows of a statement, so many at a time: a cursor of the server, in a transaction that only reads.
//!
//! The server goes no further than it is asked to, so neither side holds more than a batch. Rejected: the rows of one `query_raw` after the
//! other, because the driver takes from the socket whatever is there and keeps it.

use super::kind::Kind;
use super::line::{Line, Reins};
use super::message;
use super::parameters::Parameter;
use super::url::Place;
use super::values::{Raw, Values};
use crate::error::CubeError;
use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Field, Schema, SchemaRef};
use postgres::Statement;
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::ToSql;
use std::sync::Arc;

/// Rows of a batch.
const BATCH_ROWS: usize = 8_192;

/// All rows are wanted, not the first ones soon; and in the order that they lie in, so that a sum is the same the next time.
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL cursor_tuple_fraction = 1; \
                     SET LOCAL synchronize_seqscans = off";

/// What is to be read, and from where.
pub(super) struct Reading {
    pub(super) table: Arc<str>,
    pub(super) place: Place,
    pub(super) statement: String,
    pub(super) parameters: Vec<Parameter>,
    pub(super) reins: Arc<Reins>,
}

/// The batches of a statement. All of it waits for the server.
pub(super) struct Cursor {
    table: Arc<str>,
    /// None at the end.
    line: Option<Line>,
    fetch: Statement,
    kinds: Vec<Kind>,
    schema: SchemaRef,
    reins: Arc<Reins>,
}

impl Reading {
    /// Connects, and has the server begin.
    pub(super) fn begin(self) -> Result<Cursor, CubeError> {
        let Self { table, place, statement, parameters, reins } = self;
        let failed = |error: postgres::Error| failed(&table, &error);
        let mut line = Line::open(&place).map_err(failed)?;
        reins.hold(&line);
        let begun = reins.during(|| {
            line.batch_execute(BEGIN)?;
            let values: Vec<&(dyn ToSql + Sync)> =
                parameters.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect();
            line.execute(&format!("DECLARE filbert NO SCROLL CURSOR FOR {statement}"), &values)?;
            line.prepare(&format!("FETCH FORWARD {BATCH_ROWS} FROM filbert"))
        })?;
        let fetch = begun.map_err(failed)?;
        let kinds: Result<Vec<Kind>, CubeError> =
            fetch.columns().iter().map(|column| Kind::of(column, &table)).collect();
        let kinds = kinds?;
        let fields = fetch.columns().iter().zip(&kinds);
        let fields = fields.map(|(column, kind)| Field::new(column.name(), kind.data_type(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Ok(Cursor { table: Arc::clone(&table), line: Some(line), fetch, kinds, schema, reins })
    }
}

impl Cursor {
    fn read(&mut self) -> Result<Option<RecordBatch>, CubeError> {
        let Self { table, line: Some(line), fetch, kinds, schema, reins } = self else { return Ok(None) };
        let mut columns: Vec<Values> = kinds.iter().map(|kind| Values::new(*kind, BATCH_ROWS)).collect();
        let mut count = 0;
        let taken = reins.during(|| -> Result<(), CubeError> {
            let failed = |error: postgres::Error| failed(table, &error);
            let mut rows = line.query_raw(&*fetch, std::iter::empty::<i64>()).map_err(failed)?;
            while let Some(row) = rows.next().map_err(failed)? {
                count += 1;
                for (position, values) in columns.iter_mut().enumerate() {
                    let raw: Option<Raw<'_>> = row.try_get(position).map_err(failed)?;
                    values.push(raw).map_err(|problem| CubeError::TableFailed {
                        table: table.to_string(),
                        message: format!("column {:?}: {problem}", schema.field(position).name()),
                    })?;
                }
            }
            Ok(())
        })?;
        taken?;
        if count < BATCH_ROWS {
            self.line = None;
        }
        if count == 0 {
            return Ok(None);
        }
        let columns: Vec<ArrayRef> = columns.into_iter().map(Values::finish).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options);
        batch.map(Some).map_err(|error| CubeError::arrow(&*self.table, &error))
    }
}

impl Iterator for Cursor {
    type Item = Result<RecordBatch, CubeError>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = self.read();
        if read.is_err() {
            self.line = None;
        }
        read.transpose()
    }
}

/// What went wrong between here and the server.
pub(super) fn failed(table: &str, error: &postgres::Error) -> CubeError {
    CubeError::TableFailed { table: table.to_owned(), message: message(error) }
}
