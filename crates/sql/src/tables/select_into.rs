//! `SELECT ... INTO name FROM ...`, which is `CREATE TABLE name AS SELECT ... FROM ...` in other words.

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::helpers::stmt_create_table::CreateTableBuilder;
use datafusion::sql::sqlparser::ast::{SetExpr, Statement as SqlStatement};

/// Writes the statement as one that makes a table, where its outermost SELECT has an INTO.
pub(crate) fn select_into(statement: &mut Statement) {
    let Statement::Statement(inner) = statement else { return };
    let SqlStatement::Query(query) = inner.as_mut() else { return };
    let SetExpr::Select(select) = query.body.as_mut() else { return };
    let Some(into) = select.into.take() else { return };
    let create = CreateTableBuilder::new(into.name).temporary(into.temporary).query(Some(query.clone()));
    **inner = create.build().into();
}
