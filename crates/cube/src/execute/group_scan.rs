//! A pass over groups that the table made itself: the same leaves, merged instead of aggregated.

use super::Run;
use super::group::WIDE;
use super::scan::Scan;
use crate::aggregate::{Aggregate, Block, Function};
use crate::error::CubeError;
use crate::exact::strict;
use crate::filter::Filter;
use crate::forest::Aggregation;
use crate::plan::{CubeColumns, Leaf, Operation};
use crate::table::{GroupQuery, TableAggregate, TableFunction};
use crate::value_type::is_text;
use arrow::array::{ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::compute::filter;
use arrow::datatypes::{DataType, Int64Type};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Scan {
    /// The groups that a table could make instead; nothing where it must be rows. Unless `any` way of adding up floats will do, only those
    /// whose values are the same by whomever they are made.
    pub(crate) fn groups(&self, run: &Run, any: bool) -> Option<GroupQuery> {
        if !self.reader.calculated.is_empty() || !any && !is_exact_above(run) {
            return None;
        }
        let mut aggregates = BTreeSet::new();
        for leaf in self.levels.iter().flat_map(|scan| &scan.leaves) {
            let step = &run.plan.steps[leaf.0];
            let Operation::Leaf(of) = &step.operation else { return None };
            aggregates.insert(of_table(&self.reader.columns, of, &step.filter, any)?);
        }
        let levels =
            self.levels.iter().map(|scan| scan.level.iter().map(ToString::to_string).collect()).collect();
        Some(GroupQuery::new(levels, aggregates.into_iter().collect(), self.filter.clone()))
    }

    /// From here on batches are answers to this.
    pub(crate) fn expect_groups(&mut self, groups: GroupQuery) {
        self.groups = Some(groups);
    }

    /// Merges groups of the table. Waits for `cpu`.
    pub(super) fn take_groups(&mut self, run: &mut Run, batches: &[RecordBatch]) -> Result<(), CubeError> {
        self.begin(run)?;
        let Some(groups) = self.groups.clone() else { return Ok(()) };
        let keys: Vec<Arc<str>> = groups.keys().into_iter().map(Arc::from).collect();
        let types: Result<Vec<DataType>, CubeError> =
            groups.aggregates.iter().map(|aggregate| merged_type(&self.reader.columns, aggregate)).collect();
        let types = types?;
        for batch in batches {
            run.cancel.check()?;
            if batch.num_columns() != 1 + keys.len() + types.len() {
                return Err(CubeError::TableFailed {
                    table: self.reader.columns.table().to_owned(),
                    message: format!(
                        "it made groups of {} columns that were not asked for",
                        batch.num_columns()
                    ),
                });
            }
            let numbers = strict(batch.column(0), &DataType::Int64)?;
            let numbers = numbers.as_primitive::<Int64Type>();
            let mut encoded = Vec::with_capacity(keys.len());
            for (key, values) in keys.iter().zip(&batch.columns()[1..]) {
                let values = match self.reader.columns.table_type(key) {
                    Some(data_type) => strict(values, data_type)?,
                    None => Arc::clone(values),
                };
                encoded.push(run.keys.encode(key, &values)?);
            }
            let values: Result<Vec<ArrayRef>, CubeError> = batch.columns()[1 + keys.len()..]
                .iter()
                .zip(&types)
                .map(|(values, data_type)| strict(values, data_type))
                .collect();
            let values = values?;
            for (number, scan) in self.levels.iter_mut().enumerate() {
                let of_level = BooleanArray::from_unary(numbers, |found| found == number as i64);
                let rows = of_level.true_count();
                if rows == 0 {
                    continue;
                }
                let kept = |array: &ArrayRef| {
                    filter(array, &of_level).map_err(|error| CubeError::arrow("table", &error))
                };
                let of_key = |column: &Arc<str>| keys.iter().position(|key| key == column);
                let level_keys: Result<Vec<ArrayRef>, CubeError> =
                    scan.level.iter().filter_map(of_key).map(|position| kept(&encoded[position])).collect();
                let inputs: Result<Vec<ArrayRef>, CubeError> = values.iter().map(kept).collect();
                let block = Block { rows, keys: level_keys?, inputs: inputs?, filters: Vec::new() };
                if let Some(grouping) = &mut scan.grouping {
                    grouping.push(block)?;
                }
            }
        }
        Ok(())
    }
}

/// True when nothing above the leaves depends on the order of slices, which is that of the table's groups.
fn is_exact_above(run: &Run) -> bool {
    run.plan.steps.iter().all(|step| match &step.operation {
        Operation::RollUp { aggregation, .. } => is_exact(aggregation),
        Operation::Dispatch { spread, .. } => is_exact(&spread.aggregation),
        Operation::Cumulate { along, .. } => is_exact(&along.aggregation),
        Operation::Custom { .. } => false,
        Operation::Empty | Operation::Leaf(_) | Operation::Combine { .. } | Operation::Shift { .. } => true,
    })
}

/// True when an aggregation is the same in any order: all but those of the user's.
pub(super) fn is_exact(aggregation: &Aggregation) -> bool {
    !matches!(aggregation, Aggregation::Custom(_))
}

/// A leaf as the table would compute it.
fn of_table(columns: &CubeColumns, leaf: &Leaf, filter: &Filter, any: bool) -> Option<TableAggregate> {
    let function = match leaf.aggregation {
        Aggregation::Sum | Aggregation::WideSum | Aggregation::ExactSum => TableFunction::Sum,
        Aggregation::Count => TableFunction::Count,
        Aggregation::Min => TableFunction::Min,
        Aggregation::Max => TableFunction::Max,
        _ => return None,
    };
    let of = leaf.column.as_ref().map(|column| columns.table_type(column));
    let is_exact = match (function, of) {
        (TableFunction::Count, None | Some(Some(_))) => true,
        (_, None | Some(None)) => return None,
        (TableFunction::Sum, Some(Some(of))) => match of {
            DataType::Decimal128(..) => true,
            DataType::Float16 | DataType::Float32 | DataType::Float64 => false,
            other if other.is_integer() => true,
            _ => return None,
        },
        (_, Some(Some(of))) => match of {
            DataType::Decimal128(..) => true,
            // One of them may be the negative zero.
            DataType::Float16 | DataType::Float32 | DataType::Float64 => false,
            DataType::Date32 | DataType::Timestamp(..) | DataType::Time64(_) => true,
            other if other.is_integer() || is_text(other) => true,
            _ => return None,
        },
    };
    (is_exact || any).then(|| TableAggregate::new(function, leaf.column.as_deref(), filter.clone()))
}

/// The type of the values of an aggregate, which has room for what any leaf makes of it.
fn merged_type(columns: &CubeColumns, aggregate: &TableAggregate) -> Result<DataType, CubeError> {
    let of = match &aggregate.column {
        Some(column) => columns.value_type(column)?,
        None => DataType::Int64,
    };
    Ok(match (aggregate.function, of) {
        (TableFunction::Count, _) => DataType::Int64,
        (TableFunction::Sum, DataType::Decimal128(_, scale)) => DataType::Decimal128(38, scale),
        (TableFunction::Sum, of) if of.is_integer() => WIDE,
        (TableFunction::Sum, of) if of.is_floating() => DataType::Float64,
        (_, of) => of,
    })
}

/// What makes the values of a leaf of those that the table made.
pub(super) fn merging(
    columns: &CubeColumns,
    groups: &GroupQuery,
    leaf: &Leaf,
    filter: &Filter,
) -> Result<Aggregate, CubeError> {
    let is_it =
        |aggregate: &TableAggregate| Some(aggregate) == of_table(columns, leaf, filter, true).as_ref();
    let input = groups.aggregates.iter().position(is_it).ok_or_else(|| CubeError::Computation {
        place: "table".to_owned(),
        message: "an aggregation is not among those that the table was asked for".to_owned(),
    })?;
    let function = match groups.aggregates[input].function {
        TableFunction::Sum if leaf.aggregation == Aggregation::ExactSum => Function::ExactSum,
        TableFunction::Sum | TableFunction::Count => Function::Sum,
        TableFunction::Min => Function::Min,
        TableFunction::Max => Function::Max,
    };
    let data_type = match (&leaf.aggregation, merged_type(columns, &groups.aggregates[input])?) {
        // A total of whole numbers is one that fits, unless it is only divided.
        (Aggregation::Sum, of) if of == WIDE && is_of_integers(columns, leaf) => DataType::Int64,
        (_, of) => of,
    };
    Ok(Aggregate::new(function, input, data_type))
}

fn is_of_integers(columns: &CubeColumns, leaf: &Leaf) -> bool {
    let of = leaf.column.as_ref().and_then(|column| columns.table_type(column));
    of.is_some_and(DataType::is_integer)
}
