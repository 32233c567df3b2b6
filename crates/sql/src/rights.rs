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
    FromTable, ObjectName, OnConflictAction, OnInsert, Statement as SqlStatement, TableFactor, TableObject,
    TableWithJoins,
};
use std::fmt;
use std::sync::Arc;

/// What a statement does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// Reads rows or columns.
    Read,
    /// Puts rows: new ones, or in place of others.
    Insert,
    /// Changes rows.
    Update,
    /// Removes rows.
    Delete,
    /// Makes a table, a mapping or a view of that name.
    Create,
    /// Drops it.
    Drop,
    /// Makes an index on it.
    Index,
}

/// What a statement does it to. The schema is not part of the name: a map may be called `pg_catalog.x`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Object {
    /// A table, a view, a mapping, a map.
    Table {
        /// `public` for those of users.
        schema: String,
        /// The name within the schema.
        name: String,
    },
    /// No table: a file, whatever else a statement may define. Only for who may do everything.
    Anything,
}

impl Object {
    /// A table of schema `public`, where maps are.
    pub fn table(name: &str) -> Self {
        Self::in_schema(PUBLIC, name)
    }

    /// A map, also one whose name is that of a file.
    fn map(name: &str) -> Self {
        Self::Table { schema: PUBLIC.to_owned(), name: name.to_owned() }
    }

    fn in_schema(schema: &str, name: &str) -> Self {
        match is_file(name) {
            true => Self::Anything,
            false => Self::Table { schema: schema.to_owned(), name: name.to_owned() },
        }
    }
}

/// For people: programs must not take it apart again.
impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Table { schema, name } if schema == PUBLIC => f.write_str(name),
            Self::Table { schema, name } => write!(f, "{schema}.{name}"),
            Self::Anything => f.write_str("*"),
        }
    }
}

/// The schema of maps.
const PUBLIC: &str = "public";

/// Who may do what. A door gives one to each session of a user.
///
/// ```
/// use filbert_sql::{Access, Object, TableRights};
/// struct ReadOnly;
/// impl TableRights for ReadOnly {
///     fn check(&self, access: Access, object: &Object) -> Result<(), String> {
///         match (access, object) {
///             (Access::Read, Object::Table { .. }) => Ok(()),
///             _ => Err(format!("guest may only read {object}")),
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
    fn check(&self, access: Access, object: &Object) -> Result<(), String>;

    /// Allows the session to run statements at all, also those that name no table, or says why it may not.
    ///
    /// # Errors
    /// The refusal, as the user shall read it.
    fn may_ask(&self) -> Result<(), String> {
        Ok(())
    }
}

/// The rights of the session that runs a query: an extension of its configuration, for tables that show each user something else, such as
/// those of a catalog.
pub struct SessionRights(Arc<dyn TableRights>);

impl SessionRights {
    pub(crate) fn new(rights: &Arc<dyn TableRights>) -> Self {
        Self(Arc::clone(rights))
    }

    /// True when the session may do that.
    pub fn may(&self, access: Access, object: &Object) -> bool {
        self.0.check(access, object).is_ok()
    }
}

/// Everything is allowed: the program that embeds the engine.
pub(crate) struct AllRights;

impl TableRights for AllRights {
    fn check(&self, _access: Access, _object: &Object) -> Result<(), String> {
        Ok(())
    }
}

/// Refuses a statement that does what its session may not.
pub(crate) fn check(parsed: &Parsed, state: &SessionState, rights: &dyn TableRights) -> Result<(), SqlError> {
    rights.may_ask().map_err(SqlError::Denied)?;
    for (access, object) in demands(parsed, state)? {
        rights.check(access, &object).map_err(SqlError::Denied)?;
    }
    Ok(())
}

type Demands = Vec<(Access, Object)>;

fn demands(parsed: &Parsed, state: &SessionState) -> Result<Demands, SqlError> {
    let information = |name: &str| vec![(Access::Read, Object::in_schema("information_schema", name))];
    Ok(match parsed {
        Parsed::Own(OwnStatement::CreateMapping { mapping, replaces, .. }) => {
            let mut demands = made(Object::table(&mapping.name), *replaces);
            // Under its new name it will be asked for by that name.
            if mapping.external_name != mapping.name {
                let all = [
                    Access::Create,
                    Access::Read,
                    Access::Insert,
                    Access::Update,
                    Access::Delete,
                    Access::Index,
                ];
                demands.extend(all.map(|access| (access, Object::table(&mapping.external_name))));
            }
            demands
        }
        Parsed::Own(OwnStatement::DropMapping { name, .. }) => vec![(Access::Drop, Object::table(name))],
        Parsed::Own(OwnStatement::Truncate { names, .. }) => {
            names.iter().map(|name| (Access::Delete, Object::table(name))).collect()
        }
        Parsed::Own(OwnStatement::Drop { names, .. }) => {
            names.iter().map(|name| (Access::Drop, Object::table(name))).collect()
        }
        Parsed::Own(OwnStatement::Rename { old, new, .. }) => {
            // Under its new name others may read and change it, so whoever renames it must be allowed all of that.
            let all =
                [Access::Drop, Access::Read, Access::Insert, Access::Update, Access::Delete, Access::Index];
            let mut demands: Demands = all.map(|access| (access, Object::table(old))).into();
            demands.push((Access::Create, Object::table(new)));
            demands
        }
        Parsed::Own(OwnStatement::CreateIndex { table, .. }) => vec![(Access::Index, Object::table(table))],
        Parsed::Own(OwnStatement::ShowMappings) => information("mappings"),
        Parsed::Own(OwnStatement::ShowQueries) => information("queries"),
        // Its statement is checked when it is asked as a query of its own; who may end it is known where jobs are.
        Parsed::Own(OwnStatement::CreateJob { .. } | OwnStatement::DropJob { .. }) => Vec::new(),
        Parsed::Own(OwnStatement::ShowJobs) => information("jobs"),
        Parsed::Own(OwnStatement::ShowPools) => information("pools"),
        Parsed::Other(statement) => of_statement(statement, state)?,
    })
}

/// What it takes to make something, in place of what has its name or not.
fn made(object: Object, replaces: bool) -> Demands {
    let mut demands = vec![(Access::Create, object.clone())];
    if replaces {
        demands.push((Access::Drop, object));
    }
    demands
}

fn of_statement(statement: &Statement, state: &SessionState) -> Result<Demands, SqlError> {
    let names = Names::of(state);
    match statement {
        // Files are nobody's tables: only for who may do everything.
        Statement::CreateExternalTable(create) => {
            Ok([made(object(&create.name, names), create.or_replace), vec![everything()]].concat())
        }
        Statement::Explain(explain) => of_statement(&explain.statement, state),
        Statement::Statement(inner) => of_sql(statement, inner, state),
        Statement::CopyTo(_) => Ok([reads(statement, state)?, vec![everything()]].concat()),
        Statement::Reset(_) => reads(statement, state),
    }
}

fn of_sql(statement: &Statement, inner: &SqlStatement, state: &SessionState) -> Result<Demands, SqlError> {
    let names = Names::of(state);
    let dropped = |name: &ObjectName| (Access::Drop, object(name, names));
    let (mut demands, changes) = match inner {
        SqlStatement::Explain { statement, .. } | SqlStatement::Prepare { statement, .. } => {
            return of_statement(&Statement::Statement(statement.clone()), state);
        }
        SqlStatement::Insert(insert) => {
            let target = match &insert.table {
                TableObject::TableName(name) => object(name, names),
                _ => Object::Anything,
            };
            // The target is written, not read; what the source reads is.
            let source = insert.source.clone().map(SqlStatement::Query);
            let source = source.map(|query| reads(&Statement::Statement(Box::new(query)), state));
            let mut demands = source.transpose()?.unwrap_or_default();
            let mut changes = vec![(Access::Insert, target.clone())];
            let updates = matches!(&insert.on, Some(OnInsert::OnConflict(conflict))
                if matches!(conflict.action, OnConflictAction::DoUpdate(_)));
            if updates {
                changes.push((Access::Update, target));
            }
            if updates || insert.returning.is_some() {
                // The rows of the target, and what subqueries behind the source read.
                demands.extend(reads(statement, state)?);
            }
            (demands, changes)
        }
        SqlStatement::Drop { names, .. } => (Vec::new(), names.iter().map(dropped).collect()),
        _ => (reads(statement, state)?, changes(inner, names)),
    };
    demands.extend(changes);
    Ok(demands)
}

/// What a statement changes, besides what it reads.
fn changes(inner: &SqlStatement, names: Names) -> Demands {
    let create = |name: &ObjectName, replaces: bool| made(object(name, names), replaces);
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
        SqlStatement::Update(update) => vec![(Access::Update, target(&update.table, names))],
        SqlStatement::Delete(delete) => {
            let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
            from.iter().map(|table| (Access::Delete, target(table, names))).collect()
        }
        SqlStatement::CreateTable(table) => create(&table.name, table.or_replace),
        SqlStatement::CreateView(view) => create(&view.name, view.or_replace),
        // Whatever else there is, and will be: only for who may do everything.
        _ => vec![everything()],
    }
}

fn everything() -> (Access, Object) {
    (Access::Create, Object::Anything)
}

/// The tables that planning will look up: these and no others.
fn reads(statement: &Statement, state: &SessionState) -> Result<Demands, SqlError> {
    let tables = state.resolve_table_references(statement)?;
    let demand = |table: &TableReference| {
        let object = match (table.schema(), stream::journal_of(table.table())) {
            // Whoever may read a map may read its changes, whatever the map is called.
            (Some(stream::JOURNALS), Some((_, map))) => Object::map(map),
            (schema, _) => Object::in_schema(schema.unwrap_or(PUBLIC), table.table()),
        };
        (Access::Read, object)
    };
    Ok(tables.iter().map(demand).collect())
}

fn object(name: &ObjectName, names: Names) -> Object {
    let parts: Option<Vec<_>> = name.0.iter().map(|part| part.as_ident()).collect();
    let parts: Vec<String> = parts.into_iter().flatten().map(|ident| names.read(ident)).collect();
    match parts.as_slice() {
        [name] => Object::table(name),
        [.., schema, name] => Object::in_schema(schema, name),
        [] => Object::Anything,
    }
}

fn target(table: &TableWithJoins, names: Names) -> Object {
    match &table.relation {
        TableFactor::Table { name, .. } => object(name, names),
        _ => Object::Anything,
    }
}
