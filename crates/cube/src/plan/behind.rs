//! Which rows of the table stand behind the cells of a query: for each aggregation the filter of its rows.
//!
//! A cell is not a filter. A measure that drops filters still has the slice that it is in, and one that is shifted reads another slice. So
//! the coordinates of a cell go down the steps as what they are, a part of the slices of each level, and become conditions at the leaves,
//! where a level's columns are columns of the table. Threads: `cpu`.

use super::columns::CubeColumns;
use super::step::{Leaf, Level, Operation, Spread, Step, StepId, Targets};
use super::{Expanded, expanded, levels};
use crate::coordinate::{Coordinate, logical_type};
use crate::error::CubeError;
use crate::filter::Filter;
use crate::forest::Forest;
use crate::query::Query;
use arrow::array::Array;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// More slices of steps than anybody drills into; shifts of shifts can multiply.
const MOST_VISITS: usize = 200_000;

/// Some slices of a level: those that have one of these coordinates, for every column that is named.
pub(crate) type Slices = BTreeMap<Arc<str>, BTreeSet<Coordinate>>;

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
    // Totals have the rows of what they are totals of.
    let finest = levels(query)?.into_iter().take(1).collect();
    let Expanded { steps, roots, types } = expanded(query, forest, columns, rights, finest)?;
    let asked = typed(slices, &types)?;
    let mut rest: Vec<(StepId, Slices)> =
        roots.iter().flat_map(|root| &root.steps).map(|step| (*step, asked.clone())).collect();
    let mut seen: BTreeSet<(StepId, Slices)> = BTreeSet::new();
    while let Some((id, slices)) = rest.pop() {
        if !seen.insert((id, slices.clone())) {
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
                    filter: Arc::clone(&step.filter),
                    slices,
                });
            }
            Operation::Leaf(leaf) => {
                let filter = rows_of(step, &slices, &types);
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
                rest.push((*read, there));
            }
            Operation::Dispatch { from, spread } => rest.push((*from, sources(spread, slices)?)),
            // Only its code knows which slices it looks at.
            Operation::Custom { inputs, .. } => {
                rest.extend(inputs.iter().map(|input| (*input, Slices::new())));
            }
            _ => rest.extend(step.inputs().into_iter().map(|input| (input, slices.clone()))),
        }
    }
    Ok(())
}

fn is_of_cube(step: &Step) -> bool {
    matches!(&step.operation, Operation::Leaf(leaf) if leaf.is_of_cube())
}

/// Slices with the coordinates that their columns have.
fn typed(slices: &Slices, types: &BTreeMap<Arc<str>, DataType>) -> Result<Slices, CubeError> {
    let mut typed = Slices::new();
    for (column, coordinates) in slices {
        let Some(data_type) = types.get(column) else {
            let problem = format!(
                "a cell has a coordinate of {column:?}, which is not grouped by; add it to the columns"
            );
            return Err(CubeError::InvalidQuery { problem });
        };
        let each = coordinates.iter().filter_map(|coordinate| coordinate.typed(data_type));
        let mut each: BTreeSet<Coordinate> = each.collect();
        // Both zeros are one coordinate.
        if each.iter().any(|coordinate| matches!(coordinate, Coordinate::Float(0.0))) {
            each.extend([0.0, -0.0].map(Coordinate::Float));
        }
        typed.insert(Arc::clone(column), each);
    }
    Ok(typed)
}

/// The rows of a leaf that are in these slices.
fn rows_of(step: &Step, slices: &Slices, types: &BTreeMap<Arc<str>, DataType>) -> Filter {
    let mut filter = (*step.filter).clone();
    for (column, coordinates) in slices.iter().filter(|(column, _)| step.level.contains(column)) {
        filter = filter.and(Filter::is_in(column, coordinates.iter().cloned()));
    }
    filter.typed(&|column| types.get(column).cloned()).canonical()
}

/// The slices whose cells go to these. What code dispatches may come from anywhere.
fn sources(spread: &Spread, mut slices: Slices) -> Result<Slices, CubeError> {
    let to = slices.remove(&spread.to);
    let Targets::Map(map) = &spread.targets else { return Ok(slices) };
    if to.is_none() && spread.wanted == Filter::All && !spread.is_grouped {
        return Ok(slices);
    }
    let arrow = |error| CubeError::arrow("dispatch", &error);
    let mut from = BTreeSet::new();
    for (source, targets) in map {
        let targets: Vec<Coordinate> = targets
            .iter()
            .filter_map(|(target, _)| target.typed(&spread.output))
            .filter(|target| to.as_ref().is_none_or(|to| to.contains(target)))
            .collect();
        let column = Coordinate::column(&targets, &logical_type(&spread.output)).map_err(arrow)?;
        let column = cast(&column, &spread.output).map_err(arrow)?;
        if !column.is_empty() && spread.wanted.mask_of(&column)?.has_true() {
            from.insert(source.clone());
        }
    }
    slices
        .entry(Arc::clone(&spread.from))
        .and_modify(|known| known.retain(|coordinate| from.contains(coordinate)))
        .or_insert(from);
    Ok(slices)
}
