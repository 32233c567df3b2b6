//! Why an answer has no row: a table without rows, a filter that none passes, a value in it that its column does not have.
//!
//! The rows that tell are read only when an answer is empty.

use super::super::Outcome;
use super::super::tell::tell;
use super::{Arguments, Source, Watch, filter};
use filbert::arrow::array::Array;
use filbert::arrow::util::display::array_value_to_string;
use filbert::cube::cell::on_terminal;
use filbert::cube::{
    Aggregator, CalculatedColumn, Coordinate, Cube, Filter, Forest, ForestText, Matcher, Query, nearest,
};
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::time::Duration;

/// The name of the measure that counts rows.
const ROWS: &str = "rows";

/// Fewer values than this are all told.
const FEW: usize = 12;

/// Makes a forest that counts rows, by these calculated columns as well.
pub(super) fn counting(columns: &[CalculatedColumn]) -> Result<Forest, Box<dyn Error>> {
    let columns = ForestText { columns: columns.to_vec(), measures: Vec::new() };
    Ok(columns.into_builder().measure(ROWS, Aggregator::count()).build()?)
}

/// Asks for the rows below each value of these columns.
pub(super) fn rows_by(columns: &[&str]) -> Query {
    Query::new([ROWS]).by(columns.iter().copied())
}

/// Says on the standard error why there is no row.
pub(super) fn tell_why(watch: &Watch<'_>, arguments: &Arguments, source: &Source<'_>) -> Outcome {
    let cube = (source.open)(counting(source.forest.columns())?)?;
    let bounded = |query: Query| match arguments.timeout_ms {
        Some(most) => query.timeout(Duration::from_millis(most)),
        None => query,
    };
    let filter = arguments.filter.as_deref().map(filter::read).transpose()?.unwrap_or_default();
    let all = watch.answer(&cube, bounded(rows_by(&[]).filter(filter.clone())));
    watch.heed()?;
    // Columns that dispatchors make are none of the table, and cannot be counted by.
    let why = if all.is_ok_and(|all| has_rows(all.batch().column(0).as_ref())) {
        "no measure has a value in the rows that count".to_owned()
    } else if filter == Filter::All {
        "the table has no rows".to_owned()
    } else {
        let unknown = unknown_values(watch, &cube, &filter, bounded)?;
        let unknown: Vec<String> = unknown.into_iter().map(|told| format!("; {told}")).collect();
        format!("no row passes the filter{}", unknown.concat())
    };
    tell(format_args!("filbert: {}", on_terminal(&why)));
    Ok(())
}

fn has_rows(counts: &dyn Array) -> bool {
    !counts.is_empty()
        && counts.is_valid(0)
        && array_value_to_string(counts, 0).is_ok_and(|count| count != "0")
}

/// The values of a filter that their columns do not have, each with what was perhaps meant.
fn unknown_values(
    watch: &Watch<'_>,
    cube: &Cube,
    filter: &Filter,
    bounded: impl Fn(Query) -> Query,
) -> Result<Vec<String>, Box<dyn Error>> {
    let mut wanted = BTreeMap::new();
    collect(filter, &mut wanted);
    let mut told = Vec::new();
    for (column, values) in wanted {
        let answer = watch.answer(cube, bounded(rows_by(&[&column])));
        watch.heed()?;
        let Ok(answer) = answer else { continue };
        let known: BTreeSet<String> = values_of(answer.batch().column(0).as_ref())?.into_iter().collect();
        for value in values.iter().filter(|value| !known.contains(*value)) {
            let instead = match nearest(value, known.iter().map(String::as_str)) {
                Some(near) => format!("; is it '{near}'?"),
                None if known.len() <= FEW => {
                    format!("; there are: {}", known.iter().cloned().collect::<Vec<_>>().join(", "))
                }
                None => String::new(),
            };
            told.push(format!("there is no '{value}' in {column}{instead}"));
        }
    }
    Ok(told)
}

/// The values of a column, as texts.
pub(super) fn values_of(column: &dyn Array) -> Result<Vec<String>, Box<dyn Error>> {
    let rows = (0..column.len()).filter(|row| column.is_valid(*row));
    Ok(rows.map(|row| array_value_to_string(column, row)).collect::<Result<_, _>>()?)
}

/// The texts that a filter compares columns with for equality.
fn collect(filter: &Filter, wanted: &mut BTreeMap<String, BTreeSet<String>>) {
    match filter {
        Filter::Column(column, Matcher::In(values)) => {
            let texts = values.iter().filter_map(|value| match value {
                Coordinate::Text(text) => Some(text.to_string()),
                _ => None,
            });
            let texts: Vec<String> = texts.collect();
            if !texts.is_empty() {
                wanted.entry(column.to_string()).or_default().extend(texts);
            }
        }
        Filter::And(parts) | Filter::Or(parts) => parts.iter().for_each(|part| collect(part, wanted)),
        _ => {}
    }
}
