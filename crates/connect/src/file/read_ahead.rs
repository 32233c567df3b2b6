//! Reading on the stage `mixed`, one block ahead of the processor that works on them.

use super::block::Block;
use super::cut::LineCutter;
use super::error::FileError;
use super::plan::Split;
use crate::offload::Offload;
use filbert_flow::Failure;
use filbert_pool::TaskFuture;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::task::Poll;

/// Something that gives blocks, and blocks meanwhile.
pub(crate) trait BlockSource: Send + 'static {
    /// What it gives.
    type Block: Send + 'static;
    /// What can be wrong.
    type Error: Into<Failure> + Send + 'static;

    /// The next block; none when there are no more.
    fn next_block(&mut self) -> Result<Option<Self::Block>, Self::Error>;
}

/// What came of a read, and the reader for the next one.
type Came<S> = (S, Result<Option<<S as BlockSource>::Block>, <S as BlockSource>::Error>);

/// Reads blocks of `S`, one ahead.
pub(crate) struct ReadAhead<S: BlockSource> {
    /// Here before the first read, in the task while one is under way, gone after the last.
    source: Option<S>,
    reading: Option<TaskFuture<Came<S>>>,
}

impl<S: BlockSource> ReadAhead<S> {
    pub(crate) fn new(source: S) -> Self {
        Self { source: Some(source), reading: None }
    }

    /// The next block, if it is there. The one after it is being read from now on.
    pub(crate) fn poll_block(&mut self, offload: &Offload) -> Poll<Result<Option<S::Block>, Failure>> {
        self.start(offload)?;
        let Some(reading) = &mut self.reading else { return Poll::Ready(Ok(None)) };
        let Poll::Ready(came) = offload.poll(reading) else { return Poll::Pending };
        self.reading = None;
        let (source, block) = came?;
        let block = block.map_err(Into::into)?;
        if block.is_some() {
            self.source = Some(source);
            self.start(offload)?;
        }
        Poll::Ready(Ok(block))
    }

    fn start(&mut self, offload: &Offload) -> Result<(), Failure> {
        if let Some(mut source) = self.source.take() {
            let read = move || {
                let block = source.next_block();
                (source, block)
            };
            self.reading = Some(offload.submit("read", read)?);
        }
        Ok(())
    }
}

/// The splits of one processor, one file open at a time.
pub(crate) struct SplitQueue {
    splits: VecDeque<Split>,
    current: Option<LineCutter<File>>,
    block_bytes: usize,
    max_line_bytes: usize,
}

impl SplitQueue {
    pub(crate) fn new(splits: Vec<Split>, block_bytes: usize, max_line_bytes: usize) -> Self {
        Self { splits: splits.into(), current: None, block_bytes, max_line_bytes }
    }
}

impl BlockSource for SplitQueue {
    type Block = Block;
    type Error = FileError;

    fn next_block(&mut self) -> Result<Option<Block>, FileError> {
        loop {
            if let Some(cutter) = &mut self.current {
                if let Some(block) = cutter.next_block()? {
                    return Ok(Some(block));
                }
                self.current = None;
            }
            let Some(split) = self.splits.pop_front() else { return Ok(None) };
            let path = &split.origin.path;
            let mut file = File::open(path).map_err(|error| FileError::io("open", path, error))?;
            let start = LineCutter::<File>::start(&split);
            if start > 0 {
                file.seek(SeekFrom::Start(start)).map_err(|error| FileError::io("read", path, error))?;
            }
            self.current = Some(LineCutter::new(file, split, self.block_bytes, self.max_line_bytes));
        }
    }
}
