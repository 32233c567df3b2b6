//! What is done to every statement after its rights are checked and before it is planned, however it is run: alone, explained, or with its
//! rows copied to a file.

use super::clauses::{check_clauses, check_external_table};
use super::lists::plain_lists;
use super::rewritten::{ColumnNames, rewrite};
use super::size::check_size;
use super::zone::name_zones;
use crate::error::SqlError;
use crate::maps::show_visible;
use crate::names::Names;
use crate::table_functions::plain_table_functions;
use datafusion::execution::SessionState;
use datafusion::sql::parser::{CopyToSource, DFParser, Statement};
use datafusion::sql::sqlparser::ast::Statement as SqlStatement;

/// Refuses what nobody could plan or what would be answered wrongly, and says the rest in the planner's words.
pub(crate) async fn make_plannable(
    statement: &mut Statement,
    state: &SessionState,
    columns: ColumnNames,
) -> Result<(), SqlError> {
    let mut inner = statement;
    while let Statement::Explain(explain) = inner {
        inner = explain.statement.as_mut();
    }
    match inner {
        Statement::Statement(_) => make_query_plannable(inner, state, columns).await,
        Statement::CopyTo(copy) => {
            let mut copied = copied(&copy.source)?;
            make_query_plannable(&mut copied, state, columns).await?;
            if let Statement::Statement(copied) = copied
                && let SqlStatement::Query(query) = *copied
            {
                copy.source = CopyToSource::Query(query);
            }
            Ok(())
        }
        Statement::CreateExternalTable(table) => check_external_table(table),
        // What has no query in it.
        Statement::Reset(_) | Statement::Explain(_) => Ok(()),
    }
}

async fn make_query_plannable(
    statement: &mut Statement,
    state: &SessionState,
    columns: ColumnNames,
) -> Result<(), SqlError> {
    if let Statement::Statement(inner) = statement {
        check_clauses(inner)?;
        check_function_stays(inner, state)?;
        rewrite(inner, Names::of(state), columns)?;
        check_size(inner, Names::of(state))?;
        show_tables(inner)?;
        plain_table_functions(inner);
        plain_lists(inner);
        name_zones(inner);
    }
    show_visible(statement, state).await
}

/// No function can be made here, so what there is stays.
fn check_function_stays(statement: &SqlStatement, state: &SessionState) -> Result<(), SqlError> {
    let SqlStatement::DropFunction(drop) = statement else { return Ok(()) };
    let names = Names::of(state);
    let all = drop.func_desc.iter().filter_map(|one| Some(names.read(one.name.0.last()?.as_ident()?)));
    let known = |name: &String| {
        state.scalar_functions().contains_key(name)
            || state.aggregate_functions().contains_key(name)
            || state.window_functions().contains_key(name)
            || state.table_functions().contains_key(name)
    };
    match all.into_iter().find(known) {
        Some(name) => {
            Err(SqlError::Refused(format!("{name} is a function of the member, which cannot be dropped")))
        }
        None => Ok(()),
    }
}

/// `SHOW TABLES` is of the tables and maps that users have, not of those in which the engine describes itself.
fn show_tables(statement: &mut SqlStatement) -> Result<(), SqlError> {
    if !matches!(statement, SqlStatement::ShowTables { .. }) || statement.to_string() != "SHOW TABLES" {
        return Ok(());
    }
    let text = "SELECT * FROM information_schema.tables WHERE table_schema <> 'information_schema' AND left(table_schema, 3) <> 'pg_' \
                ORDER BY table_catalog, table_schema, table_name";
    if let Some(Statement::Statement(tables)) = DFParser::parse_sql(text)?.pop_front() {
        *statement = *tables;
    }
    Ok(())
}

/// What is copied, as a statement of its own. A table alone is all its visible columns.
fn copied(source: &CopyToSource) -> Result<Statement, SqlError> {
    let all = match source {
        CopyToSource::Query(query) => {
            return Ok(Statement::Statement(Box::new(SqlStatement::Query(query.clone()))));
        }
        CopyToSource::Relation(name) => format!("SELECT * FROM {name}"),
    };
    DFParser::parse_sql(&all)?.pop_front().ok_or(SqlError::NotOneStatement { found: 0 })
}
