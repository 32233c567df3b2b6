//! The sinks: batches are encoded and written on the stage `mixed`, while the processor collects the next ones.

use super::error::{ColumnarError, check_columns};
use super::plan::Kind;
use crate::file::{Drafts, FileError, Target};
use crate::offload::Offload;
use arrow_array::RecordBatch;
use arrow_ipc::writer::FileWriter;
use arrow_schema::SchemaRef;
use filbert_flow::{
    Failure, Inbox, Many, MetaSupplier, Outbox, Processor, ProcessorContext, Share, Step, Supplier,
};
use filbert_pool::TaskFuture;
use parquet::arrow::ArrowWriter;
use parquet::basic::ZstdLevel;
use parquet::file::properties::WriterProperties;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::task::Poll;

/// Batches that are written in one go.
const BATCHES: usize = 16;

/// Writes batches to a Parquet file, which appears, or is replaced, when the job has completed. All batches must have the columns of the
/// first. Compressed with Snappy, unless told otherwise.
pub fn write_parquet(path: impl AsRef<Path>) -> ColumnarSink {
    ColumnarSink::new(Kind::Parquet, path)
}

/// Writes batches to an Arrow IPC file, which appears, or is replaced, when the job has completed. All batches must have the columns of
/// the first. Not compressed.
pub fn write_arrow(path: impl AsRef<Path>) -> ColumnarSink {
    ColumnarSink::new(Kind::Arrow, path)
}

/// How the pages of a Parquet file are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Compression {
    /// Not at all.
    None,
    /// Fast.
    #[default]
    Snappy,
    /// Smaller.
    Zstd,
}

/// Columnar files to write to; made by [`write_parquet`] and [`write_arrow`]. They are written under hidden names beside their places,
/// and get their own names when the whole job has completed.
///
/// Where nothing came there is no schema either: without [`schema`](ColumnarSink::schema) no file is written then.
#[derive(Debug, Clone)]
pub struct ColumnarSink {
    kind: Kind,
    target: Target,
    compression: Compression,
    row_group_rows: Option<usize>,
    schema: Option<SchemaRef>,
}

impl ColumnarSink {
    fn new(kind: Kind, path: impl AsRef<Path>) -> Self {
        let (target, compression) = (Target::file(path), Compression::default());
        Self { kind, target, compression, row_group_rows: None, schema: None }
    }

    /// Writes one file per processor, in the folder of that path, with this ending: `part-0.parquet` and so on. The folder is made if
    /// there is none; one that has such parts already is refused, so that two results are not mixed.
    pub fn in_folder(mut self, ending: &str) -> Self {
        self.target = self.target.in_folder(ending);
        self
    }

    /// How the pages of Parquet are compressed; Arrow files are not.
    pub fn compression(mut self, compression: Compression) -> Self {
        self.compression = compression;
        self
    }

    /// How many rows a row group of Parquet has at most, about a million by default; it is what readers can share among them.
    pub fn row_group_rows(mut self, rows: usize) -> Self {
        self.row_group_rows = Some(rows.max(1));
        self
    }

    /// The columns that all batches must have; so there is a file also if none comes.
    pub fn schema(mut self, schema: SchemaRef) -> Self {
        self.schema = Some(schema);
        self
    }
}

impl MetaSupplier for ColumnarSink {
    type Processor = WriteColumns;
    type Supplier = ColumnarSinkSupplier;

    fn supplier(&self, share: Share) -> Result<ColumnarSinkSupplier, Failure> {
        let drafts = self.target.prepare(share)?;
        Ok(ColumnarSinkSupplier { sink: self.clone(), drafts, written: Arc::default() })
    }

    fn preferred_parallelism(&self) -> Option<usize> {
        self.target.preferred_parallelism()
    }
}

/// The files of one job.
pub struct ColumnarSinkSupplier {
    sink: ColumnarSink,
    drafts: Drafts,
    /// Those that have a schema, and so an end.
    written: Arc<Mutex<BTreeSet<PathBuf>>>,
}

impl Supplier for ColumnarSinkSupplier {
    type Processor = WriteColumns;
    const CLOSES: bool = true;

    fn processor(&mut self, share: Share) -> Result<WriteColumns, Failure> {
        let (path, file) = self.drafts.create(share)?;
        let state = State {
            sink: self.sink.clone(),
            path,
            file: Some(file),
            writer: None,
            schema: None,
            written: Arc::clone(&self.written),
        };
        Ok(WriteColumns { state: Some(state), writing: None, is_ended: false, offload: None })
    }

    fn close(&mut self, is_completed: bool) -> Result<(), Failure> {
        let written = self.written.lock().unwrap_or_else(|broken| broken.into_inner());
        Ok(self.drafts.close_some(is_completed, |path| written.contains(path))?)
    }
}

/// One file, and its writer as soon as there is a schema. Its calls block.
struct State {
    sink: ColumnarSink,
    path: PathBuf,
    file: Option<File>,
    writer: Option<Writer>,
    schema: Option<SchemaRef>,
    written: Arc<Mutex<BTreeSet<PathBuf>>>,
}

enum Writer {
    Parquet(Box<ArrowWriter<File>>),
    Arrow(Box<FileWriter<BufWriter<File>>>),
}

impl State {
    fn bad(&self, problem: impl ToString) -> ColumnarError {
        ColumnarError::bad(&self.path, "writing", problem)
    }

    /// Begins the file, if it has not begun.
    fn begin(&mut self, schema: &SchemaRef) -> Result<(), ColumnarError> {
        let Some(file) = self.file.take() else { return Ok(()) };
        let writer = match self.sink.kind {
            Kind::Parquet => {
                let compression = match self.sink.compression {
                    Compression::None => parquet::basic::Compression::UNCOMPRESSED,
                    Compression::Snappy => parquet::basic::Compression::SNAPPY,
                    Compression::Zstd => parquet::basic::Compression::ZSTD(ZstdLevel::default()),
                };
                let mut properties = WriterProperties::builder().set_compression(compression);
                if let Some(rows) = self.sink.row_group_rows {
                    properties = properties.set_max_row_group_row_count(Some(rows));
                }
                let writer = ArrowWriter::try_new(file, Arc::clone(schema), Some(properties.build()));
                Writer::Parquet(Box::new(writer.map_err(|error| self.bad(error))?))
            }
            Kind::Arrow => {
                let writer = FileWriter::try_new_buffered(file, schema);
                Writer::Arrow(Box::new(writer.map_err(|error| self.bad(error))?))
            }
        };
        self.writer = Some(writer);
        self.schema = Some(Arc::clone(schema));
        self.written.lock().unwrap_or_else(|broken| broken.into_inner()).insert(self.path.clone());
        Ok(())
    }

    fn write(&mut self, batches: &[RecordBatch]) -> Result<(), ColumnarError> {
        for batch in batches {
            let schema = self.sink.schema.clone().unwrap_or_else(|| batch.schema());
            self.begin(&schema)?;
            if let Some(schema) = &self.schema {
                check_columns(&self.path, &batch.schema(), schema)?;
            }
            let written = match &mut self.writer {
                Some(Writer::Parquet(writer)) => writer.write(batch).map_err(|error| error.to_string()),
                Some(Writer::Arrow(writer)) => writer.write(batch).map_err(|error| error.to_string()),
                None => Err("the file has ended".to_owned()),
            };
            written.map_err(|problem| self.bad(problem))?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), ColumnarError> {
        if let Some(schema) = self.sink.schema.clone() {
            self.begin(&schema)?;
        }
        let file = match self.writer.take() {
            None => return Ok(()),
            Some(Writer::Parquet(writer)) => writer.into_inner().map_err(|error| self.bad(error))?,
            Some(Writer::Arrow(mut writer)) => {
                writer.finish().map_err(|error| self.bad(error))?;
                let buffered = writer.into_inner().map_err(|error| self.bad(error))?;
                buffered
                    .into_inner()
                    .map_err(|error| FileError::io("write", &self.path, error.into_error()))?
            }
        };
        drop(file);
        Ok(())
    }
}

/// The processor of a [`ColumnarSink`].
pub struct WriteColumns {
    /// Away while a write is under way.
    state: Option<State>,
    writing: Option<TaskFuture<(State, Result<(), ColumnarError>)>>,
    /// The end is being written, or is.
    is_ended: bool,
    offload: Option<Offload>,
}

impl WriteColumns {
    /// Pending while a write is under way.
    fn poll_idle(&mut self) -> Poll<Result<Offload, Failure>> {
        let Some(offload) = self.offload.clone() else {
            return Poll::Ready(Err("a call came before init".into()));
        };
        if let Some(writing) = &mut self.writing {
            let Poll::Ready(wrote) = offload.poll(writing) else { return Poll::Pending };
            self.writing = None;
            let (state, written) = wrote?;
            written?;
            self.state = Some(state);
        }
        Poll::Ready(Ok(offload))
    }

    fn start(
        &mut self,
        offload: &Offload,
        write: impl FnOnce(&mut State) -> Result<(), ColumnarError> + Send + 'static,
    ) -> Result<(), Failure> {
        if let Some(mut state) = self.state.take() {
            let body = move || {
                let written = write(&mut state);
                (state, written)
            };
            self.writing = Some(offload.submit("write", body)?);
        }
        Ok(())
    }
}

impl Processor for WriteColumns {
    type In = Many<RecordBatch>;
    type Out = ();

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.offload = Some(Offload::new(context));
        Ok(())
    }

    fn process(&mut self, inbox: &mut Inbox<Many<RecordBatch>>, _: &mut Outbox<()>) -> Result<Step, Failure> {
        while !inbox.is_empty() {
            let Poll::Ready(offload) = self.poll_idle()? else { return Ok(Step::Wait) };
            let batches: Vec<RecordBatch> = inbox.take(BATCHES).collect();
            self.start(&offload, move |state| state.write(&batches))?;
        }
        Ok(Step::Again)
    }

    fn complete(&mut self, _: &mut Outbox<()>) -> Result<Step, Failure> {
        loop {
            let Poll::Ready(offload) = self.poll_idle()? else { return Ok(Step::Wait) };
            if std::mem::replace(&mut self.is_ended, true) {
                return Ok(Step::Done);
            }
            self.start(&offload, State::end)?;
        }
    }
}
