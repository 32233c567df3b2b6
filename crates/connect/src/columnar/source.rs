//! The sources: settings, then the processors.

use super::plan::{self, Kind, Planned};
use super::read::PartQueue;
use crate::file::ReadAhead;
use crate::offload::Offload;
use arrow_array::RecordBatch;
use filbert_flow::{Failure, Many, MetaSupplier, Outbox, Processor, ProcessorContext, Share, Step, Supplier};
use std::path::Path;
use std::task::Poll;

/// Rows of a batch, if nobody says otherwise.
const BATCH_ROWS: usize = 8 << 10;

/// Batches that wait in a queue, if the edge does not say otherwise: each may have megabytes.
const QUEUE: usize = 4;

/// Emits the rows of Parquet files as batches: a file, all files of a folder, or a pattern such as `sales/2026-*.parquet`. The row groups
/// are spread over the processors. Snappy and zstd are understood, and no compression.
///
/// ```
/// use filbert_connect::columnar::arrow_array::{Int64Array, RecordBatch, StringArray};
/// use filbert_connect::{columnar, memory};
/// use filbert_flow::{DagBuilder, processors};
/// use std::sync::Arc;
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("stock.parquet");
/// let batch = RecordBatch::try_from_iter([
///     ("nut", Arc::new(StringArray::from(vec!["hazel", "wal"])) as _),
///     ("count", Arc::new(Int64Array::from(vec![40, 2])) as _),
/// ])?;
/// let stages = filbert_pool::Stages::start()?;
/// let mut dag = DagBuilder::new("write");
/// let batches = dag.vertex("batches", memory::items(vec![batch]));
/// let file = dag.vertex("file", columnar::write_parquet(&path));
/// dag.edge(batches.output().to(file.input()));
/// dag.build()?.submit(&stages)?.wait()?;
///
/// let mut dag = DagBuilder::new("read");
/// let batches = dag.vertex("batches", columnar::parquet(&path).columns(["count"]));
/// let counts = dag.vertex("counts", columnar::rows(|batch| {
///     let counts = columnar::column::<Int64Array>(batch, "count")?;
///     Ok((0..counts.len()).map(move |row| counts.value(row)))
/// }));
/// let list = processors::Collected::new();
/// let sink = dag.vertex("sink", processors::collect(&list));
/// dag.edge(batches.output().to(counts.input()));
/// dag.edge(counts.output().to(sink.input()));
/// dag.build()?.submit(&stages)?.wait()?;
/// assert_eq!(list.take().iter().sum::<i64>(), 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn parquet(pattern: impl AsRef<Path>) -> ColumnarSource {
    ColumnarSource::new(Kind::Parquet, pattern)
}

/// Emits the batches of Arrow IPC files (also known as Feather): a file, all files of a folder, or a pattern. The batches are spread
/// over the processors.
pub fn arrow(pattern: impl AsRef<Path>) -> ColumnarSource {
    ColumnarSource::new(Kind::Arrow, pattern)
}

/// Columnar files; made by [`parquet`](parquet()) and [`arrow`]. All of them must have the columns that are read, with the same types.
#[derive(Debug, Clone)]
pub struct ColumnarSource {
    kind: Kind,
    patterns: Vec<String>,
    columns: Option<Vec<String>>,
    batch_rows: usize,
}

impl ColumnarSource {
    fn new(kind: Kind, pattern: impl AsRef<Path>) -> Self {
        let patterns = vec![pattern.as_ref().to_string_lossy().into_owned()];
        Self { kind, patterns, columns: None, batch_rows: BATCH_ROWS }
    }

    /// Reads these files too: a file, a folder or a pattern.
    pub fn and(mut self, pattern: impl AsRef<Path>) -> Self {
        self.patterns.push(pattern.as_ref().to_string_lossy().into_owned());
        self
    }

    /// Reads these columns only, in this order; what is not read costs nothing. A file without one of them fails the job.
    pub fn columns<C: Into<String>>(mut self, columns: impl IntoIterator<Item = C>) -> Self {
        self.columns = Some(columns.into_iter().map(Into::into).collect());
        self
    }

    /// How many rows a batch of Parquet has at most, 8192 by default. Those of Arrow files are as they were written.
    pub fn batch_rows(mut self, rows: usize) -> Self {
        self.batch_rows = rows.max(1);
        self
    }
}

impl MetaSupplier for ColumnarSource {
    type Processor = ReadColumns;
    type Supplier = ColumnarSupplier;

    fn supplier(&self, _: Share) -> Result<ColumnarSupplier, Failure> {
        let files = plan::plan(self.kind, &self.patterns, self.columns.as_deref())?;
        Ok(ColumnarSupplier { files, batch_rows: self.batch_rows })
    }

    fn preferred_queue_size(&self) -> Option<usize> {
        Some(QUEUE)
    }
}

/// The files of one job.
pub struct ColumnarSupplier {
    files: Vec<Planned>,
    batch_rows: usize,
}

impl Supplier for ColumnarSupplier {
    type Processor = ReadColumns;

    fn processor(&mut self, share: Share) -> Result<ReadColumns, Failure> {
        let parts = plan::parts(&self.files, share);
        Ok(ReadColumns { input: ReadAhead::new(PartQueue::new(parts, self.batch_rows)), offload: None })
    }
}

/// The processor of a [`ColumnarSource`].
pub struct ReadColumns {
    input: ReadAhead<PartQueue>,
    offload: Option<Offload>,
}

impl Processor for ReadColumns {
    type In = ();
    type Out = Many<RecordBatch>;

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.offload = Some(Offload::new(context));
        Ok(())
    }

    fn complete(&mut self, outbox: &mut Outbox<Many<RecordBatch>>) -> Result<Step, Failure> {
        let Some(offload) = &self.offload else { return Err("complete came before init".into()) };
        if outbox.is_full() {
            return Ok(Step::Again);
        }
        match self.input.poll_block(offload)? {
            Poll::Pending => Ok(Step::Wait),
            Poll::Ready(None) => Ok(Step::Done),
            Poll::Ready(Some(batch)) => {
                outbox.emit(batch);
                Ok(Step::Again)
            }
        }
    }
}
