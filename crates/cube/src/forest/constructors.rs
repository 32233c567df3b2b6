//! Measures in one call each.

use super::columnator::Columnator;
use super::measure::{
    Aggregation, Aggregator, Combination, Combinator, Custom, Decomposition, Dispatchor, ExpressionText,
    FilterText, Filtrator, Measure, Partitionor, Shift, Shiftor, Unfiltered, Unfiltrator,
};
use super::quantile::Quantile;
use super::routing::Routing;
use crate::coordinate::Coordinate;
use crate::error::CubeError;
use crate::filter::Filter;

macro_rules! into_measure {
    ($($kind:ident)*) => {
        $(impl From<$kind> for Measure {
            fn from(measure: $kind) -> Self {
                Self::$kind(measure)
            }
        })*
    };
}

into_measure!(Aggregator Combinator Filtrator Unfiltrator Shiftor Partitionor Dispatchor Columnator Routing Custom);

pub(super) fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

impl Aggregator {
    /// Aggregates a column.
    pub fn new(column: &str, aggregation: Aggregation) -> Self {
        Self { column: Some(column.to_owned()), aggregation }
    }

    /// The sum of a column.
    pub fn sum(column: &str) -> Self {
        Self::new(column, Aggregation::Sum)
    }

    /// How many rows there are.
    pub fn count() -> Self {
        Self { column: None, aggregation: Aggregation::Count }
    }
}

impl Aggregation {
    /// The value that this part of the values does not exceed; 0.95 for 95 %.
    pub fn quantile(part: f64) -> Self {
        Self::Quantile(Quantile(part))
    }

    /// Of which part of the values a quantile is told; none for other aggregations.
    pub(crate) fn part(&self) -> Option<Quantile> {
        match self {
            Self::Quantile(part) => Some(*part),
            Self::Median => Some(Quantile::MEDIAN),
            _ => None,
        }
    }
}

impl Combination {
    /// A formula over the names of measures.
    pub fn expression(text: &str) -> Result<Self, CubeError> {
        Ok(Self::Expression(ExpressionText(text.parse()?)))
    }
}

impl Combinator {
    /// Combines measures.
    pub fn new(underlyings: &[&str], combination: Combination) -> Self {
        Self { underlyings: names(underlyings), combination }
    }

    /// A formula over the names of measures.
    pub fn expression(text: &str) -> Result<Self, CubeError> {
        Ok(Self { underlyings: Vec::new(), combination: Combination::expression(text)? })
    }

    /// The sum of measures.
    pub fn sum(underlyings: &[&str]) -> Self {
        Self::new(underlyings, Combination::Sum)
    }

    /// One measure divided by another.
    pub fn divide(numerator: &str, denominator: &str) -> Self {
        Self::new(&[numerator, denominator], Combination::Divide)
    }

    /// Measures given to a function that was registered under this name.
    pub fn function(underlyings: &[&str], function: &str) -> Self {
        Self::new(underlyings, Combination::Function(function.to_owned()))
    }
}

impl Filtrator {
    /// A measure under one more filter.
    pub fn new(underlying: &str, filter: Filter) -> Self {
        Self { underlying: underlying.to_owned(), filter: FilterText(filter) }
    }
}

impl Unfiltrator {
    /// A measure without the filters on these columns.
    pub fn suppress(underlying: &str, columns: &[&str]) -> Self {
        Self { underlying: underlying.to_owned(), columns: Unfiltered::Suppress(names(columns)) }
    }

    /// A measure with the filters on these columns only.
    pub fn retain(underlying: &str, columns: &[&str]) -> Self {
        Self { underlying: underlying.to_owned(), columns: Unfiltered::Retain(names(columns)) }
    }
}

impl Shiftor {
    /// A measure read at another coordinate of a column.
    pub fn new(underlying: &str, column: &str, shift: Shift) -> Self {
        Self { underlying: underlying.to_owned(), column: column.to_owned(), shift }
    }

    /// A measure read at one coordinate of a column, whatever the slice's own.
    pub fn to(underlying: &str, column: &str, coordinate: impl Into<Coordinate>) -> Self {
        Self::new(underlying, column, Shift::To(coordinate.into()))
    }

    /// A measure read so many days or whole numbers further.
    pub fn offset(underlying: &str, column: &str, offset: i64) -> Self {
        Self::new(underlying, column, Shift::Offset(offset))
    }
}

impl Partitionor {
    /// Measures combined in slices that are finer by the columns `by`, then aggregated.
    pub fn new(
        underlyings: &[&str],
        by: &[&str],
        combination: Combination,
        aggregation: Aggregation,
    ) -> Self {
        Self { underlyings: names(underlyings), by: names(by), combination, aggregation }
    }
}

impl Dispatchor {
    /// A measure whose cells go from a column of the table to another one.
    pub fn new(underlying: &str, from: &str, to: &str, decomposition: Decomposition) -> Self {
        Self {
            underlying: underlying.to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
            decomposition,
            aggregation: Aggregation::Sum,
        }
    }

    /// A measure whose cells go to all later coordinates of their column: running totals.
    pub fn cumulating(underlying: &str, column: &str) -> Self {
        Self::new(underlying, column, column, Decomposition::Cumulating)
    }

    /// A measure whose cells go, each as it is, to all of these coordinates of a column.
    pub fn duplicating<C: Into<Coordinate>>(
        underlying: &str,
        to: &str,
        coordinates: impl IntoIterator<Item = C>,
    ) -> Self {
        let coordinates = coordinates.into_iter().map(Into::into).collect();
        Self::new(underlying, "", to, Decomposition::Duplicating(coordinates))
    }

    /// A measure whose cells go to the numbers of a list that stand around the number in `from`, more to the nearer one.
    pub fn linear(underlying: &str, from: &str, to: &str, numbers: &[f64]) -> Self {
        Self::new(underlying, from, to, Decomposition::Linear(numbers.to_vec()))
    }

    /// With another aggregation than the sum.
    #[must_use]
    pub fn aggregation(mut self, aggregation: Aggregation) -> Self {
        self.aggregation = aggregation;
        self
    }
}

impl Custom {
    /// Measures read by code that was registered under this name.
    pub fn new(underlyings: &[&str], function: &str) -> Self {
        Self { underlyings: names(underlyings), function: function.to_owned() }
    }
}
