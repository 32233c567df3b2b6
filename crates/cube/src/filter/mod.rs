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
mod pattern;
mod text;
mod up_to;
mod values;

pub(crate) use column::Literal;
pub use column::{Comparison, Matcher};
pub(crate) use edit::split_by_column;
pub(crate) use mask::{ColumnSource, take_or};
pub use pattern::Pattern;
pub(crate) use values::ValueSet;

use crate::coordinate::Coordinate;
use crate::error::CubeError;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// How deep filters may be nested: they are walked by recursion.
const MAX_DEPTH: usize = 200;

/// How many conditions, ANDs, ORs and NOTs a filter may have.
const MOST_NODES: usize = 100_000;

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
        Self::Column(column.into(), Matcher::Like(Pattern::new(pattern)))
    }

    /// Rows whose text has a part that the regular expression describes.
    pub fn regex(column: &str, pattern: &str) -> Self {
        Self::Column(column.into(), Matcher::Regex(Pattern::new(pattern)))
    }

    /// Rows that both want.
    #[must_use]
    pub fn and(mut self, mut other: Filter) -> Self {
        match (&mut self, &mut other) {
            (Self::All, _) => other,
            (_, Self::All) => self,
            (Self::And(all), Self::And(more)) => {
                all.append(more);
                self
            }
            (Self::And(all), _) => {
                all.push(other);
                self
            }
            _ => Self::And(vec![self, other]),
        }
    }

    /// Rows that at least one wants.
    #[must_use]
    pub fn or(mut self, other: Filter) -> Self {
        match (&mut self, &other) {
            (Self::None, _) => other,
            (_, Self::None) => self,
            (Self::Or(any), _) => {
                any.push(other);
                self
            }
            _ => Self::Or(vec![self, other]),
        }
    }

    /// Rows that this one does not want.
    #[must_use]
    pub fn negated(mut self) -> Self {
        match &mut self {
            Self::All => Self::None,
            Self::None => Self::All,
            Self::Not(inner) => std::mem::take(&mut **inner),
            _ => Self::Not(Box::new(self)),
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

    /// Refuses a filter that is nested deeper, or is larger, than is safe to work on.
    pub(crate) fn check_size(&self) -> Result<(), CubeError> {
        let mut rest = vec![(self, 0)];
        let (mut nodes, mut patterns) = (0, 0);
        while let Some((filter, depth)) = rest.pop() {
            nodes += 1;
            if depth > MAX_DEPTH {
                let problem = format!("it is nested deeper than {MAX_DEPTH} levels; write it flatter");
                return Err(CubeError::InvalidFilter { at: 0, problem });
            }
            if nodes > MOST_NODES {
                let problem = format!("it has more than {MOST_NODES} conditions; use `in` for many values");
                return Err(CubeError::InvalidFilter { at: 0, problem });
            }
            match filter {
                Self::Column(_, Matcher::Like(_) | Matcher::Regex(_)) => patterns += 1,
                Self::All | Self::None | Self::Column(..) => {}
                Self::Not(inner) => rest.push((inner, depth + 1)),
                Self::And(all) | Self::Or(all) => rest.extend(all.iter().map(|inner| (inner, depth + 1))),
            }
            if patterns > pattern::MOST_PATTERNS {
                return Err(CubeError::InvalidFilter { at: 0, problem: pattern::too_many_patterns() });
            }
        }
        Ok(())
    }
}

/// Without recursion: a filter that is built in code can be deeper than any stack, and is dropped when it is refused.
impl Drop for Filter {
    fn drop(&mut self) {
        let mut rest = Vec::new();
        self.take_nested(&mut rest);
        while let Some(mut filter) = rest.pop() {
            filter.take_nested(&mut rest);
        }
    }
}

impl Filter {
    /// Moves what is nested in it elsewhere, unless all of that are conditions.
    fn take_nested(&mut self, to: &mut Vec<Filter>) {
        let is_nested = |filter: &Filter| matches!(filter, Self::Not(_) | Self::And(_) | Self::Or(_));
        match self {
            Self::Not(inner) if is_nested(inner) => to.push(std::mem::take(&mut **inner)),
            Self::And(all) | Self::Or(all) if all.iter().any(is_nested) => to.append(all),
            _ => {}
        }
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
