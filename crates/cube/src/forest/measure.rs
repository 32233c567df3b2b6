//! What a measure is: its kind, what it refers to, and its parameters. Only definitions; nothing here computes.

use super::columnator::Columnator;
use super::quantile::Quantile;
use super::routing::Routing;
use crate::coordinate::Coordinate;
use crate::error::CubeError;
use crate::expression::Expression;
use crate::filter::Filter;
use serde::{Deserialize, Serialize};

/// A figure's definition.
///
/// Made by the constructors of its kinds, such as [`Aggregator::sum`], or read from TOML or JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Measure {
    /// Aggregates a column of the table.
    Aggregator(Aggregator),
    /// Computes a cell from the cells of other measures in the same slice.
    Combinator(Combinator),
    /// Another measure, under one more filter.
    Filtrator(Filtrator),
    /// Another measure, under fewer filters.
    Unfiltrator(Unfiltrator),
    /// Another measure, read in another slice.
    Shiftor(Shiftor),
    /// Other measures, combined by finer slices and aggregated again.
    Partitionor(Partitionor),
    /// Another measure, each of whose cells feeds any number of cells.
    Dispatchor(Dispatchor),
    /// Other measures, only where some columns are told apart, or are not.
    Columnator(Columnator),
    /// One of several measures, chosen by what is asked.
    Routing(Routing),
    /// Code of the user's.
    Custom(Custom),
}

/// How rows become one value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Aggregation {
    /// The sum; whole numbers stay whole.
    #[default]
    Sum,
    /// How many values there are; without a column, how many rows.
    Count,
    /// The mean.
    Avg,
    /// The least value.
    Min,
    /// The greatest value.
    Max,
    /// The product.
    Product,
    /// How many different values there are.
    CountDistinct,
    /// The n-th largest value, from 1.
    Largest(usize),
    /// The n-th smallest value, from 1.
    Smallest(usize),
    /// The value that this part of the values does not exceed, interpolated between the two next to it; as a float. Exact for at most
    /// 1,024 values, else of a sketch: see `docs/cube.md` for its error.
    Quantile(Quantile),
    /// The quantile 0.5.
    Median,
    /// An aggregation that was registered under this name.
    Custom(String),
    /// What quantiles are told from. Plans make it, forests do not.
    #[doc(hidden)]
    #[serde(skip)]
    Sketch,
    /// The sum of whole numbers with room for any number of them: what means are divided from. Plans make it, forests do not.
    #[doc(hidden)]
    #[serde(skip)]
    WideSum,
    /// The sum of floats before it is rounded. Plans make it, forests do not.
    #[doc(hidden)]
    #[serde(skip)]
    ExactSum,
}

/// How cells become one cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Combination {
    /// The sum of those that are there.
    Sum,
    /// The first minus the second; one that is missing counts as 0.
    Subtraction,
    /// The product; missing where one is.
    Product,
    /// The first divided by the second; missing where one is.
    Divide,
    /// The first that is there.
    Coalesce,
    /// A formula over the names of the underlyings.
    Expression(ExpressionText),
    /// A function that was registered under this name.
    Function(String),
}

/// A formula as its text, in a serialised forest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ExpressionText(pub Expression);

impl TryFrom<String> for ExpressionText {
    type Error = CubeError;

    fn try_from(text: String) -> Result<Self, CubeError> {
        text.parse().map(Self)
    }
}

impl From<ExpressionText> for String {
    fn from(text: ExpressionText) -> Self {
        text.0.to_string()
    }
}

/// A filter as its text, in a serialised forest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FilterText(pub Filter);

impl TryFrom<String> for FilterText {
    type Error = CubeError;

    fn try_from(text: String) -> Result<Self, CubeError> {
        text.parse().map(Self)
    }
}

impl From<FilterText> for String {
    fn from(text: FilterText) -> Self {
        text.0.to_string()
    }
}

/// Aggregates a column of the table: the leaf of every computation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Aggregator {
    /// The column; only a count does without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// How.
    #[serde(default)]
    pub aggregation: Aggregation,
}

/// Computes a cell from the cells of other measures in the same slice. It has a value only where at least one of them has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Combinator {
    /// The measures, in the order that the combination takes them. May be left out for a formula, which names them.
    #[serde(default)]
    pub underlyings: Vec<String>,
    /// How.
    pub combination: Combination,
}

/// Another measure, under one more filter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Filtrator {
    /// The measure.
    pub underlying: String,
    /// What is added to the filter of the query.
    pub filter: FilterText,
}

/// Another measure, under fewer filters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "WrittenUnfiltrator")]
pub struct Unfiltrator {
    /// The measure.
    pub underlying: String,
    /// Which filters go.
    #[serde(flatten)]
    pub columns: Unfiltered,
}

/// An [`Unfiltrator`] with all keys that somebody may write.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenUnfiltrator {
    underlying: String,
    suppress: Option<Vec<String>>,
    retain: Option<Vec<String>>,
}

impl TryFrom<WrittenUnfiltrator> for Unfiltrator {
    type Error = &'static str;

    fn try_from(written: WrittenUnfiltrator) -> Result<Self, &'static str> {
        let columns = match (written.suppress, written.retain) {
            (Some(columns), None) => Unfiltered::Suppress(columns),
            (None, Some(columns)) => Unfiltered::Retain(columns),
            (Some(_), Some(_)) => return Err("it has both `suppress` and `retain`; leave one of them out"),
            (None, None) => return Err("it needs columns in `suppress` or in `retain`"),
        };
        Ok(Self { underlying: written.underlying, columns })
    }
}

/// Which filters an [`Unfiltrator`] drops.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unfiltered {
    /// Those on these columns.
    Suppress(Vec<String>),
    /// Those on all columns but these.
    Retain(Vec<String>),
}

/// Another measure, read in another slice and written in this one. It has a value where the measure has one in this slice too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shiftor {
    /// The measure.
    pub underlying: String,
    /// The column whose coordinate is another one.
    pub column: String,
    /// Which one.
    pub shift: Shift,
}

/// Which coordinate a [`Shiftor`] reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Shift {
    /// Always this one.
    To(Coordinate),
    /// So many further: of whole numbers, or days of dates.
    Offset(i64),
    /// Those in the list become others; the rest stay.
    Map(Vec<(Coordinate, Coordinate)>),
    /// As a function says that was registered under this name.
    Function(String),
}

/// Other measures, combined in slices that are finer by some columns, and aggregated to the slices of the query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partitionor {
    /// The measures; may be left out for a formula.
    #[serde(default)]
    pub underlyings: Vec<String>,
    /// The columns that are added to the query's.
    pub by: Vec<String>,
    /// How the cells of a finer slice become one.
    pub combination: Combination,
    /// How these become the cell of the query's slice.
    #[serde(default)]
    pub aggregation: Aggregation,
}

/// Another measure, each of whose cells feeds any number of cells of a column that the table does not have.
///
/// Grouped by that column, every cell of the underlying goes, times its weight, to each of its targets. Filtered by it only, a cell counts
/// with the weights of the targets that are wanted, or once when there are no weights. Neither, the underlying is as it is.
///
/// A *cumulating* one has no new column: its cells go to all later coordinates of their own column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dispatchor {
    /// The measure.
    pub underlying: String,
    /// The column that says where a cell goes; none where every cell goes to the same places.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub from: String,
    /// The column that it goes to; the same as `from` for running totals.
    pub to: String,
    /// From where to where.
    pub decomposition: Decomposition,
    /// How what arrives becomes one cell.
    #[serde(default)]
    pub aggregation: Aggregation,
}

/// From where to where a [`Dispatchor`] takes cells. What is not in it goes nowhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Decomposition {
    /// Pairs of from and to, with all of the value each.
    Pairs(Vec<(Coordinate, Coordinate)>),
    /// From, to, and the part of the value.
    Weights(Vec<(Coordinate, Coordinate, f64)>),
    /// To the two numbers of this list that stand around it, more to the nearer one; all to the first or last when it lies outside.
    Linear(Vec<f64>),
    /// To every one of these, with all of the value each, whatever the cell.
    Duplicating(Vec<Coordinate>),
    /// To its own and every later coordinate of the column that the underlying has anywhere: running totals. A cell without a coordinate
    /// stays where it is.
    Cumulating,
    /// As a function says that was registered under this name.
    Function(String),
}

/// A measure that is code of the user's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Custom {
    /// The measures that it reads.
    #[serde(default)]
    pub underlyings: Vec<String>,
    /// The name that it was registered under.
    pub function: String,
}

impl Measure {
    /// The measures that it refers to, in its own order.
    pub fn underlyings(&self) -> Vec<String> {
        let of = |underlyings: &[String], combination: &Combination| match combination {
            Combination::Expression(ExpressionText(expression)) if underlyings.is_empty() => {
                expression.names()
            }
            _ => underlyings.to_vec(),
        };
        match self {
            Self::Aggregator(_) => Vec::new(),
            Self::Combinator(measure) => of(&measure.underlyings, &measure.combination),
            Self::Partitionor(measure) => of(&measure.underlyings, &measure.combination),
            Self::Filtrator(Filtrator { underlying, .. })
            | Self::Unfiltrator(Unfiltrator { underlying, .. })
            | Self::Shiftor(Shiftor { underlying, .. })
            | Self::Dispatchor(Dispatchor { underlying, .. }) => vec![underlying.clone()],
            Self::Columnator(measure) => of(&measure.underlyings, &measure.combination),
            Self::Routing(measure) => measure.underlyings(),
            Self::Custom(measure) => measure.underlyings.clone(),
        }
    }

    /// The word for its kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Aggregator(_) => "aggregator",
            Self::Combinator(_) => "combinator",
            Self::Filtrator(_) => "filtrator",
            Self::Unfiltrator(_) => "unfiltrator",
            Self::Shiftor(_) => "shiftor",
            Self::Partitionor(_) => "partitionor",
            Self::Dispatchor(_) => "dispatchor",
            Self::Columnator(_) => "columnator",
            Self::Routing(_) => "routing",
            Self::Custom(_) => "custom",
        }
    }
}
