//! Groups of a stream by window: given when the time of the window has passed.
//!
//! DataFusion's aggregation gives groups when its input ends, or in the order of a sorted input; a stream has neither. This one reads the
//! [`Watermark`] that the [`TimeWindowExec`] below sets with each batch. A window is closed when its end is not after the watermark; rows
//! that come for it later are dropped and counted. Windows are given in their order, so `ORDER BY window_start` costs nothing, and a
//! second grouping by window may stand above the first.
//!
//! Between the two stand only projections and conditions that hand a batch on in the poll in which they got it; otherwise the watermark
//! could be ahead of the rows.

use super::exec::TimeWindowExec;
use super::groups::{Grouping, OpenWindows};
use super::watermark::Watermark;
use crate::error::SqlError;
use crate::plan::YieldExec;
use crate::stream::StreamFigures;
use arrow::array::RecordBatch;
use arrow::compute::SortOptions;
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::execution_plan::{
    ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet,
};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, ExecutionPlanProperties,
    InputDistributionRequirements, Partitioning, PlanProperties, RecordBatchStream,
    SendableRecordBatchStream,
};
use futures::{Stream, StreamExt};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Which end of a window a column is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Edge {
    Start,
    End,
}

/// A column that says the window.
#[derive(Debug, Clone, Copy)]
struct WindowColumn {
    edge: Edge,
    size: i64,
}

impl WindowColumn {
    /// Whether the window that the column says is closed at that time.
    fn is_closed(self, key: i64, watermark: i64) -> bool {
        let end = match self.edge {
            Edge::Start => key.saturating_add(self.size),
            Edge::End => key,
        };
        end <= watermark
    }
}

/// Groups of a stream by window.
#[derive(Debug)]
pub(crate) struct WindowAggregateExec {
    input: Arc<dyn ExecutionPlan>,
    grouping: Grouping,
    /// What the column of the window is.
    column: WindowColumn,
    /// The columns of the groups that say a window.
    edges: Vec<(usize, WindowColumn)>,
    watermark: Arc<Watermark>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

/// What an aggregation of a stream is by windows; nothing when it is not by them.
pub(crate) fn windowed(plan: &AggregateExec) -> Result<Option<WindowAggregateExec>> {
    let raw = match plan.mode() {
        AggregateMode::Single | AggregateMode::SinglePartitioned => plan,
        AggregateMode::Final | AggregateMode::FinalPartitioned => {
            match plan.input().downcast_ref::<AggregateExec>() {
                Some(partial) if *partial.mode() == AggregateMode::Partial => partial,
                _ => return Ok(None),
            }
        }
        _ => return Ok(None),
    };
    let input = raw.input();
    if !input.boundedness().is_unbounded() || !raw.group_expr().is_single() {
        return Ok(None);
    }
    let groups = raw.group_expr().expr().iter().enumerate();
    let edges: Vec<(usize, WindowColumn)> = groups
        .filter_map(|(place, (expr, _))| {
            Some((place, traced(input, expr.downcast_ref::<Column>()?.index())?))
        })
        .collect();
    let Some((window, column)) = edges.first().copied() else { return Ok(None) };
    // Those that only run faster in order (first_value, last_value) find it themselves.
    let needs_order = |sensitivity: AggregateOrderSensitivity| {
        !sensitivity.is_insensitive() && !sensitivity.is_beneficial()
    };
    if let Some(ordered) = raw.aggr_expr().iter().find(|aggregate| needs_order(aggregate.order_sensitivity()))
    {
        let name = ordered.name();
        let text = format!(
            "{name} needs its rows in an order, which a stream does not have; leave its ORDER BY out"
        );
        return Err(SqlError::Refused(text).into_plan());
    }
    let grouping = Grouping {
        group_by: raw.group_expr().clone(),
        aggregates: raw.aggr_expr().to_vec(),
        filters: raw.filter_expr().to_vec(),
        window,
        input: input.schema(),
        output: plan.schema(),
    };
    Ok(Some(WindowAggregateExec::new(Arc::clone(input), grouping, column, edges)))
}

/// What a column says of the window, if nothing on its way from there keeps rows back.
fn traced(plan: &Arc<dyn ExecutionPlan>, column: usize) -> Option<WindowColumn> {
    if let Some(window) = plan.downcast_ref::<TimeWindowExec>() {
        let edge = match column.checked_sub(window.columns_before())? {
            0 => Edge::Start,
            _ => Edge::End,
        };
        return Some(WindowColumn { edge, size: window.shape().size() });
    }
    if let Some(groups) = plan.downcast_ref::<WindowAggregateExec>() {
        return groups.edges.iter().find(|(place, _)| *place == column).map(|(_, column)| *column);
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let expr = &projection.expr().get(column)?.expr;
        return traced(projection.input(), expr.downcast_ref::<Column>()?.index());
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        let column = filter.projection().as_deref().map_or(Some(column), |kept| kept.get(column).copied())?;
        return traced(filter.input(), column);
    }
    handed_on(plan).and_then(|input| traced(input, column))
}

/// The input of a node that hands on rows as it gets them. A condition on a stream does: [`crate::plan`] lets it wait for no others.
fn handed_on(plan: &Arc<dyn ExecutionPlan>) -> Option<&Arc<dyn ExecutionPlan>> {
    let is_plain = plan.is::<FilterExec>() || plan.is::<YieldExec>() || plan.is::<ProjectionExec>();
    if is_plain { plan.children().first().copied() } else { None }
}

/// The time of the windows below.
fn watermark(plan: &Arc<dyn ExecutionPlan>) -> Option<Arc<Watermark>> {
    if let Some(window) = plan.downcast_ref::<TimeWindowExec>() {
        return Some(Arc::clone(window.watermark()));
    }
    if let Some(groups) = plan.downcast_ref::<WindowAggregateExec>() {
        return Some(Arc::clone(&groups.watermark));
    }
    watermark(handed_on(plan)?)
}

impl WindowAggregateExec {
    fn new(
        input: Arc<dyn ExecutionPlan>,
        grouping: Grouping,
        column: WindowColumn,
        edges: Vec<(usize, WindowColumn)>,
    ) -> Self {
        let schema = Arc::clone(&grouping.output);
        let options = SortOptions { descending: false, nulls_first: false };
        let orders = edges.iter().map(|(place, _)| {
            let expr: Arc<dyn PhysicalExpr> = Arc::new(Column::new(schema.field(*place).name(), *place));
            [PhysicalSortExpr::new(expr, options)]
        });
        let properties = PlanProperties::new(
            EquivalenceProperties::new_with_orderings(Arc::clone(&schema), orders),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            input.boundedness(),
        );
        let (watermark, properties) = (Arc::default(), Arc::new(properties));
        Self {
            input,
            grouping,
            column,
            edges,
            watermark,
            properties,
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }
}

impl DisplayAs for WindowAggregateExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups: Vec<_> =
            self.grouping.group_by.expr().iter().map(|(expr, name)| format!("{expr} as {name}")).collect();
        let aggregates: Vec<_> = self.grouping.aggregates.iter().map(|aggregate| aggregate.name()).collect();
        write!(f, "WindowAggregateExec: gby=[{}], aggr=[{}]", groups.join(", "), aggregates.join(", "))
    }
}

impl ExecutionPlan for WindowAggregateExec {
    fn name(&self) -> &str {
        "WindowAggregateExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![Distribution::SinglePartition])
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let groups = self.grouping.group_by.input_exprs();
        let arguments = self.grouping.aggregates.iter().flat_map(|aggregate| aggregate.expressions());
        for expr in groups.into_iter().chain(arguments) {
            if f(&expr)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(input) = children.pop() else { return internal_err!("an aggregation has an input") };
        Ok(Arc::new(Self::new(input, self.grouping.clone(), self.column, self.edges.clone())))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let Some(time) = watermark(&self.input) else {
            return internal_err!("rows of a stream are kept back between a window and its groups");
        };
        let memory = MemoryConsumer::new("WindowAggregate").register(context.memory_pool());
        Ok(Box::pin(WindowGroups {
            input: Some(self.input.execute(partition, Arc::clone(&context))?),
            windows: OpenWindows::new(self.grouping.clone(), memory)?,
            column: self.column,
            time,
            closed: i64::MIN,
            given: Arc::clone(&self.watermark),
            giving: None,
            schema: self.schema(),
            batch_rows: context.session_config().batch_size(),
            counts: StreamFigures::of(&context),
            late: MetricBuilder::new(&self.metrics).counter("late_rows", partition),
            figures: BaselineMetrics::new(&self.metrics, partition),
        }))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// The aggregation at work.
struct WindowGroups {
    /// `None` when it has ended.
    input: Option<SendableRecordBatchStream>,
    windows: OpenWindows,
    column: WindowColumn,
    /// How far the time of the rows is that were read.
    time: Arc<Watermark>,
    /// How far it was when all windows before were closed.
    closed: i64,
    /// How far it is for whoever reads.
    given: Arc<Watermark>,
    /// A closed window, as far as it was not given.
    giving: Option<RecordBatch>,
    schema: SchemaRef,
    batch_rows: usize,
    counts: Arc<StreamFigures>,
    late: Count,
    figures: BaselineMetrics,
}

impl WindowGroups {
    /// The next groups of a closed window.
    fn next_groups(&mut self) -> Result<Option<RecordBatch>> {
        let (column, closed) = (self.column, self.closed);
        let is_closed = |key| column.is_closed(key, closed);
        if self.giving.is_none() {
            self.giving = self.windows.next_closed(is_closed)?;
        }
        let Some(groups) = self.giving.take() else { return Ok(None) };
        let rows = groups.num_rows().min(self.batch_rows);
        if rows < groups.num_rows() {
            self.giving = Some(groups.slice(rows, groups.num_rows() - rows));
        } else {
            // The last groups of this window; whoever reads them may close its own windows up to here when there is no other.
            self.windows.given()?;
            self.giving = self.windows.next_closed(is_closed)?;
            if self.giving.is_none() {
                self.given.advance(closed);
            }
        }
        Ok(Some(groups.slice(0, rows)))
    }

    /// Rows are late by the time before them: those of one batch are not late because of each other.
    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        let (column, closed) = (self.column, self.closed);
        let late = self.windows.add(batch, |key| column.is_closed(key, closed))?;
        self.counts.add_late(late);
        self.late.add(usize::try_from(late).unwrap_or(usize::MAX));
        self.closed = self.closed.max(self.time.get());
        Ok(())
    }
}

impl Stream for WindowGroups {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match self.next_groups().transpose() {
                Some(groups) => return self.figures.record_poll(Poll::Ready(Some(groups))),
                None if self.input.is_none() => return Poll::Ready(None),
                None => {}
            }
            let Some(input) = &mut self.input else { return Poll::Ready(None) };
            let added = match ready!(input.poll_next_unpin(context)) {
                Some(Ok(batch)) => {
                    let time = self.figures.elapsed_compute().clone();
                    let _timer = time.timer();
                    self.add(&batch)
                }
                Some(Err(error)) => Err(error),
                None => {
                    // What ends after all gives what is open.
                    (self.input, self.closed) = (None, i64::MAX);
                    Ok(())
                }
            };
            if let Err(error) = added {
                self.input = None;
                return Poll::Ready(Some(Err(error)));
            }
        }
    }
}

impl RecordBatchStream for WindowGroups {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
