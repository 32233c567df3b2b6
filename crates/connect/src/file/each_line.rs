//! The lines of blocks, looked at in place: a step of a pipeline that makes items of lines without a copy of each.

use super::block::Block;
use filbert_flow::Share;
use filbert_flow::transform::{Receiver, Recipe, Transform};
use std::marker::PhantomData;

/// Items that are made in one call at most, so that a call is short.
const FUEL: usize = 4096;

/// Calls `make` with every line of every [`Block`], without its end; what it pushes goes on. For `Stream::transform`:
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("text");
/// # std::fs::write(&path, "a rose is a rose\nis a rose")?;
/// use filbert_connect::file;
/// use filbert_flow::processors::{Collected, collect};
/// use filbert_flow::{Pipeline, aggregate::count};
///
/// let counts = Collected::new();
/// let pipeline = Pipeline::read(file::blocks(&path))
///     .transform(file::each_line(|line, words: &mut Vec<Vec<u8>>| {
///         words.extend(line.split(|byte| *byte == b' ').map(<[u8]>::to_vec));
///     }))
///     .group_by_item()
///     .aggregate(count())
///     .write(collect(&counts));
/// pipeline.to_dag()?.submit(&filbert_pool::Stages::start()?)?.wait()?;
/// let mut counts = counts.take();
/// counts.sort_unstable();
/// assert_eq!(counts, [(b"a".to_vec(), 3), (b"is".to_vec(), 2), (b"rose".to_vec(), 3)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn each_line<B, F>(make: F) -> EachLine<B, F>
where
    B: Send + 'static,
    F: FnMut(&[u8], &mut Vec<B>) + Clone + Send + Sync + 'static,
{
    EachLine { make, item: PhantomData }
}

/// The recipe of [`each_line`].
#[derive(Debug)]
pub struct EachLine<B, F> {
    make: F,
    item: PhantomData<fn() -> B>,
}

impl<B, F: Clone> Clone for EachLine<B, F> {
    fn clone(&self) -> Self {
        Self { make: self.make.clone(), item: PhantomData }
    }
}

impl<B, F> Recipe<Block> for EachLine<B, F>
where
    B: Send + 'static,
    F: FnMut(&[u8], &mut Vec<B>) + Clone + Send + Sync + 'static,
{
    type Out = B;
    type Transform = EachLineOfBlock<B, F>;

    fn transform(&self, _: Share) -> EachLineOfBlock<B, F> {
        EachLineOfBlock { make: self.make.clone(), block: None, at: 0, made: Vec::new() }
    }

    fn describe(&self, steps: &mut Vec<&'static str>) {
        steps.push("each_line");
    }
}

/// The transform of [`each_line`].
pub struct EachLineOfBlock<B, F> {
    make: F,
    block: Option<Block>,
    /// How far the block was read.
    at: usize,
    /// What was made of the last line and is not put yet, the next one last.
    made: Vec<B>,
}

impl<B, F> Transform<Block> for EachLineOfBlock<B, F>
where
    B: Send + 'static,
    F: FnMut(&[u8], &mut Vec<B>) + Send + 'static,
{
    type Out = B;
    const AT_MOST_ONE: bool = false;

    #[inline]
    fn push<R: Receiver<B>>(&mut self, item: Block, to: &mut R) {
        self.block = Some(item);
        self.at = 0;
        self.resume(to);
    }

    #[inline]
    fn is_suspended(&self) -> bool {
        self.block.is_some()
    }

    #[inline]
    fn resume<R: Receiver<B>>(&mut self, to: &mut R) -> bool {
        let Some(block) = &self.block else { return true };
        let mut put = 0;
        loop {
            while !to.is_full() {
                let Some(item) = self.made.pop() else { break };
                to.put(item);
                put += 1;
            }
            if !self.made.is_empty() || put >= FUEL {
                return false;
            }
            let Some((line, used)) = block.line_at(self.at) else { break };
            (self.make)(line, &mut self.made);
            self.made.reverse();
            self.at += used;
        }
        self.block = None;
        true
    }

    #[inline]
    fn finish<R: Receiver<B>>(&mut self, to: &mut R) -> bool {
        self.resume(to)
    }
}
