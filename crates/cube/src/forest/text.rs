//! Forests as TOML or JSON: definitions are text, code is registered by name.

use super::calculated::CalculatedColumn;
use super::measure::Measure;
use super::{Forest, ForestBuilder, NumberFormat, trouble};
use crate::error::CubeError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The most that is read of a text, in bytes: a hundred thousand measures. What is larger is no forest but a mistake, and would cost many
/// times its size before that is known.
const MOST_BYTES: usize = 16 << 20;

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
    /// The format of its numbers in tables for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<NumberFormat>,
    /// What it is.
    #[serde(flatten)]
    pub measure: Measure,
}

impl ForestText {
    /// Reads a file: JSON if its name ends so, else TOML. At most 16 MiB of it.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, CubeError> {
        let path = path.as_ref();
        let text = text_of(path)?;
        let is_json = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
        if is_json { Self::from_json(&text) } else { Self::from_toml(&text) }
    }

    /// Reads TOML, at most 16 MiB.
    pub fn from_toml(text: &str) -> Result<Self, CubeError> {
        check_size(text.len())?;
        match toml::from_str::<Self>(text) {
            Ok(read) => read.check_names(|index| trouble::line_in_toml(text, index)),
            Err(error) => Err(trouble::in_toml(text, &error)),
        }
    }

    /// Reads JSON, at most 16 MiB.
    pub fn from_json(text: &str) -> Result<Self, CubeError> {
        check_size(text.len())?;
        match serde_json::from_str::<Self>(text) {
            Ok(read) => read.check_names(trouble::place_in_list),
            Err(error) => Err(trouble::in_json(text, &error)),
        }
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
        for NamedMeasure { name, shard, format, measure } in self.measures {
            if !shard.is_empty() {
                builder.shards.push((name.clone(), shard));
            }
            builder.formats.extend(format.map(|format| (name.clone(), format)));
            builder.measures.push((name, measure));
        }
        builder
    }
}

fn check_size(bytes: usize) -> Result<(), CubeError> {
    if bytes > MOST_BYTES { Err(CubeError::ForestTooLarge { limit: MOST_BYTES }) } else { Ok(()) }
}

/// The text of a file, of which no more is read than tells that it is too large.
fn text_of(path: &Path) -> Result<String, CubeError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes));
    read.map_err(|error| CubeError::InvalidForest { problem: error.to_string() })?;
    check_size(bytes.len())?;
    String::from_utf8(bytes).map_err(|error| CubeError::InvalidForest { problem: error.to_string() })
}

impl From<&Forest> for ForestText {
    fn from(forest: &Forest) -> Self {
        let named = |name: &str| {
            let measure = forest.measure(name)?.clone();
            let shard = forest.shards().get(name).cloned().unwrap_or_default();
            Some(NamedMeasure { name: name.to_owned(), shard, format: forest.format(name), measure })
        };
        Self { columns: forest.columns().to_vec(), measures: forest.names().filter_map(named).collect() }
    }
}
