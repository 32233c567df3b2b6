//! Running totals: what a cumulating Dispatchor needs.

use super::expand::{Expansion, FilterId, LevelId};
use super::recipe::{Made, Recipe, measure};
use super::step::Along;
use crate::error::CubeError;
use crate::filter::{Filter, split_by_column};
use crate::forest::Dispatchor;
use std::sync::Arc;

impl Expansion<'_> {
    /// Grouped by the column, all cells up to the last one that is wanted, added up on the way. Filtered by it only, the same cells in one.
    pub(super) fn cumulate(
        &mut self,
        name: &str,
        dispatchor: &Dispatchor,
        level: LevelId,
        filter: FilterId,
    ) -> Made {
        let column: Arc<str> = dispatchor.from.as_str().into();
        if self.type_of(&column).is_none() {
            self.columns.type_of(&column)?;
        }
        let here = self.filter_of(filter);
        let Some((wanted, others)) = split_by_column(&here, &column) else {
            let problem = format!(
                "`{here}` mixes {column:?}, along which measure {name:?} adds up, with other columns; join both by and"
            );
            return Err(CubeError::InvalidQuery { problem });
        };
        let columns = self.level_of(level);
        let is_grouped = columns.contains(&column);
        if !is_grouped && wanted == Filter::All {
            return Ok((Recipe::Alias, vec![measure(&dispatchor.underlying, level, filter)]));
        }
        let up_to = wanted.up_to(&column, self.type_of(&column).as_ref())?;
        let read = self.filter(&others.and(up_to.clone()))?;
        let aggregation = dispatchor.aggregation.clone();
        if is_grouped {
            let along = Along { column, wanted, aggregation };
            let needs = vec![measure(&dispatchor.underlying, level, read)];
            return Ok((Recipe::Cumulate(Arc::new(along)), needs));
        }
        let finer = self.level(columns.iter().cloned().chain([column]));
        // The underlying may drop the filter, or choose by it: what comes is looked at once more.
        let keep = up_to.typed(&|column| self.type_of(column))?.canonical();
        Ok((Recipe::RollUp { keep, aggregation }, vec![measure(&dispatchor.underlying, finer, read)]))
    }
}
