//! What a session may do with which table, checked on the text before any table is looked up: who may not read a map does not learn its
//! columns either.

use crate::error::SqlError;
use crate::files::is_file;
use crate::maps::{OwnStatement, Parsed};
use crate::names::Names;
use crate::stream;
use datafusion::common::TableReference;
use datafusion::execution::SessionState;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    FromTable, ObjectName, Statement as SqlStatement, TableFactor, TableObject, TableWithJoins,
};
use std::sync::Arc;

/// What a statement does to a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Reads rows or columns.
    Read,
    /// Inserts, updates or deletes rows.
    Write,
    /// Creates, changes or drops the table, a mapping, a view, or an index on it.
    Define,
}

/// Who may do what. A door gives one to each session of a user.
///
/// Tables of schema `public` are named alone (`orders`), others with their schema (`information_schema.tables`). What is no table (a file,
/// whatever else a statement may define) is called `*`.
///
/// ```
/// use filbert_sql::{Access, TableRights};
/// struct ReadOnly;
/// impl TableRights for ReadOnly {
///     fn check(&self, access: Access, table: &str) -> Result<(), String> {
///         match access {
///             Access::Read => Ok(()),
///             _ => Err(format!("guest may only read {table}")),
///         }
///     }
/// }
/// let stages = filbert_pool::Stages::start()?;
/// let sql = filbert_sql::Sql::start(&stages, Default::default())?;
/// let guest = sql.session_as(std::sync::Arc::new(ReadOnly));
/// let refused = futures::executor::block_on(guest.query("DROP TABLE orders")?.collect()).unwrap_err();
/// assert_eq!(refused.to_string(), "guest may only read orders");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait TableRights: Send + Sync {
    /// Allows it, or says who may not do what.
    ///
    /// # Errors
    /// The refusal, as the user shall read it.
    fn check(&self, access: Access, table: &str) -> Result<(), String>;
}

/// The rights of the session that runs a query: an extension of its configuration, for tables that show each user something else, such as
/// those of a catalog.
pub struct SessionRights(Arc<dyn TableRights>);

impl SessionRights {
    pub(crate) fn new(rights: &Arc<dyn TableRights>) -> Self {
        Self(Arc::clone(rights))
    }

    /// True when the session may do that.
    pub fn may(&self, access: Access, table: &str) -> bool {
        self.0.check(access, table).is_ok()
    }
}

/// Everything is allowed: the program that embeds the engine.
pub(crate) struct AllRights;

impl TableRights for AllRights {
    fn check(&self, _access: Access, _table: &str) -> Result<(), String> {
        Ok(())
    }
}

/// Refuses a statement that does what its session may not.
pub(crate) fn check(parsed: &Parsed, state: &SessionState, rights: &dyn TableRights) -> Result<(), SqlError> {
    for (access, table) in demands(parsed, state)? {
        rights.check(access, &table).map_err(SqlError::Denied)?;
    }
    Ok(())
}

type Demands = Vec<(Access, String)>;

fn demands(parsed: &Parsed, state: &SessionState) -> Result<Demands, SqlError> {
    let define = |table: &str| (Access::Define, table.to_owned());
    Ok(match parsed {
        Parsed::Own(OwnStatement::CreateMapping { mapping, .. }) => {
            let map = &mapping.external_name;
            let mut demands = vec![define(&mapping.name), define(map)];
            // Under its new name it will be asked for by that name.
            if *map != mapping.name {
                demands.extend([Access::Read, Access::Write].map(|access| (access, map.clone())));
            }
            demands
        }
        Parsed::Own(OwnStatement::DropMapping { name, .. }) => vec![define(name)],
        Parsed::Own(OwnStatement::CreateIndex { table, .. }) => vec![define(table)],
        Parsed::Own(OwnStatement::ShowMappings) => {
            vec![(Access::Read, "information_schema.mappings".to_owned())]
        }
        Parsed::Own(OwnStatement::ShowQueries) => {
            vec![(Access::Read, "information_schema.queries".to_owned())]
        }
        // Its statement is checked when it is asked as a query of its own; who may end it is known where jobs are.
        Parsed::Own(OwnStatement::CreateJob { .. } | OwnStatement::DropJob { .. }) => Vec::new(),
        Parsed::Own(OwnStatement::ShowJobs) => vec![(Access::Read, "information_schema.jobs".to_owned())],
        Parsed::Other(statement) => of_statement(statement, state)?,
    })
}

fn of_statement(statement: &Statement, state: &SessionState) -> Result<Demands, SqlError> {
    let names = Names::of(state);
    match statement {
        // Files are nobody's tables: only for who may define everything.
        Statement::CreateExternalTable(create) => {
            Ok(vec![(Access::Define, object(&create.name, names)), everything()])
        }
        Statement::Explain(explain) => of_statement(&explain.statement, state),
        Statement::Statement(inner) => of_sql(statement, inner, state),
        Statement::CopyTo(_) => Ok([reads(statement, state)?, vec![everything()]].concat()),
        Statement::Reset(_) => reads(statement, state),
    }
}

fn of_sql(statement: &Statement, inner: &SqlStatement, state: &SessionState) -> Result<Demands, SqlError> {
    let names = Names::of(state);
    let define = |name: &ObjectName| (Access::Define, object(name, names));
    let (mut demands, changes) = match inner {
        SqlStatement::Explain { statement, .. } | SqlStatement::Prepare { statement, .. } => {
            return of_statement(&Statement::Statement(statement.clone()), state);
        }
        SqlStatement::Insert(insert) => {
            let target = match &insert.table {
                TableObject::TableName(name) => object(name, names),
                other => other.to_string(),
            };
            // The target is written, not read; what the source reads is.
            let source = insert.source.clone().map(SqlStatement::Query);
            let source = source.map(|query| reads(&Statement::Statement(Box::new(query)), state));
            (source.transpose()?.unwrap_or_default(), vec![(Access::Write, target)])
        }
        SqlStatement::Drop { names, .. } => (Vec::new(), names.iter().map(define).collect()),
        SqlStatement::DropFunction(drop) => {
            (Vec::new(), drop.func_desc.iter().map(|function| define(&function.name)).collect())
        }
        _ => (reads(statement, state)?, changes(inner, names)),
    };
    demands.extend(changes);
    Ok(demands)
}

/// What a statement changes, besides what it reads.
fn changes(inner: &SqlStatement, names: Names) -> Demands {
    let define = |name: &ObjectName| vec![(Access::Define, object(name, names))];
    match inner {
        SqlStatement::Query(_)
        | SqlStatement::ExplainTable { .. }
        | SqlStatement::ShowVariable { .. }
        | SqlStatement::ShowTables { .. }
        | SqlStatement::ShowColumns { .. }
        | SqlStatement::ShowFunctions { .. }
        | SqlStatement::ShowCreate { .. }
        | SqlStatement::Set(_)
        | SqlStatement::StartTransaction { .. }
        | SqlStatement::Commit { .. }
        | SqlStatement::Rollback { .. }
        | SqlStatement::Execute { .. }
        | SqlStatement::Deallocate { .. } => Vec::new(),
        SqlStatement::Update(update) => vec![(Access::Write, target(&update.table, names))],
        SqlStatement::Delete(delete) => {
            let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
            from.iter().map(|table| (Access::Write, target(table, names))).collect()
        }
        SqlStatement::Truncate(truncate) => {
            truncate.table_names.iter().map(|table| (Access::Write, object(&table.name, names))).collect()
        }
        SqlStatement::CreateTable(create) => define(&create.name),
        SqlStatement::CreateView(create) => define(&create.name),
        SqlStatement::CreateFunction(create) => define(&create.name),
        SqlStatement::CreateDatabase { db_name, .. } => define(db_name),
        // Whatever else there is, and will be: only for who may define everything.
        _ => vec![everything()],
    }
}

fn everything() -> (Access, String) {
    (Access::Define, "*".to_owned())
}

/// The tables that planning will look up: these and no others.
fn reads(statement: &Statement, state: &SessionState) -> Result<Demands, SqlError> {
    let tables = state.resolve_table_references(statement)?;
    // A journal is a map's, whatever the map is called.
    let is_file = |table: &TableReference| table.schema() != Some(stream::JOURNALS) && is_file(table.table());
    let demand = |table: &TableReference| match is_file(table) {
        true => everything(),
        false => (Access::Read, spoken(table)),
    };
    Ok(tables.iter().map(demand).collect())
}

fn spoken(table: &TableReference) -> String {
    match table.schema() {
        None | Some("public") => table.table().to_owned(),
        // Whoever may read a map may read its changes.
        Some(stream::JOURNALS) => {
            stream::journal_of(table.table()).map_or(table.table(), |(_, map)| map).to_owned()
        }
        Some(schema) => format!("{schema}.{}", table.table()),
    }
}

fn object(name: &ObjectName, names: Names) -> String {
    let parts: Option<Vec<_>> = name.0.iter().map(|part| part.as_ident()).collect();
    let Some(parts) = parts else { return name.to_string() };
    let parts: Vec<String> = parts.into_iter().map(|ident| names.read(ident)).collect();
    match parts.as_slice() {
        [name] => name.clone(),
        [.., schema, name] if schema == "public" => name.clone(),
        [.., schema, name] => format!("{schema}.{name}"),
        [] => name.to_string(),
    }
}

fn target(table: &TableWithJoins, names: Names) -> String {
    match &table.relation {
        TableFactor::Table { name, .. } => object(name, names),
        other => other.to_string(),
    }
}
