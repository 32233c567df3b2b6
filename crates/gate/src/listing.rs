//! What both doors need to list tables: those that a session may read, and what its statement asks of them.

use datafusion::catalog::{SchemaProvider, Session};
use datafusion::common::{Column, ScalarValue};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use filbert_sql::{Access, Object, SessionRights};
use std::sync::Arc;

/// The schema that the tables of users are in.
pub(crate) fn public(state: &dyn Session) -> Option<Arc<dyn SchemaProvider>> {
    let state = state.as_any().downcast_ref::<SessionState>()?;
    state.catalog_list().catalog("filbert")?.schema("public")
}

/// The names of the tables that the session may read.
pub(crate) fn readable(state: &dyn Session, public: &dyn SchemaProvider) -> Vec<String> {
    let rights = state.config().get_extension::<SessionRights>();
    let mut names = public.table_names();
    names.retain(|name| rights.as_ref().is_none_or(|rights| rights.may(Access::Read, &Object::table(name))));
    names
}

/// Returns the value that a filter demands of a column.
pub(crate) fn equal_to<'a>(filter: &'a Expr, column: &str) -> Option<&'a ScalarValue> {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = filter else { return None };
    let is_column = |expr: &Expr| match expr {
        Expr::Column(Column { name, .. }) => name == column,
        Expr::Cast(cast) => matches!(cast.expr.as_ref(), Expr::Column(Column { name, .. }) if name == column),
        _ => false,
    };
    match (left.as_ref(), right.as_ref()) {
        (one, Expr::Literal(value, _)) | (Expr::Literal(value, _), one) if is_column(one) => Some(value),
        _ => None,
    }
}

/// Returns the text that a value is.
pub(crate) fn text(value: &ScalarValue) -> Option<&str> {
    match value {
        ScalarValue::Utf8(text) | ScalarValue::Utf8View(text) | ScalarValue::LargeUtf8(text) => {
            text.as_deref()
        }
        _ => None,
    }
}
