//! Routing: one name for several measures, of which one is chosen by what is asked.

use super::constructors::names;
use super::measure::FilterText;
use crate::filter::Filter;
use serde::{Deserialize, Serialize};

/// One of several measures, chosen for each step: by the first rule that holds, else by a function of the user's, else the default.
/// Without a default it has no value where nothing was chosen.
///
/// What is looked at is the step, not the data: the columns that it is grouped by, its filter, the marker of the query. So other measures
/// are not computed.
///
/// ```
/// use filbert_cube::{Aggregator, Filter, Forest, Route, Routing};
///
/// let forest = Forest::builder()
///     .measure("old", Aggregator::sum("old_price"))
///     .measure("new", Aggregator::sum("price"))
///     .measure("stressed", Aggregator::sum("worst_price"))
///     .measure(
///         "price",
///         Routing::new()
///             .rule(Route::to("stressed").marker("stress"))
///             .rule(Route::to("old").filter("day < '2026-01-01'".parse()?))
///             .default_to("new"),
///     )
///     .build()?;
/// # Ok::<(), filbert_cube::CubeError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Routing {
    /// A function that was registered under this name; asked when no rule holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The measures that the function may choose. Rules and the default name theirs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub underlyings: Vec<String>,
    /// The measure when nothing else was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Rules, the first that holds counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Route>,
}

/// A rule of a [`Routing`]: a measure, and when it is chosen. All conditions that it has must hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// The measure.
    pub to: String,
    /// Columns that are all grouped by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<String>,
    /// Columns of which none is grouped by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_by: Vec<String>,
    /// What the filter of the step says already: adding this to it would change nothing.
    #[serde(default, rename = "where", skip_serializing_if = "Option::is_none")]
    pub filter: Option<FilterText>,
    /// The marker of the query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marker: Option<String>,
}

impl Routing {
    /// Nothing to choose from yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a rule; it counts where none before it holds.
    #[must_use]
    pub fn rule(mut self, route: Route) -> Self {
        self.rules.push(route);
        self
    }

    /// Where no rule holds, a function that was registered under this name chooses one of these measures.
    #[must_use]
    pub fn function(mut self, function: &str, underlyings: &[&str]) -> Self {
        (self.function, self.underlyings) = (Some(function.to_owned()), names(underlyings));
        self
    }

    /// The measure when nothing else was chosen.
    #[must_use]
    pub fn default_to(mut self, measure: &str) -> Self {
        self.default = Some(measure.to_owned());
        self
    }

    /// All measures that may be chosen, each once.
    pub(super) fn underlyings(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for name in self.rules.iter().map(|rule| &rule.to).chain(&self.underlyings).chain(&self.default) {
            if !all.contains(name) {
                all.push(name.clone());
            }
        }
        all
    }
}

impl Route {
    /// Chooses this measure; conditions follow.
    pub fn to(measure: &str) -> Self {
        Self { to: measure.to_owned(), by: Vec::new(), not_by: Vec::new(), filter: None, marker: None }
    }

    /// Where all of these columns are grouped by.
    #[must_use]
    pub fn by(mut self, columns: &[&str]) -> Self {
        self.by = names(columns);
        self
    }

    /// Where none of these columns is grouped by.
    #[must_use]
    pub fn not_by(mut self, columns: &[&str]) -> Self {
        self.not_by = names(columns);
        self
    }

    /// Where the filter of the step is this one, or a stricter one.
    #[must_use]
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = Some(FilterText(filter));
        self
    }

    /// Where the query has this marker.
    #[must_use]
    pub fn marker(mut self, marker: &str) -> Self {
        self.marker = Some(marker.to_owned());
        self
    }

    /// True when it would always be chosen.
    pub(super) fn is_unconditional(&self) -> bool {
        self.by.is_empty() && self.not_by.is_empty() && self.filter.is_none() && self.marker.is_none()
    }
}
