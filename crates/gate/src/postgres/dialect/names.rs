//! What columns are called that have no name: `count` for `count(*)`, `?column?` for `1 + 1`, as PostgreSQL says.
//!
//! The engine calls them by their whole expression, `sum(t.x)` or `Int64(1)`, and programs of the library are used to that. So only what
//! clients of this door are told is changed, and only where a name was made. Two columns may have one name here, as there.

use super::{MOST_BYTES, MOST_DEPTH};
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::sql::sqlparser::ast::{
    DataType, Expr, ObjectName, Query, SelectItem, SetExpr, Statement, TimezoneInfo, TypedString, Value,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use std::sync::Arc;

const UNKNOWN: &str = "?column?";

/// True when a column has a name that a user hardly gave it.
pub(in crate::postgres) fn has_made_names(columns: &Schema) -> bool {
    columns.fields().iter().any(|field| is_made(field.name()))
}

fn is_made(name: &str) -> bool {
    !name.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
}

/// The columns of a statement, with the names that PostgreSQL would give them; as they are where that is not known.
pub(in crate::postgres) fn shown_columns(text: &str, columns: &SchemaRef) -> SchemaRef {
    let Some(names) = names(text, columns.fields().len()) else { return Arc::clone(columns) };
    let fields = columns.fields().iter().zip(names).map(|(field, name)| match name {
        Some(name) if is_made(field.name()) => Arc::new(field.as_ref().clone().with_name(name)),
        _ => Arc::clone(field),
    });
    Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), columns.metadata().clone()))
}

/// The names of so many columns; nothing where the engine's are right.
fn names(text: &str, count: usize) -> Option<Vec<Option<String>>> {
    if text.len() > MOST_BYTES || filbert_sql::check_depth(text, MOST_DEPTH).is_err() {
        return None;
    }
    let mut statements = Parser::parse_sql(&PostgreSqlDialect {}, text).ok()?;
    let (Some(Statement::Query(query)), true) = (statements.pop(), statements.is_empty()) else {
        return None;
    };
    let items = projection(&query)?;
    let is_star =
        |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
    let named = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(Expr::Identifier(_)) => None,
        SelectItem::UnnamedExpr(expr) => Some(name_of(expr)),
        _ => None,
    };
    // How many columns a star has, only the engine knows: those before the first are counted from the left, those behind the last from
    // the right.
    let before = items.iter().take_while(|item| !is_star(item)).count();
    let behind = items.iter().rev().take_while(|item| !is_star(item)).count();
    let mut names = vec![None; count];
    if before == items.len() {
        return (before == count).then(|| items.iter().map(named).collect());
    }
    if before + behind > count {
        return None;
    }
    names.iter_mut().zip(&items[..before]).for_each(|(name, item)| *name = named(item));
    names.iter_mut().rev().zip(items.iter().rev().take(behind)).for_each(|(name, item)| *name = named(item));
    Some(names)
}

/// What the columns of a query are: those of the first of several that are put together.
fn projection(query: &Query) -> Option<&[SelectItem]> {
    let mut body = query.body.as_ref();
    loop {
        body = match body {
            SetExpr::Select(select) => return Some(&select.projection),
            SetExpr::Query(inner) => inner.body.as_ref(),
            SetExpr::SetOperation { left, .. } => left.as_ref(),
            _ => return None,
        };
    }
}

/// What PostgreSQL calls a column that has no name.
pub(super) fn name_of(expr: &Expr) -> String {
    let or_type = |name: String, data_type: &DataType| match name.as_str() {
        UNKNOWN => type_name(data_type),
        _ => name,
    };
    let word = match expr {
        Expr::Identifier(name) => return name.value.clone(),
        Expr::CompoundIdentifier(parts) => {
            return parts.last().map_or_else(|| UNKNOWN.to_owned(), |name| name.value.clone());
        }
        Expr::Function(function) => return last(&function.name),
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => return name_of(inner),
        Expr::Cast { expr: inner, data_type, .. } => return or_type(name_of(inner), data_type),
        Expr::TypedString(TypedString { data_type, .. }) => return type_name(data_type),
        Expr::Subquery(query) => match projection(query) {
            Some([SelectItem::UnnamedExpr(expr)]) => return name_of(expr),
            Some([SelectItem::ExprWithAlias { alias, .. }]) => return alias.value.clone(),
            _ => UNKNOWN,
        },
        Expr::Case { else_result: Some(other), .. } => match name_of(other) {
            name if name == UNKNOWN => "case",
            name if matches!(other.as_ref(), Expr::Identifier(_) | Expr::CompoundIdentifier(_)) => {
                return name;
            }
            _ => "case",
        },
        Expr::Case { .. } => "case",
        Expr::Exists { .. } => "exists",
        Expr::Extract { .. } => "extract",
        Expr::Substring { .. } => "substring",
        Expr::Trim { .. } => "btrim",
        Expr::Position { .. } => "position",
        Expr::Overlay { .. } => "overlay",
        Expr::Ceil { .. } => "ceil",
        Expr::Floor { .. } => "floor",
        Expr::AtTimeZone { .. } => "timezone",
        Expr::Interval(_) => "interval",
        Expr::Array(_) => "array",
        Expr::Value(value) if matches!(value.value, Value::Boolean(_)) => "bool",
        _ => UNKNOWN,
    };
    word.to_owned()
}

fn last(name: &ObjectName) -> String {
    let ident = name.0.last().and_then(|part| part.as_ident());
    ident.map_or_else(|| UNKNOWN.to_owned(), |ident| ident.value.to_lowercase())
}

/// The short names of types that PostgreSQL has itself.
fn type_name(data_type: &DataType) -> String {
    let name = match data_type {
        DataType::Custom(name, _) => return last(name),
        DataType::SmallInt(_) | DataType::Int2(_) => "int2",
        DataType::Int(_) | DataType::Integer(_) | DataType::Int4(_) => "int4",
        DataType::BigInt(_) | DataType::Int8(_) => "int8",
        DataType::Real | DataType::Float4 => "float4",
        DataType::Double(_) | DataType::DoublePrecision | DataType::Float8 | DataType::Float(_) => "float8",
        DataType::Decimal(_) | DataType::Numeric(_) | DataType::Dec(_) => "numeric",
        DataType::Boolean | DataType::Bool => "bool",
        DataType::Varchar(_) | DataType::CharacterVarying(_) => "varchar",
        DataType::Char(_) | DataType::Character(_) => "bpchar",
        DataType::Timestamp(_, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => "timestamptz",
        DataType::Timestamp(..) => "timestamp",
        DataType::Time(..) => "time",
        other => return other.to_string().to_lowercase(),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::datatypes::{DataType as ArrowType, Field};

    fn shown(text: &str, engine: &[&str]) -> Vec<String> {
        let fields: Vec<Field> =
            engine.iter().map(|name| Field::new(*name, ArrowType::Int64, true)).collect();
        let columns: SchemaRef = Arc::new(Schema::new(fields));
        shown_columns(text, &columns).fields().iter().map(|field| field.name().clone()).collect()
    }

    #[test]
    fn columns_without_a_name_have_postgresqls() {
        let text =
            "SELECT sum(x), max(t.y) AS most, 1, 'a', x + 1, x::text, CAST(1 AS int), a.b, count(*) FROM t";
        let engine = [
            "sum(t.x)",
            "most",
            "Int64(1)",
            "Utf8(\"a\")",
            "t.x + Int64(1)",
            "t.x",
            "Int64(1)",
            "b",
            "count(*)",
        ];
        let names = ["sum", "most", "?column?", "?column?", "?column?", "x", "int4", "b", "count"];
        assert_eq!(shown(text, &engine), names);
        assert_eq!(shown("SELECT sum(a), sum(b) FROM t", &["sum(t.a)", "sum(t.b)"]), ["sum", "sum"]);
        assert_eq!(
            shown(
                "SELECT DATE '2026-03-31', (SELECT max(x) FROM t), CASE WHEN a THEN 1 END",
                &["a()", "b()", "c()"]
            ),
            ["date", "max", "case"]
        );
    }

    #[test]
    fn stars_stay_and_what_is_not_understood_does_too() {
        let engine = ["Int64(1)", "a b", "c", "count(*)"];
        assert_eq!(shown("SELECT 1, *, count(*) FROM t", &engine), ["?column?", "a b", "c", "count"]);
        assert_eq!(shown("(SELECT 1 UNION SELECT 2) ORDER BY 1", &["Int64(1)"]), ["?column?"]);
        assert_eq!(shown("SELECT 1, 2", &["Int64(1)"]), ["Int64(1)"]);
        assert_eq!(shown("EXPLAIN SELECT 1", &["plan type"]), ["plan type"]);
        assert_eq!(shown("no sql", &["Int64(1)"]), ["Int64(1)"]);
    }
}
