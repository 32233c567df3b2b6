//! Lines of text, one by one, and in blocks.

use super::block::Block;
use super::error::FileError;
use super::source::{FileSource, Format, Parse, Row};
use std::path::{Path, PathBuf};

/// Emits every line of a file, of the files of a folder, or of those that match a pattern (`logs/**/*.log`), without its end (`\n` or
/// `\r\n`). Each line once; the lines of a file come from several processors, so in no order. A line that is no UTF-8 is a bad row.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # std::fs::write(folder.path().join("a.log"), "one\r\ntwo")?;
/// use filbert_connect::file;
/// use filbert_flow::{DagBuilder, processors};
///
/// let mut dag = DagBuilder::new("lines");
/// let lines = dag.vertex("lines", file::lines(folder.path().join("*.log")).max_line_bytes(1 << 20));
/// let list = processors::Collected::new();
/// let sink = dag.vertex("sink", processors::collect(&list));
/// dag.edge(lines.output().to(sink.input()));
/// dag.build()?.submit(&filbert_pool::Stages::start()?)?.wait()?;
/// let mut lines = list.take();
/// lines.sort();
/// assert_eq!(lines, ["one", "two"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn lines(pattern: impl AsRef<Path>) -> FileSource<Lines> {
    FileSource::new(pattern, Lines)
}

/// Emits whole blocks of lines, for who makes many items of each line and can do without an allocation for it: see [`Block`]. Bytes are
/// not looked at, so there are no bad rows.
pub fn blocks(pattern: impl AsRef<Path>) -> FileSource<Blocks> {
    FileSource::new(pattern, Blocks)
}

/// The format of [`lines`].
#[derive(Debug, Clone, Copy)]
pub struct Lines;

/// The format of [`blocks`].
#[derive(Debug, Clone, Copy)]
pub struct Blocks;

impl Format for Lines {
    type Item = String;
    type Parser = ReadLines;

    fn parser(&self, _: &[PathBuf], _: usize) -> Result<ReadLines, FileError> {
        Ok(ReadLines::default())
    }
}

impl Format for Blocks {
    type Item = Block;
    type Parser = ReadBlocks;

    fn parser(&self, _: &[PathBuf], _: usize) -> Result<ReadBlocks, FileError> {
        Ok(ReadBlocks { block: None })
    }

    fn preferred_queue_size(&self) -> Option<usize> {
        // Each has a quarter of a megabyte.
        Some(16)
    }
}

/// The parser of [`blocks`].
#[derive(Debug)]
pub struct ReadBlocks {
    block: Option<Block>,
}

impl Parse for ReadBlocks {
    type Item = Block;

    fn begin(&mut self, block: Block) {
        self.block = Some(block).filter(|block| !block.bytes.is_empty());
    }

    fn next(&mut self) -> Row<Block> {
        self.block.take().map_or(Row::End, Row::Good)
    }
}

/// The parser of [`lines`].
#[derive(Debug, Default)]
pub struct ReadLines {
    block: Option<LinesOfBlock>,
}

impl Parse for ReadLines {
    type Item = String;

    fn begin(&mut self, block: Block) {
        self.block = Some(LinesOfBlock::new(block));
    }

    fn next(&mut self) -> Row<String> {
        let Some(block) = &mut self.block else { return Row::End };
        let Some((line, offset)) = block.next() else { return Row::End };
        match std::str::from_utf8(line) {
            Ok(line) => Row::Good(line.to_owned()),
            Err(error) => not_utf8(offset, error),
        }
    }
}

pub(super) fn not_utf8<T>(offset: u64, error: std::str::Utf8Error) -> Row<T> {
    let column = error.valid_up_to() as u64 + 1;
    Row::Bad { offset, column, problem: format!("the line is not UTF-8: {error}") }
}

/// A block and how far it was read.
#[derive(Debug)]
pub(super) struct LinesOfBlock {
    block: Block,
    at: usize,
}

impl LinesOfBlock {
    pub(super) fn new(block: Block) -> Self {
        Self { block, at: 0 }
    }

    /// The next line, and where in the file it begins.
    #[inline]
    pub(super) fn next(&mut self) -> Option<(&[u8], u64)> {
        let (line, used) = self.block.line_at(self.at)?;
        let offset = self.block.offset + self.at as u64;
        self.at += used;
        Some((line, offset))
    }
}
