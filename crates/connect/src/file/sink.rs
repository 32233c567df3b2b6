//! Sinks that write files: lines, CSV, NDJSON.

use super::target::{Drafts, Target};
use super::write_behind::WriteBehind;
use crate::offload::Offload;
use filbert_flow::{
    Failure, Inbox, Many, MetaSupplier, Outbox, Processor, ProcessorContext, Share, Step, Supplier,
};
use serde::Serialize;
use std::fs::File;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::task::Poll;

/// Items that are encoded between two looks at the buffer.
const BATCH: usize = 128;

/// Writes every item as a line to one file, which appears, or is replaced, when the job has completed.
pub fn write_lines<T: AsRef<[u8]> + Send + 'static>(path: impl AsRef<Path>) -> FileSink<LinesOut<T>> {
    FileSink::new(path, LinesOut { item: PhantomData })
}

/// Writes every item as a row of a CSV file, with a header if the items have named fields. The file appears when the job has completed.
pub fn write_csv<T: Serialize + Send + 'static>(path: impl AsRef<Path>) -> FileSink<CsvOut<T>> {
    FileSink::new(path, CsvOut { has_begun: false, item: PhantomData })
}

/// Writes every item as a line of JSON to one file, which appears when the job has completed.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// use filbert_connect::{file, memory};
/// use filbert_flow::DagBuilder;
///
/// let mut dag = DagBuilder::new("numbers");
/// let numbers = dag.vertex("numbers", memory::range(0..1_000));
/// // A file per processor, part-0.ndjson and so on, in a folder.
/// let sink = dag.vertex("sink", file::write_ndjson(folder.path().join("numbers")).in_folder("ndjson"));
/// dag.edge(numbers.output().to(sink.input()));
/// dag.build()?.submit(&filbert_pool::Stages::start()?)?.wait()?;
/// assert!(folder.path().join("numbers/part-0.ndjson").is_file());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_ndjson<T: Serialize + Send + 'static>(path: impl AsRef<Path>) -> FileSink<JsonOut<T>> {
    FileSink::new(path, JsonOut { item: PhantomData })
}

/// How items become bytes. A value that says how, cloned for every file.
pub trait Encode: Clone + Send + Sync + 'static {
    /// What it takes.
    type Item: Send + 'static;

    /// Appends the bytes of some items.
    fn encode(
        &mut self,
        items: &mut dyn Iterator<Item = Self::Item>,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure>;
}

/// The format of [`write_lines`].
#[derive(Debug)]
pub struct LinesOut<T> {
    item: PhantomData<fn(T)>,
}

/// The format of [`write_csv`].
#[derive(Debug)]
pub struct CsvOut<T> {
    has_begun: bool,
    item: PhantomData<fn(T)>,
}

/// The format of [`write_ndjson`].
#[derive(Debug)]
pub struct JsonOut<T> {
    item: PhantomData<fn(T)>,
}

impl<T> LinesOut<T> {
    pub(crate) fn new() -> Self {
        Self { item: PhantomData }
    }
}

impl<T> Clone for LinesOut<T> {
    fn clone(&self) -> Self {
        Self { item: PhantomData }
    }
}

impl<T> Clone for CsvOut<T> {
    fn clone(&self) -> Self {
        Self { item: PhantomData, ..*self }
    }
}

impl<T> Clone for JsonOut<T> {
    fn clone(&self) -> Self {
        Self { item: PhantomData }
    }
}

impl<T: AsRef<[u8]> + Send + 'static> Encode for LinesOut<T> {
    type Item = T;

    fn encode(&mut self, items: &mut dyn Iterator<Item = T>, out: &mut Vec<u8>) -> Result<(), Failure> {
        for item in items {
            out.extend_from_slice(item.as_ref());
            out.push(b'\n');
        }
        Ok(())
    }
}

impl<T: Serialize + Send + 'static> Encode for CsvOut<T> {
    type Item = T;

    fn encode(&mut self, items: &mut dyn Iterator<Item = T>, out: &mut Vec<u8>) -> Result<(), Failure> {
        let mut writer = csv::WriterBuilder::new().has_headers(!self.has_begun).from_writer(out);
        for item in items {
            writer.serialize(item)?;
            self.has_begun = true;
        }
        writer.flush()?;
        Ok(())
    }
}

impl<T: Serialize + Send + 'static> Encode for JsonOut<T> {
    type Item = T;

    fn encode(&mut self, items: &mut dyn Iterator<Item = T>, out: &mut Vec<u8>) -> Result<(), Failure> {
        for item in items {
            serde_json::to_writer(&mut *out, &item)?;
            out.push(b'\n');
        }
        Ok(())
    }
}

/// Files in some format, to write to. They are written under hidden names beside their places, and get their own names when the whole
/// job has completed; a job that fails or is cancelled leaves nothing behind.
#[derive(Debug, Clone)]
pub struct FileSink<E> {
    target: Target,
    format: E,
}

impl<E> FileSink<E> {
    fn new(path: impl AsRef<Path>, format: E) -> Self {
        Self { target: Target::file(path), format }
    }

    /// Writes one file per processor, in the folder of that path, with this ending: `part-0.csv` and so on. The folder is made if there is
    /// none; one that has such parts already is refused, so that two results are not mixed.
    pub fn in_folder(mut self, ending: &str) -> Self {
        self.target = self.target.in_folder(ending);
        self
    }
}

impl<E: Encode> MetaSupplier for FileSink<E> {
    type Processor = WriteFile<E>;
    type Supplier = FileSinkSupplier<E>;

    fn supplier(&self, share: Share) -> Result<FileSinkSupplier<E>, Failure> {
        Ok(FileSinkSupplier { sink: self.clone(), drafts: self.target.prepare(share)? })
    }

    fn preferred_parallelism(&self) -> Option<usize> {
        self.target.preferred_parallelism()
    }
}

/// The files of one job.
pub struct FileSinkSupplier<E> {
    sink: FileSink<E>,
    drafts: Drafts,
}

impl<E: Encode> Supplier for FileSinkSupplier<E> {
    type Processor = WriteFile<E>;
    const CLOSES: bool = true;

    fn processor(&mut self, share: Share) -> Result<WriteFile<E>, Failure> {
        let (path, file) = self.drafts.create(share)?;
        let format = self.sink.format.clone();
        Ok(WriteFile { format, path, out: WriteBehind::new(file), offload: None })
    }

    fn close(&mut self, is_completed: bool) -> Result<(), Failure> {
        Ok(self.drafts.close(is_completed)?)
    }
}

/// The processor of a [`FileSink`].
pub struct WriteFile<E> {
    format: E,
    path: PathBuf,
    out: WriteBehind<File>,
    offload: Option<Offload>,
}

impl<E: Encode> WriteFile<E> {
    fn named(&self, failure: Failure) -> Failure {
        format!("cannot write to {}: {failure}", self.path.display()).into()
    }
}

impl<E: Encode> Processor for WriteFile<E> {
    type In = Many<E::Item>;
    type Out = ();

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.offload = Some(Offload::new(context));
        Ok(())
    }

    fn process(&mut self, inbox: &mut Inbox<Many<E::Item>>, _: &mut Outbox<()>) -> Result<Step, Failure> {
        let Some(offload) = &self.offload else { return Err("process came before init".into()) };
        while !inbox.is_empty() {
            match self.out.poll_room(offload) {
                Poll::Ready(Ok(())) => self.format.encode(&mut inbox.take(BATCH), self.out.buffer())?,
                Poll::Ready(Err(failure)) => return Err(self.named(failure)),
                Poll::Pending => return Ok(Step::Wait),
            }
        }
        Ok(Step::Again)
    }

    fn complete(&mut self, _: &mut Outbox<()>) -> Result<Step, Failure> {
        let Some(offload) = &self.offload else { return Err("complete came before init".into()) };
        match self.out.poll_written(offload) {
            Poll::Ready(Ok(())) => Ok(Step::Done),
            Poll::Ready(Err(failure)) => Err(self.named(failure)),
            Poll::Pending => Ok(Step::Wait),
        }
    }
}
