//! What DataFusion says, for people: what is wrong and what may have been meant, without the names of the layers that it passed through.
//!
//! Its errors keep their kind, which doors make codes of; only their words change. Threads: whoever shows an error.

use crate::error::SqlError;
use crate::files::FileKind;
use crate::rights::{Access, Object, TableRights};
use arrow::error::ArrowError;
use datafusion::common::{Column, SchemaError};
use datafusion::error::DataFusionError;
use datafusion::execution::SessionState;
use datafusion::sql::sqlparser::parser::ParserError;
use filbert_pool::settings_fields::nearest;

/// Names of columns that are listed; a reader looks at no more.
const MOST_LISTED: usize = 20;

/// Functions that are known with `OVER` only.
const WINDOW_FUNCTIONS: [&str; 8] =
    ["row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead"];

/// What went wrong.
pub(crate) fn plainly(error: &DataFusionError) -> String {
    match error.find_root() {
        DataFusionError::SQL(cause, _) => syntax(cause),
        DataFusionError::SchemaError(cause, _) => column(cause),
        DataFusionError::Plan(text) => planning(text),
        DataFusionError::Execution(text) | DataFusionError::Configuration(text) => without_layers(text),
        DataFusionError::NotImplemented(text) => format!("not supported: {}", without_layers(text)),
        DataFusionError::ArrowError(cause, _) => match cause.as_ref() {
            ArrowError::CastError(text) | ArrowError::ParseError(text) | ArrowError::ComputeError(text) => {
                without_layers(text)
            }
            other => other.to_string(),
        },
        _ => error.strip_backtrace(),
    }
}

/// Errors are put into the text of others, with the word for their kind.
fn without_layers(text: &str) -> String {
    const LAYERS: [&str; 6] = [
        "Error during planning: ",
        "Schema error: ",
        "Execution error: ",
        "External error: ",
        "Arrow error: ",
        "This feature is not implemented: ",
    ];
    let text = text.split(DataFusionError::BACK_TRACE_SEP).next().unwrap_or(text);
    LAYERS.iter().fold(text.to_owned(), |text, layer| text.replace(layer, ""))
}

/// The parser names the place in words; whoever shows the text points at it, and this is for those who cannot.
fn syntax(error: &ParserError) -> String {
    let said = match error {
        ParserError::TokenizerError(said) | ParserError::ParserError(said) => said,
        ParserError::RecursionLimitExceeded => "it is nested too deep",
    };
    let (said, place) = match said.rsplit_once(" at Line: ") {
        Some((said, place)) => (said, format!(" at line {}", place.replace(", Column: ", ", column "))),
        None => (said, String::new()),
    };
    let said = match said.strip_prefix("Expected: ") {
        Some(rest) => format!("expected {}", rest.replacen(", found: ", ", found ", 1)),
        None => said.to_owned(),
    };
    format!("syntax error{place}: {said}")
}

fn column(error: &SchemaError) -> String {
    match error {
        SchemaError::FieldNotFound { field, valid_fields } => no_column(field, valid_fields),
        SchemaError::AmbiguousReference { field } if field.relation.is_none() => {
            format!(
                "column {:?} is in more than one table; write its table before it, as in t.{}",
                field.name, field.name
            )
        }
        other => other.to_string(),
    }
}

fn no_column(field: &Column, known: &[Column]) -> String {
    // Those of the table that was named, where there is one of that name.
    let of_table: Vec<&Column> = known.iter().filter(|one| one.relation == field.relation).collect();
    let known: Vec<&Column> =
        if field.relation.is_some() && !of_table.is_empty() { of_table } else { known.iter().collect() };
    let written = field.flat_name();
    let same = known.iter().find(|one| one.name.eq_ignore_ascii_case(&field.name) && one.name != field.name);
    let meant = match same {
        Some(same) => format!("; is it {:?}? Quotes keep upper case", same.name),
        None => nearest(&field.name, known.iter().map(|one| one.name.as_str()))
            .map(|near| format!("; is it {near:?}?"))
            .unwrap_or_default(),
    };
    let mut names: Vec<&str> = known.iter().map(|one| one.name.as_str()).collect();
    names.dedup();
    let more = if names.len() > MOST_LISTED { ", ..." } else { "" };
    names.truncate(MOST_LISTED);
    let listed =
        if names.is_empty() { String::new() } else { format!("\nThere are: {}{more}", names.join(", ")) };
    format!("there is no column {written:?}{meant}{listed}")
}

fn planning(text: &str) -> String {
    let text = without_layers(text);
    let Some(rest) = text.strip_prefix("Invalid function '") else { return text };
    let Some((name, rest)) = rest.split_once('\'') else { return text };
    if WINDOW_FUNCTIONS.contains(&name) {
        return format!("{name:?} is a window function; write {name}(...) OVER (ORDER BY ...)");
    }
    let suggested = rest.split('\'').nth(1).and_then(|near| nearest(name, std::iter::once(near)));
    let meant = suggested.map(|near| format!("; is it {near:?}?")).unwrap_or_default();
    format!("there is no function {name:?}{meant}")
}

/// An error of the planner; a table that is not there is told with what may have been meant, of those that the user may read.
pub(crate) fn of_planner(error: DataFusionError, state: &SessionState, rights: &dyn TableRights) -> SqlError {
    let name = match error.find_root() {
        DataFusionError::Plan(text) => {
            let name = text.strip_prefix("table '").and_then(|rest| rest.split_once("' not found"));
            name.map(|(name, _)| name.to_owned())
        }
        _ => None,
    };
    let Some(name) = name else { return error.into() };
    let plain = ["filbert.public.", "filbert."].iter().find_map(|schema| name.strip_prefix(schema));
    let plain = plain.unwrap_or(&name).to_owned();
    let hint = hint(&plain, state, rights);
    SqlError::NoTable { name: plain, hint, place: crate::error::location(&error) }
}

fn hint(name: &str, state: &SessionState, rights: &dyn TableRights) -> String {
    if let Some((_, ending)) = name.rsplit_once('.')
        && FileKind::of_word(ending).is_some()
    {
        return format!("the name of a file stands in quotes: FROM '{name}'");
    }
    let tables = state.schema_for_ref("any").map(|schema| schema.table_names()).unwrap_or_default();
    let may_read = |table: &&str| rights.check(Access::Read, &Object::table(table)).is_ok();
    let same = tables
        .iter()
        .map(String::as_str)
        .filter(may_read)
        .find(|table| *table != name && table.eq_ignore_ascii_case(name));
    if let Some(same) = same {
        return format!("is it {same:?}? Quotes keep upper case");
    }
    match nearest(name, tables.iter().map(String::as_str).filter(may_read)) {
        Some(near) => format!("is it {near:?}?"),
        None => "SHOW TABLES lists what there is".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::common::{plan_err, schema_err};

    #[test]
    fn errors_say_what_is_wrong_without_the_names_of_layers() {
        let says = |error: DataFusionError| plainly(&error.context("type_coercion"));
        let known = ["people.name", "people.age", "people.City"].map(Column::from_qualified_name_ignore_case);
        let no_column = |name: &str| {
            let field = Box::new(Column::from_name(name));
            let error: datafusion::common::Result<()> =
                schema_err!(SchemaError::FieldNotFound { field, valid_fields: known.to_vec() });
            says(error.unwrap_err())
        };
        assert_eq!(
            no_column("nname"),
            "there is no column \"nname\"; is it \"name\"?\nThere are: name, age, City"
        );
        assert!(no_column("city").contains("is it \"City\"? Quotes keep upper case"));
        assert!(no_column("weight").starts_with("there is no column \"weight\"\n"));
        let planned = |text: &str| -> String {
            let error: datafusion::common::Result<()> = plan_err!("{}", text);
            says(error.unwrap_err())
        };
        assert_eq!(
            planned("Invalid function 'summ'.\nDid you mean 'sum'?"),
            "there is no function \"summ\"; is it \"sum\"?"
        );
        assert_eq!(
            planned("Invalid function 'frobnicate'.\nDid you mean 'covar'?"),
            "there is no function \"frobnicate\""
        );
        assert_eq!(planned("Cannot coerce Int64 + Utf8"), "Cannot coerce Int64 + Utf8");
        let parsed = |text: &str| {
            says(DataFusionError::SQL(Box::new(ParserError::ParserError(text.to_owned())), None))
        };
        assert_eq!(
            parsed("Expected: end of statement, found: x at Line: 1, Column: 8"),
            "syntax error at line 1, column 8: expected end of statement, found x"
        );
    }
}
