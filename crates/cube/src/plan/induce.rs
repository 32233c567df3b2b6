//! Which aggregations are read from the table, and which are rolled up from others.
//!
//! A leaf is rolled up from another one of the same aggregation and column whose level has all its columns, when its filter is the other
//! one's and conditions on columns of that level. Finer leaves are looked at first, so that what is rolled up comes from the table in one
//! step.

use super::step::{Operation, Step, StepId};
use crate::filter::Filter;

/// Above this many leaves the pairs are too many to look at; all are then read from the table, in one pass over it.
const MOST_LEAVES: usize = 1_024;

/// Turns leaves into roll-ups where it can; the rest is read from the table.
pub(super) fn induce(steps: &mut [Step]) {
    let mut leaves: Vec<StepId> = (0..steps.len())
        .map(StepId)
        .filter(|id| matches!(steps[id.0].operation, Operation::Leaf(_)))
        .collect();
    if leaves.len() > MOST_LEAVES {
        return;
    }
    leaves.sort_by_key(|id| {
        (std::cmp::Reverse(steps[id.0].level.len()), steps[id.0].filter.columns().len(), id.0)
    });
    let mut read: Vec<StepId> = Vec::new();
    for id in leaves {
        let step = &steps[id.0];
        let Operation::Leaf(leaf) = &step.operation else { continue };
        let inducer = leaf.roll_up().and_then(|aggregation| {
            let candidates = read.iter().filter_map(|from| Some((*from, residual(step, &steps[from.0])?)));
            let (from, keep) = candidates.min_by_key(|(from, _)| (steps[from.0].level.len(), from.0))?;
            Some(Operation::RollUp { from, keep, aggregation })
        });
        match inducer {
            Some(operation) => steps[id.0].operation = operation,
            None => read.push(id),
        }
    }
}

/// What is to be kept of the slices of `from` to get those of `step`; nothing when they do not tell.
fn residual(step: &Step, from: &Step) -> Option<Filter> {
    let (Operation::Leaf(leaf), Operation::Leaf(other)) = (&step.operation, &from.operation) else {
        return None;
    };
    if leaf != other || !step.level.iter().all(|column| from.level.contains(column)) {
        return None;
    }
    if step.filter == from.filter {
        return Some(Filter::All);
    }
    let parts = |filter: &Filter| match filter {
        Filter::All => Vec::new(),
        Filter::And(all) => all.clone(),
        other => vec![other.clone()],
    };
    let known = parts(&from.filter);
    let keep: Vec<Filter> = parts(&step.filter).into_iter().filter(|part| !known.contains(part)).collect();
    let keep = Filter::And(keep).canonical();
    let is_known = keep.columns().iter().all(|column| from.level.contains(column));
    let both = (*from.filter).clone().and(keep.clone()).canonical();
    (is_known && both == *step.filter).then_some(keep)
}
