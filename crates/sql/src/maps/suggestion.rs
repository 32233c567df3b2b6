//! The statement that makes the map which an `INSERT` names and which is not there.

use crate::error::SqlError;
use crate::names::Names;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Expr, Insert, ObjectName, SetExpr, Statement as SqlStatement, TableObject, UnaryOperator, Value,
};

/// The word for the key of a map, and the one for its value, as columns.
const PLAIN: [&str; 2] = ["__key", "this"];

/// A mapping that fits an `INSERT`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Suggestion {
    table: String,
    statement: String,
}

impl Suggestion {
    /// Returns the mapping for an `INSERT` into a table that may be missing; none for other statements.
    pub(crate) fn of(statement: &Statement, names: Names) -> Option<Self> {
        let Statement::Statement(inner) = statement else { return None };
        let SqlStatement::Insert(insert) = inner.as_ref() else { return None };
        let TableObject::TableName(ObjectName(parts)) = &insert.table else { return None };
        let table = names.read(parts.last()?.as_ident()?);
        // A name with an ending is that of a file.
        if table.contains('.') {
            return None;
        }
        let listed: Option<Vec<String>> =
            insert.columns.iter().map(|column| Some(names.read(column.0.last()?.as_ident()?))).collect();
        let statement = mapping(&table, &listed?, &types(insert));
        Some(Self { table, statement })
    }

    /// Puts the mapping into the error that says that its table is missing.
    pub(crate) fn added_to(self, error: SqlError) -> SqlError {
        match error {
            SqlError::NoTable { name, hint, place } if name == self.table => {
                // A name that is nearly the one of another table may be misspelled.
                let hint = match hint.starts_with("is it") {
                    true => format!("{hint} For a new map, first: {}", self.statement),
                    false => format!("to insert into a new map, first: {}", self.statement),
                };
                SqlError::NoTable { name, hint, place }
            }
            other => other,
        }
    }
}

/// The types of the first row, where it has constants.
fn types(insert: &Insert) -> Vec<&'static str> {
    let body = insert.source.as_ref().map(|query| query.body.as_ref());
    match body {
        Some(SetExpr::Values(values)) => {
            values.rows.first().map(|row| row.content.iter().map(type_of).collect()).unwrap_or_default()
        }
        _ => Vec::new(),
    }
}

fn type_of(value: &Expr) -> &'static str {
    match value {
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => type_of(expr),
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) if digits.contains(['.', 'e', 'E']) => "DOUBLE",
            Value::Number(..) => "BIGINT",
            Value::Boolean(_) => "BOOLEAN",
            _ => "VARCHAR",
        },
        _ => "VARCHAR",
    }
}

fn mapping(table: &str, listed: &[String], types: &[&'static str]) -> String {
    let count = listed.len().max(types.len());
    let type_at = |at: usize| types.get(at).copied().unwrap_or(if at == 0 { "BIGINT" } else { "VARCHAR" });
    let is_plain = match listed {
        [] => count <= PLAIN.len(),
        listed => listed.iter().all(|name| PLAIN.contains(&name.as_str())),
    };
    let key_at = listed.iter().position(|name| name == PLAIN[0]).unwrap_or(0);
    let key_format = type_at(key_at).to_lowercase();
    if is_plain {
        let value_at = if key_at == 0 { 1 } else { 0 };
        let value_format = type_at(value_at).to_lowercase();
        return format!(
            "CREATE MAPPING {} TYPE IMap OPTIONS ('keyFormat' = '{key_format}', 'valueFormat' = '{value_format}')",
            written(table)
        );
    }
    let column = |at: usize| {
        let kind = type_at(at);
        match (listed.get(at), at == key_at) {
            (Some(name), true) if name != PLAIN[0] => {
                format!("{} {kind} EXTERNAL NAME \"__key\"", written(name))
            }
            (_, true) => format!("__key {kind}"),
            (Some(name), false) => format!("{} {kind}", written(name)),
            (None, false) => format!("column{} {kind}", at + 1),
        }
    };
    let columns: Vec<String> = (0..count).map(column).collect();
    format!(
        "CREATE MAPPING {} ({}) TYPE IMap OPTIONS ('keyFormat' = '{key_format}', 'valueFormat' = 'json-flat')",
        written(table),
        columns.join(", ")
    )
}

/// Writes a name so that every session reads the same.
fn written(name: &str) -> String {
    let is_plain = name.starts_with(|first: char| first.is_ascii_lowercase() || first == '_')
        && name.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_');
    if is_plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::parser::DFParserBuilder;

    fn suggested(text: &str) -> Option<String> {
        let statement = DFParserBuilder::new(text).build().unwrap().parse_statement().unwrap();
        Suggestion::of(&statement, Names::LowerCase).map(|suggestion| suggestion.statement)
    }

    #[test]
    fn a_mapping_has_the_columns_and_types_of_the_insert() {
        for (text, says) in [
            (
                "INSERT INTO fresh VALUES (1, 2.5)",
                "CREATE MAPPING fresh TYPE IMap OPTIONS ('keyFormat' = 'bigint', 'valueFormat' = 'double')",
            ),
            (
                "INSERT INTO \"Fresh\" (this, __key) VALUES ('a', -1)",
                "CREATE MAPPING \"Fresh\" TYPE IMap OPTIONS ('keyFormat' = 'bigint', 'valueFormat' = 'varchar')",
            ),
            (
                "INSERT INTO people (id, name) SELECT 1, 'Ann'",
                "CREATE MAPPING people (id BIGINT EXTERNAL NAME \"__key\", name VARCHAR) TYPE IMap \
                 OPTIONS ('keyFormat' = 'bigint', 'valueFormat' = 'json-flat')",
            ),
            (
                "INSERT INTO people VALUES ('x', 1, true)",
                "CREATE MAPPING people (__key VARCHAR, column2 BIGINT, column3 BOOLEAN) TYPE IMap \
                 OPTIONS ('keyFormat' = 'varchar', 'valueFormat' = 'json-flat')",
            ),
        ] {
            assert_eq!(suggested(text).as_deref(), Some(says), "{text}");
        }
        assert_eq!(suggested("INSERT INTO 'people.csv' VALUES (1)"), None);
        assert_eq!(suggested("SELECT 1"), None);
    }
}
