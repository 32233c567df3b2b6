//! A table from keys to what is known of them: one hash per item, and a key is kept only when it is new.
//!
//! `hashbrown`'s table is used by hand so that a key can be looked for by a part of the item and made only when it is not there.
//! The hash is foldhash with fixed seeds, so that a simulation repeats itself. Tables that are emptied into others must not share
//! their seed: items in the order of one hash crowd the beginning of a growing table that uses the same one.

use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::{Entry, IntoIter};
use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

/// Groups by key, each with a state.
pub struct Groups<K, S> {
    table: HashTable<(K, S)>,
    hasher: FixedState,
}

impl<K: Hash + Eq, S> Groups<K, S> {
    /// An empty table; `seed` differs from that of the tables which are emptied into it.
    pub(crate) fn new(seed: u64) -> Self {
        Self { table: HashTable::new(), hasher: FixedState::with_seed(seed) }
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    /// The group of `key`; a new one if there is none.
    #[inline(always)]
    pub(crate) fn group(&mut self, key: K, new: impl FnOnce() -> S) -> &mut (K, S) {
        let Self { table, hasher } = self;
        let hash = hasher.hash_one(&key);
        match table.entry(hash, |group| group.0 == key, |group| hasher.hash_one(&group.0)) {
            Entry::Occupied(group) => group.into_mut(),
            Entry::Vacant(free) => free.insert((key, new())).into_mut(),
        }
    }

    /// The group of a key like `part`; a new one, with a key made of it, if there is none.
    #[inline(always)]
    pub(crate) fn group_of<Q>(&mut self, part: &Q, new: impl FnOnce() -> S) -> &mut (K, S)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let Self { table, hasher } = self;
        let hash = hasher.hash_one(part);
        let same = |group: &(K, S)| group.0.borrow() == part;
        match table.entry(hash, same, |group| hasher.hash_one(group.0.borrow())) {
            Entry::Occupied(group) => group.into_mut(),
            Entry::Vacant(free) => free.insert((part.to_owned(), new())).into_mut(),
        }
    }

    /// Puts an item into the group of `key`: `first` makes a group of it, `more` adds it to one.
    #[inline(always)]
    pub(crate) fn put<V>(
        &mut self,
        key: K,
        value: V,
        first: impl FnOnce(V) -> S,
        more: impl FnOnce(&mut S, V),
    ) {
        let Self { table, hasher } = self;
        let hash = hasher.hash_one(&key);
        match table.entry(hash, |group| group.0 == key, |group| hasher.hash_one(&group.0)) {
            Entry::Occupied(mut group) => more(&mut group.get_mut().1, value),
            Entry::Vacant(free) => {
                free.insert((key, first(value)));
            }
        }
    }

    /// What is known of `key`.
    #[inline]
    pub(crate) fn get<Q>(&self, key: &Q) -> Option<&S>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = self.hasher.hash_one(key);
        self.table.find(hash, |group| group.0.borrow() == key).map(|group| &group.1)
    }

    /// As [`Groups::get`], to change it.
    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut S> {
        let hash = self.hasher.hash_one(key);
        self.table.find_mut(hash, |group| group.0 == *key).map(|group| &mut group.1)
    }

    /// Forgets a key.
    pub(crate) fn remove(&mut self, key: &K) {
        let hash = self.hasher.hash_one(key);
        if let Ok(group) = self.table.find_entry(hash, |group| group.0 == *key) {
            group.remove();
        }
    }

    pub(crate) fn clear(&mut self) {
        self.table.clear();
    }

    /// Takes all groups, in no particular order; the table is empty then.
    pub(crate) fn drain(&mut self) -> IntoIter<(K, S)> {
        std::mem::take(&mut self.table).into_iter()
    }
}
