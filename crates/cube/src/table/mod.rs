//! Tables: where rows come from.
//!
//! A table gives its rows as a [`BatchStream`] of Arrow batches. It may leave out rows that the filter does not want, and columns that are
//! not asked for; the cube filters again, so a table that cannot filter is as good. Everything a table does runs on `mixed` and may wait.

mod memory;
mod stream;

pub use memory::MemoryTable;
pub use stream::BatchStream;

use crate::error::CubeError;
use crate::filter::Filter;
use arrow::datatypes::SchemaRef;
use filbert_pool::Stages;
use futures::future::BoxFuture;

/// What a cube wants of a table.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TableQuery {
    /// The columns, each once.
    pub columns: Vec<String>,
    /// Rows that it does not want are not looked at.
    pub filter: Filter,
}

/// A source of rows.
pub trait Table: Send + Sync {
    /// Its name, for messages and plans.
    fn name(&self) -> &str;

    /// Its columns.
    fn schema(&self) -> SchemaRef;

    /// Another number whenever its rows may have changed. Without one nothing that was computed is used again.
    fn version(&self) -> Option<u64> {
        None
    }

    /// Columns by which its slices are best spread over partitions; used where a query groups by all of them.
    fn shard_columns(&self) -> Vec<String> {
        Vec::new()
    }

    /// Begins to read. Runs on `mixed`; one task then takes batch after batch, and closes the stream.
    fn open(&self, stages: &Stages, query: TableQuery) -> BoxFuture<'static, Result<BatchStream, CubeError>>;
}
