//! The forest: all measures and calculated columns, checked together, with the code that they name.
//!
//! A forest is built once and shared; a query only looks into it. Everything that can be wrong with it is found when it is built: unknown
//! references, cycles, names that stand for two things, code that was not registered.

mod builder;
mod calculated;
mod columnator;
mod constructors;
mod measure;
mod number_format;
mod plainly;
mod quantile;
mod registry;
mod routing;
mod text;
mod trouble;
mod validate;

pub use builder::ForestBuilder;
pub use calculated::{CalculatedColumn, ColumnFormula};
pub use columnator::Columnator;
pub use measure::{
    Aggregation, Aggregator, Combination, Combinator, Custom, Decomposition, Dispatchor, ExpressionText,
    FilterText, Filtrator, Measure, Partitionor, Shift, Shiftor, Unfiltered, Unfiltrator,
};
pub use number_format::NumberFormat;
pub(crate) use number_format::rounded_digits;
pub use quantile::Quantile;
pub(crate) use registry::Registry;
pub use registry::{
    CellFunction, CustomMeasure, DecompositionFunction, RouteFunction, ShiftFunction, TargetsFunction,
};
pub use routing::{Route, Routing};
pub use text::ForestText;

use crate::error::CubeError;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The aggregation of a measure that a cube of a composite computes.
pub(crate) const OF_CUBE: &str = "~cube";

impl Aggregation {
    /// True of what names a measure of one of the cubes of a composite, and aggregates nothing.
    pub(crate) fn is_of_cube(&self) -> bool {
        matches!(self, Self::Custom(name) if name == OF_CUBE)
    }
}

/// Measures and calculated columns, checked; a handle that is cheap to clone.
///
/// ```
/// use filbert_cube::{Aggregator, Combinator, Forest};
///
/// let forest = Forest::builder()
///     .measure("pnl", Aggregator::sum("pnl"))
///     .measure("trades", Aggregator::count())
///     .measure("pnl per trade", Combinator::divide("pnl", "trades"))
///     .build()?;
/// assert_eq!(forest.names().collect::<Vec<_>>(), ["pnl", "trades", "pnl per trade"]);
/// # Ok::<(), filbert_cube::CubeError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Forest {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    measures: BTreeMap<String, Measure>,
    /// The names of all measures, in the order of their definitions.
    order: Vec<String>,
    /// The formats of the measures that have one.
    formats: BTreeMap<String, NumberFormat>,
    /// The columns that slices are spread by for the sake of a measure.
    shards: BTreeMap<String, Vec<String>>,
    columns: Vec<CalculatedColumn>,
    registry: Registry,
}

impl Forest {
    /// Measures first, then [`ForestBuilder::build`].
    pub fn builder() -> ForestBuilder {
        ForestBuilder::default()
    }

    /// The names of all measures, in the order of their definitions.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.inner.order.iter().map(String::as_str)
    }

    /// A measure.
    pub fn measure(&self, name: &str) -> Option<&Measure> {
        self.inner.measures.get(name)
    }

    /// The format of a measure's numbers, if it has one.
    pub fn format(&self, name: &str) -> Option<NumberFormat> {
        self.inner.formats.get(name).copied()
    }

    /// The calculated columns, in the order that they are computed in.
    pub fn columns(&self) -> &[CalculatedColumn] {
        &self.inner.columns
    }

    /// The measure of that name, or an error that says which one was perhaps meant.
    pub(crate) fn expect(&self, name: &str) -> Result<&Measure, CubeError> {
        self.measure(name).ok_or_else(|| self.unknown(name, Vec::new()))
    }

    /// The columns that slices are spread by for the sake of a measure, of those that say so.
    pub(crate) fn shards(&self) -> &BTreeMap<String, Vec<String>> {
        &self.inner.shards
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.inner.registry
    }

    fn unknown(&self, name: &str, path: Vec<String>) -> CubeError {
        validate::unknown(&self.inner.measures, name, path)
    }

    /// The references between measures as a Mermaid flow chart.
    pub fn mermaid(&self) -> String {
        let ids: BTreeMap<&str, usize> = self.names().enumerate().map(|(id, name)| (name, id)).collect();
        let mut text = String::from("flowchart BT\n");
        for (name, measure) in &self.inner.measures {
            let label = name.replace('"', "'");
            text.push_str(&format!("    m{}[\"{label}<br/>{}\"]\n", ids[name.as_str()], measure.kind()));
            for underlying in measure.underlyings() {
                text.push_str(&format!("    m{} --> m{}\n", ids[underlying.as_str()], ids[name.as_str()]));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests;
