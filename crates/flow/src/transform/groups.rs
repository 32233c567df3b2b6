//! A table from keys to what is known of them: one hash per item, and a key is kept only when it is new.
//!
//! `hashbrown`'s table is used by hand so that a key can be looked for by a part of the item and made only when it is not there.
//! The hash is foldhash with fixed seeds, so that a simulation repeats itself. Tables that are emptied into others must not share
//! their seed: items in the order of one hash crowd the beginning of a growing table that uses the same one.
//!
//! Beside keys that are text there is a [`Label`]. What a table's entry is made of depends on the type of its keys, so there are two
//! tables, and one of them is always empty: which one is decided when it is compiled.

use super::label::{Label, Mark, holds_text, unsaid};
use super::owned_bytes;
use filbert_sync::{prefetch, prefetch_at};
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use hashbrown::hash_table::{Entry, IntoIter, OccupiedEntry};
use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

/// A table of more bytes is not in the cache of one processor. Where assertions are on, so in all tests, tables are large from a few groups on:
/// what is done for large ones must come to the same.
pub(super) const CACHED_BYTES: usize = if cfg!(debug_assertions) { 1 << 8 } else { 1 << 19 };

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
    plain: HashTable<Marked<(), K, S>>,
    texts: HashTable<Marked<Label, K, S>>,
    hasher: FixedState,
    /// Where the entries of the table end and its notes begin, as an address, since the last new group.
    notes: usize,
    /// What its keys own.
    owned: usize,
}

/// A group, and what tells its key from others.
type Marked<M, K, S> = (M, (K, S));

/// Does something with the table that is in use.
macro_rules! with_table {
    (&$self:ident, $table:ident => $act:expr) => {
        if holds_text::<K>() {
            let $table = &$self.texts;
            $act
        } else {
            let $table = &$self.plain;
            $act
        }
    };
    (&mut $self:ident, ($table:ident, $hasher:ident) => $act:expr) => {{
        let $hasher = &$self.hasher;
        if holds_text::<K>() {
            let $table = &mut $self.texts;
            $act
        } else {
            let $table = &mut $self.plain;
            $act
        }
    }};
}

impl<K: Hash + Eq + 'static, S> Groups<K, S> {
    /// An empty table; `seed` differs from that of the tables which are emptied into it.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            plain: HashTable::new(),
            texts: HashTable::new(),
            hasher: FixedState::with_seed(seed),
            notes: 0,
            owned: 0,
        }
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        with_table!(&self, table => table.len())
    }

    /// Returns what the table takes with its keys, in bytes, about.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        with_table!(&self, table => table.capacity() * (entry_size(table) + 1)) + self.owned
    }

    /// What the hash of a key is taken with, for those who bring it along.
    #[inline(always)]
    pub(crate) fn hasher(&self) -> &FixedState {
        &self.hasher
    }

    /// True when a look into the table mostly misses the cache: ask with [`Groups::expect`] before.
    #[inline(always)]
    pub(crate) fn is_large(&self) -> bool {
        with_table!(&self, table => is_large(table))
    }

    /// The group with this hash will be looked for soon.
    #[inline(always)]
    pub(crate) fn expect(&self, hash: u64) {
        with_table!(&self, table => {
            let number = likely_number(table, hash);
            let place = place_of(table, self.notes, number);
            prefetch_at(self.notes.wrapping_add(number));
            // The first and the last of it may be in two lines.
            prefetch_at(place);
            prefetch_at(place.wrapping_add(entry_size(table) - 1));
        });
    }

    /// The group with this hash is looked for next, and was expected: what its key holds elsewhere is asked for, if that will be needed.
    #[inline(always)]
    pub(crate) fn expect_contents(&self, hash: Option<u64>) {
        if !holds_text::<K>() {
            return;
        }
        let contents =
            hash.and_then(|hash| unsaid(&self.texts.get_bucket(likely_number(&self.texts, hash))?.1.0));
        contents.into_iter().for_each(prefetch);
    }

    /// The group of `key`; a new one if there is none.
    #[inline(always)]
    pub(crate) fn group(&mut self, key: K, new: impl FnOnce() -> S) -> &mut (K, S) {
        self.group_hashed(key, None, new)
    }

    /// So many groups more are coming.
    pub(super) fn reserve(&mut self, more: usize) {
        with_table!(&mut self, (table, hasher) => table.reserve(more, |(_, group)| hasher.hash_one(&group.0)));
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
        with_table!(&mut self, (table, hasher) => {
            let (mark, entry) = enter(table, hasher, &key, hash);
            match entry {
                Entry::Occupied(mut group) => more(&mut group.get_mut().1.1, value),
                Entry::Vacant(free) => {
                    self.owned += owned_bytes(&key);
                    self.notes = settled(free.insert((mark, (key, first(value))))).0;
                }
            }
        });
    }

    /// What is known of `key`, which may have been hashed before.
    #[inline(always)]
    pub(crate) fn get(&self, key: &K, hash: Option<u64>) -> Option<&S> {
        let hash = hash.unwrap_or_else(|| self.hasher.hash_one(key));
        with_table!(&self, table => table.find(hash, |group| Mark::is_of(group, key)).map(|(_, group)| &group.1))
    }

    /// As [`Groups::get`], to change it.
    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut S> {
        with_table!(&mut self, (table, hasher) => {
            table.find_mut(hasher.hash_one(key), |group| Mark::is_of(group, key)).map(|(_, group)| &mut group.1)
        })
    }

    /// Forgets a key.
    pub(crate) fn remove(&mut self, key: &K) {
        with_table!(&mut self, (table, hasher) => {
            if let Ok(group) = table.find_entry(hasher.hash_one(key), |group| Mark::is_of(group, key)) {
                group.remove();
                self.owned = self.owned.saturating_sub(owned_bytes(key));
            }
        });
    }

    pub(crate) fn clear(&mut self) {
        self.plain.clear();
        self.texts.clear();
        self.owned = 0;
    }

    /// Takes all groups, in no particular order; the table is empty then.
    pub(crate) fn drain(&mut self) -> Drained<K, S> {
        let (plain, texts) = (std::mem::take(&mut self.plain), std::mem::take(&mut self.texts));
        self.owned = 0;
        Drained { plain: plain.into_iter(), texts: texts.into_iter() }
    }
}

/// See [`Groups::is_large`]. Never true of an empty table, which says that it has one place: whoever has items that wait has groups.
#[inline(always)]
fn is_large<T>(table: &HashTable<T>) -> bool {
    table.num_buckets() > (CACHED_BYTES / size_of::<T>().max(1)).max(1)
}

/// The number of the entry where the search for a hash begins, and mostly ends.
#[inline(always)]
fn likely_number<T>(table: &HashTable<T>, hash: u64) -> usize {
    hash as usize & (table.num_buckets() - 1)
}

#[inline(always)]
fn entry_size<T>(_: &HashTable<T>) -> usize {
    size_of::<T>().max(1)
}

/// The address of an entry: they lie before the notes, the first one last. To ask the table for it would be a look at the notes, which is what
/// costs. If `hashbrown` had it another way, something else would be asked for in vain; a test would say so.
#[inline(always)]
fn place_of<T>(table: &HashTable<T>, notes: usize, number: usize) -> usize {
    notes.wrapping_sub((number + 1).wrapping_mul(entry_size(table)))
}

/// A new entry, and where the notes of its table are.
#[inline(always)]
fn settled<T>(entry: OccupiedEntry<'_, T>) -> (usize, &mut T) {
    let number = entry.bucket_index();
    let entry = entry.into_mut();
    (std::ptr::from_ref(entry).addr() + (number + 1) * size_of::<T>(), entry)
}

/// Where a key is or will be, and its mark.
#[inline(always)]
fn enter<'t, M: Mark<K>, K: Hash, S>(
    table: &'t mut HashTable<Marked<M, K, S>>,
    hasher: &FixedState,
    key: &K,
    hash: Option<u64>,
) -> (M, Entry<'t, Marked<M, K, S>>) {
    let hash = hash.unwrap_or_else(|| hasher.hash_one(key));
    let mark = M::of(key);
    (mark, table.entry(hash, |group| mark.is_same(key, group), |(_, group)| hasher.hash_one(&group.0)))
}

impl<K: Hash + Eq + 'static, S> Table<K, S> for Groups<K, S> {
    #[inline(always)]
    fn group_hashed(&mut self, key: K, hash: Option<u64>, new: impl FnOnce() -> S) -> &mut (K, S) {
        with_table!(&mut self, (table, hasher) => {
            let (mark, entry) = enter(table, hasher, &key, hash);
            match entry {
                Entry::Occupied(group) => &mut group.into_mut().1,
                Entry::Vacant(free) => {
                    self.owned += owned_bytes(&key);
                    let (notes, entry) = settled(free.insert((mark, (key, new()))));
                    self.notes = notes;
                    &mut entry.1
                }
            }
        })
    }

    #[inline(always)]
    fn group_of<Q>(&mut self, part: &Q, hash: Option<u64>, new: impl FnOnce() -> S) -> &mut (K, S)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        with_table!(&mut self, (table, hasher) => {
            let hash = hash.unwrap_or_else(|| hasher.hash_one(part));
            let is_same = |(_, group): &Marked<_, K, S>| group.0.borrow() == part;
            match table.entry(hash, is_same, |(_, group)| hasher.hash_one(group.0.borrow())) {
                Entry::Occupied(group) => &mut group.into_mut().1,
                Entry::Vacant(free) => {
                    let key = part.to_owned();
                    self.owned += owned_bytes(&key);
                    let (notes, entry) = settled(free.insert((Mark::of(&key), (key, new()))));
                    self.notes = notes;
                    &mut entry.1
                }
            }
        })
    }
}

/// The groups of a table that is no more.
pub(crate) struct Drained<K, S> {
    plain: IntoIter<Marked<(), K, S>>,
    texts: IntoIter<Marked<Label, K, S>>,
}

impl<K: 'static, S> Drained<K, S> {
    /// Returns what is left of the table, in bytes, about.
    pub(crate) fn bytes(&self) -> usize {
        (self.plain.len() + self.texts.len()) * size_of::<(K, S)>()
    }
}

impl<K: 'static, S> Iterator for Drained<K, S> {
    type Item = (K, S);

    #[inline(always)]
    fn next(&mut self) -> Option<(K, S)> {
        if holds_text::<K>() {
            self.texts.next().map(|(_, group)| group)
        } else {
            self.plain.next().map(|(_, group)| group)
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        if holds_text::<K>() { self.texts.size_hint() } else { self.plain.size_hint() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_where_they_are_expected() {
        let mut groups = Groups::<String, u8>::new(7);
        for number in 0..5_000 {
            groups.group(number.to_string(), || 1).1 += 1;
        }
        let mut found = 0;
        for number in 0..groups.texts.num_buckets() {
            let Some(entry) = groups.texts.get_bucket(number) else { continue };
            assert_eq!(std::ptr::from_ref(entry).addr(), place_of(&groups.texts, groups.notes, number));
            found += 1;
        }
        assert_eq!(found, 5_000);
    }
}
