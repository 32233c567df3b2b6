//! `SUMMARIZE table` and `SUMMARIZE SELECT ...`: a row for each column, with its least and greatest value, its mean and the like.
//!
//! It is said in SQL: one pass computes all columns as lists, which become rows. A query for each column would read everything as often.

use crate::type_names::type_name;
use arrow::datatypes::{DataType, SchemaRef};

/// Words with which a query begins.
const QUERIES: [&str; 4] = ["select", "with", "values", "from"];

/// The table that a statement wants to be summarized, as it stands behind FROM.
pub(crate) fn summarized(text: &str) -> Option<String> {
    let text = text.trim().trim_end_matches(';').trim_end();
    let (word, table) = text.split_once(char::is_whitespace)?;
    if !word.eq_ignore_ascii_case("summarize") {
        return None;
    }
    let table = table.trim_start();
    let first = table.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
    let is_query = QUERIES.iter().any(|query| first.eq_ignore_ascii_case(query));
    Some(if is_query { format!("({table}) AS summarized") } else { format!("{table} AS summarized") })
}

/// The query that summarizes such columns of a table.
pub(crate) fn summary(table: &str, columns: &SchemaRef) -> String {
    const NOTHING: &str = "CAST(NULL AS VARCHAR)";
    const NO_NUMBER: &str = "CAST(NULL AS DOUBLE)";
    let list = |of: &dyn Fn(&str, &DataType) -> String| {
        let all = columns
            .fields()
            .iter()
            .map(|field| of(&format!("\"{}\"", field.name().replace('"', "\"\"")), field.data_type()));
        format!("make_array({})", all.collect::<Vec<_>>().join(", "))
    };
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let plain = |call: &str| {
        list(&|column, data_type| match data_type.is_nested() {
            true => NOTHING.to_owned(),
            false => call.replace('?', column),
        })
    };
    let number = |call: &str| {
        list(&|column, data_type| match data_type.is_numeric() {
            true => call.replace('?', &format!("CAST({column} AS DOUBLE)")),
            false => NO_NUMBER.to_owned(),
        })
    };
    let names = columns.fields().iter().map(|field| quoted(field.name()));
    let lists = [
        ("column_name", format!("make_array({})", names.collect::<Vec<_>>().join(", "))),
        ("column_type", list(&|_, data_type| quoted(&type_name(data_type)))),
        ("min", plain("CAST(min(?) AS VARCHAR)")),
        ("max", plain("CAST(max(?) AS VARCHAR)")),
        (
            "approx_unique",
            list(&|column, data_type| match data_type.is_nested() {
                true => "CAST(NULL AS BIGINT)".to_owned(),
                false => format!("CAST(approx_distinct(CAST({column} AS VARCHAR)) AS BIGINT)"),
            }),
        ),
        ("avg", number("avg(?)")),
        ("std", number("stddev(?)")),
        ("q25", number("approx_percentile_cont(?, 0.25)")),
        ("q50", number("approx_percentile_cont(?, 0.5)")),
        ("q75", number("approx_percentile_cont(?, 0.75)")),
        ("count", list(&|_, _| "count(*)".to_owned())),
        (
            "null_percentage",
            list(&|column, _| {
                format!("round(100.0 * (count(*) - count({column})) / nullif(count(*), 0), 2)")
            }),
        ),
    ];
    let rows = lists.iter().map(|(name, _)| format!("unnest(\"{name}\") AS \"{name}\""));
    let lists = lists.iter().map(|(name, list)| format!("{list} AS \"{name}\""));
    format!(
        "SELECT {} FROM (SELECT {} FROM {table}) AS summary",
        rows.collect::<Vec<_>>().join(", "),
        lists.collect::<Vec<_>>().join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_queries_are_summarized() {
        for (text, table) in [
            ("SUMMARIZE t;", Some("t AS summarized")),
            ("summarize 'a.csv'", Some("'a.csv' AS summarized")),
            ("SUMMARIZE\n SELECT 1 AS a", Some("(SELECT 1 AS a) AS summarized")),
            ("SUMMARIZE FROM t", Some("(FROM t) AS summarized")),
            ("SUMMARIZED t", None),
            ("SELECT 1", None),
            ("SUMMARIZE", None),
        ] {
            assert_eq!(summarized(text).as_deref(), table, "{text}");
        }
    }
}
