//! What DataFusion says, for people: what is wrong and what may have been meant, without the names of the layers that it passed through.
//!
//! Its errors keep their kind, which doors make codes of; only their words change. Threads: whoever shows an error.

use crate::engine_words::engine_words;
use crate::error::SqlError;
use crate::files::{FileKind, file_endings};
use crate::rights::{Access, Object, TableRights};
use arrow::error::ArrowError;
use datafusion::common::{Column, SchemaError};
use datafusion::error::DataFusionError;
use datafusion::execution::SessionState;
use datafusion::sql::sqlparser::parser::ParserError;
use filbert_pool::settings_fields::nearest;
use std::path::Path;

/// Letters of a message; the engine shows whole values in some, however long.
const MOST_LETTERS: usize = 4_000;

/// Names of columns that are listed; a reader looks at no more.
const MOST_LISTED: usize = 20;

/// Functions that are known with `OVER` only.
const WINDOW_FUNCTIONS: [&str; 8] =
    ["row_number", "rank", "dense_rank", "percent_rank", "cume_dist", "ntile", "lag", "lead"];

/// What the planner says of two columns to which it gives one name.
const EQUAL_NAMES: &str = "Projections require unique expression names but the expression \"";

/// True when a statement failed since the planner gives two columns one name.
pub(crate) fn has_equal_names(error: &DataFusionError) -> bool {
    matches!(error.find_root(), DataFusionError::Plan(text) if without_layers(text).starts_with(EQUAL_NAMES))
}

/// What went wrong.
pub(crate) fn plainly(error: &DataFusionError) -> String {
    in_words_of_sql(&said(error))
}

fn said(error: &DataFusionError) -> String {
    match error.find_root() {
        DataFusionError::SQL(cause, _) => syntax(cause),
        DataFusionError::SchemaError(cause, _) => column(cause),
        DataFusionError::Plan(text) => planning(text),
        DataFusionError::Execution(text) | DataFusionError::Configuration(text) => {
            let text = without_layers(text);
            shape(&text).unwrap_or(text)
        }
        DataFusionError::NotImplemented(text) => not_supported(without_layers(text)),
        DataFusionError::Internal(text) => planning(text),
        DataFusionError::ArrowError(cause, _) => match cause.as_ref() {
            ArrowError::ComputeError(text) if text.contains(OVERFLOW) => {
                out_of_range(text.split_once(OVERFLOW).map_or(text, |(_, call)| call))
            }
            ArrowError::CastError(text) | ArrowError::ParseError(text) | ArrowError::ComputeError(text) => {
                without_layers(text)
            }
            ArrowError::InvalidArgumentError(text) if text.contains(NOT_NULL) => {
                "a column that is NOT NULL was to be NULL".to_owned()
            }
            ArrowError::ArithmeticOverflow(text) => {
                out_of_range(text.strip_prefix("Overflow happened on: ").unwrap_or(text))
            }
            other => other.to_string(),
        },
        // Whoever passed it on says where, which is no place that a user knows.
        cause => {
            let text = without_layers(&cause.strip_backtrace());
            type_of_file(&text).or_else(|| shape(&text)).unwrap_or(text)
        }
    }
}

/// Words for people of what a reader of files says.
pub(crate) fn of_reader(error: &DataFusionError) -> String {
    in_words_of_sql(&without_layers(&error.strip_backtrace()))
}

/// Says that a file has no column of a type.
fn type_of_file(text: &str) -> Option<String> {
    text.contains("to parquet that is not yet implemented").then(|| {
        "a Parquet file has no column of the type INTERVAL; CAST(... AS VARCHAR) makes a text of it"
            .to_owned()
    })
}

/// What is said of a column that may not be NULL.
const NOT_NULL: &str = "is declared as non-nullable but contains null values";

/// What stands between the type and the call where a function says that its result does not fit.
const OVERFLOW: &str = " overflow on ";

fn out_of_range(computed: &str) -> String {
    format!("out of range: the result of {computed} does not fit")
}

/// Errors are put into the text of others, with the word for their kind.
fn without_layers(text: &str) -> String {
    const LAYERS: [&str; 8] = [
        "Internal error: ",
        "type_coercion\ncaused by\n",
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
        // The token is named as the parser's own type is.
        None if said.starts_with("No infix parser for token") => "no operator is written so".to_owned(),
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
    if let Some(text) = shape(&text) {
        return text;
    }
    let Some(rest) = text.strip_prefix("Invalid function '") else { return text };
    let Some((name, rest)) = rest.split_once('\'') else { return text };
    if WINDOW_FUNCTIONS.contains(&name) {
        return format!("{name:?} is a window function; write {name}(...) OVER (ORDER BY ...)");
    }
    let suggested = rest.split('\'').nth(1).and_then(|near| nearest(name, std::iter::once(near)));
    let meant = suggested.map(|near| format!("; is it {near:?}?")).unwrap_or_default();
    format!("there is no function {name:?}{meant}")
}

/// What is said of what the planner does not know: it shows its own trees.
fn not_supported(text: String) -> String {
    if let Some(text) = shape(&text) {
        return text;
    }
    match text.find("Unsupported ast node").or_else(|| text.find("not implemented")) {
        Some(_) if has_tree(&text) => {
            "not supported: the statement has a form that is not known here".to_owned()
        }
        _ => format!("not supported: {text}"),
    }
}

/// Messages of the planner that need other words as a whole.
fn shape(text: &str) -> Option<String> {
    if text.contains("Correlated scalar subquery must be aggregated") {
        return Some(
            "a subquery that looks at the row around it must be an aggregate, such as max(...), to give one value".to_owned(),
        );
    }
    let subqueries = [
        "does not support logical expression",
        "Unsupported correlated",
        "Accessing outer reference column",
        "correlated column is not allowed",
        "OuterReferenceColumn",
        "subquery alias columns are not supported",
    ];
    if subqueries.iter().any(|said| text.contains(said)) {
        return Some(
            "not supported: a subquery at this place, or one that compares with the row around it otherwise than by =; \
             write it as a JOIN or a WITH"
                .to_owned(),
        );
    }
    if let Some((_, said)) = SAYINGS.iter().find(|(part, _)| text.contains(part)) {
        return Some((*said).to_owned());
    }
    if let Some(said) = of_function(text) {
        return Some(said);
    }
    if let Some(types) = between(text, "argument types '", "'") {
        return Some(format!(
            "there is no function {} for values of these types; CAST(... AS type) changes a type",
            engine_words(types)
        ));
    }
    if let Some(function) = between(text, "Function '", "'")
        && (text.contains("coercion failed") || text.contains("failed to match"))
    {
        return Some(format!("{function}(...) takes values of other types, or another number of them"));
    }
    if text.contains("must appear in the GROUP BY clause or must be part of an aggregate function") {
        let column =
            between(text, "column \"", "\"").or_else(|| between(text, "column '", "'")).unwrap_or("a column");
        return Some(format!(
            "column \"{column}\" is selected, and is neither in GROUP BY nor in an aggregate such as max(...)"
        ));
    }
    if let Some(rest) = text.strip_prefix(EQUAL_NAMES) {
        let name = rest.split('"').next().unwrap_or(rest);
        return Some(format!("two columns are called \"{name}\"; AS gives one of them another name"));
    }
    None
}

/// Sayings of the planner by a part of each, and what is said in their place.
const SAYINGS: [(&str, &str); 13] = [
    (
        "Assertion failed",
        "not supported: the statement has a form that is not known here; a comparison with ALL (SELECT ...) is one with its max(...) or min(...)",
    ),
    (
        "Inconsistent metadata across values list",
        "the rows of VALUES have values of different kinds in one column; write the same CAST(... AS type) in each",
    ),
    (
        "Unsupported Interval Expression",
        "not supported: an interval from one unit to another; write INTERVAL '1 year 2 months'",
    ),
    ("UnicodeStringLiteral", "not supported: U&'...'; write the letters themselves"),
    (
        "which would be ambiguous",
        "not supported: a subquery that looks at the row around it and has ORDER BY or LIMIT; write it as a JOIN or with row_number() OVER (...)",
    ),
    ("Unnest should be rewritten", "unnest(...) cannot be an argument here; SELECT it in a subquery first"),
    ("Unsupported logical plan: Statement(Execute", "EXPLAIN takes the query itself, not EXECUTE"),
    (
        "Unsupported logical plan: CreateIndex",
        "not supported: an index of a table in memory; PRIMARY KEY and UNIQUE belong to CREATE TABLE, CREATE INDEX to maps",
    ),
    (
        "Function factory has not been configured",
        "not supported: CREATE FUNCTION; functions are registered by programs that embed the engine",
    ),
    ("not found on ConfigOptions", "there is no setting of that name; SHOW ALL lists them"),
    ("Arguments must be literals", "the arguments of this table function are constants, and no parameters"),
    (
        "DELETE not supported for Base table",
        "a file cannot be changed; CREATE TABLE ... AS SELECT makes a table that can",
    ),
    (
        "There is no registered file format with ext ",
        "the ending of the file is not known for writing; write STORED AS CSV, JSON, PARQUET or ARROW behind its name",
    ),
];

/// What single functions say of themselves.
fn of_function(text: &str) -> Option<String> {
    if text.starts_with("Substring without for/from") {
        return Some(
            "substring takes a text and where it begins: substring(text FROM 2 FOR 3), substr(text, 2, 3)"
                .to_owned(),
        );
    }
    if ["Regular expression did not compile", "regex parse error", "Invalid regex"]
        .iter()
        .any(|said| text.contains(said))
    {
        let problem = text.rsplit_once("error: ").and_then(|(_, behind)| behind.split(['\n', '\\']).next());
        return Some(format!(
            "the pattern is no regular expression: {}",
            problem.unwrap_or("it is too large")
        ));
    }
    if text.contains("AvgAccumulator for (") {
        return Some("avg(...) takes numbers".to_owned());
    }
    if let Some(found) = text.strip_prefix("[return_type] SUM not supported for ") {
        return Some(format!("sum(...) takes numbers, not {found}"));
    }
    if text.contains("not yet implemented for GROUPING") {
        return Some("grouping(...) takes columns of GROUP BY ROLLUP, CUBE or GROUPING SETS".to_owned());
    }
    if text.contains("There is only support Literal types for field at idx") {
        return Some("a window function takes constants behind its first argument".to_owned());
    }
    if text.contains("is not supported in the physical expr") {
        return Some("not supported: an operator between values of these types".to_owned());
    }
    if text.starts_with("nth_value not supported for n") {
        return Some("nth_value(value, n) takes a whole number for n".to_owned());
    }
    let (function, _) = text.split_once(" is source dependent and cannot be evaluated directly")?;
    Some(format!("{function} is of a table of files, and not known here"))
}

fn between<'t>(text: &'t str, begin: &str, end: &str) -> Option<&'t str> {
    text.split_once(begin)?.1.split_once(end).map(|(inside, _)| inside)
}

/// True for a text with a tree of the parser in it.
fn has_tree(text: &str) -> bool {
    ["Ident {", "Span(", "span:", "quote_style", "Identifier(", "Field {"]
        .iter()
        .any(|part| text.contains(part))
}

/// The text without the names of engines and their trackers, and with values as SQL writes them.
fn in_words_of_sql(text: &str) -> String {
    const REPORTS: [&str; 3] = [
        "This issue was likely caused by a bug in DataFusion's code",
        "This was likely caused by a bug in DataFusion's code",
        "Please help us to resolve this by filing a bug report",
    ];
    let mut text = text;
    for report in REPORTS {
        text = text.split(report).next().unwrap_or(text).trim_end_matches(['\n', ' ', '.']);
    }
    let text = match text.find("Ident {").or_else(|| text.find("Span(")).or_else(|| text.find("span: ")) {
        Some(tree) => {
            let begin = text[..tree].trim_end_matches(|letter: char| !letter.is_whitespace()).trim_end();
            let begin = begin.trim_end_matches(['{', '(', '[', ' ']);
            format!("{begin} ... (a form that is not known here)")
        }
        None => text.to_owned(),
    };
    let text = text.replace("DataFusion", "the engine").replace("Internal error: ", "");
    // Words of English that are also types of the engine.
    let text = engine_words(&text.replace("Binary op", "binary op").replace("Binary exp", "binary exp"));
    match text.char_indices().nth(MOST_LETTERS) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text,
    }
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
    let alone = name.strip_prefix("filbert.public.");
    let plain = alone.or_else(|| name.strip_prefix("filbert.")).unwrap_or(&name).to_owned();
    let hint = match alone.and_then(|name| name.rsplit_once('.')) {
        Some((_, ending)) if FileKind::of_path(Path::new(&plain)).is_none() && is_ending(ending) => format!(
            "if it is a file, its ending says not what is in it, as {} do; read_csv('{plain}') and read_json('{plain}') read any",
            file_endings().join(", ")
        ),
        _ => hint(&plain, state, rights),
    };
    SqlError::NoTable { name: plain, hint, place: crate::error::location(&error) }
}

/// True for what may be the ending of a file.
fn is_ending(text: &str) -> bool {
    (1..=8).contains(&text.len()) && text.chars().all(|letter| letter.is_ascii_alphanumeric())
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
        assert_eq!(planned("Cannot coerce Int64 + Utf8"), "Cannot coerce BIGINT + VARCHAR");
        assert_eq!(planned(&"long ".repeat(10_000)).chars().count(), MOST_LETTERS + " ...".len());
        let parsed = |text: &str| {
            says(DataFusionError::SQL(Box::new(ParserError::ParserError(text.to_owned())), None))
        };
        assert_eq!(
            parsed("Expected: end of statement, found: x at Line: 1, Column: 8"),
            "syntax error at line 1, column 8: expected end of statement, found x"
        );
    }
}
