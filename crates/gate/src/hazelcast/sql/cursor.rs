//! A statement's rows on their way to its client, a page at a time.
//!
//! Nothing is read ahead of what is asked for, so a client that does not fetch holds the query back: its exchange is full, and its
//! fragments sleep. What is kept between two pages is the rest of one batch.

use super::columns::{ColumnPlan, message_bytes};
use super::problem::Problem;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use filbert_grid::Allowance;
use filbert_sql::Query;
use filbert_wire::messages::page::Page;
use filbert_wire::messages::structures::SqlColumnMetadata;
use futures::{FutureExt, StreamExt};

/// A query that is read by pages.
#[derive(Debug)]
pub(super) struct Cursor {
    query: Query,
    columns: Vec<ColumnPlan>,
    /// What was read of the query and is on no page yet.
    rest: Option<RecordBatch>,
    /// There is no end: a page goes out as soon as it has a row.
    endless: bool,
}

impl Cursor {
    pub(super) fn new(query: Query, schema: &SchemaRef, endless: bool) -> Self {
        let columns = schema.fields().iter().map(|field| ColumnPlan::new(field)).collect();
        Self { query, columns, rest: None, endless }
    }

    /// What the client is told of the columns.
    pub(super) fn metadata(&self) -> Vec<SqlColumnMetadata> {
        self.columns.iter().map(ColumnPlan::metadata).collect()
    }

    /// True when its rows have no end.
    pub(super) fn is_endless(&self) -> bool {
        self.endless
    }

    /// A page without rows: for whoever must have an answer before there is a row.
    pub(super) fn empty_page(&self) -> Page {
        Page { last: false, columns: self.columns.iter().map(ColumnPlan::start).collect() }
    }

    /// The next page: so many rows, fewer when they would have more than `bytes`, or when there are no more.
    pub(super) async fn page(
        &mut self,
        rows: usize,
        bytes: usize,
        allowance: &Allowance,
    ) -> Result<Page, Problem> {
        let mut columns: Vec<_> = self.columns.iter().map(ColumnPlan::start).collect();
        let (mut rows_left, mut bytes_left) = (rows.max(1), bytes);
        let last = loop {
            let is_begun = rows_left < rows.max(1);
            let is_full = rows_left == 0 || bytes_left == 0;
            let next = match self.rest.take() {
                Some(rest) => Some(Ok(rest)),
                // Full, or nothing more at the moment: whether there is an end is told if it is known.
                None if is_full || (is_begun && self.endless) => match self.query.next().now_or_never() {
                    Some(next) => next,
                    None => break false,
                },
                None => self.query.next().await,
            };
            let Some(batch) = next.transpose()? else { break true };
            if batch.num_rows() == 0 {
                continue;
            }
            if is_full {
                self.rest = Some(batch);
                break false;
            }
            let fits =
                if is_begun { fitting(&batch, bytes_left) } else { fitting(&batch, bytes_left).max(1) };
            let count = fits.min(rows_left).min(batch.num_rows());
            if count < batch.num_rows() {
                self.rest = Some(batch.slice(count, batch.num_rows() - count));
            }
            if count == 0 {
                break false;
            }
            let taken = batch.slice(0, count);
            let weight = weight(&taken);
            allowance.charge(weight)?;
            for (column, (plan, array)) in columns.iter_mut().zip(self.columns.iter().zip(taken.columns())) {
                plan.append(column, array).map_err(Problem::data)?;
            }
            (rows_left, bytes_left) = (rows_left - count, bytes_left.saturating_sub(weight));
        };
        Ok(Page { last, columns })
    }
}

/// What the rows of a batch take in a message, roughly.
fn weight(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(message_bytes).sum()
}

/// How many rows of a batch fit, roughly: by halves.
fn fitting(batch: &RecordBatch, bytes: usize) -> usize {
    let mut rows = batch.num_rows();
    while rows > 0 && weight(&batch.slice(0, rows)) > bytes {
        rows /= 2;
    }
    rows
}
