//! What a range runs over: something indexed that folds any part of itself, with maps and filters around it.
//!
//! Folding a part is the one verb, so that maps and filters compose into one loop per leaf without a box or an iterator state
//! that would have to be split.

use std::ops::Range;

/// Elements with indices, of which any part can be folded, by several threads at once.
pub trait Source: Sync {
    /// What the fold sees.
    type Item;

    /// How many indices there are.
    fn len(&self) -> usize;

    /// True when there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Folds the elements of `part`, in order.
    fn fold_range<A>(&self, part: Range<usize>, start: A, step: impl FnMut(A, Self::Item) -> A) -> A;
}

/// The elements of a slice.
#[derive(Debug, Clone, Copy)]
pub struct Slice<'d, T>(pub(super) &'d [T]);

/// The numbers of an index range.
#[derive(Debug, Clone)]
pub struct Indices(pub(super) Range<usize>);

/// A source whose items go through a function.
#[derive(Debug, Clone)]
pub struct Map<S, F> {
    pub(super) source: S,
    pub(super) map: F,
}

/// A source of which only some items count.
#[derive(Debug, Clone)]
pub struct Filter<S, P> {
    pub(super) source: S,
    pub(super) keep: P,
}

impl<'d, T: Sync> Source for Slice<'d, T> {
    type Item = &'d T;

    #[inline(always)]
    fn len(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn fold_range<A>(&self, part: Range<usize>, start: A, mut step: impl FnMut(A, &'d T) -> A) -> A {
        // A `for` loop, so that a leaf becomes the very instructions of a hand-written loop (`Iterator::fold` adds an index).
        let mut folded = start;
        for item in &self.0[part] {
            folded = step(folded, item);
        }
        folded
    }
}

impl Source for Indices {
    type Item = usize;

    #[inline(always)]
    fn len(&self) -> usize {
        self.0.end.saturating_sub(self.0.start)
    }

    #[inline(always)]
    fn fold_range<A>(&self, part: Range<usize>, start: A, step: impl FnMut(A, usize) -> A) -> A {
        (self.0.start + part.start..self.0.start + part.end).fold(start, step)
    }
}

impl<S: Source, F, R> Source for Map<S, F>
where
    F: Fn(S::Item) -> R + Sync,
{
    type Item = R;

    #[inline(always)]
    fn len(&self) -> usize {
        self.source.len()
    }

    #[inline(always)]
    fn fold_range<A>(&self, part: Range<usize>, start: A, mut step: impl FnMut(A, R) -> A) -> A {
        self.source.fold_range(part, start, |folded, item| step(folded, (self.map)(item)))
    }
}

impl<S: Source, P> Source for Filter<S, P>
where
    P: Fn(&S::Item) -> bool + Sync,
{
    type Item = S::Item;

    #[inline(always)]
    fn len(&self) -> usize {
        self.source.len()
    }

    #[inline(always)]
    fn fold_range<A>(&self, part: Range<usize>, start: A, mut step: impl FnMut(A, S::Item) -> A) -> A {
        self.source.fold_range(
            part,
            start,
            |folded, item| {
                if (self.keep)(&item) { step(folded, item) } else { folded }
            },
        )
    }
}
