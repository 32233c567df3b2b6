//! `UPDATE` and `DELETE` on a map.
//!
//! Entries that may match are read page by page; the condition and the new values are computed from what was read, and an entry is replaced
//! or removed only if it is still the same. One that changed meanwhile is read and looked at again: so each entry is changed as if alone,
//! and two updates that add one to the same entry add two. There is no transaction over entries: what was changed before an error stays.
//!
//! DataFusion hands a table the conditions that it finds in the optimized plan, and a condition that became a join, or nothing at all, is
//! not among them. So the statement is taken before it is optimized ([`ChangeMaps`]), and what is more than a condition on the map itself
//! is refused.

use super::arrow_value::value_at;
use super::decoder::Decoder;
use super::encoder::Encoder;
use super::leaf::no_inputs;
use super::pages::{Pages, Reach, after, bytes_of, failed};
use super::reach::reach;
use super::sink::decoded;
use super::table::MapTable;
use crate::error::SqlError;
use crate::returning::Returned;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, UInt64Array};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, DFSchemaRef, Result};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{DmlStatement, Expr, LogicalPlan, LogicalPlanBuilder, TableType, WriteOp};
use datafusion::optimizer::AnalyzerRule;
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, SendableRecordBatchStream,
};
use filbert_pool::checkpoint;
use filbert_wire::Data;
use std::fmt;
use std::sync::Arc;

/// How often an entry that others change all the time is looked at.
const MAX_ROUNDS: usize = 1_000;

/// Operations that are under way at a time.
const WINDOW: usize = 256;

/// Takes `UPDATE` and `DELETE` of maps out of a plan before it is optimized.
#[derive(Debug)]
pub(crate) struct ChangeMaps;

impl AnalyzerRule for ChangeMaps {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let taken = plan.transform_down(|plan| match &plan {
            LogicalPlan::Dml(statement) => {
                Ok(taken(statement)?.map_or_else(|| Transformed::no(plan), Transformed::yes))
            }
            _ => Ok(Transformed::no(plan)),
        });
        Ok(taken?.data)
    }

    fn name(&self) -> &str {
        "change_maps"
    }
}

/// The statement as a table that is read once; nothing when it is none of ours.
fn taken(statement: &DmlStatement) -> Result<Option<LogicalPlan>> {
    let updates = match statement.op {
        WriteOp::Update => true,
        WriteOp::Delete => false,
        _ => return Ok(None),
    };
    let Ok(provider) = source_as_provider(&statement.target) else { return Ok(None) };
    let Some(table) = provider.downcast_ref::<MapTable>() else { return Ok(None) };
    let mut input = statement.input.as_ref();
    let mut assigned = Vec::new();
    if updates {
        let LogicalPlan::Projection(projection) = input else { return Err(refused()) };
        for (place, expr) in projection.expr.iter().enumerate() {
            let Some(column) = table.layout.columns.get(place) else { return Err(refused()) };
            let value = expr.clone().unalias();
            if !matches!(&value, Expr::Column(same) if same.name == column.name) {
                assigned.push((place, plain(value)?));
            }
        }
        input = projection.input.as_ref();
    }
    let mut filters = Vec::new();
    loop {
        input = match input {
            LogicalPlan::Filter(filter) => {
                filters.extend(split_conjunction_owned(plain(filter.predicate.clone())?));
                filter.input.as_ref()
            }
            LogicalPlan::SubqueryAlias(alias) => alias.input.as_ref(),
            LogicalPlan::TableScan(scan) => {
                filters.extend(scan.filters.iter().cloned().map(plain).collect::<Result<Vec<_>>>()?);
                break;
            }
            _ => return Err(refused()),
        };
    }
    let assigned = updates.then_some(assigned);
    let change = MapChange { table: table.clone(), filters, assigned };
    let plan =
        LogicalPlanBuilder::scan(statement.table_name.clone(), provider_as_source(Arc::new(change)), None)?;
    Ok(Some(plan.build()?))
}

/// An expression over the map's own columns, without their table's name.
fn plain(expr: Expr) -> Result<Expr> {
    let plain = expr.transform_up(|expr| match expr {
        Expr::Column(column) => Ok(Transformed::yes(Expr::Column(column.name.into()))),
        Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_) | Expr::SetComparison(_) => {
            Err(refused())
        }
        Expr::OuterReferenceColumn(..) => Err(refused()),
        other => Ok(Transformed::no(other)),
    })?;
    Ok(plain.data)
}

fn refused() -> DataFusionError {
    let text = "UPDATE and DELETE of a map take conditions and values of its own columns only, without FROM, LIMIT and subqueries; \
                SINK INTO ... SELECT writes what a query finds";
    SqlError::Refused(text.to_owned()).into_plan()
}

/// An `UPDATE` or `DELETE` as a table: whoever reads it gets the number of changed entries.
#[derive(Debug, Clone)]
struct MapChange {
    table: MapTable,
    filters: Vec<Expr>,
    /// New values by the place of their column; `None` deletes.
    assigned: Option<Vec<(usize, Expr)>>,
}

fn count_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("count", DataType::UInt64, false)]))
}

#[async_trait]
impl TableProvider for MapChange {
    fn schema(&self) -> SchemaRef {
        count_schema()
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        state: &dyn Session,
        _: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let layout = &self.table.layout;
        let whole: DFSchemaRef = Arc::new(DFSchema::try_from(layout.schema.as_ref().clone())?);
        let context = SimplifyContext::builder()
            .with_schema(Arc::clone(&whole))
            .with_config_options(Arc::new(state.config_options().clone()))
            .with_query_execution_start_time(state.execution_props().query_execution_start_time)
            .build();
        let simplifier = ExprSimplifier::new(context);
        let simple = |expr: &Expr| simplifier.simplify(simplifier.coerce(expr.clone(), &whole)?);
        let filters = self.filters.iter().map(simple).collect::<Result<Vec<_>>>()?;
        let assigned = self.assigned.iter().flatten().map(|(place, expr)| Ok((*place, simple(expr)?)));
        let assigned = assigned.collect::<Result<Vec<_>>>()?;
        for (place, _) in &assigned {
            let column = &layout.columns[*place];
            if column.side == super::layout::Side::Key {
                let text = format!(
                    "map {:?}: {:?} is of the key, which an UPDATE cannot change",
                    layout.map, column.name
                );
                return Err(SqlError::Refused(text).into_plan());
            }
        }
        // Only what the expressions look at is decoded.
        let mut places: Vec<usize> = (0..layout.columns.len())
            .filter(|place| {
                let name = &layout.columns[*place].name;
                let used = |expr: &Expr| expr.column_refs().iter().any(|column| column.name == *name);
                filters.iter().any(used) || assigned.iter().any(|(_, expr)| used(expr))
            })
            .collect();
        places.dedup();
        let schema = DFSchema::try_from(layout.schema.project(&places)?)?;
        let physical = |expr: Expr| state.create_physical_expr(expr, &schema);
        let (reach, way) = reach(layout, &self.table.indexes, &filters);
        let filter = conjunction(filters).map(physical).transpose()?;
        let assigned = assigned.into_iter().map(|(place, expr)| Ok((place, physical(expr)?)));
        let assigned = assigned.collect::<Result<Vec<_>>>()?;
        let assigned = self.assigned.is_some().then_some(assigned);
        Ok(Arc::new(MapChangeExec::new(
            Work { table: self.table.clone(), places, filter, assigned, reach },
            way,
        )))
    }
}

/// What is to be changed, ready to run.
#[derive(Clone)]
struct Work {
    table: MapTable,
    places: Vec<usize>,
    filter: Option<Arc<dyn PhysicalExpr>>,
    assigned: Option<Vec<(usize, Arc<dyn PhysicalExpr>)>>,
    reach: Reach,
}

impl Work {
    async fn run(self, memory: MemoryReservation, returned: Option<Arc<Returned>>) -> Result<u64> {
        let map = &self.table.map;
        let mut pages = Pages::new(map.clone(), self.reach.clone(), 0, 1);
        let mut changed = 0;
        while let Some(page) = std::future::poll_fn(|context| pages.poll_next(context)).await {
            let mut entries = page.map_err(|error| after(failed(map.name(), &error), changed))?;
            memory.try_resize(bytes_of(&entries)).map_err(|error| after(error, changed))?;
            let mut rounds = 0;
            while !entries.is_empty() {
                let left = self.change(&entries, returned.as_deref(), &mut changed).await;
                let left = left.map_err(|error| after(error, changed))?;
                checkpoint().await;
                rounds += 1;
                if left.is_empty() {
                    break;
                }
                if rounds == MAX_ROUNDS {
                    let text = format!(
                        "map {:?}: {} keys are changed all the time by others; try again",
                        map.name(),
                        left.len()
                    );
                    return Err(after(SqlError::Refused(text).into_plan(), changed));
                }
                let again = map.get_all(left).await;
                entries = again.map_err(|error| after(failed(map.name(), &error), changed))?;
            }
        }
        Ok(changed)
    }

    /// Changes entries, adds their number to `done`, and gives the keys of those that are not the
    /// same any more.
    async fn change(
        &self,
        entries: &[(Data, Data)],
        returned: Option<&Returned>,
        done: &mut u64,
    ) -> Result<Vec<Data>> {
        let table = &self.table;
        let mut decoder = Decoder::new(&table.layout, self.places.clone(), &table.catalog)?;
        decoder.decode(entries)?;
        let batch = decoder.finish()?;
        let rows = batch.num_rows();
        let wanted = match &self.filter {
            None => None,
            Some(filter) => Some(filter.evaluate(&batch)?.into_array(rows)?),
        };
        let takes = |row: usize| {
            let Some(wanted) = &wanted else { return true };
            let wanted = wanted.as_boolean();
            wanted.is_valid(row) && wanted.value(row)
        };
        let matching: Vec<usize> = (0..rows).filter(|row| takes(*row)).collect();
        // Only for these: a value that cannot be computed elsewhere is none of this statement's mistakes.
        let chosen: BooleanArray = (0..rows).map(|row| Some(takes(row))).collect();
        let chosen = filter_record_batch(&batch, &chosen)?;
        let new = match &self.assigned {
            None => None,
            Some(assigned) => Some(
                assigned
                    .iter()
                    .map(|(place, expr)| Ok((*place, expr.evaluate(&chosen)?.into_array(matching.len())?)))
                    .collect::<Result<Vec<_>>>()?,
            ),
        };
        // All of them before the first is stored: a value that cannot be is an error that leaves these entries as they are.
        let new: Option<Vec<Data>> = match &new {
            None => None,
            Some(new) => {
                let each = matching.iter().enumerate();
                let each = each.map(|(at, row)| self.new_value(&entries[*row], new, at));
                Some(each.collect::<Result<_>>()?)
            }
        };
        let (mut left, mut changed) = (Vec::new(), Vec::new());
        for (number, window) in matching.chunks(WINDOW).enumerate() {
            let asked = window.iter().enumerate().map(|(at, row)| {
                let (key, old) = entries[*row].clone();
                match &new {
                    None => table.map.remove_if_same(key, old),
                    Some(new) => table.map.replace_if_same(key, old, new[number * WINDOW + at].clone()),
                }
            });
            let asked: Vec<_> = asked.collect();
            // All answers are awaited, one that failed or not: each change that was made is counted.
            let mut failure = None;
            for (at, (asked, row)) in asked.into_iter().zip(window).enumerate() {
                match asked.await {
                    Err(error) => failure = failure.or(Some(failed(table.map.name(), &error))),
                    Ok(true) => {
                        *done += 1;
                        if returned.is_some() {
                            let (key, old) = entries[*row].clone();
                            let value = new.as_ref().map_or(old, |new| new[number * WINDOW + at].clone());
                            changed.push((key, value));
                        }
                    }
                    Ok(false) => left.push(entries[*row].0.clone()),
                }
            }
            if let Some(failure) = failure {
                return Err(failure);
            }
        }
        if let Some(returned) = returned {
            returned.add(decoded(&table.layout, &table.catalog, &changed)?)?;
        }
        Ok(left)
    }

    fn new_value(&self, entry: &(Data, Data), new: &[(usize, ArrayRef)], row: usize) -> Result<Data> {
        let table = &self.table;
        let mut assigned = Vec::with_capacity(new.len());
        for (place, array) in new {
            let value = value_at(array, row).map_err(|problem| {
                SqlError::Refused(format!(
                    "map {:?}, column {:?}: {problem}",
                    table.layout.map, table.layout.columns[*place].name
                ))
                .into_plan()
            })?;
            assigned.push((*place, value));
        }
        Encoder::new(&table.layout, &table.catalog).changed(entry, &assigned)
    }
}

/// The leaf of a plan that changes a map.
struct MapChangeExec {
    work: Work,
    way: String,
    properties: Arc<PlanProperties>,
}

impl MapChangeExec {
    fn new(work: Work, way: String) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(count_schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self { work, way, properties: Arc::new(properties) }
    }
}

impl fmt::Debug for MapChangeExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MapChangeExec({:?})", self.work.table.layout.map)
    }
}

impl DisplayAs for MapChangeExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.work.assigned.is_some() { "update" } else { "delete" };
        write!(f, "MapChangeExec: {verb}, map={}, {}", self.work.table.layout.map, self.way)
    }
}

impl ExecutionPlan for MapChangeExec {
    fn name(&self) -> &str {
        "MapChangeExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    no_inputs!();

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let work = self.work.clone();
        let memory = MemoryConsumer::new("change of a map").register(context.memory_pool());
        let returned = Returned::of(&context);
        let rows = futures::stream::once(async move {
            let count: ArrayRef = Arc::new(UInt64Array::from(vec![work.run(memory, returned).await?]));
            Ok(RecordBatch::try_new(count_schema(), vec![count])?)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(count_schema(), rows)))
    }
}
