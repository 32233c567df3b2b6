//! Some lines of a file, as they were read: the cheapest way to many lines.

use super::plan::{Origin, Split};
use std::path::Path;
use std::str::Utf8Error;
use std::sync::Arc;

/// Whole lines of one file, without a copy per line: what [`blocks`](super::blocks) emits.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("text");
/// # std::fs::write(&path, "the quick\nthe slow\n")?;
/// use filbert_connect::file;
/// use filbert_flow::{DagBuilder, processors};
///
/// let mut dag = DagBuilder::new("words");
/// let blocks = dag.vertex("blocks", file::blocks(&path));
/// let count = dag.vertex("count", processors::map(|block: file::Block| {
///     block.lines().map(|line| line.split(|byte| *byte == b' ').count()).sum::<usize>()
/// }));
/// let list = processors::Collected::new();
/// let sink = dag.vertex("sink", processors::collect(&list));
/// // A block is large: a few in a queue are enough.
/// dag.edge(blocks.output().to(count.input()).queue_size(2).high_water_mark(2));
/// dag.edge(count.output().to(sink.input()));
/// dag.build()?.submit(&filbert_pool::Stages::start()?)?.wait()?;
/// assert_eq!(list.take().into_iter().sum::<usize>(), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Block {
    pub(crate) bytes: Vec<u8>,
    pub(crate) origin: Arc<Origin>,
    /// Where in the file it begins.
    pub(crate) offset: u64,
    /// It is the first of its split.
    pub(crate) is_first: bool,
    /// It is the last of its split.
    pub(crate) is_last: bool,
    /// Nothing of the file comes after its split.
    pub(crate) is_tail: bool,
}

impl Block {
    pub(crate) fn of(split: &Split) -> Self {
        Self {
            bytes: Vec::new(),
            origin: Arc::clone(&split.origin),
            offset: split.from,
            is_first: false,
            is_last: false,
            is_tail: split.is_tail,
        }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.origin.path
    }

    /// Where in the file it begins, in bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// All its bytes, line ends included.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The line that begins at a byte, and how many bytes it is with its end.
    pub(crate) fn line_at(&self, at: usize) -> Option<(&[u8], usize)> {
        first_line(&self.bytes[at..])
    }

    /// All its bytes, line ends included.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// All its text, line ends included.
    pub fn text(&self) -> Result<&str, Utf8Error> {
        std::str::from_utf8(&self.bytes)
    }

    /// Its lines, without `\n` or `\r\n`.
    #[inline]
    pub fn lines(&self) -> BlockLines<'_> {
        BlockLines { rest: &self.bytes }
    }
}

/// The lines of a [`Block`].
#[derive(Debug, Clone)]
pub struct BlockLines<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for BlockLines<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let (line, used) = first_line(self.rest)?;
        self.rest = &self.rest[used..];
        Some(line)
    }
}

impl std::iter::FusedIterator for BlockLines<'_> {}

/// The first line without its end, and how many bytes it is with its end.
#[inline]
pub(crate) fn first_line(bytes: &[u8]) -> Option<(&[u8], usize)> {
    if bytes.is_empty() {
        return None;
    }
    let (line, used) = match memchr::memchr(b'\n', bytes) {
        Some(end) => (&bytes[..end], end + 1),
        None => return Some((bytes, bytes.len())),
    };
    Some((line.strip_suffix(b"\r").unwrap_or(line), used))
}
