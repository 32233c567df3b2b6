//! `RETURNING`: the rows that an `INSERT`, `UPDATE` or `DELETE` wrote or removed, as the rows of
//! the statement.
//!
//! ```text
//! INSERT INTO t ... RETURNING a, b + 1
//!     the change, as without the clause     Dml
//!     what is wanted of its rows            SELECT a, b + 1 FROM t, whose scan is replaced by the change
//!
//! Projection: a, b + 1 --> ReturningNode --> Dml
//! ```
//!
//! Whoever writes rows hands them to [`Returned`]. [`ReturningExec`] runs the change to its end
//! before it gives the first of them, so that a reader who stops early has changed all the same.
//! Runs on stage `fragment`.

use crate::description::StatementKind;
use crate::error::SqlError;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchemaRef, Result, internal_err};
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{
    Expr, Extension, LogicalPlan, UserDefinedLogicalNode, UserDefinedLogicalNodeCore,
};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, SendableRecordBatchStream,
};
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};
use datafusion::sql::parser::{DFParser, Statement};
use datafusion::sql::sqlparser::ast::{
    FromTable, Query, SelectItem, SetExpr, Statement as SqlStatement, TableObject, TableWithJoins,
};
use futures::{StreamExt, TryStreamExt, stream};
use std::cmp::Ordering;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// What a `RETURNING` asks for.
#[derive(Debug)]
pub(crate) struct Returning {
    /// `SELECT ... FROM` the target.
    pub(crate) query: Statement,
}

impl Returning {
    /// Takes the clause out of a statement.
    pub(crate) fn take(statement: &mut Statement) -> std::result::Result<Option<Self>, SqlError> {
        let inner = match statement {
            Statement::Statement(inner) => inner,
            // What is explained is the change; it gives no rows.
            Statement::Explain(explain) => {
                Self::take(explain.statement.as_mut())?;
                return Ok(None);
            }
            _ => return Ok(None),
        };
        let (items, target) = match inner.as_mut() {
            SqlStatement::Insert(insert) => {
                let target = match &insert.table {
                    TableObject::TableName(name) => name.to_string(),
                    _ => return Ok(None),
                };
                (insert.returning.take(), target)
            }
            SqlStatement::Update(update) => (update.returning.take(), update.table.relation.to_string()),
            SqlStatement::Delete(delete) => {
                let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
                let [TableWithJoins { relation, .. }] = from.as_slice() else { return Ok(None) };
                (delete.returning.take(), relation.to_string())
            }
            _ => return Ok(None),
        };
        items.map(|items| Self::of(items, &target)).transpose()
    }

    fn of(items: Vec<SelectItem>, target: &str) -> std::result::Result<Self, SqlError> {
        let parsed = DFParser::parse_sql(&format!("SELECT 1 FROM {target}"))?.pop_front();
        let Some(Statement::Statement(mut query)) = parsed else {
            return Err(SqlError::NotOneStatement { found: 0 });
        };
        if let SqlStatement::Query(query) = query.as_mut()
            && let Query { body, .. } = query.as_mut()
            && let SetExpr::Select(select) = body.as_mut()
        {
            select.projection = items;
        }
        Ok(Self { query: Statement::Statement(query) })
    }
}

/// Puts a change in place of the table that a query reads.
pub(crate) fn over(query: LogicalPlan, change: LogicalPlan) -> Result<LogicalPlan> {
    let mut change = Some(change);
    let replaced = query.transform_up(|plan| match &plan {
        LogicalPlan::TableScan(scan) => match change.take() {
            Some(input) => {
                let node = Arc::new(ReturningNode { input, schema: Arc::clone(&scan.projected_schema) });
                Ok(Transformed::yes(LogicalPlan::Extension(Extension { node })))
            }
            None => Ok(Transformed::no(plan)),
        },
        _ => Ok(Transformed::no(plan)),
    })?;
    match change {
        None => {
            check_rows(&replaced.data)?;
            Ok(replaced.data)
        }
        Some(_) => {
            let text = "RETURNING is of tables and maps; this is neither".to_owned();
            Err(SqlError::Refused(text).into_plan())
        }
    }
}

/// Refuses a `RETURNING` that gives other rows than one for each that was written, as PostgreSQL does.
fn check_rows(plan: &LogicalPlan) -> Result<()> {
    if change_of(plan).is_some() {
        return Ok(());
    }
    let has = |is_one: fn(&LogicalPlan) -> bool| plan.exists(|node| Ok(is_one(node)));
    let what = if has(|node| matches!(node, LogicalPlan::Aggregate(_)))? {
        "aggregate functions"
    } else if has(|node| matches!(node, LogicalPlan::Window(_)))? {
        "window functions"
    } else {
        "functions that give several rows"
    };
    let text = format!(
        "{what} are not allowed in RETURNING, which gives one row for each that was written; nothing was written"
    );
    Err(SqlError::Refused(text).into_plan())
}

/// The change whose rows a plan gives; nothing for one that only reads.
pub(crate) fn change_of(plan: &LogicalPlan) -> Option<StatementKind> {
    match plan {
        LogicalPlan::Extension(extension) => {
            let node = extension.node.as_any().downcast_ref::<ReturningNode>()?;
            Some(StatementKind::of(&node.input))
        }
        LogicalPlan::Projection(projection) => change_of(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => change_of(&alias.input),
        _ => None,
    }
}

/// The rows that a statement wrote. Travels as an extension of the statement's configuration, if
/// they are wanted.
#[derive(Debug)]
pub(crate) struct Returned {
    rows: Mutex<Vec<RecordBatch>>,
    memory: MemoryReservation,
}

impl Returned {
    /// None yet; they count as memory of the query.
    pub(crate) fn new(memory: MemoryReservation) -> Self {
        Self { rows: Mutex::default(), memory }
    }

    /// Where the rows of a statement go; nothing when nobody wants them.
    pub(crate) fn of(context: &TaskContext) -> Option<Arc<Self>> {
        context.session_config().get_extension::<Self>()
    }

    /// Keeps rows that are written.
    pub(crate) fn add(&self, rows: RecordBatch) -> Result<()> {
        self.memory.try_grow(rows.get_array_memory_size())?;
        self.rows.lock().unwrap_or_else(PoisonError::into_inner).push(rows);
        Ok(())
    }

    fn take(&self) -> Vec<RecordBatch> {
        self.memory.free();
        std::mem::take(&mut self.rows.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A change in a logical plan, as the rows that it wrote.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ReturningNode {
    input: LogicalPlan,
    schema: DFSchemaRef,
}

impl PartialOrd for ReturningNode {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        let order = self.input.partial_cmp(&other.input)?;
        // Equal is only what is equal.
        if order == Ordering::Equal && self != other { None } else { Some(order) }
    }
}

impl UserDefinedLogicalNodeCore for ReturningNode {
    fn name(&self) -> &str {
        "Returning"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        Vec::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Returning")
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        match inputs.pop() {
            Some(input) => Ok(Self { input, schema: Arc::clone(&self.schema) }),
            None => internal_err!("a change has an input"),
        }
    }
}

/// Plans changes that give their rows.
pub(crate) struct PlanReturning;

#[async_trait]
impl ExtensionPlanner for PlanReturning {
    async fn plan_extension(
        &self,
        _: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _: &[&LogicalPlan],
        inputs: &[Arc<dyn ExecutionPlan>],
        _: &dyn Session,
        _: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        let Some(node) = node.as_any().downcast_ref::<ReturningNode>() else { return Ok(None) };
        let [input] = inputs else { return internal_err!("a change has one input") };
        let schema = Arc::clone(node.schema.inner());
        Ok(Some(Arc::new(ReturningExec::new(Arc::clone(input), schema))))
    }
}

/// Runs a change, then gives the rows that it wrote.
#[derive(Debug)]
struct ReturningExec {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl ReturningExec {
    fn new(input: Arc<dyn ExecutionPlan>, schema: SchemaRef) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self { input, properties: Arc::new(properties) }
    }
}

impl ExecutionPlan for ReturningExec {
    fn name(&self) -> &str {
        "ReturningExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    /// A change is made once, by one task.
    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(input) = children.pop() else { return internal_err!("a change has an input") };
        Ok(Arc::new(Self::new(input, self.schema())))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let schema = self.schema();
        let Some(returned) = Returned::of(&context) else {
            return internal_err!("the rows of a change are wanted and not kept");
        };
        let mut change = self.input.execute(partition, context)?;
        let written = async move {
            while let Some(count) = change.next().await {
                count?;
            }
            Ok::<_, DataFusionError>(stream::iter(returned.take().into_iter().map(Ok)))
        };
        let columns = Arc::clone(&schema);
        let rows = stream::once(written).try_flatten();
        let rows = rows.map(move |rows: Result<RecordBatch>| as_planned(&rows?, &columns));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}

impl DisplayAs for ReturningExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReturningExec")
    }
}

/// The rows as the table was when the statement was planned.
fn as_planned(rows: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let are_same = rows.schema_ref().fields().len() == schema.fields().len()
        && rows
            .schema_ref()
            .fields()
            .iter()
            .zip(schema.fields())
            .all(|(now, planned)| now.name() == planned.name() && now.data_type() == planned.data_type());
    if !are_same {
        let text = "the columns of the table changed while the statement was planned; it wrote its rows, and cannot show them";
        return Err(SqlError::Refused(text.to_owned()).into_plan());
    }
    Ok(RecordBatch::try_new(Arc::clone(schema), rows.columns().to_vec())?)
}
