//! A table of a DuckDB that is installed: its library is loaded, and spoken to through ADBC.
//!
//! ```text
//!   mixed, a thread that may wait:  open the file ──► execute ──► Arrow batches, brought together ──► close
//!   wherever the stream is closed:  cancel, if DuckDB computes at that moment
//! ```
//!
//! Columns and conditions go into the statement. A file is open while queries read it, and closed with the last of them: other processes can
//! write it in between, and the next query sees what they wrote. DuckDB computes on the thread that asks and on threads of its own, as many
//! as its setting `threads` says less one; like a server, it is no part of any stage.
//!
//! Rejected: the crate `duckdb`, which compiles DuckDB for many minutes and has an Arrow of another version.

mod columns;
mod cursor;
mod library;
mod line;
mod place;
mod shared;
mod values;

pub use place::DuckDb;

use super::from::from;
use super::reading::read;
use super::reins::PullOnDrop;
use super::{BatchStream, GroupQuery, Table, TableQuery};
use crate::error::CubeError;
use arrow::datatypes::SchemaRef;
use columns::{Columns, Words};
use cursor::Reading;
use filbert_pool::Stages;
use futures::FutureExt;
use futures::future::BoxFuture;
use line::new_reins;
use std::sync::Arc;

/// A table or a query of a DuckDB.
///
/// Nothing that was computed is used again: DuckDB does not tell whether rows changed.
///
/// ```no_run
/// use filbert_cube::{Aggregator, Cube, DuckDb, DuckDbTable, Forest, Query};
///
/// let stages = filbert_pool::Stages::start()?;
/// let place = DuckDb::at("markets.duckdb").library("/opt/duckdb/libduckdb.so");
/// let table = stages.mixed().spawn("open table", DuckDbTable::open(&stages, &place, "main.trades"))?.wait()??;
/// let forest = Forest::builder().measure("pnl", Aggregator::sum("pnl")).build()?;
/// let cube = Cube::builder(&stages, forest, table).build()?;
/// println!("{}", cube.query(Query::new(["pnl"]).by(["desk"]))?.wait()?.to_text()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct DuckDbTable {
    name: Arc<str>,
    /// What stands after `FROM`.
    from: Arc<str>,
    place: DuckDb,
    columns: Arc<Columns>,
    shard_columns: Vec<String>,
}

impl DuckDbTable {
    /// A table by its name, such as `schema.table`, or the rows of a `SELECT`, which may read files: `SELECT * FROM 'trades/*.parquet'`.
    pub fn open(stages: &Stages, place: &DuckDb, table: &str) -> BoxFuture<'static, Result<Self, CubeError>> {
        let found = || -> Result<_, CubeError> {
            let (name, from) = from(table)?;
            let reins = new_reins(stages.downgrade());
            let looked = (place.clone(), Arc::clone(&reins), Arc::clone(&name), from.clone());
            let looking = move || Columns::look(&looked.0, &looked.1, &looked.2, &looked.3);
            let described = stages.mixed().submit("look at table of DuckDB", looking)?;
            Ok((name, from, described, PullOnDrop(reins)))
        };
        let (found, place) = (found(), place.clone());
        async move {
            let (name, from, described, pulled) = found?;
            let columns = described.await.map_err(|error| CubeError::of_task("table", error))??;
            drop(pulled);
            let columns = Arc::new(columns);
            Ok(Self { name, from: from.into(), place, columns, shard_columns: Vec::new() })
        }
        .boxed()
    }

    /// Spreads slices by these columns, where a query groups by all of them.
    #[must_use]
    pub fn sharded_by(mut self, columns: &[&str]) -> Self {
        self.shard_columns = columns.iter().map(|column| (*column).to_owned()).collect();
        self
    }

    /// How many queries have the table's file open at this moment, those of other tables of this process included. When it is none, other
    /// processes can write it.
    pub fn readers(&self) -> usize {
        shared::readers(&self.place)
    }

    fn read(
        &self,
        stages: &Stages,
        statement: String,
        wanted: Option<Vec<String>>,
    ) -> BoxFuture<'static, Result<BatchStream, CubeError>> {
        let reins = new_reins(stages.downgrade());
        let reading = Reading {
            place: self.place.clone(),
            table: Arc::clone(&self.name),
            from: Arc::clone(&self.from),
            columns: Arc::clone(&self.columns),
            statement: statement.clone(),
            wanted,
            reins: Arc::clone(&reins),
        };
        read(stages, reins, statement, "begin statement of DuckDB", move || reading.begin())
    }
}

impl Table for DuckDbTable {
    fn name(&self) -> &str {
        &self.name
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.columns.schema)
    }

    fn shard_columns(&self) -> Vec<String> {
        self.shard_columns.clone()
    }

    fn open(&self, stages: &Stages, query: TableQuery) -> BoxFuture<'static, Result<BatchStream, CubeError>> {
        let statement = query.select(&self.from, &mut Words { columns: &self.columns });
        self.read(stages, statement, Some(query.columns))
    }

    /// Where groups are few it makes them sooner, and they mostly are. Of 10 million rows on two threads, measured: 100 groups by a text in
    /// 71 ms instead of 385, 10,000 by a number in 150 instead of 258; but a million in 1,111 instead of 592.
    fn prefers_groups(&self) -> bool {
        true
    }

    fn open_groups(
        &self,
        stages: &Stages,
        query: &GroupQuery,
    ) -> Option<BoxFuture<'static, Result<BatchStream, CubeError>>> {
        let statement = query.select(&self.from, &mut Words { columns: &self.columns })?;
        Some(self.read(stages, statement, None))
    }
}
