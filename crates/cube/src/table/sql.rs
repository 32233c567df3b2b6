//! A table, a map, or files of an SQL engine.
//!
//! Columns and conditions go into the statement, so Parquet files are read only where they may match, and a map's index finds its entries.
//! The engine's fragments read and decode; `mixed` only waits for the next batch. At most as many batches are under way as the engine has
//! credits for. Files are read by as many tasks as the engine has workers, in any order: what a cube adds up is the same in each. One file is
//! read by several only if it is Parquet. Where somebody looks at the order (an aggregation of the user's, a drill-through) one task reads,
//! from the first row to the last; it also reads what a query or a view makes, where the engine itself may add up.

use super::select::{TextOrder, quoted};
use super::{BatchStream, GroupQuery, Table, TableAggregate, TableFunction, TableQuery};
use crate::error::CubeError;
use arrow::datatypes::SchemaRef;
use filbert_pool::{StageKind, Stages};
use filbert_sql::{Session, SqlError};
use futures::future::{BoxFuture, ready};
use futures::{FutureExt, TryStreamExt};
use std::sync::Arc;

/// Rows of a batch: a piece of work for one worker.
const BATCH_ROWS: usize = 64 * 1024;

/// A table of an SQL engine: a table that it knows, a map of its grid, or files by their path.
///
/// What was computed is kept while the files stay as they are. Other tables do not tell whether they changed; nothing is kept of them.
///
/// ```
/// use filbert_cube::{Aggregator, Cube, Forest, Query, SqlTable};
/// use filbert_sql::{Sql, SqlSettings};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("trades.csv");
/// std::fs::write(&path, "desk,pnl\nFX,1.5\nRates,2\nFX,3\n")?;
/// let stages = filbert_pool::Stages::start()?;
/// let sql = Sql::start(&stages, SqlSettings { files: vec![folder.path().into()], ..Default::default() })?;
/// let table = futures::executor::block_on(SqlTable::open(sql.session(), &path.to_string_lossy()))?;
/// let forest = Forest::builder().measure("pnl", Aggregator::sum("pnl")).build()?;
/// let cube = Cube::builder(&stages, forest, table).build()?;
/// let result = cube.query(Query::new(["pnl"]).by(["desk"]))?.wait()?;
/// assert_eq!(result.to_csv()?, "desk,pnl\nFX,4.5\nRates,2.0\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct SqlTable {
    name: Arc<str>,
    /// What stands after `FROM`.
    from: Arc<str>,
    session: Session,
    /// Those that read files by many tasks; none for what are no files.
    side_by_side: Option<SideBySide>,
    schema: SchemaRef,
    shard_columns: Vec<String>,
}

/// Sessions whose statements run as many tasks.
#[derive(Debug, Clone)]
struct SideBySide {
    /// Reads rows, with texts as the codes that files have.
    rows: Session,
    /// Makes groups; the engine has them sooner of texts as they are.
    groups: Session,
}

impl SqlTable {
    /// Looks at a table: its name, or a path, folder or pattern of files. The session is the table's from now on, and set to read in order.
    pub async fn open(session: Session, name: &str) -> Result<Self, CubeError> {
        Self::over(session, name, quoted(name)).await
    }

    /// The rows of a query as a table: joins, or columns under other names.
    pub async fn of_query(session: Session, name: &str, query: &str) -> Result<Self, CubeError> {
        // On a line of its own: the query may end with a comment.
        Self::over(session, name, format!("({query}\n) AS {}", quoted(name))).await
    }

    async fn over(session: Session, name: &str, from: String) -> Result<Self, CubeError> {
        let is_file = from == quoted(name) && matches!(session.version(name).await, Ok(Some(_)));
        let side_by_side = if is_file { side_by_side(&session, name).await } else { None };
        let session = session.reading_in_order(BATCH_ROWS);
        let described = session.describe(&format!("SELECT * FROM {from}")).await;
        let schema = described.map_err(|error| failed(name, &error))?.columns;
        let (name, from) = (name.into(), from.into());
        Ok(Self { name, from, session, side_by_side, schema, shard_columns: Vec::new() })
    }

    /// Spreads slices by these columns, where a query groups by all of them.
    #[must_use]
    pub fn sharded_by(mut self, columns: &[&str]) -> Self {
        self.shard_columns = columns.iter().map(|column| (*column).to_owned()).collect();
        self
    }

    fn read(
        &self,
        session: &Session,
        statement: String,
    ) -> BoxFuture<'static, Result<BatchStream, CubeError>> {
        let name = Arc::clone(&self.name);
        let submitted = session.query(&statement);
        async move {
            let told = |error: SqlError| failed(&name, &error);
            let mut rows = submitted.map_err(told)?;
            if rows.description().await.map_err(told)?.endless {
                let message = "its rows have no end; a cube needs a table that has one".to_owned();
                return Err(CubeError::TableFailed { table: name.to_string(), message });
            }
            let rows = rows.map_err(move |error| failed(&name, &error));
            Ok(BatchStream::new(rows).read_by(statement).made_on(StageKind::Fragment))
        }
        .boxed()
    }
}

impl Table for SqlTable {
    fn name(&self) -> &str {
        &self.name
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn version(&self) -> BoxFuture<'static, Option<u64>> {
        if *self.from != *quoted(&self.name) {
            return ready(None).boxed();
        }
        let (session, name) = (self.session.clone(), Arc::clone(&self.name));
        // What is wrong with the files is told by whoever reads them.
        async move { session.version(&name).await.ok().flatten() }.boxed()
    }

    fn shard_columns(&self) -> Vec<String> {
        self.shard_columns.clone()
    }

    fn open(
        &self,
        _stages: &Stages,
        query: TableQuery,
    ) -> BoxFuture<'static, Result<BatchStream, CubeError>> {
        let side_by_side = self.side_by_side.as_ref().filter(|_| query.is_any_order);
        let session = side_by_side.map_or(&self.session, |sessions| &sessions.rows);
        self.read(session, query.to_select(&self.from, &self.schema, TextOrder::Bytes))
    }

    // It does not prefer groups: sums of floats, which most measures are, it would round on the way.
    fn open_groups(
        &self,
        _stages: &Stages,
        query: &GroupQuery,
    ) -> Option<BoxFuture<'static, Result<BatchStream, CubeError>>> {
        let statement = query.to_select(&self.from, &self.schema, TextOrder::Bytes)?;
        let is_float = |column: &String| {
            self.schema.field_with_name(column).is_ok_and(|field| field.data_type().is_floating())
        };
        let depends_on_order = |aggregate: &TableAggregate| {
            aggregate.function != TableFunction::Count && aggregate.column.as_ref().is_some_and(is_float)
        };
        // Sums of floats by many tasks would be others every time, and a least value one of two zeros.
        let is_any_order = !query.aggregates.iter().any(depends_on_order);
        let side_by_side = self.side_by_side.as_ref().filter(|_| is_any_order);
        Some(self.read(side_by_side.map_or(&self.session, |sessions| &sessions.groups), statement))
    }
}

/// Sessions that read files by many tasks; none where they cannot be had.
async fn side_by_side(session: &Session, name: &str) -> Option<SideBySide> {
    let session = session.fork().with_batch_rows(BATCH_ROWS);
    // A file without row groups is cut at line breaks, and one may stand in a text. Several files are still read side by side.
    if !name.ends_with(".parquet") {
        session
            .query("SET datafusion.optimizer.repartition_file_scans = false")
            .ok()?
            .collect()
            .await
            .ok()?;
    }
    Some(SideBySide { rows: session.fork().with_codes_of_texts().ok()?, groups: session })
}

fn failed(table: &str, error: &SqlError) -> CubeError {
    match error {
        SqlError::Cancelled => CubeError::Cancelled,
        SqlError::Overloaded { running, waiting } => CubeError::Overloaded {
            message: format!("table {table:?}: {running} queries run and {waiting} wait in SQL"),
        },
        SqlError::WaitedTooLong { .. } => {
            CubeError::Overloaded { message: format!("table {table:?}: {error}") }
        }
        SqlError::Busy(text) => CubeError::Overloaded { message: format!("table {table:?}: {text}") },
        other => CubeError::TableFailed { table: table.to_owned(), message: other.to_string() },
    }
}
