//! What a processor puts its results into.
//!
//! An [`Outbox`] has a [`Bucket`] per outbound edge. Emitted items are *staged* in the bucket, one push each; after the call the
//! engine hands the whole slice to the edge's link, which routes it into the queues, one virtual call per slice. What finds no
//! room there is *held* by the link. Staged and held items count together: at the *high-water mark* the bucket is full, and a
//! processor that is well behaved returns. A bucket that is full still takes what is emitted, so that no item is ever lost.

use crate::edge::link::{Flushed, Link};
use crate::processor::Failure;
use crate::signature::{Many, OutputPort, Outputs, Port};
use std::task::Waker;

/// When a bucket is full, in items, when nobody says otherwise (Jet's default).
pub const HIGH_WATER_MARK: usize = 2048;

/// Where a processor's results go.
pub struct Outbox<O: Outputs> {
    pub(crate) store: O::Store,
}

impl<O: Outputs> Outbox<O> {
    /// How many outbound edges there are.
    pub fn edges(&self) -> usize {
        O::count(&self.store)
    }

    /// The bucket of the edge at ordinal `N`; for signatures that are tuples.
    #[inline]
    pub fn at<const N: usize>(&mut self) -> &mut Bucket<<O as Port<N>>::Item>
    where
        O: OutputPort<N>,
    {
        O::bucket(&mut self.store)
    }
}

impl<T: Send + 'static> Outbox<Many<T>> {
    /// How many items may be emitted to all edges before one of them is full.
    #[inline]
    pub fn room(&self) -> usize {
        match &*self.store {
            [only] => only.room(),
            buckets => buckets.iter().map(Bucket::room).min().unwrap_or(0),
        }
    }

    /// True when a bucket is full: return, and go on in the next call.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.room() == 0
    }

    /// True when nobody takes items any more, on any edge.
    pub fn is_closed(&self) -> bool {
        self.store.iter().all(Bucket::is_closed)
    }

    /// Emits an item to every edge, also when one is full; ask [`Outbox::is_full`] before.
    #[inline]
    pub fn emit(&mut self, item: T) {
        match &mut *self.store {
            [only] => only.emit(item),
            buckets => emit_to_all(buckets, item),
        }
    }

    /// Emits an item to every edge, or gives it back when one of them is full.
    #[inline]
    pub fn try_emit(&mut self, item: T) -> Result<(), T> {
        if self.is_full() {
            return Err(item);
        }
        self.emit(item);
        Ok(())
    }

    /// Emits what `items` yields to every edge while there is room, and asks it for no more than that. True when it has no more.
    ///
    /// Call it again with the same iterator after false: that is all there is to suspending and resuming.
    #[inline]
    pub fn emit_from(&mut self, items: &mut impl Iterator<Item = T>) -> bool {
        if let [only] = &mut *self.store {
            return only.emit_from(items);
        }
        for _ in 0..self.room() {
            let Some(item) = items.next() else { return true };
            emit_to_all(&mut self.store, item);
        }
        false
    }

    /// Has a slice filled that goes to every edge; `fill` is told how many items there is room for.
    #[inline]
    pub(crate) fn stage<R>(&mut self, fill: impl FnOnce(&mut Vec<T>, usize) -> R) -> R {
        let room = self.room();
        if let [only] = &mut *self.store {
            return fill(&mut only.staged, room);
        }
        let mut slice = Vec::new();
        let filled = fill(&mut slice, room);
        slice.into_iter().for_each(|item| self.emit(item));
        filled
    }

    /// An outbox that keeps its items: for a processor that is a part of another.
    pub(crate) fn kept(mark: usize) -> Self {
        Self { store: vec![Bucket::new(Box::new(NoLink), mark, None)] }
    }

    /// Takes what was emitted into an outbox that keeps its items.
    pub(crate) fn take_kept(&mut self) -> Vec<T> {
        let [only] = &mut *self.store else { return Vec::new() };
        let next = Vec::with_capacity(only.staged.len());
        std::mem::replace(&mut only.staged, next)
    }

    /// The bucket of one edge.
    ///
    /// # Panics
    /// When there is no edge at that ordinal.
    #[inline]
    pub fn to(&mut self, ordinal: usize) -> &mut Bucket<T> {
        &mut self.store[ordinal]
    }
}

fn emit_to_all<T>(buckets: &mut [Bucket<T>], item: T) {
    // The first port needs no way to copy; the others have one, or there would be no edge at them.
    let Some((first, others)) = buckets.split_first_mut() else { return };
    for bucket in others {
        let copy = bucket.copy_of(&item);
        bucket.emit(copy);
    }
    first.emit(item);
}

/// Leads nowhere: the items stay where they were staged.
struct NoLink;

impl<T> Link<T> for NoLink {
    fn route(&mut self, _: &mut Vec<T>) -> Result<(), Failure> {
        Ok(())
    }

    fn flush(&mut self) -> Flushed {
        Flushed { held: 0, closed: false }
    }

    fn ready_or_wake(&mut self, _: &Waker) -> bool {
        false
    }
}

/// The results for one edge.
pub struct Bucket<T> {
    staged: Vec<T>,
    /// Items that the link holds, as of the last flush.
    held: usize,
    mark: usize,
    link: Box<dyn Link<T>>,
    /// How an item is copied when it goes to several edges; known wherever there can be several.
    copy: Option<fn(&T) -> T>,
    closed: bool,
    emitted: u64,
    /// Where not everything that is emitted counts as an item.
    is_item: Option<fn(&T) -> bool>,
}

impl<T> Bucket<T> {
    pub(crate) fn new(link: Box<dyn Link<T>>, mark: usize, copy: Option<fn(&T) -> T>) -> Self {
        Self { staged: Vec::new(), held: 0, mark, link, copy, closed: false, emitted: 0, is_item: None }
    }

    pub(crate) fn counting(self, is_item: Option<fn(&T) -> bool>) -> Self {
        Self { is_item, ..self }
    }

    /// How many items may be emitted before the bucket is full.
    #[inline]
    pub fn room(&self) -> usize {
        self.mark.saturating_sub(self.staged.len() + self.held)
    }

    /// True when the bucket has reached its high-water mark: return, and go on in the next call.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.room() == 0
    }

    /// True when nobody takes items from this edge any more.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Emits an item, also when the bucket is full; ask [`Bucket::is_full`] before.
    #[inline]
    pub fn emit(&mut self, item: T) {
        self.staged.push(item);
    }

    /// Emits an item, or gives it back when the bucket is full.
    #[inline]
    pub fn try_emit(&mut self, item: T) -> Result<(), T> {
        if self.is_full() {
            return Err(item);
        }
        self.emit(item);
        Ok(())
    }

    /// Emits what `items` yields while there is room, and asks it for no more than that. True when it has no more.
    #[inline]
    pub fn emit_from(&mut self, items: &mut impl Iterator<Item = T>) -> bool {
        let room = self.room();
        if room == 0 {
            return false;
        }
        let before = self.staged.len();
        self.staged.extend(items.by_ref().take(room));
        // Fewer than there was room for: the iterator said that it is over.
        self.staged.len() - before < room
    }

    fn copy_of(&self, item: &T) -> T {
        match self.copy {
            Some(copy) => copy(item),
            None => unreachable!("an edge beside others was made without a way to copy its items"),
        }
    }
}

/// How many of these are items.
pub(crate) fn count_items<'a, T: 'a>(
    all: impl ExactSizeIterator<Item = &'a T>,
    is_item: Option<fn(&T) -> bool>,
) -> u64 {
    match is_item {
        None => all.len() as u64,
        Some(is_item) => all.filter(|any| is_item(any)).count() as u64,
    }
}

/// One outbound edge as the engine sees it.
pub trait Output {
    /// Hands staged items to the queues; returns how many could not go yet. Fails when an item can not be written as bytes.
    fn flush(&mut self) -> Result<usize, Failure>;

    /// True when a `flush` would move something. False: `waker` will be woken when that is so.
    fn ready_or_wake(&mut self, waker: &Waker) -> bool;

    /// True when a consumer is gone. Else `waker` will be woken when one goes; once is enough for all times.
    fn closed_or_wake(&mut self, waker: &Waker) -> bool;

    /// Items that were emitted and are not in the queues yet.
    fn backlog(&self) -> usize;

    /// The high-water mark.
    fn mark(&self) -> usize;

    /// True when nobody takes items from this edge any more.
    fn is_closed(&self) -> bool;

    /// How many items were emitted so far.
    fn emitted(&self) -> u64;
}

impl<T: Send + 'static> Output for Bucket<T> {
    fn flush(&mut self) -> Result<usize, Failure> {
        self.emitted += count_items(self.staged.iter(), self.is_item);
        if !self.staged.is_empty() {
            self.link.route(&mut self.staged)?;
        }
        let flushed = self.link.flush();
        self.held = flushed.held;
        self.closed = flushed.closed;
        Ok(self.held)
    }

    fn ready_or_wake(&mut self, waker: &Waker) -> bool {
        self.link.ready_or_wake(waker)
    }

    fn closed_or_wake(&mut self, waker: &Waker) -> bool {
        self.link.closed_or_wake(waker)
    }

    fn backlog(&self) -> usize {
        self.staged.len() + self.held
    }

    fn mark(&self) -> usize {
        self.mark
    }

    fn is_closed(&self) -> bool {
        self.closed
    }

    fn emitted(&self) -> u64 {
        self.emitted
    }
}
