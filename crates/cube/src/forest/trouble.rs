//! Where the text of a forest is wrong.
//!
//! A measure is read by its kind, which may stand behind its other keys: these are put aside first, and their lines are lost. So a text that
//! cannot be read is looked at once more, in two ways.
//!
//! | What is read | Finds | Tells |
//! |---|---|---|
//! | [`AnyForest`]: every key by itself, whatever the kind | a value that a key cannot have | the line of the key |
//! | [`Each`]: every measure by itself | a key that is unknown or missing, and keys that exclude each other | the measure and the keys |

use super::measure::{Aggregation, Combination, Decomposition, FilterText, Shift};
use super::number_format::NumberFormat;
use super::plainly::plainly;
use super::routing::Route;
use super::text::NamedMeasure;
use crate::error::CubeError;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[expect(dead_code, reason = "it only counts whether it can be read")]
struct AnyForest {
    #[serde(default)]
    measure: Vec<AnyMeasure>,
}

/// The keys of all kinds; each of them has the same type wherever it stands.
#[derive(Deserialize)]
#[expect(dead_code, reason = "it only counts whether it can be read")]
struct AnyMeasure {
    name: Option<String>,
    shard: Option<Vec<String>>,
    format: Option<NumberFormat>,
    kind: Option<AnyKind>,
    column: Option<String>,
    aggregation: Option<Aggregation>,
    underlying: Option<String>,
    underlyings: Option<Vec<String>>,
    combination: Option<Combination>,
    filter: Option<FilterText>,
    suppress: Option<Vec<String>>,
    retain: Option<Vec<String>>,
    shift: Option<Shift>,
    by: Option<Vec<String>>,
    from: Option<String>,
    to: Option<String>,
    decomposition: Option<Decomposition>,
    require: Option<Vec<String>>,
    reject: Option<Vec<String>>,
    rules: Option<Vec<Route>>,
    function: Option<String>,
    default: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum AnyKind {
    Aggregator,
    Combinator,
    Filtrator,
    Unfiltrator,
    Shiftor,
    Partitionor,
    Dispatchor,
    Columnator,
    Routing,
    Custom,
}

/// The measures of a text, each still to be read.
#[derive(Deserialize)]
struct Each {
    #[serde(default)]
    measure: Vec<Value>,
}

/// Where the names of measures stand in a TOML text.
#[derive(Deserialize)]
struct Names {
    #[serde(default)]
    measure: Vec<Name>,
}

#[derive(Deserialize)]
struct Name {
    name: Option<toml::Spanned<String>>,
}

/// What is wrong with a TOML text that cannot be read; `error` is what was said of it as a whole.
pub(super) fn in_toml(text: &str, error: &toml::de::Error) -> CubeError {
    let of_key = toml::from_str::<AnyForest>(text).err().map(|error| error.to_string());
    let of_measure = || of_measure(toml::from_str(text).ok()?, |index| line_in_toml(text, index));
    let problem = single_brackets(text).or(of_key).or_else(of_measure).unwrap_or_else(|| error.to_string());
    CubeError::InvalidForest { problem: plainly(problem.trim_end()) }
}

/// The same of a JSON text.
pub(super) fn in_json(text: &str, error: &serde_json::Error) -> CubeError {
    let of_key = serde_json::from_str::<AnyForest>(text).err().map(|error| error.to_string());
    let of_measure = || of_measure(serde_json::from_str(text).ok()?, place_in_list);
    let problem = of_key.or_else(of_measure).unwrap_or_else(|| error.to_string());
    CubeError::InvalidForest { problem: plainly(&problem) }
}

/// There are many measures and columns, so each begins with two brackets; one is the usual mistake.
fn single_brackets(text: &str) -> Option<String> {
    let is_single = |(_, line): &(usize, &str)| matches!(line.trim(), "[measure]" | "[column]");
    let (number, line) = text.lines().enumerate().find(is_single)?;
    Some(format!("line {}: {1} stands in one pair of brackets; write [{1}]", number + 1, line.trim()))
}

/// What is wrong with the first measure that cannot be read.
fn of_measure(each: Each, place: impl Fn(usize) -> String) -> Option<String> {
    let problem = |(index, measure): (usize, &Value)| {
        let problem = NamedMeasure::deserialize(measure).err()?;
        let name = measure.get("name").and_then(Value::as_str).map(|name| format!("measure {name:?}, "));
        Some(format!("{}{}: {problem}", name.unwrap_or_default(), place(index)))
    };
    each.measure.iter().enumerate().find_map(problem)
}

/// The line of a measure's name, or its place in the list when it has none.
pub(super) fn line_in_toml(text: &str, index: usize) -> String {
    let named = toml::from_str(text).map(|Names { measure }| measure).unwrap_or_default();
    match named.into_iter().nth(index).and_then(|measure| measure.name) {
        Some(name) => format!("line {}", text[..name.span().start].matches('\n').count() + 1),
        None => place_in_list(index),
    }
}

pub(super) fn place_in_list(index: usize) -> String {
    format!("measure {} of the list", index + 1)
}

#[cfg(test)]
mod tests {
    use super::super::measure::Measure;
    use super::*;

    /// A kind that is missing here would be refused in place of what is wrong.
    #[test]
    fn all_kinds_are_known() {
        let text = r#"{"kind": "nope"}"#;
        let said = |error: serde_json::Error| error.to_string().split(" at ").next().unwrap().to_owned();
        let of_measures = said(serde_json::from_str::<Measure>(text).unwrap_err());
        assert!(of_measures.contains("`nope`, expected one of `aggregator`"), "{of_measures}");
        assert_eq!(said(serde_json::from_str::<AnyMeasure>(text).err().unwrap()), of_measures);
    }
}
