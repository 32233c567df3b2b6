//! Which rows of the table stand behind the cells of a query: for each aggregation the filter of its rows.
//!
//! A cell is not a filter. A measure that drops filters still has the slice that it is in, and one that is shifted reads another slice. So
//! the coordinates of a cell go down the steps as what they are, a part of the slices of each level, and become conditions at the leaves,
//! where a level's columns are columns of the table. Threads: `cpu`.

use super::columns::CubeColumns;
use super::step::{Leaf, Level, Operation, Spread, Step, StepId};
use super::targets::Targets;
use super::{Expanded, expanded, levels};
use crate::coordinate::Coordinate;
use crate::error::CubeError;
use crate::filter::Filter;
use crate::forest::Forest;
use crate::query::Query;
use arrow::array::{Array, BooleanArray};
use arrow::compute::{cast, filter};
use arrow::datatypes::DataType;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// More slices of steps than anybody drills into; shifts of shifts can multiply.
const MOST_VISITS: usize = 200_000;

/// Some slices of a level: those that have one of these coordinates, for every column that is named.
pub(crate) type Slices = BTreeMap<Arc<str>, BTreeSet<Coordinate>>;

/// Up to where cells of running totals reach, by column.
type Bounds = BTreeMap<Arc<str>, Filter>;

/// What stands behind cells.
#[derive(Debug, Default)]
pub(crate) struct Behind {
    /// Rows, by filter in canonical form, and the aggregations that use them.
    pub(crate) rows: BTreeMap<Filter, BTreeSet<Leaf>>,
    /// Cells of the cubes of a composite.
    pub(crate) cells: BTreeSet<CellsBehind>,
}

/// Cells of a measure of a cube.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CellsBehind {
    pub(crate) measure: Arc<str>,
    pub(crate) level: Level,
    pub(crate) filter: Arc<Filter>,
    pub(crate) slices: Slices,
}

/// Adds what stands behind the cells of a query that are in these slices.
pub(crate) fn behind(
    query: &Query,
    forest: &Forest,
    columns: &CubeColumns,
    rights: &Filter,
    slices: &Slices,
    found: &mut Behind,
) -> Result<(), CubeError> {
    // Totals too, for measures may choose by the level that they are asked at; not those without a column that a cell has.
    let mut all = levels(query)?.into_iter();
    let finest = all.next();
    let wanted =
        finest.into_iter().chain(all.filter(|level| slices.keys().all(|column| level.contains(column))));
    let Expanded { steps, roots, types, .. } = expanded(query, forest, columns, rights, wanted.collect())?;
    let asked = typed(slices, query, &types)?;
    let roots = roots.iter().flat_map(|root| &root.steps);
    let mut rest: Vec<(StepId, Slices, Bounds)> =
        roots.map(|step| (*step, asked.clone(), Bounds::new())).collect();
    let mut seen: BTreeSet<(StepId, Slices, Bounds)> = BTreeSet::new();
    while let Some((id, slices, mut bounds)) = rest.pop() {
        if !seen.insert((id, slices.clone(), bounds.clone())) {
            continue;
        }
        if seen.len() > MOST_VISITS {
            let problem = "too many slices stand behind it; drill through fewer measures at a time";
            return Err(CubeError::InvalidQuery { problem: problem.to_owned() });
        }
        let step = &steps[id.0];
        match &step.operation {
            Operation::Leaf(Leaf { column: Some(measure), .. }) if is_of_cube(step) => {
                found.cells.insert(CellsBehind {
                    measure: Arc::clone(measure),
                    level: Arc::clone(&step.level),
                    filter: Arc::new(bounded(&step.filter, &bounds)),
                    slices,
                });
            }
            Operation::Leaf(leaf) => {
                let filter = rows_of(step, &slices, &bounds, &types)?;
                if filter != Filter::None {
                    found.rows.entry(filter).or_default().insert(leaf.clone());
                }
            }
            // What is written says only where there is a value; the value is what is read.
            Operation::Shift { read, column, shift, .. } => {
                let mut there = slices;
                if let Some(coordinates) = there.get_mut(column) {
                    *coordinates = coordinates.iter().map(|from| shift.of(from)).collect();
                }
                // Where coordinates up to one are read is known for no shift: any of them may be.
                bounds.remove(column);
                rest.push((*read, there, bounds));
            }
            Operation::Dispatch { from, spread } => {
                bounds.remove(&spread.to);
                rest.push((*from, sources(spread, slices)?, bounds));
            }
            Operation::Cumulate { from, along } => {
                let mut there = slices;
                if let Some(coordinates) = there.remove(&along.column) {
                    let up_to = Filter::is_in(&along.column, coordinates).up_to(&along.column)?;
                    bounds.insert(Arc::clone(&along.column), up_to);
                }
                rest.push((*from, there, bounds));
            }
            // Only its code knows which slices it looks at.
            Operation::Custom { inputs, .. } => {
                rest.extend(inputs.iter().map(|input| (*input, Slices::new(), Bounds::new())));
            }
            _ => rest.extend(step.inputs().into_iter().map(|input| (input, slices.clone(), bounds.clone()))),
        }
    }
    Ok(())
}

fn is_of_cube(step: &Step) -> bool {
    matches!(&step.operation, Operation::Leaf(leaf) if leaf.is_of_cube())
}

/// Slices with the coordinates that their columns have.
fn typed(slices: &Slices, query: &Query, types: &BTreeMap<Arc<str>, DataType>) -> Result<Slices, CubeError> {
    let mut typed = Slices::new();
    for (column, coordinates) in slices {
        let is_grouped = query.group_by.iter().any(|by| **by == **column);
        let Some(data_type) = types.get(column).filter(|_| is_grouped) else {
            let problem = format!(
                "a cell has a coordinate of {column:?}, which is not grouped by; add it to the columns"
            );
            return Err(CubeError::InvalidQuery { problem });
        };
        let each = coordinates.iter().map(|coordinate| {
            coordinate.typed(data_type).ok_or_else(|| coordinate.wrong_in(column, data_type))
        });
        let mut each: BTreeSet<Coordinate> = each.collect::<Result<_, _>>()?;
        // Both zeros are one coordinate.
        if each.iter().any(|coordinate| matches!(coordinate, Coordinate::Float(0.0))) {
            each.extend([0.0, -0.0].map(Coordinate::Float));
        }
        typed.insert(Arc::clone(column), each);
    }
    Ok(typed)
}

/// A filter within bounds.
fn bounded(filter: &Filter, bounds: &Bounds) -> Filter {
    bounds.values().fold(filter.clone(), |filter, bound| filter.and(bound.clone()))
}

/// The rows of a leaf that are in these slices.
fn rows_of(
    step: &Step,
    slices: &Slices,
    bounds: &Bounds,
    types: &BTreeMap<Arc<str>, DataType>,
) -> Result<Filter, CubeError> {
    let mut filter = bounded(&step.filter, bounds);
    for (column, coordinates) in slices.iter().filter(|(column, _)| step.level.contains(column)) {
        filter = filter.and(Filter::is_in(column, coordinates.iter().cloned()));
    }
    Ok(filter.typed(&|column| types.get(column).cloned())?.canonical())
}

/// The slices whose cells go to these. What code dispatches may come from anywhere.
fn sources(spread: &Spread, mut slices: Slices) -> Result<Slices, CubeError> {
    let to = slices.remove(&spread.to);
    // Without a column that decides, every cell goes everywhere.
    let (Targets::List(list), Some(column)) = (&spread.targets, &spread.from) else { return Ok(slices) };
    if to.is_none() && spread.wanted == Filter::All && !spread.is_grouped {
        return Ok(slices);
    }
    let arrow = |error| CubeError::arrow("dispatch", &error);
    let mut from = BTreeSet::new();
    for (source, destination) in list.sources() {
        let mut targets = destination.targets;
        if let Some(to) = &to {
            let is_wanted: BooleanArray =
                (0..targets.len()).map(|row| Some(to.contains(&Coordinate::at(&targets, row)))).collect();
            targets = filter(&targets, &is_wanted).map_err(arrow)?;
        }
        let targets = cast(&targets, &spread.output).map_err(arrow)?;
        if !targets.is_empty() && spread.wanted.mask_of(&targets)?.has_true() {
            from.insert(source.clone());
        }
    }
    slices
        .entry(Arc::clone(column))
        .and_modify(|known| known.retain(|coordinate| from.contains(coordinate)))
        .or_insert(from);
    Ok(slices)
}
