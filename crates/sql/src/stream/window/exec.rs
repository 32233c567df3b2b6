//! Gives each row the windows that it is in.

use super::shape::WindowShape;
use super::watermark::Watermark;
use arrow::array::{Array, ArrayRef, AsArray, Int64Array, RecordBatch, UInt32Array};
use arrow::compute::{CastOptions, cast_with_options, max, take};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{
    ChildrenPropertiesMode, EmissionType, ReplaceChildrenOptions,
};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet,
};
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

/// Gives each row the windows that it is in, and tells how far the time is.
#[derive(Debug)]
pub(crate) struct TimeWindowExec {
    input: Arc<dyn ExecutionPlan>,
    time: Arc<dyn PhysicalExpr>,
    shape: WindowShape,
    watermark: Arc<Watermark>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl TimeWindowExec {
    pub(super) fn new(
        input: Arc<dyn ExecutionPlan>,
        time: Arc<dyn PhysicalExpr>,
        shape: WindowShape,
    ) -> Result<Self> {
        let schema = input.schema();
        let window = time.data_type(&schema)?;
        let mut fields: Vec<_> = schema.fields().iter().cloned().collect();
        for name in ["window_start", "window_end"] {
            fields.push(Arc::new(Field::new(name, window.clone(), false)));
        }
        let schema = Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()));
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(input.output_partitioning().partition_count()),
            EmissionType::Incremental,
            input.boundedness(),
        );
        Ok(Self {
            input,
            time,
            shape,
            watermark: Arc::default(),
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }

    pub(super) fn shape(&self) -> WindowShape {
        self.shape
    }

    pub(super) fn watermark(&self) -> &Arc<Watermark> {
        &self.watermark
    }

    /// How many columns come before the two of the window.
    pub(super) fn columns_before(&self) -> usize {
        self.input.schema().fields().len()
    }
}

impl DisplayAs for TimeWindowExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TimeWindowExec: {}, {}", self.time, self.shape)
    }
}

impl ExecutionPlan for TimeWindowExec {
    fn name(&self) -> &str {
        "TimeWindowExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    /// A stream has one time.
    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![match self.input.boundedness().is_unbounded() {
            true => Distribution::SinglePartition,
            false => Distribution::UnspecifiedDistribution,
        }])
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![!self.input.boundedness().is_unbounded()]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        f(&self.time)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(input) = children.pop() else { return internal_err!("a window has an input") };
        Ok(Arc::new(Self::new(input, Arc::clone(&self.time), self.shape)?))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        Ok(Box::pin(Windows {
            input: self.input.execute(partition, Arc::clone(&context))?,
            time: Arc::clone(&self.time),
            shape: self.shape,
            schema: self.schema(),
            watermark: Arc::clone(&self.watermark),
            pending: None,
            batch_rows: context.session_config().batch_size(),
            untimed: MetricBuilder::new(&self.metrics).counter("rows_without_time", partition),
            figures: BaselineMetrics::new(&self.metrics, partition),
        }))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// Rows that are given their windows.
struct Windows {
    input: SendableRecordBatchStream,
    time: Arc<dyn PhysicalExpr>,
    shape: WindowShape,
    schema: SchemaRef,
    watermark: Arc<Watermark>,
    /// A batch of the input of which not all rows were given, their times, and the next row.
    pending: Option<(RecordBatch, Int64Array, usize)>,
    batch_rows: usize,
    untimed: Count,
    figures: BaselineMetrics,
}

impl Windows {
    fn take_input(&mut self, batch: RecordBatch) -> Result<()> {
        let times = self.time.evaluate(&batch)?.into_array(batch.num_rows())?;
        let times = numbers(&times, &DataType::Int64)?.as_primitive::<Int64Type>().clone();
        self.untimed.add(times.null_count());
        self.pending = Some((batch, times, 0));
        Ok(())
    }

    /// Some rows of the input that is pending, with their windows: a row that is in many makes many.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let Some((batch, times, begin)) = self.pending.take() else { return Ok(None) };
        let rows = (self.batch_rows / self.shape.most_windows()).max(1);
        let end = begin.saturating_add(rows).min(batch.num_rows());
        let (mut places, mut starts) = (Vec::new(), Vec::new());
        for row in begin..end {
            if times.is_valid(row) {
                let before = starts.len();
                starts.extend(self.shape.starts(times.value(row)));
                places.resize(places.len() + starts.len() - before, row as u32);
            }
        }
        if end < batch.num_rows() {
            self.pending = Some((batch.clone(), times, end));
        } else if let Some(latest) = max(&times) {
            // With the last of its rows: before, rows of the same batch would be late.
            self.watermark.advance(self.shape.watermark(latest));
        }
        let is_same = places.len() == batch.num_rows() && self.shape.most_windows() == 1;
        let places = UInt32Array::from(places);
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(batch.num_columns() + 2);
        for column in batch.columns() {
            columns.push(if is_same { Arc::clone(column) } else { take(column, &places, None)? });
        }
        let window = self.schema.field(self.schema.fields().len() - 1).data_type();
        let size = self.shape.size();
        let ends: ArrayRef = Arc::new(Int64Array::from_iter_values(starts.iter().map(|start| start + size)));
        let starts: ArrayRef = Arc::new(Int64Array::from(starts));
        columns.extend([numbers(&starts, window)?, numbers(&ends, window)?]);
        Ok(Some(RecordBatch::try_new(Arc::clone(&self.schema), columns)?))
    }
}

/// Times as numbers, and the other way round; what does not fit is an error.
pub(super) fn numbers(times: &ArrayRef, data_type: &DataType) -> Result<ArrayRef> {
    let options = CastOptions { safe: false, ..Default::default() };
    Ok(cast_with_options(times, data_type, &options)?)
}

impl Stream for Windows {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let time = self.figures.elapsed_compute().clone();
            let timer = time.timer();
            match self.next_batch() {
                Ok(None) => {}
                Ok(Some(batch)) if batch.num_rows() == 0 => continue,
                Ok(Some(batch)) => return self.figures.record_poll(Poll::Ready(Some(Ok(batch)))),
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
            drop(timer);
            let taken = match ready!(self.input.poll_next_unpin(context)) {
                Some(Ok(batch)) => self.take_input(batch),
                other => return Poll::Ready(other),
            };
            if let Err(error) = taken {
                return Poll::Ready(Some(Err(error)));
            }
        }
    }
}

impl RecordBatchStream for Windows {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
