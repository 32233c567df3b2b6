//! Transforms: what a processor does with its items, as code that the compiler melts into one loop.
//!
//! A [`Transform`] takes items by `push` and hands results to a [`Receiver`]; [`Then`] makes one of two, with no virtual call and no queue between
//! them. So a whole chain (`flat_map`, `filter`, first stage of an aggregation) is one loop over a slice, wherever it runs: in a
//! vertex of its own, in the source before it, or after a join.
//!
//! ```text
//!   items ──► flat_map ──► filter ──► accumulate ──► outbox
//!             push(item, to)   each `to` is the rest of the chain
//! ```
//!
//! *Suspending.* Whoever puts something into a receiver asks before whether it is full. A transform that makes many of one is in the middle of it
//! when that happens: it keeps the rest, says that it is suspended, and goes on in `resume`, which comes before the next `push`. A
//! transform that makes many of one also counts: after `FUEL` items of one call it suspends though there is room,
//! so that a call is short even if the rest of the chain swallows everything.
//!
//! Rejected: chains of iterators (they borrow the inbox and can not rest between two calls); boxed closures per step (a virtual call per item and
//! step). Runs on whatever thread runs the processor; one thread at a time.

mod ahead;
mod few;
mod gathering;
mod groups;
mod growing;
mod join;
mod keyed;
mod keying;
mod label;
mod merge;
mod passage;
mod sort;
mod stateful;
mod stateless;
mod weight;

use ahead::Ahead;
pub(crate) use groups::{Drained, Groups, Table};
use growing::Growing;
pub use join::{Inner, JoinTable, Joined, LeftOuter, Probing, TableBuilding};
pub use keyed::{Accumulating, AggregatingAll, Combining, CombiningAll, Grouping};
pub use keying::{ByItem, ByKey, ByPair, ByPart, KeyBeside, Keying};
pub use sort::{Block, Merging, Sorting};
pub use stateful::{Deduplicating, MappingStateful};
pub use stateless::{Filtering, FlatMapping, Inspecting, Mapping};
pub(crate) use weight::{owned_bytes, whole_bytes};

use crate::processor::{ProcessorContext, Share};
use std::any::Any;
use std::sync::Arc;

/// How many items a transform makes of others in one call, at most.
pub(crate) const FUEL: usize = 4096;

/// Something that all processors of a vertex get once, before their items: the table of a join.
pub type Side = Arc<dyn Any + Send + Sync>;

/// Where a transform puts its results.
pub trait Receiver<T> {
    /// Takes an item; ask [`Receiver::is_full`] before.
    fn put(&mut self, item: T);

    /// True when it should get nothing more in this call.
    fn is_full(&self) -> bool;
}

/// What is done with items of type `A`, one after the other.
pub trait Transform<A>: Send + 'static {
    /// What comes out.
    type Out: Send + 'static;

    /// True when a push never puts more than one item.
    const AT_MOST_ONE: bool;

    /// Takes an item. Only when `to` is not full and the transform is not suspended.
    fn push<R: Receiver<Self::Out>>(&mut self, item: A, to: &mut R);

    /// True when it is in the middle of an item and wants [`Transform::resume`] before the next.
    #[inline(always)]
    fn is_suspended(&self) -> bool {
        false
    }

    /// Goes on with what is left, once per call of the processor at least. True when nothing is left.
    #[inline(always)]
    fn resume<R: Receiver<Self::Out>>(&mut self, to: &mut R) -> bool {
        let _ = to;
        true
    }

    /// No more items are at hand: puts what it kept only to be faster, and what is to be said of their absence. True when nothing of that
    /// is left.
    #[inline(always)]
    fn settle<R: Receiver<Self::Out>>(&mut self, to: &mut R) -> bool {
        let _ = to;
        true
    }

    /// No more items come: puts what it kept. Called until it says true.
    #[inline(always)]
    fn finish<R: Receiver<Self::Out>>(&mut self, to: &mut R) -> bool {
        let _ = to;
        true
    }

    /// Gets what all processors of the vertex get.
    #[inline(always)]
    fn supply(&mut self, side: &Side) {
        let _ = side;
    }

    /// Learns of its processor, before all else.
    #[inline(always)]
    fn init(&mut self, context: &ProcessorContext<'_>) {
        let _ = context;
    }

    /// Returns the bytes that it keeps from push to push, about; see [`Processor::held_bytes`](crate::Processor::held_bytes).
    #[inline(always)]
    fn held_bytes(&self) -> usize {
        0
    }

    /// True when a timer of its own is due: it wants [`Transform::resume`] and [`Transform::settle`] though no item comes.
    #[inline(always)]
    fn is_due(&self) -> bool {
        false
    }
}

/// Makes a transform for each processor of a vertex.
pub trait Recipe<A>: Clone + Send + Sync + 'static {
    /// What comes out.
    type Out: Send + 'static;
    /// What it makes.
    type Transform: Transform<A, Out = Self::Out>;
    /// True for the one that changes nothing.
    const IS_IDENTITY: bool = false;

    /// The transform of one processor.
    fn transform(&self, share: Share) -> Self::Transform;

    /// The names of its steps.
    fn describe(&self, steps: &mut Vec<&'static str>);
}

/// Changes nothing.
#[derive(Debug, Clone, Copy)]
pub struct Identity;

impl<A: Send + 'static> Transform<A> for Identity {
    type Out = A;
    const AT_MOST_ONE: bool = true;

    #[inline(always)]
    fn push<R: Receiver<A>>(&mut self, item: A, to: &mut R) {
        to.put(item);
    }
}

impl<A: Send + 'static> Recipe<A> for Identity {
    type Out = A;
    type Transform = Self;
    const IS_IDENTITY: bool = true;

    fn transform(&self, _: Share) -> Self {
        Self
    }

    fn describe(&self, _: &mut Vec<&'static str>) {}
}

/// One after the other.
#[derive(Debug, Clone)]
pub struct Then<X, Y> {
    first: X,
    second: Y,
}

impl<X, Y> Then<X, Y> {
    /// `second` gets what `first` puts.
    pub fn new(first: X, second: Y) -> Self {
        Self { first, second }
    }

    pub(crate) fn second_mut(&mut self) -> &mut Y {
        &mut self.second
    }
}

/// The second transform as the receiver of the first.
struct Through<'a, Y, R> {
    next: &'a mut Y,
    to: &'a mut R,
}

impl<B, Y: Transform<B>, R: Receiver<Y::Out>> Receiver<B> for Through<'_, Y, R> {
    #[inline(always)]
    fn put(&mut self, item: B) {
        self.next.push(item, self.to);
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        self.next.is_suspended() || self.to.is_full()
    }
}

impl<A, X: Transform<A>, Y: Transform<X::Out>> Transform<A> for Then<X, Y> {
    type Out = Y::Out;
    const AT_MOST_ONE: bool = X::AT_MOST_ONE && Y::AT_MOST_ONE;

    #[inline(always)]
    fn push<R: Receiver<Y::Out>>(&mut self, item: A, to: &mut R) {
        self.first.push(item, &mut Through { next: &mut self.second, to });
    }

    #[inline(always)]
    fn is_suspended(&self) -> bool {
        self.first.is_suspended() || self.second.is_suspended()
    }

    #[inline(always)]
    fn resume<R: Receiver<Y::Out>>(&mut self, to: &mut R) -> bool {
        self.second.resume(to)
            && self.first.resume(&mut Through { next: &mut self.second, to })
            && !self.second.is_suspended()
    }

    #[inline(always)]
    fn settle<R: Receiver<Y::Out>>(&mut self, to: &mut R) -> bool {
        self.first.settle(&mut Through { next: &mut self.second, to }) && self.second.settle(to)
    }

    #[inline(always)]
    fn finish<R: Receiver<Y::Out>>(&mut self, to: &mut R) -> bool {
        self.second.resume(to)
            && self.first.finish(&mut Through { next: &mut self.second, to })
            && self.second.resume(to)
            && self.second.finish(to)
    }

    #[inline(always)]
    fn supply(&mut self, side: &Side) {
        self.first.supply(side);
        self.second.supply(side);
    }

    #[inline(always)]
    fn init(&mut self, context: &ProcessorContext<'_>) {
        self.first.init(context);
        self.second.init(context);
    }

    #[inline(always)]
    fn held_bytes(&self) -> usize {
        self.first.held_bytes() + self.second.held_bytes()
    }

    #[inline(always)]
    fn is_due(&self) -> bool {
        self.first.is_due() || self.second.is_due()
    }
}

impl<A, X: Recipe<A>, Y: Recipe<X::Out>> Recipe<A> for Then<X, Y> {
    type Out = Y::Out;
    type Transform = Then<X::Transform, Y::Transform>;
    const IS_IDENTITY: bool = X::IS_IDENTITY && Y::IS_IDENTITY;

    fn transform(&self, share: Share) -> Self::Transform {
        Then { first: self.first.transform(share), second: self.second.transform(share) }
    }

    fn describe(&self, steps: &mut Vec<&'static str>) {
        self.first.describe(steps);
        self.second.describe(steps);
    }
}

/// A vector with room for so many more items.
pub struct Room<'a, T> {
    items: &'a mut Vec<T>,
    most: usize,
}

impl<'a, T> Room<'a, T> {
    /// `room` more than there are.
    pub(crate) fn new(items: &'a mut Vec<T>, room: usize) -> Self {
        let most = items.len() + room;
        Self { items, most }
    }

    fn left(&self) -> usize {
        self.most.saturating_sub(self.items.len())
    }
}

impl<T> Receiver<T> for Room<'_, T> {
    #[inline(always)]
    fn put(&mut self, item: T) {
        self.items.push(item);
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        self.items.len() >= self.most
    }
}

/// Where a transform's items come from: taken while there is room, left where they are when not.
pub(crate) trait Supply<A> {
    fn next(&mut self) -> Option<A>;

    /// Calls `each` with at most `most` items; returns how many there were.
    fn next_many(&mut self, most: usize, each: impl FnMut(A)) -> usize;
}

/// An iterator as a supply.
pub(crate) struct Yielded<'a, I>(pub(crate) &'a mut I);

impl<I: Iterator> Supply<I::Item> for Yielded<'_, I> {
    #[inline(always)]
    fn next(&mut self) -> Option<I::Item> {
        self.0.next()
    }

    #[inline(always)]
    fn next_many(&mut self, most: usize, mut each: impl FnMut(I::Item)) -> usize {
        // By hand: through an adapter the loop of a range does not melt into one with that of the transform.
        for count in 0..most {
            let Some(item) = self.0.next() else { return count };
            each(item);
        }
        most
    }
}

/// Pushes items while there is room, [`FUEL`] of them at most; true when there are no more of them and nothing of them is left in the
/// transform.
#[inline]
pub(crate) fn drive<A, X: Transform<A>>(
    items: &mut impl Supply<A>,
    transform: &mut X,
    to: &mut Room<'_, X::Out>,
) -> bool {
    if !transform.resume(to) {
        return false;
    }
    if X::AT_MOST_ONE {
        let most = to.left().min(FUEL);
        return items.next_many(most, |item| transform.push(item, to)) < most;
    }
    for _ in 0..FUEL {
        if transform.is_suspended() || to.is_full() {
            return false;
        }
        let Some(item) = items.next() else { return transform.settle(to) && !transform.is_suspended() };
        transform.push(item, to);
    }
    transform.settle(to);
    false
}
