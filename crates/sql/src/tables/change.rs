//! `UPDATE` and `DELETE` of tables in memory.
//!
//! DataFusion 55 changes such a table while it makes the physical plan, and looks only at the conditions that it finds in the optimized plan.
//! A condition that became a join (`IN (SELECT ...)`, `EXISTS`), a constant or a `LIMIT` is not among them, and all rows were changed;
//! `EXPLAIN` changed them as well. So the statement is taken before it is optimized and becomes an insert: its query finds the numbers of the
//! rows and their new values as any `SELECT` would, and [`ChangeSink`] writes them. All rows are changed at once, or none. Two statements that
//! change one table at the same time would count other rows than they saw; the later one is refused.

use super::insert::{self, is_null};
use super::memory::{TableMemory, WhenNoRoom};
use super::numbered::{NumberedRows, Partitions, ROW_NUMBER, Snapshot};
use super::ruled::in_memory;
use super::rules::Rules;
use crate::error::SqlError;
use crate::returning::Returned;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::compute::{filter_record_batch, interleave};
use arrow::datatypes::{SchemaRef, UInt64Type};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, Result};
use datafusion::datasource::sink::{DataSink, DataSinkExec};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{
    DmlStatement, Expr, LogicalPlan, LogicalPlanBuilder, TableSource, TableType, WriteOp,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, SendableRecordBatchStream};
use filbert_pool::checkpoint;
use futures::StreamExt;
use std::fmt;
use std::sync::Arc;

/// Takes `UPDATE` and `DELETE` of tables in memory out of a plan before it is optimized.
#[derive(Debug)]
pub(crate) struct ChangeTables;

impl AnalyzerRule for ChangeTables {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let taken = plan.transform_down(|plan| match &plan {
            LogicalPlan::Dml(statement) => {
                let changed = match insert::taken(statement) {
                    Some(changed) => Some(changed),
                    None => taken(statement)?,
                };
                Ok(changed.map_or_else(|| Transformed::no(plan), Transformed::yes))
            }
            _ => Ok(Transformed::no(plan)),
        });
        Ok(taken?.data)
    }

    fn name(&self) -> &str {
        "change_tables"
    }
}

/// The statement as an insert; nothing when it is none of a table in memory.
fn taken(statement: &DmlStatement) -> Result<Option<LogicalPlan>> {
    let updates = match statement.op {
        WriteOp::Update => true,
        WriteOp::Delete => false,
        _ => return Ok(None),
    };
    let Ok(provider) = source_as_provider(&statement.target) else { return Ok(None) };
    let Some((table, _)) = in_memory(provider.as_ref()) else { return Ok(None) };
    let partitions: Partitions = table.batches.clone();
    let schema = table.schema();
    let name = statement.table_name.table().to_owned();
    let refused =
        || SqlError::Refused(format!("{} of table {name:?} is not known in this form", statement.op));

    let (found, values) = match statement.input.as_ref() {
        LogicalPlan::Projection(projection) if updates => (projection.input.as_ref(), &projection.expr[..]),
        _ if updates => return Err(refused().into_plan()),
        input => (input, &[][..]),
    };
    let snapshot = Arc::new(Snapshot::default());
    let numbered = NumberedRows::new(&schema, partitions.clone(), Arc::clone(&snapshot));
    let found = with_numbers(found.clone(), &statement.target, numbered)?;
    let Some(found) = found else { return Err(refused().into_plan()) };

    let (qualifier, _) = found.schema().qualified_field_with_unqualified_name(ROW_NUMBER)?;
    let mut wanted = vec![Expr::Column(Column::new(qualifier.cloned(), ROW_NUMBER))];
    let mut assigned = Vec::new();
    for (place, (field, value)) in schema.fields().iter().zip(values).enumerate() {
        let value = value.clone().unalias();
        if !matches!(&value, Expr::Column(same) if same.name == *field.name()) {
            assigned.push(place);
            wanted.push(value.alias(field.name()));
        }
    }
    let input = LogicalPlanBuilder::from(found).project(wanted)?.build()?;
    let target = ChangedTable {
        name,
        table: Arc::clone(&provider),
        partitions,
        snapshot,
        assigned: updates.then_some(assigned),
        rows: Arc::clone(input.schema().inner()),
    };
    let insert = DmlStatement::new(
        statement.table_name.clone(),
        provider_as_source(Arc::new(target)),
        WriteOp::Insert(InsertOp::Append),
        Arc::new(input),
    );
    Ok(Some(LogicalPlan::Dml(insert)))
}

/// The plan that reads the target with the numbers of its rows; nothing when it does not read it. Subqueries read it as it is.
fn with_numbers(
    plan: LogicalPlan,
    target: &Arc<dyn TableSource>,
    numbered: NumberedRows,
) -> Result<Option<LogicalPlan>> {
    let target = source_as_provider(target)?;
    let mut numbered = Some(Arc::new(numbered) as Arc<dyn TableProvider>);
    let plan = plan.transform_up(|plan| match &plan {
        LogicalPlan::TableScan(scan) => {
            let source = source_as_provider(&scan.source);
            let is_target =
                source.is_ok_and(|source| Arc::as_ptr(&source).cast::<()>() == Arc::as_ptr(&target).cast());
            match numbered.take_if(|_| is_target) {
                Some(numbered) => {
                    let name = scan.table_name.clone();
                    let filters = scan.filters.clone();
                    let source = provider_as_source(numbered);
                    let scan = LogicalPlanBuilder::scan_with_filters(name, source, None, filters)?;
                    Ok(Transformed::yes(scan.build()?))
                }
                None => Ok(Transformed::no(plan)),
            }
        }
        // Their columns are those of what they read.
        _ => Ok(Transformed::yes(plan.recompute_schema()?)),
    })?;
    Ok(numbered.is_none().then_some(plan.data))
}

/// The table as what an `UPDATE` or `DELETE` is written to.
#[derive(Debug)]
struct ChangedTable {
    name: String,
    table: Arc<dyn TableProvider>,
    partitions: Partitions,
    snapshot: Arc<Snapshot>,
    /// The columns that get new values; `None` deletes.
    assigned: Option<Vec<usize>>,
    /// The numbers of rows, and the new values.
    rows: SchemaRef,
}

#[async_trait]
impl TableProvider for ChangedTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.rows)
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        _: &dyn Session,
        _: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Err(SqlError::Refused(format!("table {:?} is written here, not read", self.name)).into_plan())
    }

    async fn insert_into(
        &self,
        _: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        _: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let sink = ChangeSink {
            name: self.name.clone(),
            table: Arc::clone(&self.table),
            partitions: self.partitions.clone(),
            snapshot: Arc::clone(&self.snapshot),
            assigned: self.assigned.clone(),
            rows: input.schema(),
        };
        Ok(Arc::new(DataSinkExec::new(input, Arc::new(sink), None)))
    }
}

/// Changes the rows whose numbers it gets.
#[derive(Debug)]
struct ChangeSink {
    name: String,
    table: Arc<dyn TableProvider>,
    partitions: Partitions,
    snapshot: Arc<Snapshot>,
    assigned: Option<Vec<usize>>,
    rows: SchemaRef,
}

/// Where the new values of a row are: the batch and the row in it.
type Place = Option<(usize, usize)>;

#[async_trait]
impl DataSink for ChangeSink {
    fn schema(&self) -> &SchemaRef {
        &self.rows
    }

    async fn write_all(
        &self,
        mut rows: SendableRecordBatchStream,
        context: &Arc<TaskContext>,
    ) -> Result<u64> {
        let memory = MemoryConsumer::new("UPDATE or DELETE").register(context.memory_pool());
        let mut found = Vec::new();
        let mut bytes = 0;
        while let Some(batch) = rows.next().await {
            let batch = batch?;
            bytes += batch.get_array_memory_size();
            memory.try_resize(bytes)?;
            found.push(batch);
            checkpoint().await;
        }
        let seen = self.snapshot.rows();
        let total = seen.iter().flatten().map(RecordBatch::num_rows).sum();
        memory.try_resize(bytes + total * size_of::<Place>())?;
        let mut places: Vec<Place> = vec![None; total];
        for (number, batch) in found.iter().enumerate() {
            for (row, at) in batch.column(0).as_primitive::<UInt64Type>().values().iter().enumerate() {
                places[*at as usize] = Some((number, row));
            }
        }
        let changed = places.iter().flatten().count();
        if changed == 0 {
            return Ok(0);
        }

        let tables = TableMemory::of(context.session_config())?;
        // Who deletes makes room, and gets it for what stays.
        let when_no_room = if self.assigned.is_some() { WhenNoRoom::Refuse } else { WhenNoRoom::Take };
        let rules = in_memory(self.table.as_ref()).and_then(|(_, rules)| rules);
        let returned = Returned::of(context);
        let mut given_back = Vec::new();
        let mut rest = places.as_slice();
        let mut new = Vec::with_capacity(seen.len());
        for partition in seen {
            let mut batches = Vec::with_capacity(partition.len());
            for batch in partition {
                let (places, behind) = rest.split_at(batch.num_rows());
                rest = behind;
                let old = batch;
                let batch = match places.iter().all(Option::is_none) {
                    true => old.clone(),
                    false => tables.keep(&self.name, &self.changed(old, places, &found)?, when_no_room)?,
                };
                if returned.is_some() || rules.is_some() {
                    let is_changed: BooleanArray = places.iter().map(|place| Some(place.is_some())).collect();
                    let rows = if self.assigned.is_some() { &batch } else { old };
                    let changed = filter_record_batch(rows, &is_changed)?;
                    if let (Some(rules), Some(_)) = (rules, &self.assigned) {
                        rules.check_lengths(&changed)?;
                    }
                    if returned.is_some() && changed.num_rows() > 0 {
                        given_back.push(changed);
                    }
                }
                if batch.num_rows() > 0 {
                    batches.push(batch);
                }
                checkpoint().await;
            }
            new.push(batches);
        }
        if let Some(returned) = &returned {
            given_back.into_iter().try_for_each(|batch| returned.add(batch))?;
        }
        let keys = rules.map(|rules| (rules, &tables, when_no_room));
        self.put(new, keys).await?;
        Ok(changed as u64)
    }
}

impl ChangeSink {
    /// A batch of the table as it will be.
    fn changed(&self, batch: &RecordBatch, places: &[Place], found: &[RecordBatch]) -> Result<RecordBatch> {
        if places.iter().all(Option::is_none) {
            return Ok(batch.clone());
        }
        let Some(assigned) = &self.assigned else {
            let stays: BooleanArray = places.iter().map(|place| Some(place.is_none())).collect();
            return Ok(filter_record_batch(batch, &stays)?);
        };
        let mut columns = batch.columns().to_vec();
        for (at, place) in assigned.iter().enumerate() {
            let field = batch.schema_ref().field(*place);
            let mut sources: Vec<&dyn Array> = vec![columns[*place].as_ref()];
            sources.extend(found.iter().map(|batch| batch.column(at + 1).as_ref()));
            let from = places.iter().enumerate().map(|(row, place)| match place {
                Some((number, row)) => (number + 1, *row),
                None => (0, row),
            });
            let new: ArrayRef = interleave(&sources, &from.collect::<Vec<_>>())?;
            if !field.is_nullable() && new.null_count() > 0 {
                return Err(is_null(&self.name, field.name()));
            }
            columns[*place] = new;
        }
        Ok(RecordBatch::try_new(batch.schema(), columns)?)
    }

    /// Puts the new rows in place of those that were seen; rows that were inserted meanwhile stay behind them.
    async fn put(
        &self,
        new: Vec<Vec<RecordBatch>>,
        keys: Option<(&Arc<Rules>, &Arc<TableMemory>, WhenNoRoom)>,
    ) -> Result<()> {
        let mut taken = match keys {
            Some((rules, ..)) => Some(rules.taken.lock().await),
            None => None,
        };
        let mut held = Vec::with_capacity(self.partitions.len());
        for partition in &self.partitions {
            held.push(partition.write().await);
        }
        let seen = self.snapshot.rows();
        let are_same = held.iter().zip(seen).all(|(now, seen)| {
            now.len() >= seen.len() && now.iter().zip(seen).all(|(now, seen)| is_same(now, seen))
        });
        if !are_same {
            let text = format!(
                "table {:?} was changed by another statement at the same time, and nothing was done; run it again",
                self.name
            );
            return Err(SqlError::Refused(text).into_plan());
        }
        if let (Some(taken), Some((rules, memory, when_no_room))) = (&mut taken, keys) {
            let changes_keys = self.assigned.as_ref().is_none_or(|columns| rules.has_key_of(columns));
            if changes_keys {
                let mut rows: Vec<RecordBatch> = new.iter().flatten().cloned().collect();
                for (now, seen) in held.iter().zip(seen) {
                    rows.extend_from_slice(&now[seen.len()..]);
                }
                // Never both at a time. Where this fails, the next statement reads them again.
                **taken = None;
                **taken = Some(rules.keys_of(&rows, memory, when_no_room).await?);
            }
        }
        if let Some((table, _)) = in_memory(self.table.as_ref()) {
            table.sort_order.lock().clear();
        }
        for ((now, seen), new) in held.iter_mut().zip(seen).zip(new) {
            now.splice(..seen.len(), new);
        }
        Ok(())
    }
}

/// True for two handles of the same rows.
fn is_same(one: &RecordBatch, other: &RecordBatch) -> bool {
    one.num_rows() == other.num_rows()
        && one.columns().iter().zip(other.columns()).all(|(one, other)| Arc::ptr_eq(one, other))
}

impl DisplayAs for ChangeSink {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.assigned.is_some() { "update" } else { "delete" };
        write!(f, "ChangeSink: {verb} of {}", self.name)
    }
}
