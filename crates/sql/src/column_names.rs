//! Names for columns that have none, as a reader of SQL knows them.
//!
//! The engine calls such a column by its whole expression, `sum(t.x)` or `Int64(1)`, and programs of the library are used to that. What
//! people and drivers are shown is changed, and only where the engine made a name: `sum(x)` and `1` in the shell, `sum` and `?column?` for
//! clients of PostgreSQL. Two columns may have one name here.

use crate::dialect;
use crate::text::check_depth;
use crate::walk::change_item;
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::sql::parser::Statement as Parsed;
use datafusion::sql::sqlparser::ast::{
    DataType, Expr, ObjectName, Query, SelectItem, SetExpr, Statement, TimezoneInfo, TypedString, Value,
    VisitorMut,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Longer texts keep the engine's names.
const MOST_BYTES: usize = 32 << 10;

/// Deeper texts do too; parsing and dropping them takes stack.
const MOST_DEPTH: usize = 250;

/// A way to name the columns of a query that have no name of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnNaming {
    /// The expression as it was written, without the names of tables: `avg(price)`, `1`.
    Expression,
    /// The name that PostgreSQL gives it: `avg`, `?column?`.
    Postgres,
}

const UNKNOWN: &str = "?column?";

/// Returns true when a column has a name that a user hardly gave it.
pub fn has_made_names(columns: &Schema) -> bool {
    columns.fields().iter().any(|field| is_made(field.name()))
}

fn is_made(name: &str) -> bool {
    !name.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
}

/// Returns the columns of a statement with names for those that have none; unchanged where the statement cannot be understood.
///
/// ```
/// use arrow::datatypes::{DataType, Field, Schema};
/// use filbert_sql::{ColumnNaming, shown_columns};
/// let columns = Schema::new(vec![Field::new("avg(t.price)", DataType::Float64, true)]).into();
/// let shown = shown_columns("SELECT avg(price) FROM t", &columns, ColumnNaming::Expression);
/// assert_eq!(shown.field(0).name(), "avg(price)");
/// ```
pub fn shown_columns(text: &str, columns: &SchemaRef, naming: ColumnNaming) -> SchemaRef {
    if !has_made_names(columns) {
        return Arc::clone(columns);
    }
    let Some(names) = names(text, columns.fields().len(), naming) else { return Arc::clone(columns) };
    let fields = columns.fields().iter().zip(names).map(|(field, name)| match name {
        Some(name) if is_made(field.name()) => Arc::new(field.as_ref().clone().with_name(name)),
        _ => Arc::clone(field),
    });
    Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), columns.metadata().clone()))
}

/// The names of so many columns; nothing where the engine's are right.
fn names(text: &str, count: usize, naming: ColumnNaming) -> Option<Vec<Option<String>>> {
    if text.len() > MOST_BYTES || check_depth(text, MOST_DEPTH).is_err() {
        return None;
    }
    let Statement::Query(query) = statement(text, naming)? else { return None };
    let items = projection(&query)?;
    let is_star =
        |item: &SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
    let named = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(Expr::Identifier(_)) => None,
        SelectItem::UnnamedExpr(expr) => Some(match naming {
            ColumnNaming::Expression => written(item),
            ColumnNaming::Postgres => postgres_name(expr),
        }),
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

/// Reads a text that is one statement.
fn statement(text: &str, naming: ColumnNaming) -> Option<Statement> {
    match naming {
        ColumnNaming::Expression => {
            let mut parsed = dialect::parse(text).ok()?;
            match (parsed.pop_front(), parsed.is_empty()) {
                (Some(Parsed::Statement(statement)), true) => Some(*statement),
                _ => None,
            }
        }
        ColumnNaming::Postgres => {
            let mut parsed = Parser::parse_sql(&PostgreSqlDialect {}, text).ok()?;
            parsed.pop().filter(|_| parsed.is_empty())
        }
    }
}

/// Writes an item of a select list without the names of tables.
fn written(item: &SelectItem) -> String {
    struct Bare;

    impl VisitorMut for Bare {
        type Break = ();

        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            if let Expr::CompoundIdentifier(parts) = expr
                && let Some(last) = parts.pop()
            {
                *expr = Expr::Identifier(last);
            }
            ControlFlow::Continue(())
        }
    }

    let mut item = item.clone();
    let _ = change_item(&mut item, &mut Bare);
    item.to_string()
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

/// Returns the name that PostgreSQL gives to a column without one.
pub fn postgres_name(expr: &Expr) -> String {
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
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => return postgres_name(inner),
        Expr::Cast { expr: inner, data_type, .. } => return or_type(postgres_name(inner), data_type),
        Expr::TypedString(TypedString { data_type, .. }) => return type_name(data_type),
        Expr::Subquery(query) => match projection(query) {
            Some([SelectItem::UnnamedExpr(expr)]) => return postgres_name(expr),
            Some([SelectItem::ExprWithAlias { alias, .. }]) => return alias.value.clone(),
            _ => UNKNOWN,
        },
        Expr::Case { else_result: Some(other), .. } => match postgres_name(other) {
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
    use arrow::datatypes::{DataType as ArrowType, Field};

    fn shown(text: &str, engine: &[&str]) -> Vec<String> {
        shown_as(ColumnNaming::Postgres, text, engine)
    }

    fn shown_as(naming: ColumnNaming, text: &str, engine: &[&str]) -> Vec<String> {
        let fields: Vec<Field> =
            engine.iter().map(|name| Field::new(*name, ArrowType::Int64, true)).collect();
        let columns: SchemaRef = Arc::new(Schema::new(fields));
        shown_columns(text, &columns, naming).fields().iter().map(|field| field.name().clone()).collect()
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
    #[test]
    fn people_see_what_they_wrote_without_the_names_of_tables() {
        let shown = |text, engine: &[&str]| shown_as(ColumnNaming::Expression, text, engine);
        let text = "SELECT 1, avg(o.price), Count(*), string_agg(g, ',' ORDER BY o.id DESC), o.id, 0.1 + 0.2, max(p) AS \"a b\" \
                    FROM 'orders.parquet' o";
        let engine = [
            "Int64(1)",
            "avg(orders.parquet.price)",
            "count(*)",
            "string_agg(orders.parquet.g,Utf8(\",\")) ORDER BY [o.id DESC NULLS FIRST]",
            "id",
            "Float64(0.1) + Float64(0.2)",
            "a b",
        ];
        let names =
            ["1", "avg(price)", "Count(*)", "string_agg(g, ',' ORDER BY id DESC)", "id", "0.1 + 0.2", "a b"];
        assert_eq!(shown(text, &engine), names);
        assert_eq!(shown("SELECT *, 1 FROM t", &["a b", "Int64(1)"]), ["a b", "1"]);
        assert_eq!(shown("EXPLAIN SELECT 1", &["plan type"]), ["plan type"]);
        let deep = format!("SELECT {}1{}", "(".repeat(300), ")".repeat(300));
        assert_eq!(shown(&deep, &["Int64(1)"]), ["Int64(1)"]);
    }
}
