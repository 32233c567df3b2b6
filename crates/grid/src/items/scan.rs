//! A look at all items, a slice per turn, at the items as they were when it began.

use super::Items;
use super::sequence::Sequence;
use filbert_wire::Data;
use std::ops::ControlFlow;

/// How many chunks a scan looks at before others have their turn: some 100 microseconds of comparing.
const SLICE: usize = 4;

/// How often a change that was computed on the side is thrown away because the items changed meanwhile. Then it is done in one go.
const TRIES: u8 = 3;

/// Where a scan stands. It travels without: wherever it arrives, it begins.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// The items as they were; none while the scan has not yielded.
    seen: Option<Sequence>,
    version: u64,
    /// The next item: its chunk, its place there, its place in all.
    at: Option<(usize, usize, usize)>,
    tries: u8,
}

/// What a slice of a scan ended with.
#[derive(Debug)]
pub(crate) enum Scanned<B> {
    /// The visitor has what it wanted.
    Found(B),
    /// All items were seen.
    All,
    /// There is more: let others have their turn.
    More,
}

impl Scan {
    /// Shows the next slice of items to `visit`, with their places, from the item at `from` on.
    pub(crate) fn run<B>(
        &mut self,
        items: &Items,
        from: usize,
        mut visit: impl FnMut(usize, &Data) -> ControlFlow<B>,
    ) -> Scanned<B> {
        if self.at.is_none() {
            self.version = items.version;
        }
        let seen = self.seen.as_ref().unwrap_or(&items.sequence);
        let (mut number, mut skip, mut index) = self.at.unwrap_or_else(|| {
            let (number, skip) = seen.locate(from);
            (number, skip, from)
        });
        let end = if self.tries >= TRIES { usize::MAX } else { number + SLICE };
        while let Some(chunk) = seen.chunk(number) {
            if number >= end {
                self.at = Some((number, skip, index));
                if self.seen.is_none() {
                    self.seen = Some(items.sequence.clone());
                }
                return Scanned::More;
            }
            for item in chunk.range(skip.min(chunk.len())..) {
                if let ControlFlow::Break(found) = visit(index, item) {
                    return Scanned::Found(found);
                }
                index += 1;
            }
            (number, skip) = (number + 1, 0);
        }
        Scanned::All
    }

    /// True when a slice was seen already.
    pub(crate) fn has_begun(&self) -> bool {
        self.at.is_some()
    }

    /// True when the items are still what the scan saw; otherwise it begins anew, and after a few times without yielding.
    pub(crate) fn still_true(&mut self, items: &Items) -> bool {
        let same = self.version == items.version;
        if !same {
            *self = Scan { tries: self.tries + 1, ..Scan::default() };
        }
        same
    }
}

impl Sequence {
    /// Gives up a slice of the items; true when none is left. To free a million values takes a while too.
    pub(super) fn drop_slice(&mut self) -> bool {
        self.drop_chunks(SLICE);
        self.is_empty()
    }
}
