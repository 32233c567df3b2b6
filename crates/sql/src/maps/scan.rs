//! The leaf of a plan that reads a map.
//!
//! Each of its partitions reads a share of the map's partitions. It decodes only the columns that the plan wants, ends its turn between
//! two pages when its time is over, and keeps no thread while an answer is under way. What it holds, a page and the rows of a batch,
//! counts as memory of the query; when that becomes scarce, batches become smaller.

use super::decoder::Decoder;
use super::layout::Layout;
use super::leaf::no_inputs;
use super::one_reading::{OneReading, SharedPages};
use super::pages::{Pages, Reach, bytes_of, failed};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::stats::Precision;
use datafusion::common::{Result, Statistics};
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryReservation};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, RecordBatchStream,
    SendableRecordBatchStream,
};
use filbert_grid::Map;
use filbert_grid::query::Catalog;
use filbert_pool::turn_is_over;
use filbert_wire::Data;
use futures::Stream;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Bytes after which a batch is whole, however few rows it has.
const FULL_BATCH_BYTES: usize = 8 << 20;

/// Of the memory that a query may use, the batch of one share takes no larger part: there are others, and what is above them.
const PART_OF_MEMORY: usize = 16;

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
    reading: Option<Arc<OneReading>>,
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
    /// The reading that it shares with other scans.
    pub(crate) reading: Option<Arc<OneReading>>,
    pub(crate) rows: usize,
    pub(crate) limit: Option<usize>,
    pub(crate) shares: usize,
}

impl MapScanExec {
    pub(crate) fn new(of: ScanOf) -> Result<Self> {
        let schema = Arc::new(of.layout.schema.project(&of.places)?);
        // Scans that read together have the same shares, whatever each of them wants.
        let is_one = matches!(of.reach, Reach::Keys(_)) && of.reading.is_none();
        let shares = if is_one { 1 } else { of.shares.max(1) };
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(shares),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        let ScanOf { map, catalog, layout, places, reach, way, reading, rows, limit, .. } = of;
        let (properties, metrics) = (Arc::new(properties), ExecutionPlanMetricsSet::new());
        Ok(Self { map, catalog, layout, places, reach, way, reading, rows, limit, properties, metrics })
    }

    pub(crate) fn map_name(&self) -> &str {
        self.map.name()
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

    no_inputs!();

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let full_bytes = match context.memory_pool().memory_limit() {
            MemoryLimit::Finite(limit) => FULL_BATCH_BYTES.min(limit / PART_OF_MEMORY),
            _ => FULL_BATCH_BYTES,
        };
        Ok(Box::pin(Scan {
            name: Arc::clone(&self.layout.map),
            pages: Some(match &self.reading {
                Some(reading) => {
                    let of = (partition, self.shares());
                    Source::Shared(reading.pages(&self.map, of, context.memory_pool()))
                }
                None => {
                    let own = Pages::new(self.map.clone(), self.reach.clone(), partition, self.shares());
                    Source::Own(Box::new(own))
                }
            }),
            decoder: Decoder::new(&self.layout, self.places.clone(), &self.catalog)?,
            batch_rows: context.session_config().batch_size(),
            full_bytes,
            left: self.limit.unwrap_or(usize::MAX),
            memory: MemoryConsumer::new("scan of a map").register(context.memory_pool()),
            is_whole: false,
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

/// The source of the pages of a scan.
enum Source {
    Own(Box<Pages>),
    /// Other scans of the statement read them as well.
    Shared(SharedPages),
}

/// One share of a scan at work.
struct Scan {
    name: Arc<str>,
    /// `None` when all was read.
    pages: Option<Source>,
    decoder: Decoder,
    batch_rows: usize,
    full_bytes: usize,
    /// Rows that are still wanted.
    left: usize,
    memory: MemoryReservation,
    /// The rows that are decoded are a batch, however few.
    is_whole: bool,
    figures: BaselineMetrics,
}

impl Scan {
    /// Decodes pages until a batch is whole, or that was all.
    fn poll_rows(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        while let Some(pages) = &mut self.pages {
            if self.is_whole {
                break;
            }
            if turn_is_over() {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            let page = match pages {
                Source::Own(pages) => {
                    let page = pages.poll_next(context);
                    page.map(|page| Some(page?.map(Arc::new).map_err(|error| failed(&self.name, &error))))
                }
                Source::Shared(pages) => pages.poll_next(context),
            };
            let Poll::Ready(page) = page else { return Poll::Pending };
            let time = self.figures.elapsed_compute().clone();
            let _timer = time.timer();
            match page {
                None => self.pages = None,
                Some(entries) => self.add(&entries?)?,
            }
        }
        Poll::Ready(Ok(()))
    }

    fn add(&mut self, entries: &[(Data, Data)]) -> Result<()> {
        let wanted = &entries[..entries.len().min(self.left)];
        let before = self.decoder.rows();
        self.decoder.decode(wanted)?;
        self.left -= wanted.len();
        if self.left == 0 {
            self.pages = None;
        }
        let bytes = self.decoder.bytes();
        self.is_whole = self.decoder.rows() >= self.batch_rows || bytes >= self.full_bytes;
        match self.memory.try_resize(bytes + bytes_of(entries)) {
            // What is there goes on as it is; it is the next page that needs room.
            Err(_) if before > 0 => self.is_whole = true,
            refused => refused?,
        }
        Ok(())
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
        self.is_whole = false;
        // From here on they are whoever's they go to.
        self.memory.free();
        self.figures.record_poll(Poll::Ready(batch))
    }
}

impl RecordBatchStream for Scan {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.decoder.schema())
    }
}
