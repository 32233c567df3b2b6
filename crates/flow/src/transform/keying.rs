//! What the key of an item is, and how an item finds its group without a copy of the key.
//!
//! | Keying | Key | Items of a group |
//! |---|---|---|
//! | [`ByKey`] | made of the item for each item | the items |
//! | [`ByPart`] | a part of the item; made only for a new group | the items |
//! | [`ByItem`] | the item itself | the items, as the key |
//! | [`ByPair`] | the first of a pair | the second |

use super::{Groups, Table};
use crate::aggregate::Fold;
use crate::edge::Edge;
use foldhash::fast::FixedState;
use std::borrow::Borrow;
use std::cell::Cell;
use std::hash::{BuildHasher, Hash};

/// How items of type `T` are grouped.
pub trait Keying<T>: Clone + Send + Sync + 'static {
    /// What items of a group have in common.
    type Key: Hash + Eq + Send + 'static;
    /// What is left of an item beside its key.
    type Value: Send + 'static;
    /// True when the key of an item can be hashed without making one that owns anything.
    const HASHES_FREELY: bool = true;

    /// Adds the item to its group, a `new` one if there is none: by `own`, or by `lend` when the item became the key.
    /// The hash of its key is taken unless it is known.
    fn visit<S>(
        &self,
        groups: &mut impl Table<Self::Key, S>,
        hash: Option<u64>,
        item: T,
        new: impl FnOnce() -> S,
        own: impl FnOnce(&mut S, Self::Value),
        lend: impl FnOnce(&mut S, &Self::Value),
    );

    /// Adds the item, whose key may have been hashed before, to its group; true when that is a new one. What an accumulator grows by is
    /// added to `grown`.
    #[inline(always)]
    fn fold<F: Fold<Self::Value>>(
        &self,
        groups: &mut impl Table<Self::Key, F::Accumulator>,
        fold: &F,
        hash: Option<u64>,
        item: T,
        grown: &mut usize,
    ) -> bool {
        let (mut is_new, more) = (false, Cell::new(0));
        let new = || {
            is_new = true;
            fold.start()
        };
        let own = |accumulator: &mut F::Accumulator, value| {
            more.set(fold.grows_by(&value));
            fold.accumulate_owned(accumulator, value);
        };
        let lend = |accumulator: &mut F::Accumulator, value: &Self::Value| {
            more.set(fold.grows_by(value));
            fold.accumulate(accumulator, value);
        };
        self.visit(groups, hash, item, new, own, lend);
        *grown += more.get();
        is_new
    }

    /// A group of this item alone.
    fn alone<F: Fold<Self::Value>>(&self, fold: &F, item: T) -> (Self::Key, F::Accumulator);

    /// The hash of the item's key.
    fn hash(&self, hasher: &FixedState, item: &T) -> u64;

    /// The edge brings items with equal keys to the same processor.
    fn partition(&self, edge: Edge<T>) -> Edge<T>;
}

/// A keying that leaves the item beside the key.
pub trait KeyBeside<T>: Keying<T> {
    /// The item's group, a new one if there is none, and what is left of the item.
    fn enter<'g, S>(
        &self,
        groups: &'g mut Groups<Self::Key, S>,
        item: T,
        new: impl FnOnce() -> S,
    ) -> (&'g mut (Self::Key, S), Self::Value);
}

/// What is accumulated of one item.
#[inline(always)]
fn alone<V, F: Fold<V>>(fold: &F, value: V) -> F::Accumulator {
    let mut accumulator = fold.start();
    fold.accumulate_owned(&mut accumulator, value);
    accumulator
}

/// A function makes the key.
#[derive(Debug, Clone)]
pub struct ByKey<F>(pub F);

impl<T, K, F> Keying<T> for ByKey<F>
where
    T: Send + 'static,
    K: Hash + Eq + Send + 'static,
    F: Fn(&T) -> K + Clone + Send + Sync + 'static,
{
    type Key = K;
    type Value = T;
    const HASHES_FREELY: bool = !std::mem::needs_drop::<K>();

    #[inline(always)]
    fn visit<S>(
        &self,
        groups: &mut impl Table<K, S>,
        hash: Option<u64>,
        item: T,
        new: impl FnOnce() -> S,
        own: impl FnOnce(&mut S, T),
        _: impl FnOnce(&mut S, &T),
    ) {
        let group = groups.group_hashed((self.0)(&item), hash, new);
        own(&mut group.1, item);
    }

    #[inline(always)]
    fn alone<G: Fold<T>>(&self, fold: &G, item: T) -> (K, G::Accumulator) {
        let key = (self.0)(&item);
        (key, alone(fold, item))
    }

    #[inline]
    fn hash(&self, hasher: &FixedState, item: &T) -> u64 {
        hasher.hash_one((self.0)(item))
    }

    fn partition(&self, edge: Edge<T>) -> Edge<T> {
        edge.partitioned_by(self.0.clone())
    }
}

impl<T, K, F> KeyBeside<T> for ByKey<F>
where
    T: Send + 'static,
    K: Hash + Eq + Send + 'static,
    F: Fn(&T) -> K + Clone + Send + Sync + 'static,
{
    #[inline(always)]
    fn enter<'g, S>(
        &self,
        groups: &'g mut Groups<K, S>,
        item: T,
        new: impl FnOnce() -> S,
    ) -> (&'g mut (K, S), T) {
        (groups.group((self.0)(&item), new), item)
    }
}

/// A function finds the key in the item.
#[derive(Debug, Clone)]
pub struct ByPart<F>(pub F);

impl<T, Q, F> Keying<T> for ByPart<F>
where
    T: Send + 'static,
    Q: Hash + Eq + ToOwned + ?Sized + 'static,
    Q::Owned: Borrow<Q> + Hash + Eq + Send + 'static,
    F: Fn(&T) -> &Q + Clone + Send + Sync + 'static,
{
    type Key = Q::Owned;
    type Value = T;

    #[inline(always)]
    fn visit<S>(
        &self,
        groups: &mut impl Table<Q::Owned, S>,
        hash: Option<u64>,
        item: T,
        new: impl FnOnce() -> S,
        own: impl FnOnce(&mut S, T),
        _: impl FnOnce(&mut S, &T),
    ) {
        let group = groups.group_of((self.0)(&item), hash, new);
        own(&mut group.1, item);
    }

    #[inline(always)]
    fn alone<G: Fold<T>>(&self, fold: &G, item: T) -> (Q::Owned, G::Accumulator) {
        let key = (self.0)(&item).to_owned();
        (key, alone(fold, item))
    }

    #[inline]
    fn hash(&self, hasher: &FixedState, item: &T) -> u64 {
        hasher.hash_one((self.0)(item))
    }

    fn partition(&self, edge: Edge<T>) -> Edge<T> {
        edge.partitioned_by_ref(self.0.clone())
    }
}

impl<T, Q, F> KeyBeside<T> for ByPart<F>
where
    T: Send + 'static,
    Q: Hash + Eq + ToOwned + ?Sized + 'static,
    Q::Owned: Borrow<Q> + Hash + Eq + Send + 'static,
    F: Fn(&T) -> &Q + Clone + Send + Sync + 'static,
{
    #[inline(always)]
    fn enter<'g, S>(
        &self,
        groups: &'g mut Groups<Q::Owned, S>,
        item: T,
        new: impl FnOnce() -> S,
    ) -> (&'g mut (Q::Owned, S), T) {
        (groups.group_of((self.0)(&item), None, new), item)
    }
}

/// The item is the key.
#[derive(Debug, Clone, Copy)]
pub struct ByItem;

impl<T: Hash + Eq + Send + 'static> Keying<T> for ByItem {
    type Key = T;
    type Value = T;

    #[inline(always)]
    fn visit<S>(
        &self,
        groups: &mut impl Table<T, S>,
        hash: Option<u64>,
        item: T,
        new: impl FnOnce() -> S,
        _: impl FnOnce(&mut S, T),
        lend: impl FnOnce(&mut S, &T),
    ) {
        let (key, state) = groups.group_hashed(item, hash, new);
        lend(state, key);
    }

    #[inline(always)]
    fn alone<G: Fold<T>>(&self, fold: &G, item: T) -> (T, G::Accumulator) {
        let mut accumulator = fold.start();
        fold.accumulate(&mut accumulator, &item);
        (item, accumulator)
    }

    #[inline]
    fn hash(&self, hasher: &FixedState, item: &T) -> u64 {
        hasher.hash_one(item)
    }

    fn partition(&self, edge: Edge<T>) -> Edge<T> {
        edge.partitioned()
    }
}

/// The first of a pair is the key.
#[derive(Debug, Clone, Copy)]
pub struct ByPair;

impl<K, V> Keying<(K, V)> for ByPair
where
    K: Hash + Eq + Send + 'static,
    V: Send + 'static,
{
    type Key = K;
    type Value = V;

    #[inline(always)]
    fn visit<S>(
        &self,
        groups: &mut impl Table<K, S>,
        hash: Option<u64>,
        (key, value): (K, V),
        new: impl FnOnce() -> S,
        own: impl FnOnce(&mut S, V),
        _: impl FnOnce(&mut S, &V),
    ) {
        let group = groups.group_hashed(key, hash, new);
        own(&mut group.1, value);
    }

    #[inline(always)]
    fn alone<G: Fold<V>>(&self, fold: &G, (key, value): (K, V)) -> (K, G::Accumulator) {
        (key, alone(fold, value))
    }

    #[inline]
    fn hash(&self, hasher: &FixedState, item: &(K, V)) -> u64 {
        hasher.hash_one(&item.0)
    }

    fn partition(&self, edge: Edge<(K, V)>) -> Edge<(K, V)> {
        edge.partitioned_by_ref(|pair| &pair.0)
    }
}

impl<K, V> KeyBeside<(K, V)> for ByPair
where
    K: Hash + Eq + Send + 'static,
    V: Send + 'static,
{
    #[inline(always)]
    fn enter<'g, S>(
        &self,
        groups: &'g mut Groups<K, S>,
        (key, value): (K, V),
        new: impl FnOnce() -> S,
    ) -> (&'g mut (K, S), V) {
        (groups.group(key, new), value)
    }
}
