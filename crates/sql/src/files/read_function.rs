//! `read_csv('file', delimiter => ';')`, `read_json` and `read_parquet`: files as tables, with what their names do not say.
//!
//! A function that makes a table cannot wait for a file, and files are found while others plan. So a call becomes a table whose name has the
//! call in it, before rights are checked: as any name of a file it needs the right to read files, and files answer to it.

use super::kind::FileKind;
use super::location::Location;
use crate::error::SqlError;
use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, Ident, ObjectName, TableAlias, TableFactor, UnaryOperator, Value,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Stands before a call that is the name of a table; no name that somebody writes begins with it.
const MARK: &str = "\u{e001}";

/// Files, and how they are read.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReadCall {
    kind: String,
    paths: Vec<String>,
    /// Options of the format, as `CREATE EXTERNAL TABLE` has them.
    pub(super) options: BTreeMap<String, String>,
    /// Every column is a text.
    pub(super) all_text: bool,
}

/// True for the name of a table that is such a call.
pub(super) fn is_meant(name: &str) -> bool {
    name.starts_with(MARK)
}

/// Makes a table of a call of one of the functions; none where it is another function.
pub(crate) fn read_function(
    name: &str,
    arguments: &[FunctionArg],
    factor: &TableFactor,
) -> Option<Result<TableFactor, String>> {
    let kind = match name {
        "read_csv" => FileKind::Csv,
        "read_json" => FileKind::Json,
        "read_parquet" => FileKind::Parquet,
        _ => return None,
    };
    Some(ReadCall::of(name, kind, arguments).and_then(|call| call.in_place_of(name, factor)))
}

impl ReadCall {
    fn of(function: &str, kind: FileKind, arguments: &[FunctionArg]) -> Result<Self, String> {
        let usage = || {
            format!(
                "{function} takes the path of a file, or a list of paths: {function}('data.{}')",
                kind.words()[0]
            )
        };
        let mut call = Self { kind: kind.words()[0].to_owned(), ..Self::default() };
        let (first, others) = arguments.split_first().ok_or_else(usage)?;
        let FunctionArg::Unnamed(FunctionArgExpr::Expr(first)) = first else { return Err(usage()) };
        call.paths = match first {
            Expr::Array(list) => list.elem.iter().map(text).collect::<Option<Vec<_>>>(),
            one => text(one).map(|path| vec![path]),
        }
        .filter(|paths| !paths.is_empty())
        .ok_or_else(usage)?;
        for argument in others {
            let (name, value) = named(argument).ok_or_else(|| {
                format!("{function}: behind the path stand options by their name, such as delimiter => ';'")
            })?;
            call.set(function, kind, &name, value)?;
        }
        Ok(call)
    }

    /// Takes an option, by the name that DuckDB has for it.
    fn set(&mut self, function: &str, kind: FileKind, name: &str, value: &Expr) -> Result<(), String> {
        let wrong = |what: &str| format!("{function}: {name} is {what}, not {value}");
        let letter = || {
            let text = text(value).map(|text| if text == "\\t" { "\t".to_owned() } else { text });
            text.filter(|text| text.len() == 1).ok_or_else(|| wrong("one ASCII letter in quotes"))
        };
        let flag = || flag(value).ok_or_else(|| wrong("true or false"));
        let (option, value) = match (kind, name) {
            (FileKind::Csv, "delimiter" | "delim" | "sep") => ("delimiter", letter()?),
            (FileKind::Csv, "quote" | "escape" | "comment") => (name, letter()?),
            (FileKind::Csv, "header") => ("has_header", flag()?.to_string()),
            (FileKind::Csv, "all_varchar") => {
                self.all_text = flag()?;
                return Ok(());
            }
            (FileKind::Csv | FileKind::Json, "sample_size") => {
                let rows = rows(value).ok_or_else(|| wrong("a number of rows from 1 on, or -1 for all"))?;
                ("schema_infer_max_rec", rows)
            }
            _ => {
                let known = match kind {
                    FileKind::Csv => {
                        "delimiter (delim, sep), header, quote, escape, comment, sample_size, all_varchar"
                    }
                    FileKind::Json => "sample_size",
                    FileKind::Parquet | FileKind::Arrow => "none",
                };
                return Err(format!("{function} has no option {name}; it has: {known}"));
            }
        };
        self.options.insert(format!("format.{option}"), value);
        Ok(())
    }

    fn in_place_of(&self, function: &str, factor: &TableFactor) -> Result<TableFactor, String> {
        let said = serde_json::to_string(self).map_err(|error| format!("{function}: {error}"))?;
        let name = ObjectName::from(vec![Ident::with_quote('"', format!("{MARK}{said}"))]);
        let plain =
            || TableAlias { explicit: true, name: Ident::new(function), columns: Vec::new(), at: None };
        let mut table = factor.clone();
        match &mut table {
            TableFactor::Table { name: place, args, alias, .. } => {
                (*place, *args) = (name, None);
                alias.get_or_insert_with(plain);
                Ok(table)
            }
            _ => Err(format!("{function} is written without TABLE(...): FROM {function}('file')")),
        }
    }

    /// The call that is the name of a table.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        serde_json::from_str(name.strip_prefix(MARK)?).ok()
    }

    pub(super) fn kind(&self) -> Option<FileKind> {
        FileKind::of_word(&self.kind)
    }

    pub(super) fn locations(&self) -> Result<Vec<Location>, SqlError> {
        self.paths.iter().map(|path| Location::parse(path)).collect()
    }
}

/// The name of an argument, in small letters, and its value: `name => value` or `name = value`.
fn named(argument: &FunctionArg) -> Option<(String, &Expr)> {
    match argument {
        FunctionArg::Named { name, arg: FunctionArgExpr::Expr(value), .. } => {
            Some((name.value.to_lowercase(), value))
        }
        FunctionArg::ExprNamed {
            name: Expr::Identifier(name), arg: FunctionArgExpr::Expr(value), ..
        } => Some((name.value.to_lowercase(), value)),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::BinaryOp { left, right, .. })) => {
            match left.as_ref() {
                Expr::Identifier(name) => Some((name.value.to_lowercase(), right)),
                _ => None,
            }
        }
        _ => None,
    }
}

fn value(expr: &Expr) -> Option<&Value> {
    match expr {
        Expr::Value(value) => Some(&value.value),
        _ => None,
    }
}

fn text(expr: &Expr) -> Option<String> {
    match value(expr)? {
        Value::SingleQuotedString(text) => Some(text.clone()),
        _ => None,
    }
}

fn flag(expr: &Expr) -> Option<bool> {
    match value(expr)? {
        Value::Boolean(flag) => Some(*flag),
        _ => None,
    }
}

/// A number of rows as the format has it.
fn rows(expr: &Expr) -> Option<String> {
    if let Expr::UnaryOp { op: UnaryOperator::Minus, expr } = expr {
        let is_one = matches!(value(expr), Some(Value::Number(number, _)) if number == "1");
        return is_one.then(|| u32::MAX.to_string());
    }
    match value(expr)? {
        Value::Number(number, _) => {
            number.parse::<u32>().ok().filter(|rows| *rows > 0).map(|rows| rows.to_string())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::ast::{SetExpr, Statement};
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    /// The call that a table of a query is.
    fn call(table: &str) -> Result<(ReadCall, String), String> {
        let parsed =
            Parser::parse_sql(&GenericDialect {}, &format!("SELECT * FROM {table}")).unwrap().remove(0);
        let Statement::Query(query) = parsed else { panic!() };
        let SetExpr::Select(mut select) = *query.body else { panic!() };
        let factor = select.from.remove(0).relation;
        let TableFactor::Table { name, args: Some(arguments), .. } = &factor else { panic!() };
        let TableFactor::Table { name, alias, .. } =
            read_function(&name.to_string(), &arguments.args, &factor).unwrap()?
        else {
            panic!()
        };
        let name = &name.0[0].as_ident().unwrap().value;
        assert!(is_meant(name) && !is_meant("a.csv"));
        Ok((ReadCall::of_name(name).unwrap(), alias.unwrap().name.value))
    }

    #[test]
    fn a_call_is_a_table_with_its_options() {
        let (csv, alias) =
            call("read_csv('a.txt', delim = '\\t', header => false, sample_size => -1)").unwrap();
        assert_eq!(
            (csv.kind(), csv.paths.as_slice(), &*alias),
            (Some(FileKind::Csv), &["a.txt".to_owned()][..], "read_csv")
        );
        let options = [
            ("format.delimiter", "\t"),
            ("format.has_header", "false"),
            ("format.schema_infer_max_rec", "4294967295"),
        ];
        assert_eq!(csv.options, options.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        let (json, alias) = call("read_json(['a', 'b']) AS j").unwrap();
        assert_eq!((json.locations().unwrap().len(), &*alias, json.all_text), (2, "j", false));
        assert!(call("read_csv('a', all_varchar = true)").unwrap().0.all_text);
    }

    #[test]
    fn mistakes_are_named() {
        for (table, said) in [
            ("read_csv()", "takes the path of a file"),
            ("read_csv(1)", "takes the path of a file"),
            ("read_csv('a', 'b')", "options by their name"),
            ("read_csv('a', delimiter => 'ab')", "delimiter is one ASCII letter in quotes, not 'ab'"),
            ("read_csv('a', header => 1)", "header is true or false, not 1"),
            (
                "read_csv('a', skip => 1)",
                "read_csv has no option skip; it has: delimiter (delim, sep), header",
            ),
            ("read_parquet('a', header => true)", "has no option header; it has: none"),
            ("read_json('a', sample_size => 0)", "a number of rows from 1 on"),
        ] {
            let told = call(table).unwrap_err();
            assert!(told.contains(said), "{table}: {told}");
        }
    }
}
