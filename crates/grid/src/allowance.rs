//! How much memory results may take: the one of a request, and those of all requests that share it.
//!
//! A result is copied out of a map while the scan goes on, so it is counted there, entry by entry, and not when it is whole: what is too
//! much is refused before it is there. Whoever sends the result on keeps the [`Allowance`] until the bytes are gone; then they count no more.
//! Counted are the bytes of keys and values; while an answer is encoded it takes up to three times as much. Runs on whichever thread has
//! the result. Rejected: to ask for the size first, which costs a second operation on every partition and is wrong when it is known.

use crate::cp::LockOwnership;
use crate::durable::DurableTask;
use crate::flake_id::IdBatch;
use crate::map::InterceptorId;
use crate::pn_counter::Counted;
use crate::query::PageResult;
use crate::ringbuffer::RingbufferSizes;
use crate::scheduled::{ScheduledTask, TaskList, TaskStatistics};
use filbert_wire::Data;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// What a key or a value takes beside its bytes, roughly.
const ITEM_BYTES: usize = 64;

/// So many bytes are counted at once, so that the parts of a request do not meet at every entry.
const CHARGED_BYTES: usize = 64 << 10;

/// Memory for results, shared by many requests.
///
/// ```
/// use filbert_grid::{Grid, GridError, ResultSpace};
/// use filbert_pool::Stages;
/// use filbert_wire::Data;
///
/// let stages = Stages::start()?;
/// let (space, map) = (ResultSpace::new(1 << 20), Grid::new(&stages).map("m"));
/// map.set(Data::new(-7, &[0, 0, 0, 1]), Data::new(-12, &[7; 1_000])).wait()?;
/// let allowance = space.allow(10_000);
/// assert_eq!(map.within(&allowance).values().wait()?.len(), 1);
/// assert!(space.taken() > 1_000);
/// drop(allowance);
/// assert_eq!(space.taken(), 0);
/// let refused = map.within(&space.allow(100)).values().wait();
/// assert!(matches!(refused, Err(GridError::TooMuch(_))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ResultSpace {
    limit: usize,
    taken: AtomicUsize,
}

impl ResultSpace {
    /// So many bytes for all results together.
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, taken: AtomicUsize::new(0) })
    }

    /// Bytes that results take now.
    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// So many bytes of it at most, for the result of one request.
    pub fn allow(self: &Arc<Self>, limit: usize) -> Allowance {
        let share = Share { space: Arc::clone(self), limit, taken: AtomicUsize::new(0) };
        Allowance { share: Some(Arc::new(share)) }
    }
}

/// What the result of one request may take of a [`ResultSpace`]; given back when the last clone is dropped. The default has no bound.
#[derive(Debug, Clone, Default)]
pub struct Allowance {
    share: Option<Arc<Share>>,
}

#[derive(Debug)]
struct Share {
    space: Arc<ResultSpace>,
    limit: usize,
    taken: AtomicUsize,
}

/// A result that would take more memory than it may. Nothing was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TooMuch {
    /// The result itself is too large.
    #[error(
        "the result has more than {limit} bytes; ask for less at once: by a predicate, a page, or fewer keys"
    )]
    ForOne {
        /// How large it may be.
        limit: usize,
    },
    /// It is not, but those that are under way are, together.
    #[error(
        "all results that are under way have more than {limit} bytes together; try again later, or ask for less at once"
    )]
    ForAll {
        /// How large they may be.
        limit: usize,
    },
}

impl Allowance {
    /// Takes so many bytes more; an error when that is too much. What was refused counts as well, so that other parts of the same
    /// request are refused too.
    pub fn charge(&self, bytes: usize) -> Result<(), TooMuch> {
        let Some(share) = &self.share else { return Ok(()) };
        let (own, all) = share.add(bytes);
        if own > share.limit {
            return Err(TooMuch::ForOne { limit: share.limit });
        }
        if all > share.space.limit {
            return Err(TooMuch::ForAll { limit: share.space.limit });
        }
        Ok(())
    }

    /// Counts so many bytes more, for a result that cannot be refused any more.
    pub fn note(&self, bytes: usize) {
        if let Some(share) = &self.share {
            share.add(bytes);
        }
    }
}

impl Share {
    /// Both sums.
    fn add(&self, bytes: usize) -> (usize, usize) {
        let own = self.taken.fetch_add(bytes, Ordering::Relaxed) + bytes;
        (own, self.space.taken.fetch_add(bytes, Ordering::Relaxed) + bytes)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.space.taken.fetch_sub(*self.taken.get_mut(), Ordering::Relaxed);
    }
}

/// One part of a request counts what it finds.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    allowance: Allowance,
    uncharged: usize,
}

impl Tally {
    pub(crate) fn new(allowance: &Allowance) -> Self {
        Self { allowance: allowance.clone(), uncharged: 0 }
    }

    /// So much more was found.
    #[inline]
    pub(crate) fn add(&mut self, bytes: usize) -> Result<(), TooMuch> {
        self.uncharged += bytes;
        if self.uncharged < CHARGED_BYTES { Ok(()) } else { self.settle() }
    }

    /// That was all.
    pub(crate) fn settle(&mut self) -> Result<(), TooMuch> {
        self.allowance.charge(std::mem::take(&mut self.uncharged))
    }
}

/// A result whose size is known.
pub trait Weighs {
    /// What it takes, in bytes.
    fn weight(&self) -> usize;
}

impl Weighs for Data {
    fn weight(&self) -> usize {
        self.as_bytes().len() + ITEM_BYTES
    }
}

impl Weighs for (Data, Data) {
    fn weight(&self) -> usize {
        self.0.weight() + self.1.weight()
    }
}

impl Weighs for (Option<Data>, Option<Data>) {
    fn weight(&self) -> usize {
        self.0.weight() + self.1.weight()
    }
}

impl<T: Weighs> Weighs for Option<T> {
    fn weight(&self) -> usize {
        self.as_ref().map_or(0, Weighs::weight)
    }
}

impl<T: Weighs> Weighs for Vec<T> {
    fn weight(&self) -> usize {
        self.iter().map(Weighs::weight).sum()
    }
}

impl Weighs for PageResult {
    fn weight(&self) -> usize {
        let anchors = self.anchors.iter().map(|anchor| anchor.key.weight() + anchor.value.weight());
        self.entries.weight() + anchors.sum::<usize>()
    }
}

impl Weighs for ScheduledTask {
    fn weight(&self) -> usize {
        self.name.len() + ITEM_BYTES
    }
}

impl Weighs for TaskList {
    fn weight(&self) -> usize {
        self.tasks.iter().map(|task| task.weight() + self.executor.len()).sum()
    }
}

macro_rules! weigh_nothing {
    ($($result:ty),*) => {
        $(impl Weighs for $result {
            fn weight(&self) -> usize {
                0
            }
        })*
    };
}

weigh_nothing!(
    (),
    bool,
    usize,
    u32,
    u64,
    i32,
    i64,
    InterceptorId,
    IdBatch,
    Counted,
    RingbufferSizes,
    LockOwnership,
    Duration,
    DurableTask,
    TaskStatistics
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_given_back_with_the_last_clone() {
        let space = ResultSpace::new(1_000);
        let (one, other) = (space.allow(800), space.allow(800));
        assert_eq!((one.charge(800), one.clone().charge(1)), (Ok(()), Err(TooMuch::ForOne { limit: 800 })));
        assert_eq!(other.charge(300), Err(TooMuch::ForAll { limit: 1_000 }));
        let clone = one.clone();
        drop(one);
        assert_eq!(space.taken(), 1_101);
        drop((clone, other));
        assert_eq!(space.taken(), 0);
        assert_eq!(Allowance::default().charge(usize::MAX), Ok(()));
    }

    #[test]
    fn a_part_counts_little_by_little_and_loses_nothing() {
        let space = ResultSpace::new(usize::MAX);
        let allowance = space.allow(usize::MAX);
        let mut part = Tally::new(&allowance);
        for _ in 0..100 {
            part.add(1_000).unwrap();
        }
        assert!(space.taken() < 100_000);
        part.settle().unwrap();
        assert_eq!(space.taken(), 100_000);
    }
}
