//! Which aggregations are read from the table, and which are rolled up from others.
//!
//! A leaf is rolled up from another one of the same aggregation and column whose level has all its columns, when its filter is the other
//! one's and conditions on columns of that level. Finer leaves are looked at first, so that what is rolled up comes from the table in one
//! step.

use super::step::{Operation, Step, StepId};
use crate::error::CubeError;
use crate::execute::CancelToken;
use crate::filter::{Filter, ValueSet};
use foldhash::HashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Above this many leaves the pairs are too many to look at; all are then read from the table, in one pass over it.
const MOST_LEAVES: usize = 1_024;

/// Turns leaves into roll-ups where it can; the rest is read from the table.
pub(super) fn induce(steps: &mut [Step], cancel: &CancelToken) -> Result<(), CubeError> {
    let mut leaves: Vec<StepId> = (0..steps.len())
        .map(StepId)
        .filter(|id| matches!(steps[id.0].operation, Operation::Leaf(_)))
        .collect();
    if leaves.len() > MOST_LEAVES {
        return Ok(());
    }
    leaves.sort_by_key(|id| {
        (std::cmp::Reverse(steps[id.0].level.len()), steps[id.0].filter.columns().len(), id.0)
    });
    let mut residuals = Residuals::default();
    let mut read: Vec<StepId> = Vec::new();
    for id in leaves {
        cancel.check()?;
        let step = &steps[id.0];
        let Operation::Leaf(leaf) = &step.operation else { continue };
        let inducer = leaf.roll_up().and_then(|aggregation| {
            let candidates =
                read.iter().filter_map(|from| Some((*from, residuals.of(step, &steps[from.0])?)));
            let (from, keep) = candidates.min_by_key(|(from, _)| (steps[from.0].level.len(), from.0))?;
            Some(Operation::RollUp { from, keep, aggregation })
        });
        match inducer {
            Some(operation) => steps[id.0].operation = operation,
            None => read.push(id),
        }
    }
    Ok(())
}

/// What filters leave of each other. Most pairs are told apart by a look at their columns; a canonical form is made only for those that may
/// come to the same, because that is by far the dearest.
#[derive(Default)]
struct Residuals {
    /// By where they lie: equal filters of a plan are one.
    parts: HashMap<*const Filter, Arc<Parts>>,
    /// How many canonical forms were made.
    canonical_forms: usize,
}

/// A canonical filter, taken apart.
struct Parts {
    all: Vec<Filter>,
    /// The values that it leaves columns on which it has conditions that are joined with others by AND.
    sets: BTreeMap<Arc<str>, ValueSet>,
}

impl Parts {
    fn of(filter: &Filter) -> Self {
        let all = match filter {
            Filter::All => Vec::new(),
            Filter::And(all) => all.clone(),
            other => vec![other.clone()],
        };
        let mut by_column: BTreeMap<Arc<str>, Vec<ValueSet>> = BTreeMap::new();
        for (column, set) in all.iter().filter_map(ValueSet::of) {
            by_column.entry(column).or_default().push(set);
        }
        let sets = by_column.into_iter();
        Self { all, sets: sets.filter_map(|(column, sets)| Some((column, ValueSet::and(sets)?))).collect() }
    }

    /// False when it surely has rows that the other one has not.
    fn may_be_within(&self, other: &Self) -> bool {
        other.sets.iter().all(|(column, wanted)| match self.sets.get(column) {
            Some(left) => left.is_within(wanted),
            // What is joined by OR may still leave less.
            None => self.all.iter().any(|part| part.columns().contains(column)),
        })
    }
}

impl Residuals {
    fn parts(&mut self, filter: &Arc<Filter>) -> Arc<Parts> {
        Arc::clone(self.parts.entry(Arc::as_ptr(filter)).or_insert_with(|| Arc::new(Parts::of(filter))))
    }

    /// What is to be kept of the slices of `from` to get those of `step`; nothing when they do not tell.
    fn of(&mut self, step: &Step, from: &Step) -> Option<Filter> {
        let (Operation::Leaf(leaf), Operation::Leaf(other)) = (&step.operation, &from.operation) else {
            return None;
        };
        if leaf != other || !step.level.iter().all(|column| from.level.contains(column)) {
            return None;
        }
        if step.filter == from.filter {
            return Some(Filter::All);
        }
        let (wanted, known) = (self.parts(&step.filter), self.parts(&from.filter));
        let keep: Vec<&Filter> = wanted.all.iter().filter(|part| !known.all.contains(part)).collect();
        let is_known = |part: &&Filter| part.columns().iter().all(|column| from.level.contains(column));
        if !keep.iter().all(is_known) || !wanted.may_be_within(&known) {
            return None;
        }
        let keep = Filter::And(keep.into_iter().cloned().collect());
        self.canonical_forms += 2;
        let keep = keep.canonical();
        let both = (*from.filter).clone().and(keep.clone()).canonical();
        (both == *step.filter).then_some(keep)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forest::Aggregation;
    use crate::plan::Leaf;

    fn leaf(filter: &str, level: &[&str]) -> Step {
        let level = level.iter().map(|column| Arc::from(*column)).collect();
        let filter = Arc::new(filter.parse::<Filter>().unwrap().canonical());
        let leaf = Leaf { aggregation: Aggregation::Sum, column: Some("pnl".into()) };
        Step { measure: "m".into(), whose: None, level, filter, operation: Operation::Leaf(leaf) }
    }

    fn forms(steps: &[Step]) -> usize {
        let mut residuals = Residuals::default();
        for (position, step) in steps.iter().enumerate() {
            for from in &steps[..position] {
                assert_eq!(residuals.of(step, from), None);
            }
        }
        residuals.canonical_forms
    }

    #[test]
    fn filters_that_have_nothing_in_common_cost_no_canonical_form() {
        let other_level: Vec<Step> = (0..200).map(|id| leaf(&format!("ccy = 'c{id}'"), &["desk"])).collect();
        assert_eq!(forms(&other_level), 0);
        let same_level: Vec<Step> =
            (0..200).map(|id| leaf(&format!("ccy = 'c{id}' and desk <> 'x'"), &["ccy", "desk"])).collect();
        assert_eq!(forms(&same_level), 0);
    }

    #[test]
    fn a_stricter_filter_is_rolled_up_from_a_wider_one() {
        let of = |step: &str, from: &str| {
            let (step, from) = (leaf(step, &[]), leaf(from, &["a", "b"]));
            Residuals::default().of(&step, &from).map(|keep| keep.to_string())
        };
        assert_eq!(of("a = 1 and c = 2", "c = 2").as_deref(), Some("a = 1"));
        assert_eq!(of("a > 5", "a > 3").as_deref(), Some("a > 5"));
        assert_eq!(of("a < 3 or a = 4", "a < 5").as_deref(), Some("a = 4 or a < 3"));
        assert_eq!(of("c = 1", "true"), None);
        assert_eq!(of("a > 3", "a > 5"), None);
        assert_eq!(of("a = 1", "c = 2"), None);
    }
}
