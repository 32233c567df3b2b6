//! The leaf of a plan that reads the journal of a map.
//!
//! One partition reads all of the map's, since only together they have an order of time. A batch is given as soon as there is nothing
//! more at hand: a change is seen when it happens, and a reader that is behind gets whole batches.

use super::merge::{Change, JournalMerge, cost};
use super::schema::JournalStart;
use super::table::JournalColumn;
use crate::error::SqlError;
use crate::maps::{Decoder, MapTable};
use crate::stream::StreamFigures;
use arrow::array::{
    ArrayRef, Int32Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray, TimestampMicrosecondArray,
};
use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, ReplaceChildrenOptions};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet,
};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, RecordBatchStream,
    SendableRecordBatchStream,
};
use filbert_grid::{Map, MapEventKind};
use filbert_pool::turn_is_over;
use filbert_wire::{Data, PartitionId};
use futures::Stream;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Bytes of changes after which a batch is whole, however few rows it has.
const FULL_BATCH_BYTES: usize = 8 << 20;

/// Reads the journal of a map, without an end.
pub(crate) struct JournalScanExec {
    table: Arc<MapTable>,
    start: JournalStart,
    /// Where each partition begins, and whether there is something already.
    from: Arc<[(PartitionId, u64, bool)]>,
    columns: Arc<[JournalColumn]>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl JournalScanExec {
    pub(super) fn new(
        table: Arc<MapTable>,
        start: JournalStart,
        from: Vec<(PartitionId, u64, bool)>,
        columns: Vec<JournalColumn>,
        schema: SchemaRef,
    ) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Unbounded { requires_infinite_memory: false },
        );
        let (from, columns, properties) = (from.into(), columns.into(), Arc::new(properties));
        Self { table, start, from, columns, properties, metrics: ExecutionPlanMetricsSet::new() }
    }
}

impl fmt::Debug for JournalScanExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JournalScanExec({:?})", self.table.layout.map)
    }
}

impl DisplayAs for JournalScanExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schema = self.schema();
        let columns: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        let (map, start) = (&self.table.layout.map, self.start.word());
        write!(f, "JournalScanExec: map={map}, columns=[{}], from the {start}", columns.join(", "))
    }
}

impl ExecutionPlan for JournalScanExec {
    fn name(&self) -> &str {
        "JournalScanExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let memory = MemoryConsumer::new("JournalScan").register(context.memory_pool());
        let rows = Rows::new(&self.table, &self.columns, self.schema())?;
        Ok(Box::pin(JournalScan {
            map: self.table.map.clone(),
            merge: JournalMerge::new(&self.table.map, self.start, &self.from, memory),
            may_lose: self.columns.contains(&JournalColumn::Lost),
            changes: Vec::new(),
            bytes: 0,
            rows,
            batch_rows: context.session_config().batch_size(),
            counts: StreamFigures::of(&context),
            lost: MetricBuilder::new(&self.metrics).counter("lost_changes", partition),
            figures: BaselineMetrics::new(&self.metrics, partition),
        }))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// A journal while it is read.
struct JournalScan {
    map: Map,
    merge: JournalMerge,
    /// Its reader looks at what was lost.
    may_lose: bool,
    /// Changes of the batch that is being gathered.
    changes: Vec<Change>,
    bytes: usize,
    rows: Rows,
    batch_rows: usize,
    counts: Arc<StreamFigures>,
    lost: Count,
    figures: BaselineMetrics,
}

impl JournalScan {
    /// Counts what was lost; an error for whoever would not see it in the rows.
    fn note_lost(&self, change: &Change) -> Result<()> {
        let is_first = self.counts.add_lost(change.lost);
        self.lost.add(usize::try_from(change.lost).unwrap_or(usize::MAX));
        let map = self.map.name();
        if !self.may_lose {
            let (map, partition) = (map.to_string(), change.partition.number());
            return Err(SqlError::JournalOverrun { map, partition, changes: change.lost }.into_plan());
        }
        if is_first {
            tracing::warn!(%map, "a query does not keep up with the journal of its map; changes are lost");
        }
        Ok(())
    }

    /// Gathers what is at hand, up to a batch; pending when that is nothing.
    fn poll_changes(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        while self.changes.len() < self.batch_rows && self.bytes < FULL_BATCH_BYTES {
            match self.merge.poll_next(context) {
                Poll::Ready(change) => {
                    let change = change?;
                    if change.lost > 0 {
                        self.note_lost(&change)?;
                    }
                    self.bytes += cost(&change.event);
                    self.changes.push(change);
                }
                Poll::Pending if self.changes.is_empty() => return Poll::Pending,
                Poll::Pending => break,
            }
            // What was gathered goes on its way; the next poll is of the next turn.
            if turn_is_over() {
                break;
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl Stream for JournalScan {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let batch = match self.poll_changes(context) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Err(error)) => Err(error),
            Poll::Ready(Ok(())) => {
                let changes = std::mem::take(&mut self.changes);
                self.bytes = 0;
                let time = self.figures.elapsed_compute().clone();
                let _timer = time.timer();
                self.rows.batch(&changes)
            }
        };
        self.figures.record_poll(Poll::Ready(Some(batch)))
    }
}

impl RecordBatchStream for JournalScan {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.rows.schema)
    }
}

/// Makes rows of changes.
struct Rows {
    columns: Arc<[JournalColumn]>,
    schema: SchemaRef,
    /// For the columns of the map.
    decoder: Decoder,
    old: Option<Decoder>,
}

impl Rows {
    fn new(table: &MapTable, columns: &Arc<[JournalColumn]>, schema: SchemaRef) -> Result<Self> {
        let places = columns.iter().filter_map(|column| match column {
            JournalColumn::OfMap(place) => Some(*place),
            _ => None,
        });
        let decoder = Decoder::new(&table.layout, places.collect(), &table.catalog)?;
        let old = columns.iter().find_map(|column| match column {
            JournalColumn::Old(place) => Some(Decoder::new(&table.layout, vec![*place], &table.catalog)),
            _ => None,
        });
        Ok(Self { columns: Arc::clone(columns), schema, decoder, old: old.transpose()? })
    }

    fn batch(&mut self, changes: &[Change]) -> Result<RecordBatch> {
        let entry = |value: fn(&Change) -> Option<&Data>| {
            changes.iter().map(move |change| (&change.event.key, value(change)))
        };
        self.decoder.decode_changes(entry(|change| change.event.value.as_ref()))?;
        let decoded = self.decoder.finish()?;
        let old = match &mut self.old {
            None => None,
            Some(decoder) => {
                decoder.decode_changes(entry(|change| change.event.old_value.as_ref()))?;
                Some(decoder.finish()?)
            }
        };
        let numbers = |of: &dyn Fn(&Change) -> u64| -> ArrayRef {
            Arc::new(changes.iter().map(|change| i64::try_from(of(change)).ok()).collect::<Int64Array>())
        };
        let mut of_map = decoded.columns().iter();
        let mut arrays: Vec<ArrayRef> = Vec::with_capacity(self.columns.len());
        for column in self.columns.iter() {
            let array: Option<ArrayRef> = match column {
                JournalColumn::Event => {
                    let words = changes.iter().map(|change| Some(word(change.event.kind)));
                    Some(Arc::new(words.collect::<StringArray>()))
                }
                JournalColumn::OfMap(_) => of_map.next().cloned(),
                JournalColumn::Old(_) => old.as_ref().map(|old| Arc::clone(old.column(0))),
                JournalColumn::Sequence => Some(numbers(&|change| change.event.sequence)),
                JournalColumn::Partition => {
                    let partition = |change: &Change| i32::try_from(change.partition.number()).ok();
                    Some(Arc::new(changes.iter().map(partition).collect::<Int32Array>()))
                }
                JournalColumn::Time => {
                    let micros =
                        |change: &Change| i64::try_from(change.event.time_ms).ok()?.checked_mul(1_000);
                    let times = changes.iter().map(micros).collect::<TimestampMicrosecondArray>();
                    Some(Arc::new(times.with_timezone("UTC")))
                }
                JournalColumn::Lost => Some(numbers(&|change| change.lost)),
            };
            arrays.extend(array);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(changes.len()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)?)
    }
}

const fn word(kind: MapEventKind) -> &'static str {
    match kind {
        // What is loaded is added: the journal makes no difference.
        MapEventKind::Added | MapEventKind::Loaded => "ADDED",
        MapEventKind::Updated => "UPDATED",
        MapEventKind::Removed => "REMOVED",
        MapEventKind::Evicted => "EVICTED",
        MapEventKind::Expired => "EXPIRED",
        // Of all entries at once: the journal has one change of each entry instead.
        MapEventKind::EvictAll | MapEventKind::ClearAll => "CLEARED",
    }
}
