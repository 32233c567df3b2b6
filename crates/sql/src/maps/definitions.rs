//! `TRUNCATE`, `ALTER ... RENAME TO` and `DROP` of several: of tables and views that statements
//! made, and of maps where it can be done.

use super::pages::failed;
use super::schema::MapsSchema;
use super::statement::{Made, OwnStatement};
use super::table::MapTable;
use crate::error::SqlError;
use crate::tables::{is_in_memory, truncate};
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::logical_expr::TableType;
use std::sync::Arc;

/// Runs such a statement; any other is given back.
pub(super) async fn run(
    statement: OwnStatement,
    schema: &dyn SchemaProvider,
) -> Result<Option<OwnStatement>, SqlError> {
    let registered = match schema.downcast_ref::<MapsSchema>() {
        Some(maps) => maps.registered().as_ref(),
        None => schema,
    };
    match statement {
        OwnStatement::Truncate { names, restarts } => {
            truncate_all(&names, restarts, schema).await?;
        }
        OwnStatement::Rename { kind, old, new, if_exists } => {
            rename(kind, (&old, &new), if_exists, (schema, registered)).await?;
        }
        OwnStatement::Drop { kind, names, if_exists } => {
            drop_all(kind, &names, if_exists, (schema, registered)).await?;
        }
        other => return Ok(Some(other)),
    }
    Ok(None)
}

fn no_table(name: &str) -> SqlError {
    let hint = "SHOW TABLES lists what there is".to_owned();
    SqlError::NoTable { name: name.to_owned(), hint, place: None }
}

/// All of them are looked up before the first loses its rows.
async fn truncate_all(names: &[String], restarts: bool, schema: &dyn SchemaProvider) -> Result<(), SqlError> {
    let mut tables: Vec<(&String, Arc<dyn TableProvider>)> = Vec::with_capacity(names.len());
    for name in names {
        let table = schema.table(name).await?.ok_or_else(|| no_table(name))?;
        if table.table_type() != TableType::Base {
            return Err(SqlError::Refused(format!("{name:?} is a view; TRUNCATE empties tables and maps")));
        }
        if table.downcast_ref::<MapTable>().is_none() && !is_in_memory(table.as_ref()) {
            return Err(of_files(name));
        }
        tables.push((name, table));
    }
    for (name, table) in tables {
        if let Some(map) = table.downcast_ref::<MapTable>() {
            map.map.clear().await.map_err(|error| failed(name, &error))?;
        } else if !truncate(table.as_ref(), restarts).await {
            return Err(of_files(name));
        }
    }
    Ok(())
}

fn of_files(name: &str) -> SqlError {
    SqlError::Refused(format!("{name:?} is read from files; TRUNCATE empties tables in memory and maps"))
}

/// The table or view of a name that a statement made; nothing when there is none and none is
/// needed.
async fn made(
    kind: Made,
    name: &str,
    if_exists: bool,
    (schema, registered): (&dyn SchemaProvider, &dyn SchemaProvider),
) -> Result<Option<Arc<dyn TableProvider>>, SqlError> {
    if !registered.table_exist(name) {
        return match (schema.table_exist(name), if_exists) {
            (true, _) => Err(SqlError::Refused(format!(
                "{name:?} is a map or a mapping, not a {} that was made by a statement; DROP MAPPING drops mappings, and the program \
                 that made a map destroys it",
                kind.word().to_lowercase()
            ))),
            (false, true) => Ok(None),
            (false, false) => Err(no_table(name)),
        };
    }
    let Some(table) = registered.table(name).await? else { return Err(no_table(name)) };
    let found = if table.table_type() == TableType::View { Made::View } else { Made::Table };
    if found != kind {
        let (found, kind) = (found.word(), kind.word());
        return Err(SqlError::Refused(format!("{name:?} is a {found}, not a {kind}")));
    }
    Ok(Some(table))
}

async fn rename(
    kind: Made,
    (old, new): (&str, &str),
    if_exists: bool,
    schemas: (&dyn SchemaProvider, &dyn SchemaProvider),
) -> Result<(), SqlError> {
    let (schema, registered) = schemas;
    // As in PostgreSQL, ALTER TABLE renames views, too: dbt does so.
    let is_view = registered.table(old).await?.is_some_and(|table| table.table_type() == TableType::View);
    let kind = if is_view { Made::View } else { kind };
    let Some(table) = made(kind, old, if_exists, schemas).await? else { return Ok(()) };
    if schema.table_exist(new) {
        return Err(SqlError::Refused(format!("there is a table, a view or a map {new:?} already")));
    }
    // It is there under either name rather than under none.
    registered.register_table(new.to_owned(), table)?;
    registered.deregister_table(old)?;
    Ok(())
}

/// All of them are looked up before the first is dropped.
async fn drop_all(
    kind: Made,
    names: &[String],
    if_exists: bool,
    schemas: (&dyn SchemaProvider, &dyn SchemaProvider),
) -> Result<(), SqlError> {
    let mut found = Vec::with_capacity(names.len());
    for name in names {
        if made(kind, name, if_exists, schemas).await?.is_some() {
            found.push(name);
        }
    }
    for name in found {
        schemas.1.deregister_table(name)?;
    }
    Ok(())
}
