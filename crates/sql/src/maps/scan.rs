//! The leaf of a plan that reads a map.
//!
//! Each of its partitions reads a share of the map's partitions. It decodes only the columns that the plan wants, ends its turn between
//! two pages when its time is over, and keeps no thread while an answer is under way.

use super::decoder::Decoder;
use super::layout::Layout;
use super::pages::{Pages, Reach, failed};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics};
use datafusion::execution::TaskContext;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, ReplaceChildrenOptions};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, RecordBatchStream,
    SendableRecordBatchStream,
};
use filbert_grid::Map;
use filbert_grid::query::Catalog;
use filbert_pool::turn_is_over;
use futures::Stream;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Bytes of entries after which a batch is whole, however few rows it has.
const FULL_BATCH_BYTES: usize = 8 << 20;

/// Reads a map.
#[derive(Clone)]
pub struct MapScanExec {
    map: Map,
    catalog: Catalog,
    layout: Arc<Layout>,
    places: Vec<usize>,
    reach: Reach,
    /// How it reaches them, in words.
    way: String,
    rows: usize,
    limit: Option<usize>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

/// What a scan is to read.
pub(crate) struct ScanOf {
    pub(crate) map: Map,
    pub(crate) catalog: Catalog,
    pub(crate) layout: Arc<Layout>,
    pub(crate) places: Vec<usize>,
    pub(crate) reach: Reach,
    pub(crate) way: String,
    pub(crate) rows: usize,
    pub(crate) limit: Option<usize>,
    pub(crate) shares: usize,
}

impl MapScanExec {
    pub(crate) fn new(of: ScanOf) -> Result<Self> {
        let schema = Arc::new(of.layout.schema.project(&of.places)?);
        let shares = if matches!(of.reach, Reach::Keys(_)) { 1 } else { of.shares.max(1) };
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(shares),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        let ScanOf { map, catalog, layout, places, reach, way, rows, limit, .. } = of;
        let (properties, metrics) = (Arc::new(properties), ExecutionPlanMetricsSet::new());
        Ok(Self { map, catalog, layout, places, reach, way, rows, limit, properties, metrics })
    }

    fn shares(&self) -> usize {
        self.properties.partitioning.partition_count()
    }
}

impl fmt::Debug for MapScanExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MapScanExec({:?})", self.layout.map)
    }
}

impl DisplayAs for MapScanExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: Vec<_> =
            self.places.iter().map(|place| self.layout.columns[*place].name.as_str()).collect();
        write!(f, "MapScanExec: map={}, columns=[{}], {}", self.layout.map, columns.join(", "), self.way)?;
        self.limit.map_or(Ok(()), |limit| write!(f, ", limit={limit}"))
    }
}

impl ExecutionPlan for MapScanExec {
    fn name(&self) -> &str {
        "MapScanExec"
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
        Ok(Box::pin(Scan {
            name: Arc::clone(&self.layout.map),
            pages: Some(Pages::new(self.map.clone(), self.reach.clone(), partition, self.shares())),
            decoder: Decoder::new(&self.layout, self.places.clone(), &self.catalog)?,
            batch_rows: context.session_config().batch_size(),
            left: self.limit.unwrap_or(usize::MAX),
            figures: BaselineMetrics::new(&self.metrics, partition),
        }))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(
        &self,
        _: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let mut statistics = Statistics::new_unknown(&self.schema());
        let rows = self.rows.min(self.limit.unwrap_or(usize::MAX));
        let rows = if args.partition().is_some() { rows.div_ceil(self.shares()) } else { rows };
        statistics.num_rows = Precision::Inexact(rows);
        Ok(Arc::new(statistics))
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        Some(Arc::new(Self { limit, ..self.clone() }))
    }

    fn fetch(&self) -> Option<usize> {
        self.limit
    }
}

/// One share of a scan at work.
struct Scan {
    name: Arc<str>,
    /// `None` when all was read.
    pages: Option<Pages>,
    decoder: Decoder,
    batch_rows: usize,
    /// Rows that are still wanted.
    left: usize,
    figures: BaselineMetrics,
}

impl Scan {
    /// Decodes pages until a batch is whole; true then, or when that was all.
    fn poll_rows(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        while let Some(pages) = &mut self.pages {
            if self.decoder.rows() >= self.batch_rows || self.decoder.bytes() >= FULL_BATCH_BYTES {
                break;
            }
            if turn_is_over() {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            let Poll::Ready(page) = pages.poll_next(context) else { return Poll::Pending };
            let _timer = self.figures.elapsed_compute().timer();
            match page {
                None => self.pages = None,
                Some(Err(error)) => return Poll::Ready(Err(failed(&self.name, &error))),
                Some(Ok(entries)) => {
                    let wanted = &entries[..entries.len().min(self.left)];
                    self.decoder.decode(wanted)?;
                    self.left -= wanted.len();
                    if self.left == 0 {
                        self.pages = None;
                    }
                }
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl Stream for Scan {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let read = match self.poll_rows(context) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(read) => read,
        };
        let batch = match read {
            Err(error) => {
                self.pages = None;
                Some(Err(error))
            }
            Ok(()) if self.decoder.rows() == 0 => None,
            Ok(()) => Some(self.decoder.finish()),
        };
        self.figures.record_poll(Poll::Ready(batch))
    }
}

impl RecordBatchStream for Scan {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.decoder.schema())
    }
}
