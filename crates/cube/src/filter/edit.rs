//! Filters changed column by column: what Unfiltrator, Shiftor and Dispatchor need.

use super::{Filter, Matcher};
use crate::coordinate::Coordinate;
use crate::error::CubeError;
use std::sync::Arc;

impl Filter {
    /// The filter without its conditions on the columns that `suppressed` names: each counts as fulfilled, also where it was negated.
    #[must_use]
    pub(crate) fn without(&self, suppressed: &dyn Fn(&str) -> bool) -> Filter {
        match self {
            Self::All | Self::None => self.clone(),
            Self::Column(column, _) if suppressed(column) => Self::All,
            Self::Column(..) => self.clone(),
            // Canonical filters have NOT at conditions only.
            Self::Not(inner) => match &**inner {
                Self::Column(column, _) if suppressed(column) => Self::All,
                _ => self.clone(),
            },
            Self::And(all) => Self::And(all.iter().map(|filter| filter.without(suppressed)).collect()),
            Self::Or(any) => Self::Or(any.iter().map(|filter| filter.without(suppressed)).collect()),
        }
    }

    /// The filter with every value of `column` as `to` says; a condition that cannot be changed so is an error of that name.
    pub(crate) fn with_values(
        &self,
        column: &str,
        to: &dyn Fn(&Coordinate) -> Coordinate,
        keeps_order: bool,
    ) -> Result<Filter, CubeError> {
        let each = |filters: &[Filter]| -> Result<Vec<Filter>, CubeError> {
            filters.iter().map(|filter| filter.with_values(column, to, keeps_order)).collect()
        };
        Ok(match self {
            Self::All | Self::None => self.clone(),
            Self::And(all) => Self::And(each(all)?),
            Self::Or(any) => Self::Or(each(any)?),
            Self::Not(inner) => inner.with_values(column, to, keeps_order)?.negated(),
            Self::Column(name, _) if &**name != column => self.clone(),
            Self::Column(name, matcher) => match matcher {
                Matcher::Null => Self::is_in(name, [to(&Coordinate::Null)]),
                Matcher::In(values) => Self::is_in(name, values.iter().map(to)),
                Matcher::Compare(comparison, bound) if keeps_order => {
                    Self::compare(name, *comparison, to(bound))
                }
                Matcher::Compare(..) | Matcher::Like(_) | Matcher::Regex(_) => {
                    let problem = format!("`{self}` cannot be shifted; filter {name:?} by = or in");
                    return Err(CubeError::InvalidQuery { problem });
                }
            },
        })
    }
}

/// Takes a canonical filter apart: what it says of this column alone, and what it says of others. Nothing when a part mixes both.
pub(crate) fn split_by_column(filter: &Filter, column: &str) -> Option<(Filter, Filter)> {
    let parts = if let Filter::And(all) = filter { all.as_slice() } else { std::slice::from_ref(filter) };
    let (mut on, mut others) = (Filter::All, Filter::All);
    for part in parts {
        let columns = part.columns();
        let is_on = columns.contains(&Arc::<str>::from(column));
        if is_on && columns.len() > 1 {
            return None;
        }
        if is_on {
            on = on.and(part.clone());
        } else {
            others = others.and(part.clone());
        }
    }
    Some((on, others))
}
