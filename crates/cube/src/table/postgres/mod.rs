//! A table of a PostgreSQL server, by the blocking driver.
//!
//! ```text
//!   mixed, a thread that may wait:  connect ──► DECLARE ... CURSOR ──► FETCH, batch by batch ──► close
//!   wherever the stream is closed:  cancel, if the server computes at that moment
//! ```
//!
//! Columns and conditions go into the statement, values as parameters. Every query has a connection of its own, which ends with it: nothing
//! is left open between queries, and a query that was cancelled leaves nothing behind in the next one.

mod cursor;
mod kind;
mod line;
mod parameters;
mod rope;
mod tls;
mod url;
mod values;

use super::from::from;
use super::reading::read;
use super::reins::PullOnDrop;
use super::{BatchStream, GroupQuery, Table, TableQuery};
use crate::error::CubeError;
use arrow::datatypes::{Field, Schema, SchemaRef};
use cursor::{Reading, failed};
use filbert_pool::Stages;
use futures::FutureExt;
use futures::future::BoxFuture;
use kind::Kind;
use line::{Line, Reins, new_reins};
use parameters::{Columns, Parameter, Parameters};
use std::error::Error as _;
use std::sync::Arc;
use url::Place;

/// A table or a query of a PostgreSQL server.
///
/// Nothing that was computed is used again: the server does not tell whether rows changed.
///
/// ```no_run
/// use filbert_cube::{Aggregator, Cube, Forest, PostgresTable, Query};
///
/// let stages = filbert_pool::Stages::start()?;
/// let place = "postgres://risk:secret@db.example/markets?sslmode=require";
/// let table = stages.mixed().spawn("open table", PostgresTable::open(&stages, place, "public.trades"))?.wait()??;
/// let forest = Forest::builder().measure("pnl", Aggregator::sum("pnl")).build()?;
/// let cube = Cube::builder(&stages, forest, table).build()?;
/// println!("{}", cube.query(Query::new(["pnl"]).by(["desk"]))?.wait()?.to_text()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct PostgresTable {
    name: Arc<str>,
    /// What stands after `FROM`.
    from: Arc<str>,
    place: Place,
    columns: Arc<Columns>,
    schema: SchemaRef,
    shard_columns: Vec<String>,
}

impl PostgresTable {
    /// A table by its name, `schema.table` with letters as they are, or the rows of a `SELECT`, of the database at a URL:
    /// `postgres://user:password@host:port/database?sslmode=...`.
    ///
    /// `sslmode=require` is TLS with the server's certificate checked, by the file `sslrootcert=...` or by those that the system trusts. It
    /// is what a server elsewhere is spoken to by; `sslmode=disable` does without. On the same machine it is the other way round.
    pub fn open(stages: &Stages, url: &str, table: &str) -> BoxFuture<'static, Result<Self, CubeError>> {
        let found = || -> Result<_, CubeError> {
            let (name, from) = from(table)?;
            let place = Place::of_url(url, &name)?;
            let reins = new_reins(place.clone(), stages.downgrade());
            let looked = (Arc::clone(&reins), Arc::clone(&name), from.clone());
            let looking = move || describe(&looked.0, &looked.1, &looked.2);
            let described = stages.mixed().submit("look at table of PostgreSQL", looking)?;
            Ok((name, from, place, described, PullOnDrop(reins)))
        };
        let found = found();
        async move {
            let (name, from, place, described, pulled) = found?;
            let (columns, schema) = described.await.map_err(|error| CubeError::of_task("table", error))??;
            drop(pulled);
            let columns = Arc::new(columns);
            Ok(Self { name, from: from.into(), place, columns, schema, shard_columns: Vec::new() })
        }
        .boxed()
    }

    /// Spreads slices by these columns, where a query groups by all of them.
    #[must_use]
    pub fn sharded_by(mut self, columns: &[&str]) -> Self {
        self.shard_columns = columns.iter().map(|column| (*column).to_owned()).collect();
        self
    }

    fn read(
        &self,
        stages: &Stages,
        statement: String,
        parameters: Vec<Parameter>,
        are_groups: bool,
    ) -> BoxFuture<'static, Result<BatchStream, CubeError>> {
        let reins = new_reins(self.place.clone(), stages.downgrade());
        let reading = Reading {
            table: Arc::clone(&self.name),
            grouped: are_groups.then(|| Arc::clone(&self.from)),
            columns: Arc::clone(&self.columns),
            statement: statement.clone(),
            parameters,
            reins: Arc::clone(&reins),
        };
        read(stages, reins, statement, "begin cursor of PostgreSQL", move || reading.begin())
    }
}

impl Table for PostgresTable {
    fn name(&self) -> &str {
        &self.name
    }

    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn shard_columns(&self) -> Vec<String> {
        self.shard_columns.clone()
    }

    fn open(&self, stages: &Stages, query: TableQuery) -> BoxFuture<'static, Result<BatchStream, CubeError>> {
        let mut parameters = Parameters::new(&self.columns);
        let statement = query.select(&self.from, &mut parameters);
        self.read(stages, statement, parameters.values, false)
    }

    /// Groups go over the wire instead of rows.
    fn prefers_groups(&self) -> bool {
        true
    }

    fn open_groups(
        &self,
        stages: &Stages,
        query: &GroupQuery,
    ) -> Option<BoxFuture<'static, Result<BatchStream, CubeError>>> {
        let mut parameters = Parameters::new(&self.columns);
        let statement = query.select(&self.from, &mut parameters)?;
        // More than the protocol has numbers for.
        if parameters.values.len() > usize::from(u16::MAX) / 2 {
            return None;
        }
        Some(self.read(stages, statement, parameters.values, true))
    }
}

/// Finds out about the columns and the database. Waits.
fn describe(reins: &Reins, name: &str, from: &str) -> Result<(Columns, SchemaRef), CubeError> {
    let told = |error: postgres::Error| failed(name, &error);
    let mut line = reins.open()?.map_err(told)?;
    let setting = |line: &mut Line, of: &str| -> Result<String, CubeError> {
        let row = reins.during(|| line.query_one("SELECT current_setting($1)", &[&of]))?.map_err(told)?;
        row.try_get(0).map_err(told)
    };
    let is_utf8 = setting(&mut line, "server_encoding")? == "UTF8";
    // Before version 12 texts were equal only when their bytes were.
    let version: u32 = setting(&mut line, "server_version_num")?.parse().unwrap_or(0);
    let is_loose = version >= 120_000 && {
        let any = "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_collation WHERE NOT collisdeterministic)";
        let row = reins.during(|| line.query_one(any, &[]))?.map_err(told)?;
        row.try_get(0).map_err(told)?
    };
    let statement = reins.during(|| line.prepare(&format!("SELECT * FROM {from}")))?.map_err(told)?;
    let mut columns = Columns { is_utf8, is_loose, ..Columns::default() };
    let mut fields = Vec::new();
    for column in statement.columns() {
        let kind = Kind::of(column, name)?;
        fields.push(Field::new(column.name(), kind.data_type(), true));
        if columns.kinds.insert(column.name().to_owned(), kind).is_some() {
            let problem = format!("it has two columns {:?}; give one another name by AS", column.name());
            return Err(CubeError::InvalidTable { table: name.to_owned(), problem });
        }
    }
    Ok((columns, Arc::new(Schema::new(fields))))
}

/// What the driver says, with its causes; what the server says, with its code.
fn message(error: &postgres::Error) -> String {
    if let Some(said) = error.as_db_error() {
        let hint = said.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
        return format!("{} (SQLSTATE {}){hint}", said.message(), said.code().code());
    }
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        message = format!("{message}: {cause}");
        source = cause.source();
    }
    if message.contains("does not support TLS") {
        message.push_str("; set sslmode=disable if the way to the server is safe");
    }
    message
}
