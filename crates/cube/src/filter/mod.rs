//! Which rows count: a tree of AND, OR and NOT over conditions on single columns.
//!
//! ```text
//!   text ──► Filter ──► typed to the columns ──► canonical ──► part of a step's identity
//!                                                     └──► mask over Arrow columns
//! ```
//!
//! Logic has two values: a condition on a missing value is false, so `not ccy = 'EUR'` holds where there is no currency. With SQL's third
//! value, De Morgan's laws would not hold as they are used here, and equal filters would not become one step.
//!
//! Rejected: conditions as closures, which can be neither compared, shown, nor sent to a table.

mod canonical;
mod column;
mod edit;
mod mask;
mod text;
mod up_to;

pub(crate) use column::Literal;
pub use column::{Comparison, Matcher};
pub(crate) use edit::split_by_column;
pub(crate) use mask::ColumnSource;

use crate::coordinate::Coordinate;
use crate::error::CubeError;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// How deep filters may be nested.
const MAX_DEPTH: usize = 200;

/// A condition on rows.
///
/// ```
/// use filbert_cube::Filter;
///
/// let filter = Filter::equals("ccy", "EUR").and(Filter::is_in("desk", ["FX", "Rates"]).negated());
/// assert_eq!(filter, "ccy = 'EUR' and desk not in ('FX', 'Rates')".parse()?);
/// assert_eq!(filter.to_string(), "ccy = 'EUR' and not desk in ('FX', 'Rates')");
/// # Ok::<(), filbert_cube::CubeError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[non_exhaustive]
pub enum Filter {
    /// Every row.
    #[default]
    All,
    /// No row.
    None,
    /// Rows whose value of a column is as the matcher wants it.
    Column(Arc<str>, Matcher),
    /// Rows that the other filter does not want.
    Not(Box<Filter>),
    /// Rows that all want.
    And(Vec<Filter>),
    /// Rows that at least one wants.
    Or(Vec<Filter>),
}

impl Filter {
    /// Rows whose column has this value; [`Coordinate::Null`] means none.
    pub fn equals(column: &str, value: impl Into<Coordinate>) -> Self {
        Self::is_in(column, [value])
    }

    /// Rows whose column has one of these values.
    pub fn is_in<V: Into<Coordinate>>(column: &str, values: impl IntoIterator<Item = V>) -> Self {
        let mut values: BTreeSet<Coordinate> = values.into_iter().map(Into::into).collect();
        let has_null = values.remove(&Coordinate::Null);
        let values = Self::Column(column.into(), Matcher::In(values));
        match (has_null, &values) {
            (false, _) => values,
            (true, Self::Column(_, Matcher::In(set))) if set.is_empty() => Self::is_null(column),
            (true, _) => Self::is_null(column).or(values),
        }
    }

    /// Rows without a value in this column.
    pub fn is_null(column: &str) -> Self {
        Self::Column(column.into(), Matcher::Null)
    }

    /// Rows whose value stands in this relation to `value`.
    pub fn compare(column: &str, comparison: Comparison, value: impl Into<Coordinate>) -> Self {
        Self::Column(column.into(), Matcher::Compare(comparison, value.into()))
    }

    /// Rows whose text is like the pattern, in which `%` stands for any text and `_` for any letter.
    pub fn like(column: &str, pattern: &str) -> Self {
        Self::Column(column.into(), Matcher::Like(pattern.into()))
    }

    /// Rows whose text has a part that the regular expression describes.
    pub fn regex(column: &str, pattern: &str) -> Self {
        Self::Column(column.into(), Matcher::Regex(pattern.into()))
    }

    /// Rows that both want.
    #[must_use]
    pub fn and(self, other: Filter) -> Self {
        match (self, other) {
            (Self::All, filter) | (filter, Self::All) => filter,
            (Self::And(mut all), Self::And(more)) => {
                all.extend(more);
                Self::And(all)
            }
            (Self::And(mut all), filter) => {
                all.push(filter);
                Self::And(all)
            }
            (first, second) => Self::And(vec![first, second]),
        }
    }

    /// Rows that at least one wants.
    #[must_use]
    pub fn or(self, other: Filter) -> Self {
        match (self, other) {
            (Self::None, filter) | (filter, Self::None) => filter,
            (Self::Or(mut any), filter) => {
                any.push(filter);
                Self::Or(any)
            }
            (first, second) => Self::Or(vec![first, second]),
        }
    }

    /// Rows that this one does not want.
    #[must_use]
    pub fn negated(self) -> Self {
        match self {
            Self::All => Self::None,
            Self::None => Self::All,
            Self::Not(inner) => *inner,
            other => Self::Not(Box::new(other)),
        }
    }

    /// The columns that it looks at.
    pub fn columns(&self) -> BTreeSet<Arc<str>> {
        let (mut columns, mut rest) = (BTreeSet::new(), vec![self]);
        while let Some(filter) = rest.pop() {
            match filter {
                Self::All | Self::None => {}
                Self::Column(column, _) => {
                    columns.insert(Arc::clone(column));
                }
                Self::Not(inner) => rest.push(inner),
                Self::And(all) | Self::Or(all) => rest.extend(all),
            }
        }
        columns
    }

    /// Refuses a filter that is nested deeper than is safe to work on.
    pub(crate) fn check_depth(&self) -> Result<(), CubeError> {
        let mut rest = vec![(self, 0)];
        while let Some((filter, depth)) = rest.pop() {
            if depth > MAX_DEPTH {
                let problem = format!("it is nested deeper than {MAX_DEPTH} levels; write it flatter");
                return Err(CubeError::InvalidFilter { at: 0, problem });
            }
            match filter {
                Self::All | Self::None | Self::Column(..) => {}
                Self::Not(inner) => rest.push((inner, depth + 1)),
                Self::And(all) | Self::Or(all) => rest.extend(all.iter().map(|inner| (inner, depth + 1))),
            }
        }
        Ok(())
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("true"),
            Self::None => f.write_str("false"),
            Self::Column(column, matcher) => matcher.write(f, column),
            Self::Not(inner) => write!(f, "not {}", Nested(inner)),
            Self::And(all) if all.is_empty() => f.write_str("true"),
            Self::Or(any) if any.is_empty() => f.write_str("false"),
            Self::And(filters) | Self::Or(filters) => {
                let word = if matches!(self, Self::And(_)) { " and " } else { " or " };
                for (index, filter) in filters.iter().enumerate() {
                    let word = if index == 0 { "" } else { word };
                    write!(f, "{word}{}", Nested(filter))?;
                }
                Ok(())
            }
        }
    }
}

/// A filter inside another one: in parentheses where it needs them.
struct Nested<'a>(&'a Filter);

impl fmt::Display for Nested<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Filter::And(_) | Filter::Or(_) => write!(f, "({})", self.0),
            other => other.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests;
