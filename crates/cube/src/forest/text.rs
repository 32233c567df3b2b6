//! Forests as TOML or JSON: definitions are text, code is registered by name.

use super::calculated::CalculatedColumn;
use super::measure::Measure;
use super::{Forest, ForestBuilder};
use crate::error::CubeError;
use serde::{Deserialize, Serialize};

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
    /// What it is.
    #[serde(flatten)]
    pub measure: Measure,
}

impl ForestText {
    /// Reads TOML.
    pub fn from_toml(text: &str) -> Result<Self, CubeError> {
        toml::from_str(text).map_err(|error| CubeError::InvalidForest { problem: error.to_string() })
    }

    /// Reads JSON.
    pub fn from_json(text: &str) -> Result<Self, CubeError> {
        serde_json::from_str(text).map_err(|error| CubeError::InvalidForest { problem: error.to_string() })
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
        ForestBuilder {
            measures: self
                .measures
                .into_iter()
                .map(|NamedMeasure { name, measure }| (name, measure))
                .collect(),
            columns: self.columns,
            ..ForestBuilder::default()
        }
    }
}

impl From<&Forest> for ForestText {
    fn from(forest: &Forest) -> Self {
        let named = |name: &str| {
            let measure = forest.measure(name)?.clone();
            Some(NamedMeasure { name: name.to_owned(), measure })
        };
        Self { columns: forest.columns().to_vec(), measures: forest.names().filter_map(named).collect() }
    }
}
