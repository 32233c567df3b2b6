//! The plan of a query: which steps, in which order, and what of the table.
//!
//! ```text
//!   measures ──► steps, each once ──► leaves: one pass over the table, or rolled up ──► tasks, by depth
//! ```
//!
//! Everything that is read from the table is read in one pass: one grouping for every level, one filter for every leaf. Combinations of one
//! level and depth are one task, whose cells go through all of them block by block. A step's *depth* grows with every task below it, so
//! tasks in the order of depth find their inputs made.

mod behind;
mod choose;
mod columns;
mod cumulate;
mod dispatched;
mod expand;
mod induce;
mod linear;
mod recipe;
mod shard;
mod step;
mod targets;
mod wanting;

pub(crate) use behind::{Area, Behind, behind};
pub(crate) use columns::{CubeColumns, Named};
pub(crate) use shard::shard;
pub(crate) use step::{Along, Cells, CustomCode, Leaf, Level, Operation, ShiftBy, Spread, Step, StepId};
pub(crate) use targets::Destination;

use crate::error::CubeError;
use crate::execute::CancelToken;
use crate::filter::{Filter, Matcher};
use crate::forest::Forest;
use crate::query::Query;
use arrow::datatypes::DataType;
use expand::Expansion;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A level has at most so many columns; the index over slices keeps their nulls in one word.
const MOST_COLUMNS: usize = 60;

/// A query, ready to run.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    /// What runs, in order; the pass over the table comes before.
    pub(crate) tasks: Vec<Task>,
    /// What is read from the table.
    pub(crate) leaves: Vec<StepId>,
    /// What was asked for: a row of steps, one per measure, for each level of the result.
    pub(crate) roots: Vec<RootLevel>,
    /// How many tasks and roots read a step.
    pub(crate) readers: Vec<usize>,
    /// The columns that slices are spread by, where a level has them all.
    pub(crate) shard: BTreeSet<Arc<str>>,
    /// The type of every column of every level.
    pub(crate) types: BTreeMap<Arc<str>, DataType>,
    /// What measures chose that look at where they are asked for.
    pub(crate) notes: Vec<String>,
}

/// The steps of all measures of a query at one level.
#[derive(Debug)]
pub(crate) struct RootLevel {
    pub(crate) level: Level,
    pub(crate) steps: Vec<StepId>,
}

/// What runs at once.
#[derive(Debug)]
pub(crate) enum Task {
    /// A step that makes one cuboid.
    One(StepId),
    /// Combinations of one level, in order; only those that others read are made.
    Fused { steps: Vec<StepId>, inputs: Vec<StepId>, outputs: Vec<StepId> },
}

impl Task {
    /// The steps that it makes.
    pub(crate) fn outputs(&self) -> &[StepId] {
        match self {
            Self::One(step) => std::slice::from_ref(step),
            Self::Fused { outputs, .. } => outputs,
        }
    }

    /// The steps that it reads.
    pub(crate) fn inputs(&self, steps: &[Step]) -> Vec<StepId> {
        match self {
            Self::One(step) => steps[step.0].inputs(),
            Self::Fused { inputs, .. } => inputs.clone(),
        }
    }
}

/// Plans a query; `rights` is what its user may see. Looks at `cancel` between steps.
pub(crate) fn plan(
    query: &Query,
    forest: &Forest,
    columns: &CubeColumns,
    rights: &Filter,
    cancel: &CancelToken,
) -> Result<Plan, CubeError> {
    let Expanded { mut steps, roots, types, notes } =
        expanded(query, forest, columns, (rights, cancel), levels(query)?)?;
    induce::induce(&mut steps, cancel)?;
    Ok(Plan { notes, ..ordered(steps, roots, types) })
}

/// All steps of a query, before it is decided which of them are read from the table.
struct Expanded {
    steps: Vec<Step>,
    roots: Vec<RootLevel>,
    types: BTreeMap<Arc<str>, DataType>,
    /// What measures chose that look at where they are asked for.
    notes: Vec<String>,
}

fn expanded(
    query: &Query,
    forest: &Forest,
    columns: &CubeColumns,
    (rights, cancel): (&Filter, &CancelToken),
    levels: Vec<Vec<Arc<str>>>,
) -> Result<Expanded, CubeError> {
    let mut expansion = Expansion::new(forest, columns, rights, query.marker.as_deref(), cancel);
    let filter = expansion.filter(&query.filter)?;
    let mut roots = Vec::new();
    for level in levels {
        let id = expansion.level(level);
        let mut steps = Vec::new();
        for measure in &query.measures {
            let is_unknown = forest.measure(measure).is_none();
            steps.push(if is_unknown && query.options.unknown_measures_are_empty {
                expansion.empty(measure, id, filter)
            } else {
                expansion.step(measure, id, filter)?
            });
        }
        roots.push(RootLevel { level: expansion.level_of(id), steps });
    }
    let mut types = BTreeMap::new();
    for column in expansion
        .steps
        .iter()
        .flat_map(|step| step.level.iter())
        .chain(roots.iter().flat_map(|root| root.level.iter()))
    {
        if !types.contains_key(column) {
            let data_type = match expansion.type_of(column) {
                Some(data_type) => data_type,
                None => columns.type_of(column)?,
            };
            types.insert(Arc::clone(column), data_type);
        }
    }
    Ok(Expanded { steps: expansion.steps, roots, types, notes: expansion.notes })
}

/// The levels of the result: the query's, and one for every set of columns that totals are asked over.
fn levels(query: &Query) -> Result<Vec<Vec<Arc<str>>>, CubeError> {
    let invalid = |problem: String| Err(CubeError::InvalidQuery { problem });
    if query.measures.is_empty() {
        return invalid("it asks for no measure; name at least one".to_owned());
    }
    let (totals, by): (BTreeSet<&str>, BTreeSet<&str>) = (
        query.totals.iter().map(String::as_str).collect(),
        query.group_by.iter().map(String::as_str).collect(),
    );
    if by.len() < query.group_by.len() {
        return invalid("it groups by a column twice; name each once".to_owned());
    }
    if by.len() > MOST_COLUMNS {
        return invalid(format!("it groups by more than {MOST_COLUMNS} columns; ask for fewer"));
    }
    if let Some(column) = totals.difference(&by).next() {
        return invalid(format!("totals over {column:?} need it among the columns that are grouped by"));
    }
    if totals.len() > 6 {
        return invalid(
            "totals over more than 6 columns are more levels than anyone reads; ask for fewer".to_owned(),
        );
    }
    let totals: Vec<&str> = totals.into_iter().collect();
    let level = |set: usize| {
        let is_total = |column: &&str| {
            totals.iter().position(|total| total == column).is_some_and(|bit| set >> bit & 1 == 1)
        };
        by.iter().filter(|column| !is_total(column)).map(|column| Arc::from(*column)).collect()
    };
    Ok((0..1_usize << totals.len()).map(level).collect())
}

/// Puts steps into the order that they run in, combinations of one level and depth together.
fn ordered(steps: Vec<Step>, roots: Vec<RootLevel>, types: BTreeMap<Arc<str>, DataType>) -> Plan {
    let is_combine = |step: &Step| matches!(step.operation, Operation::Combine { .. });
    let mut depths = vec![0_usize; steps.len()];
    // Roll-ups of leaves may stand before the leaf that they come from; all else stands after its inputs.
    let is_early = |step: &Step| matches!(step.operation, Operation::RollUp { from, .. } if matches!(steps[from.0].operation, Operation::Leaf(_)));
    for (id, step) in steps.iter().enumerate() {
        if is_early(step) {
            depths[id] = 1;
            continue;
        }
        for input in step.inputs() {
            let within = is_combine(step) && is_combine(&steps[input.0]);
            depths[id] = depths[id].max(depths[input.0] + usize::from(!within));
        }
    }
    let mut is_read_outside = vec![false; steps.len()];
    for root in roots.iter().flat_map(|root| &root.steps) {
        is_read_outside[root.0] = true;
    }
    // A combination of a later depth is another task, though the two are combinations of one level.
    for (id, step) in steps.iter().enumerate() {
        for input in step.inputs() {
            is_read_outside[input.0] |= !is_combine(step) || depths[input.0] < depths[id];
        }
    }
    let mut tasks: BTreeMap<(usize, usize), Task> = BTreeMap::new();
    let mut fused: BTreeMap<(usize, Level), usize> = BTreeMap::new();
    let mut leaves = Vec::new();
    for (id, step) in steps.iter().enumerate() {
        match step.operation {
            Operation::Leaf(_) => leaves.push(StepId(id)),
            Operation::Combine { .. } => {
                let first = *fused.entry((depths[id], Arc::clone(&step.level))).or_insert(id);
                let task = tasks.entry((depths[id], first)).or_insert_with(|| Task::Fused {
                    steps: Vec::new(),
                    inputs: Vec::new(),
                    outputs: Vec::new(),
                });
                if let Task::Fused { steps: members, outputs, .. } = task {
                    members.push(StepId(id));
                    if is_read_outside[id] {
                        outputs.push(StepId(id));
                    }
                }
            }
            _ => {
                tasks.insert((depths[id], id), Task::One(StepId(id)));
            }
        }
    }
    let mut tasks: Vec<Task> = tasks.into_values().collect();
    for task in &mut tasks {
        if let Task::Fused { steps: members, inputs, .. } = task {
            let known: BTreeSet<StepId> = members.iter().copied().collect();
            let read: BTreeSet<StepId> = members.iter().flat_map(|member| steps[member.0].inputs()).collect();
            *inputs = read.difference(&known).copied().collect();
        }
    }
    let mut readers = vec![0; steps.len()];
    for read in tasks
        .iter()
        .flat_map(|task| task.inputs(&steps))
        .chain(roots.iter().flat_map(|root| root.steps.clone()))
    {
        readers[read.0] += 1;
    }
    let shard = shard_columns(&steps, &leaves);
    Plan { steps, tasks, leaves, roots, readers, shard, types, notes: Vec::new() }
}

/// The columns that all levels have, but those that a filter pins to one value and, if others remain, those that are shifted or added up
/// along.
fn shard_columns(steps: &[Step], leaves: &[StepId]) -> BTreeSet<Arc<str>> {
    let levels: BTreeSet<&Level> =
        steps.iter().map(|step| &step.level).filter(|level| !level.is_empty()).collect();
    let mut levels = levels.into_iter();
    let Some(first) = levels.next() else { return BTreeSet::new() };
    let mut shared: BTreeSet<Arc<str>> = first.iter().cloned().collect();
    levels.for_each(|level| shared.retain(|column| level.contains(column)));
    let is_pinned = |column: &Arc<str>| {
        !leaves.is_empty() && leaves.iter().all(|leaf| pins(&steps[leaf.0].filter, column))
    };
    shared.retain(|column| !is_pinned(column));
    let shifted: BTreeSet<Arc<str>> = steps
        .iter()
        .filter_map(|step| match &step.operation {
            Operation::Shift { column, .. } => Some(Arc::clone(column)),
            Operation::Cumulate { along, .. } => Some(Arc::clone(&along.column)),
            _ => None,
        })
        .collect();
    let unshifted: BTreeSet<Arc<str>> = shared.difference(&shifted).cloned().collect();
    if unshifted.is_empty() { shared } else { unshifted }
}

/// True when the filter leaves a column one value.
fn pins(filter: &Filter, column: &Arc<str>) -> bool {
    match filter {
        Filter::Column(name, Matcher::In(values)) => name == column && values.len() == 1,
        Filter::Column(name, Matcher::Null) => name == column,
        Filter::And(all) => all.iter().any(|part| pins(part, column)),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
