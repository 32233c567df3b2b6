//! A source of files in some format: settings, then the processors.

use super::bad_rows::BadRows;
use super::block::Block;
use super::cut::line_of;
use super::error::FileError;
use super::plan::{self, Whole};
use super::read_ahead::{ReadAhead, SplitQueue};
use crate::offload::Offload;
use filbert_flow::{Failure, Many, MetaSupplier, Outbox, Processor, ProcessorContext, Share, Step, Supplier};
use filbert_pool::TaskFuture;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::Poll;

/// Bytes of a block: large enough that a hop to another stage does not matter, small enough for the cache.
const BLOCK_BYTES: usize = 256 << 10;

/// Bytes of a line, if nobody says otherwise.
const MAX_LINE_BYTES: usize = 16 << 20;

/// Rows per call at most, so that a call stays far below a millisecond.
const ROWS_PER_CALL: usize = 512;

/// How lines become items. A value that says how, cloned for every job.
pub trait Format: Clone + Send + Sync + 'static {
    /// What it makes of them.
    type Item: Send + 'static;
    /// What does it.
    type Parser: Parse<Item = Self::Item>;

    /// The parser of one processor. `files` are those of the source, in their order; looking into them may block.
    fn parser(&self, files: &[PathBuf], max_line_bytes: usize) -> Result<Self::Parser, FileError>;

    /// False when a file must be read by one processor alone.
    fn is_cut(&self) -> bool {
        true
    }

    /// How many items the queues behind the source hold; none: as usual.
    fn preferred_queue_size(&self) -> Option<usize> {
        None
    }
}

/// What a parser found.
#[derive(Debug)]
pub enum Row<T> {
    /// An item.
    Good(T),
    /// Something that is none.
    Bad {
        /// Where in the file the row begins.
        offset: u64,
        /// Where in the row, from 1.
        column: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// Something that cannot be left out without losing others.
    Fatal {
        /// Where in the file the row begins.
        offset: u64,
        /// What is wrong with it.
        problem: String,
    },
    /// No more in this block.
    End,
}

/// Makes items of blocks of lines, for one processor. Blocks of a file come in their order, those of one split after those of another.
pub trait Parse: Send + 'static {
    /// What it makes.
    type Item: Send + 'static;

    /// A new block; all rows of the one before were asked for.
    fn begin(&mut self, block: Block);

    /// The next row of the block.
    fn next(&mut self) -> Row<Self::Item>;
}

/// Files in some format; a vertex, or the begin of a pipeline. Made by [`lines`](super::lines()), [`blocks`](super::blocks()),
/// [`csv`](super::csv()) and [`ndjson`](super::ndjson()).
#[derive(Debug, Clone)]
pub struct FileSource<F> {
    patterns: Vec<String>,
    format: F,
    block_bytes: usize,
    max_line_bytes: usize,
    bad_rows: Option<BadRows>,
}

impl<F> FileSource<F> {
    pub(super) fn new(pattern: impl AsRef<Path>, format: F) -> Self {
        Self {
            patterns: vec![pattern.as_ref().to_string_lossy().into_owned()],
            format,
            block_bytes: BLOCK_BYTES,
            max_line_bytes: MAX_LINE_BYTES,
            bad_rows: None,
        }
    }

    pub(super) fn format_mut(&mut self) -> &mut F {
        &mut self.format
    }

    /// Reads these files too: a file, a folder or a pattern.
    pub fn and(mut self, pattern: impl AsRef<Path>) -> Self {
        self.patterns.push(pattern.as_ref().to_string_lossy().into_owned());
        self
    }

    /// The longest line that is read, 16 MiB by default; a longer one fails the job.
    pub fn max_line_bytes(mut self, bytes: usize) -> Self {
        self.max_line_bytes = bytes;
        self
    }

    /// How much is read at once, 256 KiB by default.
    pub fn block_bytes(mut self, bytes: usize) -> Self {
        self.block_bytes = bytes;
        self
    }

    /// Leaves rows out that cannot be read, and counts them; otherwise the first one fails the job.
    pub fn skip_bad_rows(mut self, counted: &BadRows) -> Self {
        self.bad_rows = Some(counted.clone());
        self
    }
}

impl<F: Format> MetaSupplier for FileSource<F> {
    type Processor = ReadFiles<F>;
    type Supplier = FilesSupplier<F>;

    fn supplier(&self, _: Share) -> Result<FilesSupplier<F>, Failure> {
        let files = plan::files(&self.patterns)?;
        Ok(FilesSupplier { source: self.clone(), files })
    }

    fn preferred_queue_size(&self) -> Option<usize> {
        self.format.preferred_queue_size()
    }
}

/// The files of one job.
pub struct FilesSupplier<F> {
    source: FileSource<F>,
    files: Vec<Whole>,
}

impl<F: Format> Supplier for FilesSupplier<F> {
    type Processor = ReadFiles<F>;

    fn processor(&mut self, share: Share) -> Result<ReadFiles<F>, Failure> {
        let source = &self.source;
        let splits = plan::splits(&self.files, share, source.format.is_cut());
        let paths: Vec<PathBuf> = self.files.iter().map(|file| file.origin.path.clone()).collect();
        Ok(ReadFiles {
            parser: source.format.parser(&paths, source.max_line_bytes)?,
            input: ReadAhead::new(SplitQueue::new(splits, source.block_bytes, source.max_line_bytes)),
            path: Arc::from(Path::new("")),
            has_block: false,
            bad_rows: source.bad_rows.clone(),
            failing: None,
            offload: None,
        })
    }
}

/// The processor of a [`FileSource`].
pub struct ReadFiles<F: Format> {
    parser: F::Parser,
    input: ReadAhead<SplitQueue>,
    /// The file of the current block.
    path: Arc<Path>,
    has_block: bool,
    bad_rows: Option<BadRows>,
    /// The number of the bad line is being found out.
    failing: Option<TaskFuture<FileError>>,
    offload: Option<Offload>,
}

impl<F: Format> Processor for ReadFiles<F> {
    type In = ();
    type Out = Many<F::Item>;

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.offload = Some(Offload::new(context));
        Ok(())
    }

    fn complete(&mut self, outbox: &mut Outbox<Many<F::Item>>) -> Result<Step, Failure> {
        let Some(offload) = self.offload.clone() else { return Err("complete came before init".into()) };
        if let Some(failing) = &mut self.failing {
            return match offload.poll(failing) {
                Poll::Pending => Ok(Step::Wait),
                Poll::Ready(error) => Err(error?.into()),
            };
        }
        if !self.has_block {
            match self.input.poll_block(&offload)? {
                Poll::Pending => return Ok(Step::Wait),
                Poll::Ready(None) => return Ok(Step::Done),
                Poll::Ready(Some(block)) => {
                    if *self.path != *block.path() {
                        self.path = Arc::from(block.path());
                    }
                    self.parser.begin(block);
                    self.has_block = true;
                }
            }
        }
        for _ in 0..ROWS_PER_CALL.min(outbox.room()) {
            match self.parser.next() {
                Row::Good(item) => outbox.emit(item),
                Row::End => {
                    self.has_block = false;
                    break;
                }
                Row::Bad { offset, column, problem } => match &self.bad_rows {
                    Some(bad) => bad.add(|| format!("{} at byte {offset}: {problem}", self.path.display())),
                    None => return self.fail(&offload, offset, column, problem),
                },
                Row::Fatal { offset, problem } => return self.fail(&offload, offset, 1, problem),
            }
        }
        Ok(Step::Again)
    }
}

impl<F: Format> ReadFiles<F> {
    /// Finds out on which line it is, which takes a look at all that comes before it.
    fn fail(
        &mut self,
        offload: &Offload,
        offset: u64,
        column: u64,
        problem: String,
    ) -> Result<Step, Failure> {
        let path = self.path.to_path_buf();
        let locate = move || {
            if !path.is_file() {
                // A pipe cannot be read again.
                let problem = format!("{problem} (at byte {offset} of the stream)");
                return FileError::BadRow { path, line: 0, column, problem };
            }
            match line_of(&path, offset) {
                Ok(line) => FileError::BadRow { path, line, column, problem },
                Err(error) => FileError::io("read", &path, error),
            }
        };
        self.failing = Some(offload.submit("find line", locate)?);
        Ok(Step::Again)
    }
}
