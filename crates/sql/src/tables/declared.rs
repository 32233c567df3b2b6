//! What `CREATE TABLE` declares and the planner does not know: lengths of texts, and columns that
//! number their rows.
//!
//! It is taken out of the statement before that is planned: `VARCHAR(50)` is planned as `VARCHAR`,
//! `SERIAL` as `INTEGER NOT NULL`.

use crate::names::Names;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    CharacterLength, ColumnDef, ColumnOption, ColumnOptionDef, CreateTable, DataType,
    Statement as SqlStatement, TableConstraint,
};

/// The declarations of a table that the planner does not know.
#[derive(Debug, Default)]
pub(crate) struct Declared {
    /// The longest texts of columns, in letters.
    pub(super) lengths: Vec<(String, usize)>,
    /// Columns that get the next number where a row has no value for them.
    pub(super) serials: Vec<String>,
    /// Tells of each column that is declared whether it holds no NULL.
    pub(super) not_null: Vec<bool>,
    /// The statement as it was written, without its query; none where only a query gives columns.
    pub(super) definition: Option<String>,
}

impl Declared {
    /// Takes out of a statement what only tables of ours carry out.
    pub(crate) fn take(statement: &mut Statement, names: Names) -> Self {
        let mut declared = Self::default();
        if let Statement::Statement(inner) = statement
            && let SqlStatement::CreateTable(table) = inner.as_mut()
        {
            if !table.columns.is_empty() {
                let mut empty = table.clone();
                (empty.query, empty.if_not_exists, empty.or_replace) = (None, false, false);
                declared.definition = Some(empty.to_string());
            }
            keys_are_not_null(table, names);
            table.columns.iter_mut().for_each(|column| declared.column(column, names));
            declared.not_null = table.columns.iter().map(is_not_null).collect();
        }
        declared
    }

    fn column(&mut self, column: &mut ColumnDef, names: Names) {
        let name = names.read(&column.name);
        if let Some(whole) = serial(&column.data_type) {
            column.data_type = whole;
            add_not_null(column);
            self.serials.push(name);
            return;
        }
        let length = match &column.data_type {
            DataType::Varchar(Some(length))
            | DataType::CharacterVarying(Some(length))
            | DataType::CharVarying(Some(length)) => length,
            _ => return,
        };
        if let CharacterLength::IntegerLength { length, unit: None } = length {
            self.lengths.push((name, usize::try_from(*length).unwrap_or(usize::MAX)));
            column.data_type = DataType::Varchar(None);
        }
    }
}

/// The whole numbers that a type counts with.
fn serial(data_type: &DataType) -> Option<DataType> {
    let DataType::Custom(name, modifiers) = data_type else { return None };
    match name.to_string().to_ascii_lowercase().as_str() {
        _ if !modifiers.is_empty() => None,
        "serial" | "serial4" => Some(DataType::Integer(None)),
        "bigserial" | "serial8" => Some(DataType::BigInt(None)),
        "smallserial" | "serial2" => Some(DataType::SmallInt(None)),
        _ => None,
    }
}

/// Columns of a primary key hold no NULL, whether that is said of them or not.
fn keys_are_not_null(table: &mut CreateTable, names: Names) {
    let mut of_key: Vec<String> = Vec::new();
    for constraint in &table.constraints {
        if let TableConstraint::PrimaryKey(key) = constraint {
            let columns = key.columns.iter().map(|column| column.column.expr.to_string());
            of_key.extend(columns.map(|column| column.trim_matches('"').to_owned()));
        }
    }
    for column in &mut table.columns {
        let is_key = column.options.iter().any(|option| matches!(option.option, ColumnOption::PrimaryKey(_)));
        let name = names.read(&column.name);
        if is_key || of_key.iter().any(|key| *key == name || key.eq_ignore_ascii_case(&column.name.value)) {
            add_not_null(column);
        }
    }
}

fn is_not_null(column: &ColumnDef) -> bool {
    column.options.iter().any(|option| matches!(option.option, ColumnOption::NotNull))
}

fn add_not_null(column: &mut ColumnDef) {
    if !is_not_null(column) {
        column.options.push(ColumnOptionDef { name: None, option: ColumnOption::NotNull });
    }
}
