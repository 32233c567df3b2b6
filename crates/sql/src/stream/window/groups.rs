//! The groups of the windows that are open.
//!
//! Each window has a table of groups of its own, since it is given, and goes, as a whole. Most batches are of one window or two; a batch of
//! several is taken apart by window first. What the tables take is charged to the query, and a query that may not take more ends: groups
//! cannot be spilled while rows of all open windows still come.

use super::exec::numbers;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, UInt32Array};
use arrow::compute::{max, min, take};
use arrow::datatypes::{DataType, Int64Type, SchemaRef};
use datafusion::common::Result;
use datafusion::common::cast::as_boolean_array;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::{GroupsAccumulatorAdapter, PhysicalExpr};
use datafusion::physical_plan::aggregates::group_values::{GroupValues, new_group_values};
use datafusion::physical_plan::aggregates::order::GroupOrdering;
use datafusion::physical_plan::aggregates::{
    AggregateMode, PhysicalGroupBy, aggregate_expressions, evaluate_group_by, evaluate_many,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a window takes before it has a group.
const EMPTY_WINDOW_BYTES: usize = 1 << 10;

/// What is computed of the groups.
#[derive(Debug, Clone)]
pub(super) struct Grouping {
    pub(super) group_by: PhysicalGroupBy,
    pub(super) aggregates: Vec<Arc<AggregateFunctionExpr>>,
    pub(super) filters: Vec<Option<Arc<dyn PhysicalExpr>>>,
    /// Which column of the groups says the window.
    pub(super) window: usize,
    pub(super) input: SchemaRef,
    pub(super) output: SchemaRef,
}

/// The windows that are open, by what the column of the window says.
pub(super) struct OpenWindows {
    grouping: Grouping,
    arguments: Vec<Vec<Arc<dyn PhysicalExpr>>>,
    groups: SchemaRef,
    open: BTreeMap<i64, Window>,
    bytes: usize,
    memory: MemoryReservation,
}

struct Window {
    groups: Box<dyn GroupValues>,
    accumulators: Vec<Box<dyn GroupsAccumulator>>,
    bytes: usize,
}

/// The rows of a batch, evaluated.
struct Rows {
    groups: Vec<ArrayRef>,
    arguments: Vec<Vec<ArrayRef>>,
    filters: Vec<Option<BooleanArray>>,
}

impl OpenWindows {
    pub(super) fn new(grouping: Grouping, memory: MemoryReservation) -> Result<Self> {
        let arguments = aggregate_expressions(&grouping.aggregates, &AggregateMode::Single, 0)?;
        let groups = grouping.group_by.group_schema(&grouping.input)?;
        Ok(Self { grouping, arguments, groups, open: BTreeMap::new(), bytes: 0, memory })
    }

    /// Adds rows to their groups, but those of windows for which `is_closed`; how many those were.
    pub(super) fn add(&mut self, batch: &RecordBatch, is_closed: impl Fn(i64) -> bool) -> Result<u64> {
        let rows = self.evaluated(batch)?;
        let keys = numbers(&rows.groups[self.grouping.window], &DataType::Int64)?;
        let keys = keys.as_primitive::<Int64Type>();
        let mut late = 0;
        match (min(keys), max(keys)) {
            (Some(first), Some(last)) if first == last && keys.null_count() == 0 => match is_closed(first) {
                true => late += batch.num_rows() as u64,
                false => self.add_to(first, &rows)?,
            },
            _ => {
                let mut places: BTreeMap<i64, Vec<u32>> = BTreeMap::new();
                for row in (0..keys.len()).filter(|row| keys.is_valid(*row)) {
                    places.entry(keys.value(row)).or_default().push(row as u32);
                }
                for (key, places) in places {
                    match is_closed(key) {
                        true => late += places.len() as u64,
                        false => self.add_to(key, &rows.taken(&UInt32Array::from(places))?)?,
                    }
                }
            }
        }
        self.memory.try_resize(self.bytes)?;
        Ok(late)
    }

    fn evaluated(&self, batch: &RecordBatch) -> Result<Rows> {
        let groups = evaluate_group_by(&self.grouping.group_by, batch)?.pop().unwrap_or_default();
        let arguments = evaluate_many(&self.arguments, batch)?;
        let mut filters = Vec::with_capacity(self.grouping.filters.len());
        for filter in &self.grouping.filters {
            filters.push(match filter {
                None => None,
                Some(filter) => {
                    let is_true = filter.evaluate(batch)?.into_array(batch.num_rows())?;
                    Some(as_boolean_array(&is_true)?.clone())
                }
            });
        }
        Ok(Rows { groups, arguments, filters })
    }

    fn add_to(&mut self, key: i64, rows: &Rows) -> Result<()> {
        if !self.open.contains_key(&key) {
            let accumulators =
                self.grouping.aggregates.iter().map(accumulator).collect::<Result<Vec<_>>>()?;
            let groups = new_group_values(Arc::clone(&self.groups), &GroupOrdering::None)?;
            self.open.insert(key, Window { groups, accumulators, bytes: 0 });
        }
        let Some(window) = self.open.get_mut(&key) else { return Ok(()) };
        let mut places = Vec::new();
        window.groups.intern(&rows.groups, &mut places)?;
        let (count, before) = (window.groups.len(), window.bytes);
        for (number, accumulator) in window.accumulators.iter_mut().enumerate() {
            let filter = rows.filters.get(number).and_then(Option::as_ref);
            accumulator.update_batch(&rows.arguments[number], &places, filter, count)?;
        }
        let accumulated: usize = window.accumulators.iter().map(|accumulator| accumulator.size()).sum();
        window.bytes = EMPTY_WINDOW_BYTES + window.groups.size() + accumulated;
        self.bytes = self.bytes + window.bytes - before;
        Ok(())
    }

    /// The groups of the first window, if it is closed. What they take stays charged until [`OpenWindows::given`].
    pub(super) fn next_closed(&mut self, is_closed: impl Fn(i64) -> bool) -> Result<Option<RecordBatch>> {
        let Some(first) = self.open.first_entry().filter(|first| is_closed(*first.key())) else {
            return Ok(None);
        };
        let mut window = first.remove();
        self.bytes -= window.bytes;
        let mut columns = window.groups.emit(EmitTo::All)?;
        for accumulator in &mut window.accumulators {
            columns.push(accumulator.evaluate(EmitTo::All)?);
        }
        Ok(Some(RecordBatch::try_new(Arc::clone(&self.grouping.output), columns)?))
    }

    /// What was closed was given to whoever reads.
    pub(super) fn given(&mut self) -> Result<()> {
        self.memory.try_resize(self.bytes)
    }
}

impl Rows {
    fn taken(&self, places: &UInt32Array) -> Result<Self> {
        let all = |arrays: &[ArrayRef]| -> Result<Vec<ArrayRef>> {
            arrays.iter().map(|array| Ok(take(array, places, None)?)).collect()
        };
        let mut filters = Vec::with_capacity(self.filters.len());
        for filter in &self.filters {
            filters.push(match filter {
                None => None,
                Some(filter) => Some(take(filter, places, None)?.as_boolean().clone()),
            });
        }
        let arguments = self.arguments.iter().map(|arrays| all(arrays)).collect::<Result<Vec<_>>>()?;
        Ok(Self { groups: all(&self.groups)?, arguments, filters })
    }
}

fn accumulator(aggregate: &Arc<AggregateFunctionExpr>) -> Result<Box<dyn GroupsAccumulator>> {
    if aggregate.groups_accumulator_supported() {
        return aggregate.create_groups_accumulator();
    }
    let aggregate = Arc::clone(aggregate);
    Ok(Box::new(GroupsAccumulatorAdapter::new(move || aggregate.create_accumulator())))
}
