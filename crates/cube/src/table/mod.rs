//! Tables: where rows come from.
//!
//! A table gives its rows as a [`BatchStream`] of Arrow batches. It may leave out rows that the filter does not want, and columns that are
//! not asked for; the cube filters again, so a table that cannot filter is as good. Everything a table does runs on `mixed` and may wait.

#[cfg(feature = "duckdb")]
mod duckdb;
#[cfg(any(feature = "duckdb", feature = "postgres"))]
mod from;
mod groups;
mod memory;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(any(feature = "duckdb", feature = "postgres"))]
mod reading;
#[cfg(any(feature = "duckdb", feature = "postgres"))]
mod reins;
mod select;
#[cfg(feature = "sql")]
mod sql;
mod stream;
#[cfg(any(feature = "duckdb", feature = "postgres"))]
mod waiting;

#[cfg(feature = "duckdb")]
pub use duckdb::{DuckDb, DuckDbTable};
pub use groups::{GroupQuery, TableAggregate, TableFunction, TableGroups};
pub use memory::MemoryTable;
#[cfg(feature = "postgres")]
pub use postgres::PostgresTable;
pub use select::TextOrder;
#[cfg(feature = "sql")]
pub use sql::SqlTable;
pub use stream::BatchStream;

use crate::composite::Composite;
use crate::error::CubeError;
use crate::filter::Filter;
use arrow::datatypes::SchemaRef;
use filbert_pool::Stages;
use futures::FutureExt;
use futures::future::BoxFuture;

/// What a cube wants of a table.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TableQuery {
    /// The columns, each once.
    pub columns: Vec<String>,
    /// Rows that it does not want are not looked at.
    pub filter: Filter,
    /// True when the rows may come in any order, because nothing that is computed of them depends on it.
    pub is_any_order: bool,
}

impl TableQuery {
    /// Asks for columns, and for the rows that a filter wants, in the order that they have in the table.
    pub fn new<S: Into<String>>(columns: impl IntoIterator<Item = S>, filter: Filter) -> Self {
        Self { columns: columns.into_iter().map(Into::into).collect(), filter, is_any_order: false }
    }
}

/// A source of rows.
pub trait Table: Send + Sync {
    /// Its name, for messages and plans.
    fn name(&self) -> &str;

    /// Its columns.
    fn schema(&self) -> SchemaRef;

    /// Another number whenever its rows may have changed. Without one nothing that was computed is used again, unless the cube says for how
    /// long it may be ([`CubeBuilder::expire_after`](crate::CubeBuilder::expire_after)). Asked on `mixed` when a query begins, and again when
    /// it has read the table.
    fn version(&self) -> BoxFuture<'static, Option<u64>> {
        futures::future::ready(None).boxed()
    }

    /// Columns by which its slices are best spread over partitions; used where a query groups by all of them.
    fn shard_columns(&self) -> Vec<String> {
        Vec::new()
    }

    /// Begins to read. Runs on `mixed`; one task then takes batch after batch, and closes the stream.
    fn open(&self, stages: &Stages, query: TableQuery) -> BoxFuture<'static, Result<BatchStream, CubeError>>;

    /// The cubes that it is made of, instead of rows: see [`Composite`].
    fn cubes(&self) -> Option<&Composite> {
        None
    }

    /// True for a table that would rather send groups than rows.
    fn prefers_groups(&self) -> bool {
        false
    }

    /// Begins to read groups that the table makes itself; nothing when it does not make these. Runs on `mixed`, like reading rows.
    fn open_groups(
        &self,
        _stages: &Stages,
        _query: &GroupQuery,
    ) -> Option<BoxFuture<'static, Result<BatchStream, CubeError>>> {
        None
    }
}
