//! Reads Arrow files a record batch at a time.
//!
//! DataFusion's own reader takes an open file and reads it where it decodes, here on a worker of stage `fragment`, which must not block;
//! of a store that gives streams it takes the whole file into memory. This one asks the store for the footer and then for one record batch
//! after the other, the next while one is decoded. So a large file can also be read in parts, side by side. Files in the stream format,
//! which have no footer, are decoded piece by piece from their begin.

use super::access::problem;
use arrow::array::RecordBatch;
use arrow::buffer::Buffer;
use arrow::datatypes::{Schema, SchemaRef};
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::{FileDecoder, StreamDecoder, read_footer_length};
use arrow_ipc::{Block, Footer};
use bytes::Bytes;
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::listing::{FileRange, PartitionedFile};
use datafusion::datasource::physical_plan::{FileOpenFuture, FileOpener, FileScanConfig, FileSource};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::DataFusionError;
use datafusion::object_store::path::Path;
use datafusion::object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion_datasource::projection::{ProjectionOpener, SplitProjection};
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use std::ops::Range;
use std::sync::Arc;

/// Record batches that are read ahead.
const AHEAD: usize = 2;

/// The length of the footer and the magic number behind it.
const TAIL_BYTES: u64 = 10;

/// How a file with a footer begins.
const MAGIC: [u8; 6] = *b"ARROW1";

/// Where the columns of a file without a footer must have been said.
const MAX_SCHEMA_BYTES: usize = 16 << 20;

/// DataFusion's source of Arrow files, with another way to open them.
pub(super) struct ArrowFiles(pub(super) Arc<dyn FileSource>);

impl ArrowFiles {
    /// True for a source that it can read for.
    pub(super) fn reads(source: &dyn FileSource) -> bool {
        matches!(source.file_type(), "arrow" | "arrow_stream")
    }
}

impl FileSource for ArrowFiles {
    fn create_file_opener(
        &self,
        store: Arc<dyn ObjectStore>,
        _: &FileScanConfig,
        _: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        let table = self.0.table_schema();
        let split = match self.0.projection() {
            Some(projection) => SplitProjection::new(table.file_schema(), projection),
            None => SplitProjection::unprojected(table),
        };
        let has_footer = self.0.file_type() == "arrow";
        let opener = Arc::new(ArrowOpener { store, columns: split.file_indices.clone(), has_footer });
        ProjectionOpener::try_new(split, opener, table.file_schema())
    }

    fn table_schema(&self) -> &TableSchema {
        self.0.table_schema()
    }

    fn with_batch_size(&self, rows: usize) -> Arc<dyn FileSource> {
        Arc::new(Self(self.0.with_batch_size(rows)))
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        self.0.metrics()
    }

    fn file_type(&self) -> &str {
        self.0.file_type()
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.0.apply_expressions(f)
    }
}

type Batches = BoxStream<'static, Result<RecordBatch>>;

/// Opens one file, or a part of one.
struct ArrowOpener {
    store: Arc<dyn ObjectStore>,
    columns: Vec<usize>,
    has_footer: bool,
}

impl FileOpener for ArrowOpener {
    fn open(&self, file: PartitionedFile) -> Result<FileOpenFuture> {
        let (store, columns) = (Arc::clone(&self.store), self.columns.clone());
        Ok(match self.has_footer {
            true => open_blocks(store, columns, file.object_meta, file.range).boxed(),
            false => open_stream(store, columns, file.object_meta.location).boxed(),
        })
    }
}

fn broken(file: &ObjectMeta, what: &str) -> DataFusionError {
    problem(std::path::Path::new(&format!("/{}", file.location)), what).into_plan()
}

/// Where a block is, if that is in the file.
fn range_of(block: &Block, file: &ObjectMeta) -> Result<Range<u64>> {
    let start = u64::try_from(block.offset()).ok();
    let length = u64::try_from(block.metaDataLength()).ok().zip(u64::try_from(block.bodyLength()).ok());
    let end = start.zip(length).and_then(|(start, (head, body))| start.checked_add(head)?.checked_add(body));
    match (start, end) {
        (Some(start), Some(end)) if end <= file.size => Ok(start..end),
        _ => Err(broken(file, "its footer speaks of rows that are not in it; was it cut short?")),
    }
}

/// The footer of a file, which says where its rows are.
async fn footer_bytes(store: &Arc<dyn ObjectStore>, file: &ObjectMeta) -> Result<Bytes> {
    let too_short = || broken(file, "it is too short for an Arrow file; was it cut short?");
    let tail = file.size.checked_sub(TAIL_BYTES).ok_or_else(too_short)?;
    let length = store.get_range(&file.location, tail..file.size).await?;
    let length = length[..].try_into().map_err(|_| too_short())?;
    let start = tail.checked_sub(read_footer_length(length)? as u64).ok_or_else(too_short)?;
    Ok(store.get_range(&file.location, start..tail).await?)
}

fn footer_of<'b>(bytes: &'b Bytes, file: &ObjectMeta) -> Result<(Footer<'b>, Schema)> {
    let footer = arrow_ipc::root_as_footer(bytes)
        .map_err(|error| broken(file, &format!("its footer does not read: {error}")))?;
    let schema = footer.schema().ok_or_else(|| broken(file, "its footer has no columns"))?;
    Ok((footer, fb_to_schema(schema)))
}

/// The columns of all these files together. (DataFusion's own look at the begin of a file does not know that there may be more than eight
/// bytes before them.)
pub(super) async fn columns_of(store: &Arc<dyn ObjectStore>, files: &[ObjectMeta]) -> Result<SchemaRef> {
    let mut schemas = Vec::with_capacity(files.len());
    for file in files {
        let magic = store.get_range(&file.location, 0..file.size.min(MAGIC.len() as u64)).await?;
        schemas.push(match *magic == MAGIC {
            true => footer_of(&footer_bytes(store, file).await?, file)?.1,
            false => stream_columns(store, file).await?,
        });
    }
    Ok(Arc::new(Schema::try_merge(schemas)?))
}

/// The columns of a file without a footer, which are its first message.
async fn stream_columns(store: &Arc<dyn ObjectStore>, file: &ObjectMeta) -> Result<Schema> {
    let (mut pieces, mut decoder, mut read) =
        (store.get(&file.location).await?.into_stream(), StreamDecoder::new(), 0);
    while let Some(piece) = pieces.next().await {
        let piece = piece?;
        read += piece.len();
        decoder.decode(&mut Buffer::from(piece))?;
        if let Some(schema) = decoder.schema() {
            return Ok(schema.as_ref().clone());
        }
        if read > MAX_SCHEMA_BYTES {
            break;
        }
    }
    Err(broken(file, "it does not begin as an Arrow file does"))
}

/// The record batches that begin in a part of a file.
async fn open_blocks(
    store: Arc<dyn ObjectStore>,
    columns: Vec<usize>,
    file: ObjectMeta,
    part: Option<FileRange>,
) -> Result<Batches> {
    let footer = footer_bytes(&store, &file).await?;
    let (footer, schema) = footer_of(&footer, &file)?;
    let mut decoder = FileDecoder::new(Arc::new(schema), footer.version()).with_projection(columns);
    for block in footer.dictionaries().iter().flatten() {
        let bytes = store.get_range(&file.location, range_of(block, &file)?).await?;
        decoder.read_dictionary(block, &Buffer::from(bytes))?;
    }
    let mut blocks = Vec::new();
    for block in footer.recordBatches().iter().flatten() {
        let range = range_of(block, &file)?;
        let is_in =
            |part: &FileRange| i64::try_from(range.start).is_ok_and(|at| part.start <= at && at < part.end);
        if part.as_ref().is_none_or(is_in) {
            blocks.push((*block, range));
        }
    }
    let read = move |(block, range): (Block, Range<u64>)| {
        let (store, location) = (Arc::clone(&store), file.location.clone());
        async move { Ok::<_, DataFusionError>((block, store.get_range(&location, range).await?)) }
    };
    let decode = move |read: Result<(Block, Bytes)>| -> Result<Option<RecordBatch>> {
        let (block, bytes) = read?;
        Ok(decoder.read_record_batch(&block, &Buffer::from(bytes))?)
    };
    let batches = stream::iter(blocks).map(read).buffered(AHEAD).map(decode);
    Ok(batches.try_filter_map(|batch| async move { Ok(batch) }).boxed())
}

/// The record batches of a file without a footer.
async fn open_stream(store: Arc<dyn ObjectStore>, columns: Vec<usize>, location: Path) -> Result<Batches> {
    struct Reading {
        pieces: BoxStream<'static, datafusion::object_store::Result<Bytes>>,
        piece: Buffer,
        decoder: StreamDecoder,
        columns: Vec<usize>,
    }
    let pieces = store.get(&location).await?.into_stream();
    let (piece, decoder) = (Buffer::from(Vec::<u8>::new()), StreamDecoder::new());
    let batches = stream::try_unfold(Reading { pieces, piece, decoder, columns }, |mut reading| async move {
        loop {
            if let Some(batch) = reading.decoder.decode(&mut reading.piece)? {
                return Ok(Some((batch.project(&reading.columns)?, reading)));
            }
            match reading.pieces.next().await {
                Some(piece) => reading.piece = Buffer::from(piece?),
                None => {
                    reading.decoder.finish()?;
                    return Ok::<_, DataFusionError>(None);
                }
            }
        }
    });
    Ok(batches.boxed())
}
