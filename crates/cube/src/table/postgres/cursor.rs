//! Rows of a statement, so many at a time: a cursor of the server, in a transaction that only reads.
//!
//! The server goes no further than it is asked to, so neither side holds more than a batch. How many rows a batch has depends on how wide those
//! of the last one were. Rejected: the rows of one `query_raw` after the
//! other, because the driver takes from the socket whatever is there and keeps it.

use super::super::reading;
use super::kind::Kind;
use super::line::{Line, Reins};
use super::message;
use super::parameters::{Columns, Parameter};
use super::values::{Raw, Values};
use crate::error::CubeError;
use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Field, Schema, SchemaRef};
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::ToSql;
use postgres::{Column, Statement};
use std::sync::Arc;

/// Rows of the first batch.
const FIRST_ROWS: usize = 256;

/// Rows of a batch, however narrow.
const MOST_ROWS: usize = 8_192;

/// What the values of a batch are to have in all, in bytes.
const BATCH_BYTES: usize = 8 << 20;

/// More texts than an array has offsets for.
const MOST_BYTES: usize = i32::MAX as usize;

/// All rows are wanted, not the first ones soon; and in the order that they lie in, so that a sum is the same the next time.
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL cursor_tuple_fraction = 1; \
                     SET LOCAL synchronize_seqscans = off";

/// What is to be read, and from where.
pub(super) struct Reading {
    pub(super) table: Arc<str>,
    /// What stands after `FROM`, when the statement makes groups: their columns do not tell the types of the table's.
    pub(super) grouped: Option<Arc<str>>,
    /// The columns that the statement was written for.
    pub(super) columns: Arc<Columns>,
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
    /// So many rows are fetched.
    rows: usize,
    kinds: Vec<Kind>,
    schema: SchemaRef,
    reins: Arc<Reins>,
}

impl Reading {
    /// Connects, and has the server begin.
    pub(super) fn begin(self) -> Result<Cursor, CubeError> {
        let Self { table, grouped, columns, statement, parameters, reins } = self;
        let failed = |error: postgres::Error| failed(&table, &error);
        let mut line = reins.open()?.map_err(failed)?;
        // Each for itself: between them somebody may have lost interest.
        reins.during(|| line.batch_execute(BEGIN))?.map_err(failed)?;
        if let Some(from) = grouped {
            let all = reins.during(|| line.prepare(&format!("SELECT * FROM {from}")))?.map_err(failed)?;
            check(all.columns(), &columns, &table)?;
        }
        let values: Vec<&(dyn ToSql + Sync)> =
            parameters.iter().map(|value| &**value as &(dyn ToSql + Sync)).collect();
        let declared = format!("DECLARE filbert NO SCROLL CURSOR FOR {statement}");
        reins.during(|| line.execute(&declared, &values))?.map_err(failed)?;
        let fetch = reins.during(|| line.prepare(&fetching(FIRST_ROWS)))?.map_err(failed)?;
        check(fetch.columns(), &columns, &table)?;
        let kinds: Result<Vec<Kind>, CubeError> =
            fetch.columns().iter().map(|column| Kind::of(column, &table)).collect();
        let kinds = kinds?;
        let fields = fetch.columns().iter().zip(&kinds);
        let fields = fields.map(|(column, kind)| Field::new(column.name(), kind.data_type(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Ok(Cursor {
            table: Arc::clone(&table),
            line: Some(line),
            fetch,
            rows: FIRST_ROWS,
            kinds,
            schema,
            reins,
        })
    }
}

fn fetching(rows: usize) -> String {
    format!("FETCH FORWARD {rows} FROM filbert")
}

/// Columns that are known have the types that the cube knows.
fn check(columns: &[Column], known: &Columns, table: &str) -> Result<(), CubeError> {
    let is_other = |column: &Column| {
        let known = known.kinds.get(column.name());
        known.is_some_and(|known| Kind::of(column, table).ok() != Some(*known))
    };
    match columns.iter().find(|column| is_other(column)) {
        Some(column) => Err(CubeError::TableFailed {
            table: table.to_owned(),
            message: format!("its columns changed: {:?} is of another type; open it again", column.name()),
        }),
        None => Ok(()),
    }
}

impl reading::Cursor for Cursor {
    fn end(&mut self) {
        self.line = None;
    }

    fn read(&mut self) -> Result<Option<RecordBatch>, CubeError> {
        let Self { table, line: Some(line), fetch, rows, kinds, schema, reins } = self else {
            return Ok(None);
        };
        let mut columns: Vec<Values> = kinds.iter().map(|kind| Values::new(*kind, *rows)).collect();
        let (mut count, mut bytes) = (0, 0);
        let mut take = || -> Result<(), CubeError> {
            let failed = |error: postgres::Error| failed(table, &error);
            let told = |message: String| CubeError::TableFailed { table: table.to_string(), message };
            let mut found = line.query_raw(&*fetch, std::iter::empty::<i64>()).map_err(failed)?;
            while let Some(row) = found.next().map_err(failed)? {
                count += 1;
                for (position, values) in columns.iter_mut().enumerate() {
                    let raw: Option<Raw<'_>> = row.try_get(position).map_err(failed)?;
                    bytes += raw.as_ref().map_or(0, Raw::len);
                    if bytes > MOST_BYTES {
                        return Err(told(format!("{count} of its rows have more than {MOST_BYTES} bytes")));
                    }
                    values.push(raw).map_err(|problem| {
                        told(format!("column {:?}: {problem}", schema.field(position).name()))
                    })?;
                }
            }
            Ok(())
        };
        let taken = reins.during(|| {
            let taken = take();
            if taken.is_err() {
                reins.give_up();
            }
            taken
        })?;
        taken?;
        if count < *rows {
            self.line = None;
        } else {
            let wanted = (BATCH_BYTES / (bytes / count).max(1)).clamp(1, MOST_ROWS);
            // To powers of two, so that a statement serves for many batches.
            let wanted = 1 << wanted.ilog2();
            if wanted != *rows {
                *fetch = reins
                    .during(|| line.prepare(&fetching(wanted)))?
                    .map_err(|error| failed(table, &error))?;
                *rows = wanted;
            }
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

/// What went wrong between here and the server.
pub(super) fn failed(table: &str, error: &postgres::Error) -> CubeError {
    CubeError::TableFailed { table: table.to_owned(), message: message(error) }
}
