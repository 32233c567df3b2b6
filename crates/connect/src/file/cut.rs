//! Cuts what is read into blocks that begin and end at line ends, and gives a split exactly the lines that begin in it.
//!
//! ```text
//!        from                              to
//! ...aaa\n|bbbb\nccc\nddd\n ... xxx\nyyyy|yy\nzzz
//!         [ begins after the first \n at or behind from-1
//!                                          ] ends behind the first \n at or behind to-1
//! ```
//!
//! The same place counts for the end of one split and the begin of the next, so no line is lost and none is read twice.
//! Pure but for its reader, which blocks.

use super::block::Block;
use super::error::FileError;
use super::plan::{Origin, Split};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// Reads the lines of one split.
pub(crate) struct LineCutter<R> {
    input: R,
    split: Split,
    /// What was read and not given away yet; begins at a line's begin, at `base` in the file.
    kept: Vec<u8>,
    base: u64,
    /// Bytes of `kept` that hold no line end.
    searched: usize,
    /// The begin of the first line is still to be found.
    is_skipping: bool,
    is_first: bool,
    is_over: bool,
    /// Lines given away, of a stream: it cannot be read again to count them.
    lines: u64,
    block_bytes: usize,
    max_line_bytes: usize,
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

impl<R: Read> LineCutter<R> {
    /// Where in the file the reader of a split must stand.
    pub(crate) fn start(split: &Split) -> u64 {
        split.from.saturating_sub(1)
    }

    /// `input` stands at [`LineCutter::start`].
    pub(crate) fn new(input: R, split: Split, block_bytes: usize, max_line_bytes: usize) -> Self {
        let max_line_bytes = max_line_bytes.max(1);
        Self {
            input,
            kept: Vec::new(),
            base: Self::start(&split),
            searched: 0,
            is_skipping: split.from > 0,
            is_first: true,
            is_over: false,
            lines: 0,
            block_bytes: block_bytes.clamp(1, max_line_bytes),
            max_line_bytes,
            split,
        }
    }

    /// All lines of something that has no length.
    pub(crate) fn of_stream(input: R, origin: Origin, block_bytes: usize, max_line_bytes: usize) -> Self {
        Self::new(input, Split::stream(Arc::new(origin)), block_bytes, max_line_bytes)
    }

    /// The next lines; none when the split has no more.
    pub(crate) fn next_block(&mut self) -> Result<Option<Block>, FileError> {
        while !self.is_over {
            let at_end = self.fill()?;
            if self.is_skipping && !self.skip() {
                // The line before ours goes on.
                self.is_over = at_end;
                continue;
            }
            if self.base >= self.split.to {
                break;
            }
            if let Some(cut) = self.find_cut(at_end)? {
                return Ok(Some(self.block(cut)));
            }
        }
        self.is_over = true;
        Ok(None)
    }

    /// Reads more; true at the end of the file.
    fn fill(&mut self) -> Result<bool, FileError> {
        // A line end may be the byte after the longest line.
        let room =
            if self.kept.len() < self.block_bytes { self.block_bytes } else { self.max_line_bytes + 1 };
        let wanted = room.saturating_sub(self.kept.len()).clamp(1, self.block_bytes.max(self.kept.len()));
        let before = self.kept.len();
        self.kept.resize(before + wanted, 0);
        let read = read_some(&mut self.input, &mut self.kept[before..]);
        self.kept.truncate(before + *read.as_ref().unwrap_or(&0));
        let count = read.map_err(|error| FileError::io("read", &self.split.origin.path, error))?;
        Ok(count == 0)
    }

    /// Drops what belongs to the line before; true when it is gone.
    fn skip(&mut self) -> bool {
        match memchr::memchr(b'\n', &self.kept) {
            Some(end) => {
                self.drop_front(end + 1);
                self.is_skipping = false;
            }
            None => self.drop_front(self.kept.len()),
        }
        !self.is_skipping
    }

    fn drop_front(&mut self, count: usize) {
        self.kept.drain(..count);
        self.base += count as u64;
    }

    /// Where the next block ends, if that is known yet.
    fn find_cut(&mut self, at_end: bool) -> Result<Option<usize>, FileError> {
        let kept = self.kept.len();
        // The last byte of the split, if it was read: the line that it is in is the last one.
        let last = self.split.to - 1 - self.base;
        if last < kept as u64 {
            let from = self.searched.max(last as usize);
            if let Some(end) = memchr::memchr(b'\n', &self.kept[from..]) {
                self.is_over = true;
                return Ok(Some(from + end + 1));
            }
        }
        if at_end {
            // Also when nothing is left: whoever parses must learn of the end.
            self.is_over = true;
            return Ok(Some(kept));
        }
        // Before the last byte every line end will do, the further the better.
        let until = kept.min(usize::try_from(last).unwrap_or(usize::MAX));
        // Who types, or sends from far away, should not wait for a block to be full.
        let is_full = kept >= self.block_bytes || self.split.is_stream();
        let unsearched = self.kept.get(self.searched..until).filter(|_| is_full);
        if let Some(end) = unsearched.and_then(|bytes| memchr::memrchr(b'\n', bytes)) {
            return Ok(Some(self.searched + end + 1));
        }
        if is_full {
            self.searched = kept;
        }
        if kept > self.max_line_bytes {
            let path = self.split.origin.path.clone();
            let line = match self.split.is_stream() {
                true => self.lines + 1,
                false => line_of(&path, self.base).map_err(|error| FileError::io("read", &path, error))?,
            };
            return Err(FileError::LineTooLong { path, line, limit: self.max_line_bytes });
        }
        Ok(None)
    }

    fn block(&mut self, cut: usize) -> Block {
        let mut rest = Vec::with_capacity(if self.is_over { 0 } else { self.block_bytes });
        rest.extend_from_slice(&self.kept[cut..]);
        let mut bytes = std::mem::replace(&mut self.kept, rest);
        bytes.truncate(cut);
        if self.base == 0 && bytes.starts_with(BYTE_ORDER_MARK) {
            bytes.drain(..BYTE_ORDER_MARK.len());
        }
        if self.split.is_stream() {
            self.lines += memchr::memchr_iter(b'\n', &bytes).count() as u64;
        }
        let block = Block {
            bytes,
            offset: self.base,
            is_first: self.is_first,
            is_last: self.is_over,
            ..Block::of(&self.split)
        };
        self.base += cut as u64;
        self.searched = 0;
        self.is_first = false;
        block
    }
}

/// Reads once, or again when the system was interrupted.
fn read_some(input: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    loop {
        match input.read(buffer) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// The number of the line that the byte at `offset` is on, from 1: counted from the begin of the file, for a message. Blocks.
pub(crate) fn line_of(path: &Path, offset: u64) -> std::io::Result<u64> {
    let mut input = std::fs::File::open(path)?.take(offset);
    let mut buffer = vec![0; 1 << 18];
    let mut line = 1;
    loop {
        match read_some(&mut input, &mut buffer)? {
            0 => return Ok(line),
            count => line += memchr::memchr_iter(b'\n', &buffer[..count]).count() as u64,
        }
    }
}
