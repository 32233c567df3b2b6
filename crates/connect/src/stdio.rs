//! The standard streams of the process.

use crate::file::{
    Block, BlockSource, Drain, Encode, FileError, LineCutter, LinesOut, Origin, ReadAhead, WriteBehind,
};
use crate::offload::Offload;
use filbert_flow::{
    Failure, Inbox, Many, MetaSupplier, Outbox, Processor, ProcessorContext, Share, Step, Supplier,
};
use std::io::{self, Read, Write};
use std::marker::PhantomData;
use std::path::PathBuf;
use std::sync::Arc;
use std::task::Poll;

/// Bytes of a line at most.
const MAX_LINE_BYTES: usize = 16 << 20;

/// Bytes that are read at once.
const BLOCK_BYTES: usize = 64 << 10;

/// Emits every line of the standard input, as soon as it is there, and ends with it. One processor.
///
/// A read that waits for someone to type cannot be called off: a job that is cancelled meanwhile ends at once, but its thread of the stage
/// `mixed` stays until the next line, which is lost.
pub fn stdin() -> ReadFrom {
    read_from("the standard input", || Ok(Box::new(io::stdin())))
}

/// Emits every line of a reader that `open` opens when a job starts; both may block. One processor.
///
/// ```
/// use filbert_connect::stdio;
/// use filbert_flow::{DagBuilder, processors};
///
/// let mut dag = DagBuilder::new("lines");
/// let lines = dag.vertex("lines", stdio::read_from("a text", || Ok(Box::new("one\ntwo".as_bytes()))));
/// let list = processors::Collected::new();
/// let sink = dag.vertex("sink", processors::collect(&list));
/// dag.edge(lines.output().to(sink.input()));
/// dag.build()?.submit(&filbert_pool::Stages::start()?)?.wait()?;
/// assert_eq!(list.take().len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_from(
    name: &str,
    open: impl Fn() -> io::Result<Box<dyn Read + Send>> + Send + Sync + 'static,
) -> ReadFrom {
    ReadFrom { name: name.to_owned(), open: Arc::new(open) }
}

type Open = dyn Fn() -> io::Result<Box<dyn Read + Send>> + Send + Sync;

/// The vertex of [`stdin`] and [`read_from`].
#[derive(Clone)]
pub struct ReadFrom {
    name: String,
    open: Arc<Open>,
}

impl MetaSupplier for ReadFrom {
    type Processor = ReadStream;
    type Supplier = ReadFrom;

    fn supplier(&self, share: Share) -> Result<ReadFrom, Failure> {
        if share.global_count() > 1 {
            return Err(format!("{} has one reader; leave the parallelism at 1", self.name).into());
        }
        Ok(self.clone())
    }

    fn preferred_parallelism(&self) -> Option<usize> {
        Some(1)
    }
}

impl Supplier for ReadFrom {
    type Processor = ReadStream;

    fn processor(&mut self, _: Share) -> Result<ReadStream, Failure> {
        let path = PathBuf::from(&self.name);
        let input = (self.open)().map_err(|error| FileError::io("open", &path, error))?;
        let cutter = LineCutter::of_stream(input, Origin { path, index: 0 }, BLOCK_BYTES, MAX_LINE_BYTES);
        Ok(ReadStream { input: ReadAhead::new(cutter), block: None, line: 0, offload: None })
    }
}

impl BlockSource for LineCutter<Box<dyn Read + Send>> {
    type Block = Block;
    type Error = FileError;

    fn next_block(&mut self) -> Result<Option<Block>, FileError> {
        LineCutter::next_block(self)
    }
}

/// The processor of [`stdin`] and [`read_from`].
pub struct ReadStream {
    input: ReadAhead<LineCutter<Box<dyn Read + Send>>>,
    /// A block and how far it was read.
    block: Option<(Block, usize)>,
    /// Lines so far.
    line: u64,
    offload: Option<Offload>,
}

impl Processor for ReadStream {
    type In = ();
    type Out = Many<String>;

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.offload = Some(Offload::new(context));
        Ok(())
    }

    fn complete(&mut self, outbox: &mut Outbox<Many<String>>) -> Result<Step, Failure> {
        let Some(offload) = &self.offload else { return Err("complete came before init".into()) };
        let Some((block, at)) = &mut self.block else {
            return Ok(match self.input.poll_block(offload)? {
                Poll::Pending => Step::Wait,
                Poll::Ready(None) => Step::Done,
                Poll::Ready(Some(block)) => {
                    self.block = Some((block, 0));
                    Step::Again
                }
            });
        };
        while !outbox.is_full() {
            let Some((line, used)) = block.line_at(*at) else {
                self.block = None;
                break;
            };
            self.line += 1;
            let text = std::str::from_utf8(line).map_err(|error| FileError::BadRow {
                path: block.path().to_owned(),
                line: self.line,
                column: error.valid_up_to() as u64 + 1,
                problem: format!("the line is not UTF-8: {error}"),
            })?;
            outbox.emit(text.to_owned());
            *at += used;
        }
        Ok(Step::Again)
    }
}

/// Writes every item as a line to the standard output, as soon as it comes. One processor.
pub fn stdout<T: AsRef<[u8]> + Send + 'static>() -> WriteTo<T> {
    write_to(|| Ok(Box::new(io::stdout())))
}

/// Writes every item as a line to a writer that `open` opens when a job starts; both may block. One processor.
pub fn write_to<T: AsRef<[u8]> + Send + 'static>(
    open: impl Fn() -> io::Result<Box<dyn Write + Send>> + Send + Sync + 'static,
) -> WriteTo<T> {
    WriteTo { open: Arc::new(open), item: PhantomData }
}

type OpenWriter = dyn Fn() -> io::Result<Box<dyn Write + Send>> + Send + Sync;

/// The vertex of [`stdout`] and [`write_to`].
pub struct WriteTo<T> {
    open: Arc<OpenWriter>,
    item: PhantomData<fn(T)>,
}

impl<T: AsRef<[u8]> + Send + 'static> MetaSupplier for WriteTo<T> {
    type Processor = WriteStream<T>;
    type Supplier = WriteTo<T>;

    fn supplier(&self, _: Share) -> Result<WriteTo<T>, Failure> {
        Ok(WriteTo { open: Arc::clone(&self.open), item: PhantomData })
    }

    fn preferred_parallelism(&self) -> Option<usize> {
        Some(1)
    }
}

impl<T: AsRef<[u8]> + Send + 'static> Supplier for WriteTo<T> {
    type Processor = WriteStream<T>;

    fn processor(&mut self, _: Share) -> Result<WriteStream<T>, Failure> {
        let out = WriteBehind::new(Flushing((self.open)()?));
        Ok(WriteStream { out, format: LinesOut::new(), offload: None })
    }
}

/// A writer whose bytes are seen at once.
struct Flushing(Box<dyn Write + Send>);

impl Drain for Flushing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)?;
        self.0.flush()
    }
}

/// The processor of [`stdout`] and [`write_to`].
pub struct WriteStream<T> {
    out: WriteBehind<Flushing>,
    format: LinesOut<T>,
    offload: Option<Offload>,
}

impl<T: AsRef<[u8]> + Send + 'static> Processor for WriteStream<T> {
    type In = Many<T>;
    type Out = ();

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.offload = Some(Offload::new(context));
        Ok(())
    }

    fn process(&mut self, inbox: &mut Inbox<Many<T>>, _: &mut Outbox<()>) -> Result<Step, Failure> {
        let Some(offload) = &self.offload else { return Err("process came before init".into()) };
        // What comes while a write is under way joins the next one; nothing waits for a buffer to be full.
        if self.out.poll_start(offload)?.is_pending() {
            return Ok(Step::Wait);
        }
        self.format.encode(&mut inbox.drain(), self.out.buffer())?;
        if self.out.poll_start(offload)?.is_pending() {
            return Ok(Step::Wait);
        }
        Ok(Step::Again)
    }

    fn complete(&mut self, _: &mut Outbox<()>) -> Result<Step, Failure> {
        let Some(offload) = &self.offload else { return Err("complete came before init".into()) };
        Ok(if self.out.poll_written(offload)?.is_pending() { Step::Wait } else { Step::Done })
    }
}
