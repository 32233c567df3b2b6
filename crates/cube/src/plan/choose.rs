//! Measures that look at where they are asked for: Columnator and Routing. Neither leaves a step of its own; what was chosen is noted for
//! the explanation.

use super::expand::{Expansion, FilterId, LevelId};
use super::pins;
use super::recipe::{Made, Recipe, invalid, measure};
use crate::error::CubeError;
use crate::forest::{Columnator, Combination, Measure, Route, Routing};
use filbert_pool::caught;
use std::sync::Arc;

impl Expansion<'_> {
    /// The combination of its underlyings where the right columns are expressed; nothing elsewhere.
    pub(super) fn columnate(
        &mut self,
        name: &str,
        columnator: &Columnator,
        level: LevelId,
        filter: FilterId,
    ) -> Made {
        let Columnator { combination, require, reject, .. } = columnator;
        for column in require.iter().chain(reject) {
            if self.type_of(column).is_none() {
                self.columns.type_of(column)?;
            }
        }
        let (columns, here) = (self.level_of(level), self.filter_of(filter));
        let is_expressed = |column: &&String| {
            let column: Arc<str> = column.as_str().into();
            columns.contains(&column) || pins(&here, &column)
        };
        let missing = require.iter().find(|column| !is_expressed(column));
        let why = match (missing, reject.iter().find(is_expressed)) {
            (Some(column), _) => format!("{column:?} is neither grouped by nor filtered to one value"),
            (None, Some(column)) => format!("{column:?} is grouped by or filtered to one value"),
            (None, None) => {
                let underlyings = Measure::Columnator(columnator.clone()).underlyings();
                let is_same = matches!(combination, Combination::Sum | Combination::Coalesce);
                return match underlyings.as_slice() {
                    [only] if is_same => Ok((Recipe::Alias, vec![measure(only, level, filter)])),
                    _ => self.combine(name, &underlyings, combination, level, filter),
                };
            }
        };
        self.note(level, filter, format!("{name}: hidden, {why}"));
        Ok((Recipe::Empty, Vec::new()))
    }

    /// The measure that the first rule, the function or the default chooses.
    pub(super) fn route(&mut self, name: &str, routing: &Routing, level: LevelId, filter: FilterId) -> Made {
        let (chosen, why) = self.choice(name, routing, level, filter)?;
        let note = match &chosen {
            Some(chosen) => format!("{name}: goes to {chosen} by {why}"),
            None => format!("{name}: goes nowhere, {why}"),
        };
        self.note(level, filter, note);
        Ok(match chosen {
            Some(chosen) => (Recipe::Alias, vec![measure(&chosen, level, filter)]),
            None => (Recipe::Empty, Vec::new()),
        })
    }

    fn choice(
        &mut self,
        name: &str,
        routing: &Routing,
        level: LevelId,
        filter: FilterId,
    ) -> Result<(Option<String>, String), CubeError> {
        for (number, rule) in routing.rules.iter().enumerate() {
            if self.follows(rule, level, filter)? {
                return Ok((Some(rule.to.clone()), format!("rule {}", number + 1)));
            }
        }
        if let Some(function) = &routing.function {
            let code = self.forest.registry().routes.get(function);
            let code = Arc::clone(code.ok_or_else(|| invalid(name, "its function is not registered"))?);
            let position = self.position(level, filter);
            let chosen = caught(|| code(&position))
                .map_err(|message| CubeError::Panicked { measure: name.to_owned(), message })?;
            match chosen {
                Some(chosen) if routing.underlyings.contains(&chosen) => {
                    return Ok((Some(chosen), format!("function {function}")));
                }
                Some(other) => {
                    let known = routing.underlyings.join(", ");
                    let problem = format!(
                        "its function {function:?} chose {other:?}, which is not among its underlyings: {known}"
                    );
                    return Err(invalid(name, &problem));
                }
                None => {}
            }
        }
        let why = if routing.default.is_some() { "default" } else { "no rule holds and it has no default" };
        Ok((routing.default.clone(), why.to_owned()))
    }

    /// True when all conditions of a rule hold.
    fn follows(&mut self, rule: &Route, level: LevelId, filter: FilterId) -> Result<bool, CubeError> {
        let columns = self.level_of(level);
        let is_grouped = |column: &String| columns.iter().any(|known| **known == **column);
        if !rule.by.iter().all(is_grouped) || rule.not_by.iter().any(is_grouped) {
            return Ok(false);
        }
        if rule.marker.is_some() && rule.marker.as_deref() != self.marker {
            return Ok(false);
        }
        let Some(condition) = &rule.filter else { return Ok(true) };
        let both = (*self.filter_of(filter)).clone().and(condition.0.clone());
        Ok(self.filter(&both)? == filter)
    }
}
