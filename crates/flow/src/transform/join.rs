//! The hash join: a table of the small side, and a look into it for every item of the large side.

use super::{Ahead, FUEL, Groups, Receiver, Recipe, Side, Transform, owned_bytes};
use crate::processor::Share;
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;
use std::sync::Arc;

const TABLE_SEED: u64 = 0x7ab1_e5ed;

/// The small side by key.
pub struct JoinTable<K, V> {
    groups: Groups<K, Matches<V>>,
    /// What the items own, and the lists of those that share a key.
    owned: usize,
}

/// What has the same key: mostly one item, which then needs no list.
enum Matches<V> {
    One(V),
    Several(Vec<V>),
}

impl<V> Matches<V> {
    fn add(&mut self, item: V) {
        match self {
            Matches::Several(items) => items.push(item),
            Matches::One(_) => {
                if let Matches::One(first) = std::mem::replace(self, Matches::Several(Vec::new())) {
                    *self = Matches::Several(vec![first, item]);
                }
            }
        }
    }
}

impl<K: Hash + Eq + 'static, V: 'static> JoinTable<K, V> {
    pub(crate) fn new() -> Self {
        Self { groups: Groups::new(TABLE_SEED), owned: 0 }
    }

    #[inline]
    pub(crate) fn insert(&mut self, key: K, item: V) {
        self.owned += owned_bytes(&item);
        let listed = &mut self.owned;
        self.groups.put(key, None, item, Matches::One, |matches, item| {
            *listed += size_of::<V>();
            matches.add(item);
        });
    }

    /// Returns what the table takes with its items, in bytes, about.
    pub(crate) fn bytes(&self) -> usize {
        self.groups.bytes() + self.owned
    }

    /// The items with that key.
    #[inline(always)]
    fn matches(&self, key: &K, hash: Option<u64>) -> &[V] {
        match self.groups.get(key, hash) {
            None => &[],
            Some(Matches::One(item)) => std::slice::from_ref(item),
            Some(Matches::Several(items)) => items,
        }
    }
}

/// Builds the table of all items that come.
#[derive(Debug, Clone)]
pub struct TableBuilding<F> {
    pub(crate) key: F,
}

/// The transform of [`TableBuilding`].
pub struct TableBuildingTransform<K, V, F> {
    key: F,
    /// None when it is put.
    table: Option<JoinTable<K, V>>,
}

impl<K, V, F> Transform<V> for TableBuildingTransform<K, V, F>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
    F: Fn(&V) -> K + Send + 'static,
{
    type Out = Side;
    const AT_MOST_ONE: bool = true;

    #[inline(always)]
    fn push<R: Receiver<Side>>(&mut self, item: V, _: &mut R) {
        if let Some(table) = &mut self.table {
            table.insert((self.key)(&item), item);
        }
    }

    fn finish<R: Receiver<Side>>(&mut self, to: &mut R) -> bool {
        if to.is_full() {
            return false;
        }
        if let Some(table) = self.table.take() {
            to.put(Arc::new(table));
        }
        true
    }

    fn held_bytes(&self) -> usize {
        self.table.as_ref().map_or(0, JoinTable::bytes)
    }
}

impl<K, V, F> Recipe<V> for TableBuilding<F>
where
    K: Hash + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
    F: Fn(&V) -> K + Clone + Send + Sync + 'static,
{
    type Out = Side;
    type Transform = TableBuildingTransform<K, V, F>;

    fn transform(&self, _: Share) -> Self::Transform {
        TableBuildingTransform { key: self.key.clone(), table: Some(JoinTable::new()) }
    }

    fn describe(&self, steps: &mut Vec<&'static str>) {
        steps.push("table");
    }
}

/// What becomes of an item and what matches it.
pub trait Joined<T, V>: Clone + Send + Sync + 'static {
    /// The result.
    type Out: Send + 'static;

    /// One match.
    fn with(&self, item: T, other: &V) -> Self::Out;

    /// No match.
    fn without(&self, item: T) -> Option<Self::Out>;
}

/// Items without a match are dropped.
#[derive(Debug, Clone)]
pub struct Inner<F>(pub(crate) F);

impl<T, V, B, F> Joined<T, V> for Inner<F>
where
    B: Send + 'static,
    F: Fn(T, &V) -> B + Clone + Send + Sync + 'static,
{
    type Out = B;

    #[inline(always)]
    fn with(&self, item: T, other: &V) -> B {
        (self.0)(item, other)
    }

    #[inline(always)]
    fn without(&self, _: T) -> Option<B> {
        None
    }
}

/// Items without a match are joined with nothing.
#[derive(Debug, Clone)]
pub struct LeftOuter<F>(pub(crate) F);

impl<T, V, B, F> Joined<T, V> for LeftOuter<F>
where
    B: Send + 'static,
    F: Fn(T, Option<&V>) -> B + Clone + Send + Sync + 'static,
{
    type Out = B;

    #[inline(always)]
    fn with(&self, item: T, other: &V) -> B {
        (self.0)(item, Some(other))
    }

    #[inline(always)]
    fn without(&self, item: T) -> Option<B> {
        Some((self.0)(item, None))
    }
}

/// Joins every item with those of the table that have its key. The table comes as a [`Side`].
pub struct Probing<K, V, F, J> {
    key: F,
    joined: J,
    _table: PhantomData<fn(K, V)>,
}

impl<K, V, F, J> Probing<K, V, F, J> {
    pub(crate) fn new(key: F, joined: J) -> Self {
        Self { key, joined, _table: PhantomData }
    }
}

impl<K, V, F: Clone, J: Clone> Clone for Probing<K, V, F, J> {
    fn clone(&self) -> Self {
        Self::new(self.key.clone(), self.joined.clone())
    }
}

/// The transform of [`Probing`].
pub struct ProbingTransform<T, K, V, F, J> {
    recipe: Probing<K, V, F, J>,
    table: Arc<JoinTable<K, V>>,
    /// Items whose matches have been asked for.
    ahead: Ahead<T>,
    /// True while those go on: none may come until all have gone.
    is_going_on: bool,
    /// An item that has more matches than there was room for, and how many it was joined with.
    current: Option<(T, usize)>,
    fuel: usize,
}

impl<T, K, V, F, J> ProbingTransform<T, K, V, F, J>
where
    T: Clone + Send + 'static,
    K: Hash + Eq + 'static,
    V: 'static,
    F: Fn(&T) -> K,
    J: Joined<T, V>,
{
    /// Lets the items that wait go on, while there is room; true when none is left.
    #[inline(never)]
    fn go_on<R: Receiver<J::Out>>(&mut self, to: &mut R) -> bool {
        if !self.is_going_on {
            self.ahead.turn_round();
        }
        self.is_going_on = true;
        while self.current.is_none() && !to.is_full() {
            let Some((hash, item)) = self.ahead.next() else { break };
            self.probe(item, Some(hash), 0, to);
        }
        self.is_going_on = !self.ahead.is_empty();
        self.current.is_none() && !self.is_going_on
    }

    #[inline(always)]
    fn probe<R: Receiver<J::Out>>(&mut self, item: T, hash: Option<u64>, done: usize, to: &mut R) {
        let joined = &self.recipe.joined;
        match &self.table.matches(&(self.recipe.key)(&item), hash)[done..] {
            [] => {
                if let Some(result) = joined.without(item) {
                    to.put(result);
                }
            }
            [only] => to.put(joined.with(item, only)),
            [most @ .., last] => {
                for (count, other) in most.iter().enumerate() {
                    if self.fuel == 0 || to.is_full() {
                        self.current = Some((item, done + count));
                        return;
                    }
                    self.fuel -= 1;
                    to.put(joined.with(item.clone(), other));
                }
                if to.is_full() {
                    self.current = Some((item, done + most.len()));
                } else {
                    to.put(joined.with(item, last));
                }
            }
        }
    }
}

impl<T, K, V, F, J> Transform<T> for ProbingTransform<T, K, V, F, J>
where
    T: Clone + Send + 'static,
    K: Hash + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
    F: Fn(&T) -> K + Send + 'static,
    J: Joined<T, V>,
{
    type Out = J::Out;
    const AT_MOST_ONE: bool = false;

    #[inline(always)]
    fn push<R: Receiver<J::Out>>(&mut self, item: T, to: &mut R) {
        let groups = &self.table.groups;
        if !Ahead::<T>::IS_WORTHWHILE || std::mem::needs_drop::<K>() || !groups.is_large() {
            return self.probe(item, None, 0, to);
        }
        let hash = groups.hasher().hash_one((self.recipe.key)(&item));
        groups.expect(hash);
        if self.ahead.wait(hash, item) {
            self.go_on(to);
        }
    }

    #[inline(always)]
    fn is_suspended(&self) -> bool {
        self.current.is_some() || self.is_going_on
    }

    fn resume<R: Receiver<J::Out>>(&mut self, to: &mut R) -> bool {
        self.fuel = FUEL;
        if let Some((item, done)) = self.current.take_if(|_| !to.is_full()) {
            self.probe(item, None, done, to);
        }
        if self.is_going_on {
            self.go_on(to);
        }
        !self.is_suspended()
    }

    fn settle<R: Receiver<J::Out>>(&mut self, to: &mut R) -> bool {
        self.go_on(to)
    }

    fn finish<R: Receiver<J::Out>>(&mut self, to: &mut R) -> bool {
        self.resume(to) && self.go_on(to)
    }

    fn supply(&mut self, side: &Side) {
        if let Ok(table) = Arc::clone(side).downcast() {
            self.table = table;
        }
    }

    /// Returns a part of the table, which all processors of the vertex share.
    fn held_bytes(&self) -> usize {
        self.table.bytes() / Arc::strong_count(&self.table).max(1)
    }
}

impl<T, K, V, F, J> Recipe<T> for Probing<K, V, F, J>
where
    T: Clone + Send + 'static,
    K: Hash + Eq + Send + Sync + 'static,
    V: Send + Sync + 'static,
    F: Fn(&T) -> K + Clone + Send + Sync + 'static,
    J: Joined<T, V>,
{
    type Out = J::Out;
    type Transform = ProbingTransform<T, K, V, F, J>;

    fn transform(&self, _: Share) -> Self::Transform {
        ProbingTransform {
            recipe: self.clone(),
            table: Arc::new(JoinTable::new()),
            ahead: Ahead::new(),
            is_going_on: false,
            current: None,
            fuel: FUEL,
        }
    }

    fn describe(&self, steps: &mut Vec<&'static str>) {
        steps.push("hash_join");
    }
}
