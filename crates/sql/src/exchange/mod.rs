//! The exchange: carries batches between fragments, bounded by credits, and wakes whoever waits for them.
//!
//! It stands in a plan where DataFusion has a node that drives its inputs eagerly on tokio (repartition, coalesce, the inputs of a
//! merge). Asked for its first output, it starts one fragment per partition of its input; each hands its batches to the outputs.

mod channels;
mod router;
#[cfg(test)]
mod tests;

pub(crate) use channels::{Credits, Receiver, Room, Sender, channels};
pub(crate) use router::Router;

use crate::fragment::{Figures, Fragment, Work};
use crate::query::QueryContext;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::physical_expr::{LexOrdering, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::ReplaceChildrenOptions;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet,
};
use datafusion::physical_plan::sorts::streaming_merge::StreamingMergeBuilder;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties, RecordBatchStream,
    SendableRecordBatchStream,
};
use futures::Stream;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

/// Who gets what.
#[derive(Debug, Clone)]
enum Pattern {
    /// Split rows or batches; each output in any order.
    Split(Partitioning),
    /// Split, and merge what every producer sends to an output by its order.
    SplitOrdered(Partitioning, LexOrdering),
    /// All to one output, up to that many rows.
    Gather(Option<usize>),
    /// Partition by partition: only to run them side by side.
    Forward,
}

/// The node of a plan where two fragments meet.
#[derive(Debug)]
pub struct ExchangeExec {
    pattern: Pattern,
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
    /// By output, what is not taken yet; `None` before the first is asked for.
    outputs: Mutex<Option<Vec<Option<Taken>>>>,
}

/// What one output reads from: one receiver, or one per producer when their orders are merged.
type Taken = Vec<Receiver>;

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Receiver")
    }
}

impl ExchangeExec {
    /// In place of a node that splits, with what that node promises of its output.
    pub(crate) fn split(
        input: Arc<dyn ExecutionPlan>,
        partitioning: Partitioning,
        order: Option<LexOrdering>,
        properties: &Arc<PlanProperties>,
    ) -> Self {
        let pattern = match order {
            Some(order) => Pattern::SplitOrdered(partitioning, order),
            None => Pattern::Split(partitioning),
        };
        Self::new(pattern, input, properties)
    }

    /// In place of a node that gathers.
    pub(crate) fn gather(
        input: Arc<dyn ExecutionPlan>,
        fetch: Option<usize>,
        properties: &Arc<PlanProperties>,
    ) -> Self {
        Self::new(Pattern::Gather(fetch), input, properties)
    }

    /// Above partitions that are to run side by side.
    pub(crate) fn forward(input: Arc<dyn ExecutionPlan>) -> Self {
        let properties = Arc::clone(input.properties());
        Self::new(Pattern::Forward, input, &properties)
    }

    fn new(pattern: Pattern, input: Arc<dyn ExecutionPlan>, properties: &Arc<PlanProperties>) -> Self {
        Self {
            pattern,
            input,
            properties: Arc::clone(properties),
            metrics: ExecutionPlanMetricsSet::new(),
            outputs: Mutex::new(None),
        }
    }

    /// Starts a fragment per partition of the input.
    fn start(&self, context: &Arc<TaskContext>) -> Result<Vec<Option<Taken>>> {
        let Some(query) = context.session_config().get_extension::<QueryContext>() else {
            return internal_err!("an exchange runs as part of a query only");
        };
        let producers = self.input.properties().output_partitioning().partition_count();
        let outputs = self.properties.output_partitioning().partition_count();
        let memory = || MemoryConsumer::new("Exchange").register(context.memory_pool());
        let ends = |producers, outputs| channels(producers, outputs, query.credits(), memory());
        // By producer: its sender; by output: what it reads.
        let (senders, taken): (Vec<Sender>, Vec<Taken>) = match &self.pattern {
            Pattern::Split(_) | Pattern::Gather(_) => {
                let (senders, receivers) = ends(producers, outputs);
                (senders, receivers.into_iter().map(|receiver| vec![receiver]).collect())
            }
            Pattern::SplitOrdered(..) => {
                let mut taken: Vec<Taken> = (0..outputs).map(|_| Vec::new()).collect();
                let senders = (0..producers).map(|_| {
                    let (mut sender, receivers) = ends(1, outputs);
                    taken.iter_mut().zip(receivers).for_each(|(taken, receiver)| taken.push(receiver));
                    sender.remove(0)
                });
                (senders.collect(), taken)
            }
            Pattern::Forward => (0..producers)
                .map(|_| {
                    let (mut sender, receivers) = ends(1, 1);
                    (sender.remove(0), receivers)
                })
                .unzip(),
        };
        for (number, sender) in senders.into_iter().enumerate() {
            let router = match &self.pattern {
                Pattern::Split(partitioning) | Pattern::SplitOrdered(partitioning, _) => {
                    let time = MetricBuilder::new(&self.metrics).subset_time("routing_time", number);
                    let router = Router::by(partitioning, time, number, producers)?;
                    let is_merged = matches!(self.pattern, Pattern::SplitOrdered(..));
                    if is_merged || self.input.boundedness().is_unbounded() {
                        router
                    } else {
                        router.collecting(outputs, &self.schema(), context.session_config().batch_size())
                    }
                }
                Pattern::Gather(_) | Pattern::Forward => Router::To(0),
            };
            let work = Work {
                plan: Arc::clone(&self.input),
                partition: number,
                context: Arc::clone(context),
                router,
            };
            let figures = Figures::new(&self.metrics, number);
            Fragment::start(&query, work, sender, figures).map_err(crate::SqlError::into_plan)?;
        }
        Ok(taken.into_iter().map(Some).collect())
    }
}

impl DisplayAs for ExchangeExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fragments = self.input.properties().output_partitioning().partition_count();
        write!(f, "ExchangeExec: ")?;
        match &self.pattern {
            Pattern::Split(partitioning) => write!(f, "split by {partitioning}")?,
            Pattern::SplitOrdered(partitioning, order) => {
                write!(f, "split by {partitioning}, merged by [{order}]")?;
            }
            Pattern::Gather(None) => write!(f, "gather")?,
            Pattern::Gather(Some(rows)) => write!(f, "gather, at most {rows} rows")?,
            Pattern::Forward => write!(f, "forward")?,
        }
        write!(f, ", fragments={fragments}")
    }
}

impl ExecutionPlan for ExchangeExec {
    fn name(&self) -> &str {
        "ExchangeExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![matches!(self.pattern, Pattern::SplitOrdered(..) | Pattern::Forward)]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        if let Pattern::Split(Partitioning::Hash(keys, _))
        | Pattern::SplitOrdered(Partitioning::Hash(keys, _), _) = &self.pattern
        {
            for key in keys {
                if f(key)? == TreeNodeRecursion::Stop {
                    return Ok(TreeNodeRecursion::Stop);
                }
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        // Plans are cut last: a child that comes later is the same one, reset or instrumented, with the same properties.
        let Some(input) = children.pop() else { return internal_err!("an exchange has an input") };
        Ok(Arc::new(Self::new(self.pattern.clone(), input, &self.properties)))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        use datafusion::physical_plan::execution_plan::ChildrenPropertiesMode;
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let mut taken = {
            let mut outputs = self.outputs.lock().unwrap_or_else(|broken| broken.into_inner());
            if outputs.is_none() {
                *outputs = Some(self.start(&context)?);
            }
            let slot = outputs.as_mut().and_then(|outputs| outputs.get_mut(partition));
            let Some(taken) = slot.and_then(Option::take) else {
                return internal_err!("output {partition} of an exchange was asked for twice");
            };
            taken
        };
        let figures = BaselineMetrics::new(&self.metrics, partition);
        if let Pattern::SplitOrdered(_, order) = &self.pattern {
            let stream = |receiver| {
                let figures = BaselineMetrics::new(&ExecutionPlanMetricsSet::new(), partition);
                Box::pin(Batches::new(self.schema(), receiver, None, figures)) as SendableRecordBatchStream
            };
            let memory =
                MemoryConsumer::new(format!("ExchangeExec[{partition}]")).register(context.memory_pool());
            return StreamingMergeBuilder::new()
                .with_streams(taken.into_iter().map(stream).collect())
                .with_schema(self.schema())
                .with_expressions(order)
                .with_metrics(figures)
                .with_batch_size(context.session_config().batch_size())
                .with_reservation(memory)
                .build();
        }
        let Some(receiver) = taken.pop() else { return internal_err!("an output has a receiver") };
        let fetch = match self.pattern {
            Pattern::Gather(fetch) => fetch,
            _ => None,
        };
        Ok(Box::pin(Batches::new(self.schema(), receiver, fetch, figures)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// The batches of one output, as a stream.
pub(crate) struct Batches {
    schema: SchemaRef,
    /// `None` after the last row: then nobody needs to produce more.
    receiver: Option<Receiver>,
    /// Rows that may still come.
    left: Option<usize>,
    figures: BaselineMetrics,
}

impl Batches {
    fn new(schema: SchemaRef, receiver: Receiver, fetch: Option<usize>, figures: BaselineMetrics) -> Self {
        Self { schema, receiver: Some(receiver), left: fetch, figures }
    }

    fn limited(&mut self, batch: RecordBatch) -> RecordBatch {
        let Some(left) = &mut self.left else { return batch };
        let rows = batch.num_rows().min(*left);
        *left -= rows;
        if *left == 0 {
            self.receiver = None;
        }
        batch.slice(0, rows)
    }
}

impl Stream for Batches {
    type Item = Result<RecordBatch, DataFusionError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(receiver) = &mut self.receiver else { return Poll::Ready(None) };
        let polled = match receiver.poll_next(context) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(None) => {
                self.receiver = None;
                Poll::Ready(None)
            }
            Poll::Ready(Some(Ok(batch))) => Poll::Ready(Some(Ok(self.limited(batch)))),
            Poll::Ready(Some(Err(cause))) => Poll::Ready(Some(Err(cause.into_plan()))),
        };
        self.figures.record_poll(polled)
    }
}

impl RecordBatchStream for Batches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
