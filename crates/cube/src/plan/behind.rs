//! Which rows of the table stand behind the cells of a query: for each aggregation the filter of its rows.
//!
//! A cell is not a filter. A measure that drops filters still has the slice that it is in, and one that is shifted reads another slice. So
//! the coordinates of a cell go down the steps as what they are, a part of the slices of each level, and become conditions at the leaves,
//! where a level's columns are columns of the table. Threads: `cpu`.

use super::columns::CubeColumns;
use super::step::{Leaf, Level, Operation, ShiftBy, Spread, Step, StepId};
use super::targets::Targets;
use super::{Expanded, expanded, levels, linear};
use crate::coordinate::Coordinate;
use crate::error::CubeError;
use crate::execute::CancelToken;
use crate::filter::Filter;
use crate::forest::Forest;
use crate::query::Query;
use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::compute::{cast, filter};
use arrow::datatypes::DataType;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// More slices of steps than anybody drills into; shifts of shifts can multiply.
const MOST_VISITS: usize = 200_000;

/// Some slices of a level: those that have one of these coordinates, for every column that is named.
pub(crate) type Slices = BTreeMap<Arc<str>, BTreeSet<Coordinate>>;

/// The slices of a level that these conditions hold for, each on its own column: where coordinates cannot be counted up. Up to where cells
/// of running totals reach, between which numbers a cell goes to one of them.
pub(crate) type Bounds = BTreeMap<Arc<str>, Filter>;

/// Some cells of a level.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Area {
    pub(crate) slices: Slices,
    pub(crate) bounds: Bounds,
}

impl Area {
    /// Only where this holds too, which is a condition on one column.
    fn bound(&mut self, column: &Arc<str>, filter: Filter) {
        let bound = self.bounds.entry(Arc::clone(column)).or_insert(Filter::All);
        *bound = std::mem::replace(bound, Filter::All).and(filter).canonical();
    }
}

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
    pub(crate) area: Area,
}

/// Adds what stands behind the cells of a query that are in this area.
pub(crate) fn behind(
    query: &Query,
    forest: &Forest,
    columns: &CubeColumns,
    (rights, cancel): (&Filter, &CancelToken),
    area: &Area,
    found: &mut Behind,
) -> Result<(), CubeError> {
    // Totals too, for measures may choose by the level that they are asked at; not those without a column that a cell has.
    let mut all = levels(query)?.into_iter();
    let finest = all.next();
    let wanted =
        finest.into_iter().chain(all.filter(|level| area.slices.keys().all(|column| level.contains(column))));
    let Expanded { steps, roots, types, .. } =
        expanded(query, forest, columns, (rights, cancel), wanted.collect())?;
    let asked = Area { slices: typed(&area.slices, query, &types)?, bounds: area.bounds.clone() };
    let roots = roots.iter().flat_map(|root| &root.steps);
    let mut rest: Vec<(StepId, Area)> = roots.map(|step| (*step, asked.clone())).collect();
    let mut seen: BTreeSet<(StepId, Area)> = BTreeSet::new();
    while let Some((id, area)) = rest.pop() {
        if !seen.insert((id, area.clone())) {
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
                    area,
                });
            }
            Operation::Leaf(leaf) => {
                let filter = rows_of(step, &area, &types)?;
                if filter != Filter::None {
                    found.rows.entry(filter).or_default().insert(leaf.clone());
                }
            }
            // What is written says only where there is a value; the value is what is read.
            Operation::Shift { read, column, shift, .. } => {
                let mut there = area;
                if let Some(coordinates) = there.slices.get_mut(column) {
                    *coordinates = coordinates.iter().map(|from| shift.of(from)).collect();
                }
                if let Some(bound) = there.bounds.remove(column) {
                    // Where code reads instead of coordinates up to one, nobody knows: any of them may be read.
                    if matches!(shift, ShiftBy::Offset(_)) {
                        there.bound(column, bound.with_values(column, &|from| shift.of(from), true)?);
                    }
                }
                rest.push((*read, there));
            }
            Operation::Dispatch { from, spread } => rest.push((*from, sources(spread, area)?)),
            Operation::Cumulate { from, along } => {
                let mut there = area;
                // What is wanted of the totals has all before it behind it.
                if let Some(bound) = there.bounds.remove(&along.column) {
                    there.bound(&along.column, bound.up_to(&along.column, types.get(&along.column))?);
                }
                if let Some(coordinates) = there.slices.remove(&along.column) {
                    let up_to = Filter::is_in(&along.column, coordinates)
                        .up_to(&along.column, types.get(&along.column))?;
                    there.bound(&along.column, up_to);
                }
                rest.push((*from, there));
            }
            Operation::RollUp { from, keep, .. } => {
                let mut there = area;
                if let Some(column) = keep.columns().first() {
                    there.bound(column, keep.clone());
                }
                rest.push((*from, there));
            }
            // Only its code knows which slices it looks at.
            Operation::Custom { inputs, .. } => {
                rest.extend(inputs.iter().map(|input| (*input, Area::default())));
            }
            _ => rest.extend(step.inputs().into_iter().map(|input| (input, area.clone()))),
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
                "a cell has a coordinate of {column:?}, which is not grouped by; add it to the columns that the query groups by"
            );
            return Err(CubeError::InvalidQuery { problem });
        };
        let each = coordinates.iter().map(|coordinate| {
            coordinate.typed_in(column, data_type)?.ok_or_else(|| coordinate.wrong_in(column, data_type))
        });
        typed.insert(Arc::clone(column), each.collect::<Result<_, _>>()?);
    }
    Ok(typed)
}

/// The rows of a leaf that are in this area.
fn rows_of(step: &Step, area: &Area, types: &BTreeMap<Arc<str>, DataType>) -> Result<Filter, CubeError> {
    let bounds = area.bounds.values();
    let mut filter = bounds.fold((*step.filter).clone(), |filter, bound| filter.and(bound.clone()));
    for (column, coordinates) in area.slices.iter().filter(|(column, _)| step.level.contains(column)) {
        filter = filter.and(Filter::is_in(column, coordinates.iter().cloned()));
    }
    Ok(filter.typed(&|column| types.get(column).cloned())?.canonical())
}

/// Where the cells are that go to these. What code dispatches may come from any coordinate that it is not known of to be another one.
fn sources(spread: &Spread, mut area: Area) -> Result<Area, CubeError> {
    let (to, bound) = (area.slices.remove(&spread.to), area.bounds.remove(&spread.to));
    // Without a column that decides, every cell goes everywhere.
    let Some(column) = &spread.from else { return Ok(area) };
    let is_any = to.is_none() && bound.is_none() && spread.wanted == Filter::All && !spread.is_grouped;
    if is_any {
        return Ok(area);
    }
    let wanted = spread.wanted.clone().and(bound.unwrap_or(Filter::All));
    let arrow = |error| CubeError::arrow("dispatch", &error);
    let is_wanted = |mut targets: ArrayRef| -> Result<bool, CubeError> {
        if let Some(to) = &to {
            let are_there: BooleanArray =
                (0..targets.len()).map(|row| Some(to.contains(&Coordinate::at(&targets, row)))).collect();
            targets = filter(&targets, &are_there).map_err(arrow)?;
        }
        let targets = cast(&targets, &spread.output).map_err(arrow)?;
        Ok(!targets.is_empty() && wanted.mask_of(&targets)?.has_true())
    };
    let mut from = BTreeSet::new();
    match &spread.targets {
        Targets::List(list) => {
            for (source, destination) in list.sources() {
                if is_wanted(destination.targets)? {
                    from.insert(source.clone());
                }
            }
        }
        Targets::Linear(numbers) => {
            let each = numbers.iter().map(|number| {
                let targets =
                    spread.targets.of(&Coordinate::Float(*number), (&spread.to, &spread.output))?.targets;
                is_wanted(targets)
            });
            let wanted = each.collect::<Result<Vec<bool>, CubeError>>()?;
            area.bound(column, linear::sources(column, numbers, &wanted));
            return Ok(area);
        }
        Targets::Function(_) => {
            let Some(known) = area.slices.get(column) else { return Ok(area) };
            for source in known {
                if is_wanted(spread.targets.of(source, (&spread.to, &spread.output))?.targets)? {
                    from.insert(source.clone());
                }
            }
        }
    }
    area.slices
        .entry(Arc::clone(column))
        .and_modify(|known| known.retain(|coordinate| from.contains(coordinate)))
        .or_insert(from);
    Ok(area)
}
