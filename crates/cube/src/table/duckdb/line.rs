//! A connection to a database of DuckDB, the statement that runs on it, and how it is stopped from elsewhere.

use super::super::reins::{self, Puller};
use super::super::waiting::Waiting;
use super::place::DuckDb;
use super::shared::Lease;
use crate::error::CubeError;
use adbc_core::{CancelHandle, Connection, Statement};
use adbc_driver_manager::{ManagedConnection, ManagedStatement};
use arrow::array::RecordBatchReader;
use arrow::error::ArrowError;
use filbert_pool::WeakStages;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const CLOSING: Waiting =
    Waiting { task: "close DuckDB", lost: "a database of DuckDB could not be closed on this thread" };

/// What gives the rows of a statement.
pub(super) type Rows = Box<dyn RecordBatchReader + Send>;

/// The statement that DuckDB computes.
#[derive(Default)]
pub(super) struct Running {
    handle: Mutex<Option<Box<dyn CancelHandle>>>,
}

/// Stops what DuckDB does.
pub(super) type Reins = reins::Reins<Running>;

/// For a statement that has not begun.
pub(super) fn new_reins(stages: WeakStages) -> Arc<Reins> {
    Reins::of(Running::default(), stages)
}

impl Running {
    fn handle(&self) -> MutexGuard<'_, Option<Box<dyn CancelHandle>>> {
        self.handle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Puller for Running {
    const STOPPING: Waiting = Waiting {
        task: "cancel statement of DuckDB",
        lost: "a statement of DuckDB could not be cancelled on this thread",
    };

    fn can_hear(&self) -> bool {
        self.handle().is_some()
    }

    /// Held while it is told: the statement must not be closed by whoever tells it.
    fn tell(&self) -> bool {
        let handle = self.handle();
        let told = handle.as_ref().map_or(Ok(()), |handle| handle.try_cancel());
        if let Err(error) = &told {
            tracing::warn!(error = error.message, "a statement of DuckDB goes on to its end");
        }
        told.is_ok()
    }

    /// A library cannot be left in the middle of a call.
    fn cut(&self) {}
}

/// A connection, closed when it is dropped, wherever that is.
pub(super) struct Line {
    inner: Option<Inner>,
    table: Arc<str>,
    reins: Arc<Reins>,
}

/// What is closed, in this order.
struct Inner {
    rows: Option<Rows>,
    statement: Option<ManagedStatement>,
    connection: ManagedConnection,
    _lease: Lease,
}

impl Line {
    /// Opens the database. Waits.
    pub(super) fn open(place: &DuckDb, table: &Arc<str>, reins: &Arc<Reins>) -> Result<Self, CubeError> {
        let taken = reins.during(|| Lease::take(place))?;
        let (connection, lease) = taken.map_err(|message| failed(table, &message))?;
        let inner = Inner { rows: None, statement: None, connection, _lease: lease };
        Ok(Self { inner: Some(inner), table: Arc::clone(table), reins: Arc::clone(reins) })
    }

    /// Begins a statement, after the last one. Waits.
    pub(super) fn execute(&mut self, text: &str) -> Result<&mut Rows, CubeError> {
        let Self { inner, table, reins } = self;
        let inner = inner.as_mut().unwrap_or_else(|| unreachable!("it is there until it is dropped"));
        let told = |error: adbc_core::error::Error| failed(table, &error.message);
        reins.puller.handle().take();
        (inner.rows, inner.statement) = (None, None);
        let prepared = reins.during(|| -> Result<_, adbc_core::error::Error> {
            let mut statement = inner.connection.new_statement()?;
            statement.set_sql_query(text)?;
            Ok(statement)
        })?;
        let statement = inner.statement.insert(prepared.map_err(told)?);
        *reins.puller.handle() = Some(statement.get_cancel_handle());
        let rows = reins.during(|| statement.execute())?.map_err(told)?;
        Ok(inner.rows.insert(rows))
    }

    /// Something that takes rows of the statement that has begun. Waits.
    pub(super) fn take<T>(
        &mut self,
        take: impl FnOnce(&mut Rows) -> Result<T, ArrowError>,
    ) -> Result<T, CubeError> {
        let Self { inner, table, reins } = self;
        let rows = inner.as_mut().and_then(|inner| inner.rows.as_mut());
        let rows = rows.ok_or_else(|| failed(table, "no statement was begun"))?;
        reins.during(|| take(rows))?.map_err(|error| match error {
            ArrowError::CDataInterface(message) => failed(table, &message),
            other => failed(table, &other.to_string()),
        })
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // From here on nobody else has the statement.
        self.reins.puller.handle().take();
        if let Some(inner) = self.inner.take() {
            CLOSING.in_place(inner, &self.reins.stages, drop);
        }
    }
}

/// What DuckDB said, without the picture of the place in the statement.
pub(super) fn failed(table: &str, message: &str) -> CubeError {
    let said = message.split("\n\nLINE ").next().unwrap_or_default().trim_end().replace('\n', " ");
    CubeError::TableFailed { table: table.to_owned(), message: said }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line() {
        let said = "Binder Error: no column \"x\"\nCandidate: \"y\"\n\nLINE 1: SELECT x\n               ^";
        let told = failed("trades", said).to_string();
        assert_eq!(told, "table \"trades\" failed: Binder Error: no column \"x\" Candidate: \"y\"");
    }
}
