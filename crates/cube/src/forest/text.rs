//! Forests as TOML or JSON: definitions are text, code is registered by name.

use super::calculated::CalculatedColumn;
use super::measure::Measure;
use super::{Forest, ForestBuilder};
use crate::error::CubeError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The definitions of a forest, as they are written.
///
/// ```
/// use filbert_cube::ForestText;
///
/// let forest = ForestText::from_toml(r#"
///     [[column]]
///     name = "notional"
///     expression = "price * quantity"
///
///     [[measure]]
///     name = "total"
///     kind = "aggregator"
///     column = "notional"
///
///     [[measure]]
///     name = "in euro"
///     kind = "filtrator"
///     underlying = "total"
///     filter = "ccy = 'EUR'"
/// "#)?
/// .into_builder()
/// .build()?;
/// assert_eq!(forest.names().count(), 2);
/// # Ok::<(), filbert_cube::CubeError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForestText {
    /// Calculated columns, in order.
    #[serde(default, rename = "column", skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<CalculatedColumn>,
    /// Measures with their names.
    #[serde(default, rename = "measure", skip_serializing_if = "Vec::is_empty")]
    pub measures: Vec<NamedMeasure>,
}

/// A measure with its name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedMeasure {
    /// Its name.
    pub name: String,
    /// By which columns slices are spread when it is asked for; nothing to leave that to others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shard: Vec<String>,
    /// What it is.
    #[serde(flatten)]
    pub measure: Measure,
}

/// Where the names of measures stand in a TOML text.
#[derive(Deserialize)]
struct Places {
    #[serde(default, rename = "measure")]
    measures: Vec<NamePlace>,
}

#[derive(Deserialize)]
struct NamePlace {
    name: toml::Spanned<String>,
}

impl ForestText {
    /// Reads TOML.
    pub fn from_toml(text: &str) -> Result<Self, CubeError> {
        let read: Self =
            toml::from_str(text).map_err(|error| CubeError::InvalidForest { problem: error.to_string() })?;
        let spans = toml::from_str(text).map(|Places { measures }| measures).unwrap_or_default();
        let line = |index: usize| {
            let start = spans.get(index).map_or(0, |place| place.name.span().start);
            format!("line {}", text[..start].matches('\n').count() + 1)
        };
        read.check_names(line)
    }

    /// Reads JSON.
    pub fn from_json(text: &str) -> Result<Self, CubeError> {
        let read: Self = serde_json::from_str(text)
            .map_err(|error| CubeError::InvalidForest { problem: error.to_string() })?;
        read.check_names(|index| format!("measure {} of the list", index + 1))
    }

    /// Refuses a name that stands twice; `place` says where the measure of an index is.
    fn check_names(self, place: impl Fn(usize) -> String) -> Result<Self, CubeError> {
        let mut known = BTreeMap::new();
        for (index, NamedMeasure { name, .. }) in self.measures.iter().enumerate() {
            if let Some(first) = known.insert(name, index) {
                let (first, second) = (place(first), place(index));
                return Err(CubeError::DuplicateMeasure { name: name.clone(), first, second });
            }
        }
        Ok(self)
    }

    /// Writes TOML.
    pub fn to_toml(&self) -> Result<String, CubeError> {
        toml::to_string(self).map_err(|error| CubeError::InvalidForest { problem: error.to_string() })
    }

    /// Writes JSON.
    pub fn to_json(&self) -> Result<String, CubeError> {
        serde_json::to_string_pretty(self)
            .map_err(|error| CubeError::InvalidForest { problem: error.to_string() })
    }

    /// The same as a builder, to which code can be registered.
    pub fn into_builder(self) -> ForestBuilder {
        let mut builder = ForestBuilder { columns: self.columns, ..ForestBuilder::default() };
        for NamedMeasure { name, shard, measure } in self.measures {
            if !shard.is_empty() {
                builder.shards.push((name.clone(), shard));
            }
            builder.measures.push((name, measure));
        }
        builder
    }
}

impl From<&Forest> for ForestText {
    fn from(forest: &Forest) -> Self {
        let named = |name: &str| {
            let measure = forest.measure(name)?.clone();
            let shard = forest.shards().get(name).cloned().unwrap_or_default();
            Some(NamedMeasure { name: name.to_owned(), shard, measure })
        };
        Self { columns: forest.columns().to_vec(), measures: forest.names().filter_map(named).collect() }
    }
}
