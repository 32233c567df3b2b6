//! A table from keys to what is known of them: one hash per item, and a key is kept only when it is new.
//!
//! `hashbrown`'s table is used by hand so that a key can be looked for by a part of the item and made only when it is not there.
//! The hash is foldhash with fixed seeds, so that a simulation repeats itself. Tables that are emptied into others must not share
//! their seed: items in the order of one hash crowd the beginning of a growing table that uses the same one.

use filbert_sync::prefetch;
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::{Entry, IntoIter};
use std::any::{Any, TypeId};
use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

/// A table of more bytes is not in the cache of one processor. Where assertions are on, so in all tests, tables are large from a few groups on:
/// what is done for large ones must come to the same.
pub(super) const CACHED_BYTES: usize = if cfg!(debug_assertions) { 1 << 8 } else { 1 << 19 };

/// True for keys whose bytes are elsewhere, and which we know how to find there.
#[inline(always)]
fn holds_text<K: 'static>() -> bool {
    let key = TypeId::of::<K>();
    key == TypeId::of::<String>() || key == TypeId::of::<&'static str>() || key == TypeId::of::<Arc<str>>()
}

/// The bytes of such a key. All of this is decided when it is compiled.
#[inline(always)]
fn text_of<K: 'static>(key: &K) -> Option<&[u8]> {
    let key: &dyn Any = key;
    if let Some(text) = key.downcast_ref::<String>() {
        return Some(text.as_bytes());
    }
    if let Some(text) = key.downcast_ref::<&'static str>() {
        return Some(text.as_bytes());
    }
    key.downcast_ref::<Arc<str>>().map(|text| text.as_bytes())
}

/// Where the group of a key is looked for.
pub trait Table<K, S> {
    /// The group of `key`, which may have been hashed before; a new one if there is none.
    fn group_hashed(&mut self, key: K, hash: Option<u64>, new: impl FnOnce() -> S) -> &mut (K, S);

    /// The group of a key like `part`; a new one, with a key made of it, if there is none.
    fn group_of<Q>(&mut self, part: &Q, hash: Option<u64>, new: impl FnOnce() -> S) -> &mut (K, S)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized;
}

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

    /// What the hash of a key is taken with, for those who bring it along.
    #[inline(always)]
    pub(crate) fn hasher(&self) -> &FixedState {
        &self.hasher
    }

    /// True when a look into the table mostly misses the cache: ask with [`Groups::expect`] before.
    #[inline(always)]
    pub(crate) fn is_large(&self) -> bool {
        self.table.num_buckets() > CACHED_BYTES / size_of::<(K, S)>().max(1)
    }

    /// The group with this hash will be looked for soon.
    #[inline(always)]
    pub(crate) fn expect(&self, hash: u64) {
        if let Some(group) = self.likely(hash) {
            prefetch(group);
        }
    }

    /// Where the search for a hash begins, and mostly ends. To look whether someone is there brings the table's own notes as well.
    #[inline(always)]
    fn likely(&self, hash: u64) -> Option<&(K, S)> {
        self.table.get_bucket(hash as usize & (self.table.num_buckets() - 1))
    }

    /// The groups with these hashes are looked for next, and were expected: what their keys hold elsewhere is asked for.
    #[inline(always)]
    pub(crate) fn expect_contents(&self, hashes: impl Iterator<Item = u64>)
    where
        K: 'static,
    {
        if !holds_text::<K>() {
            return;
        }
        hashes.filter_map(|hash| text_of(&self.likely(hash)?.0)?.first()).for_each(prefetch);
    }

    /// The group of `key`; a new one if there is none.
    #[inline(always)]
    pub(crate) fn group(&mut self, key: K, new: impl FnOnce() -> S) -> &mut (K, S) {
        self.group_hashed(key, None, new)
    }

    /// So many groups more are coming.
    pub(super) fn reserve(&mut self, more: usize) {
        let Self { table, hasher } = self;
        table.reserve(more, |group| hasher.hash_one(&group.0));
    }

    /// Puts an item into the group of `key`: `first` makes a group of it, `more` adds it to one.
    #[inline(always)]
    pub(crate) fn put<V>(
        &mut self,
        key: K,
        hash: Option<u64>,
        value: V,
        first: impl FnOnce(V) -> S,
        more: impl FnOnce(&mut S, V),
    ) {
        let Self { table, hasher } = self;
        let hash = hash.unwrap_or_else(|| hasher.hash_one(&key));
        match table.entry(hash, |group| group.0 == key, |group| hasher.hash_one(&group.0)) {
            Entry::Occupied(mut group) => more(&mut group.get_mut().1, value),
            Entry::Vacant(free) => {
                free.insert((key, first(value)));
            }
        }
    }

    /// What is known of `key`, which may have been hashed before.
    #[inline(always)]
    pub(crate) fn get<Q>(&self, key: &Q, hash: Option<u64>) -> Option<&S>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let hash = hash.unwrap_or_else(|| self.hasher.hash_one(key));
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

impl<K: Hash + Eq, S> Table<K, S> for Groups<K, S> {
    #[inline(always)]
    fn group_hashed(&mut self, key: K, hash: Option<u64>, new: impl FnOnce() -> S) -> &mut (K, S) {
        let Self { table, hasher } = self;
        let hash = hash.unwrap_or_else(|| hasher.hash_one(&key));
        match table.entry(hash, |group| group.0 == key, |group| hasher.hash_one(&group.0)) {
            Entry::Occupied(group) => group.into_mut(),
            Entry::Vacant(free) => free.insert((key, new())).into_mut(),
        }
    }

    #[inline(always)]
    fn group_of<Q>(&mut self, part: &Q, hash: Option<u64>, new: impl FnOnce() -> S) -> &mut (K, S)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let Self { table, hasher } = self;
        let hash = hash.unwrap_or_else(|| hasher.hash_one(part));
        let same = |group: &(K, S)| group.0.borrow() == part;
        match table.entry(hash, same, |group| hasher.hash_one(group.0.borrow())) {
            Entry::Occupied(group) => group.into_mut(),
            Entry::Vacant(free) => free.insert((part.to_owned(), new())).into_mut(),
        }
    }
}
