//! By which columns the slices of a query are spread: those that the query names, else those of its measures, else those of the table, else
//! what the planner finds. The answer is the same for any of them. Threads: `cpu`.

use super::{CubeColumns, Plan};
use crate::error::CubeError;
use crate::forest::Forest;
use crate::query::Query;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The columns for a query over a table that declares some, or none.
pub(crate) fn shard(
    query: &Query,
    forest: &Forest,
    columns: &CubeColumns,
    declared: &[String],
    plan: &Plan,
) -> Result<BTreeSet<Arc<str>>, CubeError> {
    let asked = &query.options.shard_by;
    asked.iter().try_for_each(|column| columns.check_named(column))?;
    if !asked.is_empty() {
        return Ok(names(asked));
    }
    let of_measures: BTreeSet<Arc<str>> = of_measures(query, forest);
    // What no level has spreads nothing, and would only take the place of what does.
    let is_of_use = |columns: &BTreeSet<Arc<str>>| {
        let has_all = |level: &[Arc<str>]| columns.iter().all(|column| level.contains(column));
        !columns.is_empty() && plan.steps.iter().any(|step| has_all(&step.level))
    };
    let preferred = [of_measures, names(declared)].into_iter().find(is_of_use);
    Ok(preferred.unwrap_or_else(|| plan.shard.clone()))
}

fn names(columns: &[String]) -> BTreeSet<Arc<str>> {
    columns.iter().map(|column| Arc::from(column.as_str())).collect()
}

/// What all measures have in common that say something: those that are asked for, and below those that say nothing.
fn of_measures(query: &Query, forest: &Forest) -> BTreeSet<Arc<str>> {
    let mut common: Option<BTreeSet<Arc<str>>> = None;
    if forest.shards().is_empty() {
        return BTreeSet::new();
    }
    let mut left: Vec<String> = query.measures.clone();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    while let Some(name) = left.pop() {
        if let Some(columns) = forest.shards().get(&name) {
            let own = names(columns);
            common = Some(match common {
                Some(common) => common.intersection(&own).cloned().collect(),
                None => own,
            });
        } else if let Some(measure) = forest.measure(&name).filter(|_| seen.insert(name.clone())) {
            left.extend(measure.underlyings());
        }
    }
    common.unwrap_or_default()
}
