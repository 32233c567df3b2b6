//! Shaped ranges: map, filter, fold and reduce over slices and index ranges.
//!
//! The number of leaves, the tree over them and every pending count are known before the first fork (`tree`); a range too
//! small to be worth it is a plain loop on the calling thread, without an atomic operation.

mod source;
mod sum;
mod tree;

pub use source::{Filter, Indices, Map, Slice, Source};
pub use sum::Summed;

use super::WorkStealing;
use std::ops::{Add, Range};
use tree::Leaf;

/// A range over a [`Source`], to be run on a pool; made by [`WorkStealing::slice`] and [`WorkStealing::range`].
///
/// ```
/// let cpu = filbert_pool::WorkStealing::standalone(2);
/// let values: Vec<u32> = (0..100_000).collect();
/// let small: u64 = cpu.slice(&values).filter(|v| **v < 1_000).map(|v| u64::from(*v)).sum();
/// assert_eq!(small, 499_500);
/// let doubled = cpu.slice(&values).map(|v| v * 2).collect();
/// assert_eq!(doubled[7], 14);
/// ```
#[derive(Debug, Clone)]
#[must_use = "a range does nothing until it is folded, reduced or collected"]
pub struct Shaped<'p, S> {
    pool: &'p WorkStealing,
    source: S,
    min_leaf: usize,
    adaptive: bool,
}

impl WorkStealing {
    /// The elements of a slice.
    #[inline]
    pub fn slice<'p, 'd, T: Sync>(&'p self, slice: &'d [T]) -> Shaped<'p, Slice<'d, T>> {
        self.shaped(Slice(slice))
    }

    /// The numbers of an index range.
    #[inline]
    pub fn range(&self, range: Range<usize>) -> Shaped<'_, Indices> {
        self.shaped(Indices(range))
    }

    #[inline]
    fn shaped<S: Source>(&self, source: S) -> Shaped<'_, S> {
        Shaped { pool: self, source, min_leaf: self.core.settings.min_leaf, adaptive: false }
    }
}

impl<'p, S: Source> Shaped<'p, S> {
    /// The least number of elements that are worth a task (10,000 unless told; never less than one). Twice as many are
    /// shared at least.
    #[inline]
    pub fn min_leaf(mut self, elements: usize) -> Self {
        self.min_leaf = elements.max(1);
        self
    }

    /// For elements of irregular or unknown cost: every part is cut further while few tasks are queued, down to some
    /// microseconds of work, whatever the number of elements. The number of elements then says nothing about the
    /// work, so even a short range is shared.
    #[inline]
    pub fn adaptive(mut self) -> Self {
        self.adaptive = true;
        self
    }

    /// Each item through `map`.
    #[inline]
    pub fn map<R, F: Fn(S::Item) -> R + Sync>(self, map: F) -> Shaped<'p, Map<S, F>> {
        self.around(|source| Map { source, map })
    }

    /// Only the items that `keep` says yes to.
    #[inline]
    pub fn filter<P: Fn(&S::Item) -> bool + Sync>(self, keep: P) -> Shaped<'p, Filter<S, P>> {
        self.around(|source| Filter { source, keep })
    }

    #[inline]
    fn around<T>(self, wrap: impl FnOnce(S) -> T) -> Shaped<'p, T> {
        Shaped {
            pool: self.pool,
            source: wrap(self.source),
            min_leaf: self.min_leaf,
            adaptive: self.adaptive,
        }
    }

    /// Folds each part with `step`, from `start()`, and combines the parts' results in the order of the elements.
    ///
    /// How many parts there are depends on the pool, so `combine` should be associative and `start()` its neutral value.
    #[inline]
    pub fn fold<A: Send>(
        self,
        start: impl Fn() -> A + Sync,
        step: impl Fn(A, S::Item) -> A + Sync,
        combine: impl Fn(A, A) -> A + Sync,
    ) -> A {
        let length = self.source.len();
        if self.is_small(length) {
            let _stage = self.pool.count_as_worker();
            return self.source.fold_range(0..length, start(), step);
        }
        let Shaped { pool, source, min_leaf, adaptive } = self;
        let fold = |folded, part| source.fold_range(part, folded, &step);
        tree::run(pool, length, min_leaf, adaptive, &Leaf { start, fold, combine })
    }

    /// True when the range is a plain loop on the calling thread, which counts as a worker meanwhile: what a closure may do must not depend
    /// on the number of elements. A shift and no division: this is most of what a tiny range pays.
    #[inline(always)]
    fn is_small(&self, length: usize) -> bool {
        !self.adaptive && length / 2 < self.min_leaf
    }

    /// Reduces the items with `op`, from `identity()`.
    #[inline]
    pub fn reduce(
        self,
        identity: impl Fn() -> S::Item + Sync,
        op: impl Fn(S::Item, S::Item) -> S::Item + Sync,
    ) -> S::Item
    where
        S::Item: Send,
    {
        self.fold(identity, &op, &op)
    }

    /// The sum of the items, numbers or references to numbers: the same for any timing and any number of workers, also of
    /// floating-point numbers. Integers wrap around, like `wrapping_add`.
    ///
    /// ```
    /// let cpu = filbert_pool::WorkStealing::standalone(2);
    /// let values: Vec<u64> = (0..100_000).collect();
    /// assert_eq!(cpu.slice(&values).sum(), 4_999_950_000);
    /// assert_eq!(cpu.range(0..3).map(|_| 100_u8).sum(), 44);
    /// ```
    #[inline]
    pub fn sum(self) -> <S::Item as Summed>::Total
    where
        S::Item: Summed,
    {
        Summed::sum_of(self)
    }

    /// How many items there are.
    #[inline]
    pub fn count(self) -> usize {
        self.fold(|| 0, |count, _| count + 1, Add::add)
    }

    /// Calls `body` with each item.
    #[inline]
    pub fn for_each(self, body: impl Fn(S::Item) + Sync) {
        self.fold(|| (), |(), item| body(item), |(), ()| ());
    }

    /// The items in order.
    pub fn collect(self) -> Vec<S::Item>
    where
        S::Item: Send,
    {
        let push = |mut items: Vec<_>, item| {
            items.push(item);
            items
        };
        let length = self.source.len();
        if self.is_small(length) {
            let _stage = self.pool.count_as_worker();
            return self.source.fold_range(0..length, Vec::new(), push);
        }
        let Shaped { pool, source, min_leaf, adaptive } = self;
        // A list of pieces, so that items are moved once at the end and not at every level of the tree.
        let leaf = Leaf {
            start: Vec::new,
            fold: |mut pieces: Vec<Vec<_>>, part: Range<usize>| {
                pieces.push(source.fold_range(part.clone(), Vec::with_capacity(part.len()), push));
                pieces
            },
            combine: |mut left: Vec<Vec<_>>, mut right: Vec<Vec<_>>| {
                left.append(&mut right);
                left
            },
        };
        let pieces = tree::run(pool, length, min_leaf, adaptive, &leaf);
        let mut items = Vec::with_capacity(pieces.iter().map(Vec::len).sum());
        pieces.into_iter().for_each(|mut piece| items.append(&mut piece));
        items
    }
}

impl<'p, 'd, T: Sync> Shaped<'p, Slice<'d, T>> {
    /// Whole chunks of the slice through `body`, which the compiler can then vectorise; chunks differ in size.
    ///
    /// ```
    /// let cpu = filbert_pool::WorkStealing::standalone(2);
    /// let values = vec![1_u32; 100_000];
    /// let sum = cpu.slice(&values).chunks(|chunk| chunk.iter().sum::<u32>()).reduce(|| 0, |a, b| a + b);
    /// assert_eq!(sum, 100_000);
    /// ```
    #[inline]
    pub fn chunks<R, F: Fn(&'d [T]) -> R + Sync>(
        self,
        body: F,
    ) -> Chunks<'p, impl Fn(Range<usize>) -> R + Sync> {
        let Slice(slice) = self.source;
        let body = move |part: Range<usize>| body(&slice[part]);
        Chunks {
            pool: self.pool,
            length: slice.len(),
            body,
            min_leaf: self.min_leaf,
            adaptive: self.adaptive,
        }
    }
}

impl<'p> Shaped<'p, Indices> {
    /// Whole parts of the range through `body`; parts differ in size.
    #[inline]
    pub fn chunks<R, F: Fn(Range<usize>) -> R + Sync>(
        self,
        body: F,
    ) -> Chunks<'p, impl Fn(Range<usize>) -> R + Sync> {
        let (length, first) = (self.source.len(), self.source.0.start);
        let body = move |part: Range<usize>| body(first + part.start..first + part.end);
        Chunks { pool: self.pool, length, body, min_leaf: self.min_leaf, adaptive: self.adaptive }
    }
}

/// Chunks of a range with a closure for each; made by `chunks`.
#[derive(Debug, Clone)]
#[must_use = "chunks do nothing until they are reduced"]
pub struct Chunks<'p, F> {
    pool: &'p WorkStealing,
    length: usize,
    body: F,
    min_leaf: usize,
    adaptive: bool,
}

impl<R: Send, F: Fn(Range<usize>) -> R + Sync> Chunks<'_, F> {
    /// Reduces the chunks' results with `op`, from `identity()`, in the order of the chunks.
    #[inline]
    pub fn reduce(self, identity: impl Fn() -> R + Sync, op: impl Fn(R, R) -> R + Sync) -> R {
        let Chunks { pool, length, body, min_leaf, adaptive } = self;
        if !adaptive && length / 2 < min_leaf {
            let _stage = pool.count_as_worker();
            return op(identity(), body(0..length));
        }
        let fold = |folded, part| op(folded, body(part));
        tree::run(pool, length, min_leaf, adaptive, &Leaf { start: identity, fold, combine: &op })
    }

    /// Runs `body` on each chunk for its effect.
    #[inline]
    pub fn for_each(self) {
        let Chunks { pool, length, body, min_leaf, adaptive } = self;
        let body = |part| drop(body(part));
        Chunks { pool, length, body, min_leaf, adaptive }.reduce(|| (), |(), ()| ());
    }
}
