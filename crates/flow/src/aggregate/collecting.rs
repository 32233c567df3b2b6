//! Aggregates that keep items, and folds of the user's own functions.

use super::{Aggregate, Fold};
use crate::transform::whole_bytes;
use std::any::TypeId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::marker::PhantomData;

/// All items, in no particular order. A copy is made only where another aggregate needs the item too.
pub fn to_vec() -> ToVec {
    ToVec
}

/// The `count` largest items, the largest first.
pub fn top_n(count: usize) -> TopN {
    TopN { count }
}

/// A fold of an immutable value: `next` makes the new one of the old one and an item.
///
/// ```
/// use filbert_flow::aggregate::{Fold, fold_with};
/// let product = fold_with(1_u64, |product, n: &u64| product * n);
/// let mut accumulator = product.start();
/// for n in 1..=5 {
///     product.accumulate(&mut accumulator, &n);
/// }
/// assert_eq!(product.finish(accumulator), 120);
/// ```
pub fn fold_with<T, S, F>(start: S, next: F) -> FoldWith<T, S, F>
where
    S: Clone + Send + Sync + 'static,
    F: Fn(S, &T) -> S + Clone + Send + Sync + 'static,
{
    FoldWith { start, next, _item: PhantomData }
}

/// A fold into a mutable container: `add` puts an item into the one that `new` made.
pub fn collect_into<T, C, N, F>(new: N, add: F) -> CollectInto<T, N, F>
where
    C: Send + 'static,
    N: Fn() -> C + Clone + Send + Sync + 'static,
    F: Fn(&mut C, &T) + Clone + Send + Sync + 'static,
{
    CollectInto { new, add, _item: PhantomData }
}

/// See [`to_vec`].
#[derive(Debug, Clone, Copy)]
pub struct ToVec;

impl<T: Clone + Send + 'static> Fold<T> for ToVec {
    type Accumulator = Vec<T>;
    type Out = Vec<T>;
    const REDUCES: bool = false;

    fn name(&self) -> &'static str {
        "to_vec"
    }

    fn start(&self) -> Vec<T> {
        Vec::new()
    }

    #[inline]
    fn accumulate(&self, items: &mut Vec<T>, item: &T) {
        items.push(item.clone());
    }

    #[inline]
    fn accumulate_owned(&self, items: &mut Vec<T>, item: T) {
        items.push(item);
    }

    #[inline(always)]
    fn grows_by(&self, item: &T) -> usize {
        whole_bytes(item)
    }

    fn held_bytes(&self, items: &Vec<T>) -> usize {
        if std::mem::needs_drop::<T>() {
            items.iter().map(whole_bytes).sum()
        } else {
            items.capacity() * size_of::<T>()
        }
    }

    fn finish(&self, items: Vec<T>) -> Vec<T> {
        items
    }
}

impl<T: Clone + Send + 'static> Aggregate<T> for ToVec {
    fn combine(&self, items: &mut Vec<T>, mut other: Vec<T>) {
        items.append(&mut other);
    }
}

/// See [`top_n`].
#[derive(Debug, Clone, Copy)]
pub struct TopN {
    count: usize,
}

impl TopN {
    /// The smallest of those kept is on top, ready to leave.
    #[inline]
    fn has_place<T: Ord>(self, kept: &BinaryHeap<Reverse<T>>, item: &T) -> bool {
        kept.len() < self.count || kept.peek().is_some_and(|smallest| *item > smallest.0)
    }

    fn keep<T: Ord>(self, kept: &mut BinaryHeap<Reverse<T>>, item: T) {
        if kept.len() == self.count {
            kept.pop();
        }
        kept.push(Reverse(item));
    }
}

impl<T: Ord + Clone + Send + 'static> Fold<T> for TopN {
    type Accumulator = BinaryHeap<Reverse<T>>;
    type Out = Vec<T>;

    fn name(&self) -> &'static str {
        "top_n"
    }

    fn start(&self) -> Self::Accumulator {
        BinaryHeap::new()
    }

    #[inline]
    fn accumulate(&self, kept: &mut Self::Accumulator, item: &T) {
        if self.has_place(kept, item) {
            self.keep(kept, item.clone());
        }
    }

    #[inline]
    fn accumulate_owned(&self, kept: &mut Self::Accumulator, item: T) {
        if self.has_place(kept, &item) {
            self.keep(kept, item);
        }
    }

    fn held_bytes(&self, kept: &Self::Accumulator) -> usize {
        kept.len() * size_of::<T>()
    }

    fn finish(&self, kept: Self::Accumulator) -> Vec<T> {
        // Ascending in `Reverse`: the largest first.
        kept.into_sorted_vec().into_iter().map(|kept| kept.0).collect()
    }
}

impl<T: Ord + Clone + Send + 'static> Aggregate<T> for TopN {
    fn combine(&self, kept: &mut Self::Accumulator, other: Self::Accumulator) {
        for item in other {
            self.accumulate_owned(kept, item.0);
        }
    }
}

/// See [`fold_with`].
pub struct FoldWith<T, S, F> {
    start: S,
    next: F,
    _item: PhantomData<fn(T)>,
}

impl<T, S: Clone, F: Clone> Clone for FoldWith<T, S, F> {
    fn clone(&self) -> Self {
        Self { start: self.start.clone(), next: self.next.clone(), _item: PhantomData }
    }
}

impl<T, S, F> Fold<T> for FoldWith<T, S, F>
where
    T: 'static,
    S: Clone + Send + Sync + 'static,
    F: Fn(S, &T) -> S + Clone + Send + Sync + 'static,
{
    /// Always there but while `next` has it.
    type Accumulator = Option<S>;
    type Out = S;

    fn name(&self) -> &'static str {
        "fold"
    }

    fn start(&self) -> Option<S> {
        Some(self.start.clone())
    }

    #[inline]
    fn accumulate(&self, value: &mut Option<S>, item: &T) {
        let old = value.take().unwrap_or_else(|| self.start.clone());
        *value = Some((self.next)(old, item));
    }

    fn finish(&self, value: Option<S>) -> S {
        value.unwrap_or_else(|| self.start.clone())
    }
}

/// See [`collect_into`].
pub struct CollectInto<T, N, F> {
    new: N,
    add: F,
    _item: PhantomData<fn(T)>,
}

impl<T, N: Clone, F: Clone> Clone for CollectInto<T, N, F> {
    fn clone(&self) -> Self {
        Self { new: self.new.clone(), add: self.add.clone(), _item: PhantomData }
    }
}

impl<T, C, N, F> Fold<T> for CollectInto<T, N, F>
where
    T: 'static,
    C: Send + 'static,
    N: Fn() -> C + Clone + Send + Sync + 'static,
    F: Fn(&mut C, &T) + Clone + Send + Sync + 'static,
{
    type Accumulator = C;
    type Out = C;

    fn name(&self) -> &'static str {
        "collect"
    }

    fn start(&self) -> C {
        (self.new)()
    }

    #[inline]
    fn accumulate(&self, container: &mut C, item: &T) {
        (self.add)(container, item);
    }

    /// Counts items that go into a list. What another container of one's own makes of them is not known.
    #[inline(always)]
    fn grows_by(&self, item: &T) -> usize {
        if TypeId::of::<C>() == TypeId::of::<Vec<T>>() { whole_bytes(item) } else { 0 }
    }

    fn finish(&self, container: C) -> C {
        container
    }
}
