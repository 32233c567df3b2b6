//! Indexes of a partition: from the values of attributes to the entries that have them.
//!
//! Each partition keeps its own part of every index, on the same strand as its entries: no lock, and never out of step. An entry
//! is known by the number that the store hands out, its slot.

mod bitmap;
mod plan;
mod search;
mod settings;
mod store;
mod tuple;
mod window;

pub use plan::{Plan, Residual};
pub(crate) use search::Search;
pub use settings::{BitmapOptions, IndexKind, IndexSettings, UniqueKeyTransformation};

use super::extract::Entry;
use super::predicate::Predicate;
use std::collections::BTreeSet;
use std::sync::Arc;
use store::Store;
use tuple::IndexTuple;

/// What an entry is known by in an index: a small number.
pub trait EntryId: Clone + Ord + std::hash::Hash + std::fmt::Debug {
    /// The number; it fits, as there are not more entries in a partition.
    fn number(&self) -> u32;

    /// The entry with that number.
    fn of_number(number: u32) -> Self;
}

macro_rules! entry_ids {
    ($($id:ty),*) => {$(
        impl EntryId for $id {
            fn number(&self) -> u32 {
                *self as u32
            }

            fn of_number(number: u32) -> Self {
                number as Self
            }
        }
    )*};
}

entry_ids!(u32, i32, i64, usize);

/// One index of one partition.
#[derive(Debug)]
pub(crate) struct Index<E> {
    settings: Arc<IndexSettings>,
    store: Store<E>,
    /// Entries whose Compact schema was not known when they were told of: they are not in the store.
    unread: BTreeSet<E>,
    /// All entries that were there before it have been told of.
    ready: bool,
}

impl<E: EntryId> Index<E> {
    /// Queries may use it: all entries are in it.
    fn is_usable(&self) -> bool {
        self.ready && self.unread.is_empty()
    }

    /// The keys under which the entry stands: several when a path has `[any]`, none when that leads nowhere. An attribute that cannot
    /// be read counts as null: then the entry is not found by other values, where a scan would fail. `None` when it may be read later.
    fn keys(&self, entry: &Entry<'_>) -> Option<Vec<IndexTuple>> {
        let null = || super::Extracted::One(filbert_wire::Value::Null);
        let extract = |attribute| match entry.extract(attribute) {
            Err(error) if error.is_unknown_schema() => None,
            extracted => Some(extracted.unwrap_or_else(|_| null())),
        };
        Some(match self.settings.attributes() {
            [attribute] => {
                let mut keys: Vec<_> =
                    extract(attribute)?.values().iter().cloned().map(IndexTuple::one).collect();
                keys.sort();
                keys.dedup();
                keys
            }
            attributes => {
                let values = attributes.iter().map(|attribute| Some(extract(attribute)?.values()[0].clone()));
                vec![IndexTuple::many(values.collect::<Option<Vec<_>>>()?)]
            }
        })
    }

    fn insert(&mut self, id: &E, entry: &Entry<'_>) {
        match self.keys(entry) {
            Some(keys) => {
                self.unread.remove(id);
                self.store.came(id);
                keys.into_iter().for_each(|key| self.store.insert(key, id.clone()));
            }
            None => {
                self.unread.insert(id.clone());
            }
        }
    }

    fn remove(&mut self, id: &E, entry: &Entry<'_>) {
        self.store.gone(id);
        if !self.unread.remove(id) {
            self.keys(entry).into_iter().flatten().for_each(|key| self.store.remove(&key, id));
        }
    }

    fn update(&mut self, id: &E, old: &Entry<'_>, new: &Entry<'_>) {
        if !self.unread.contains(id) {
            let (before, after) = (self.keys(old), self.keys(new));
            if before == after && after.is_some() {
                return;
            }
            before.into_iter().flatten().for_each(|key| self.store.remove(&key, id));
        }
        self.insert(id, new);
    }
}

/// All indexes of one partition.
///
/// ```
/// use filbert_grid::query::{Entry, IndexKind, IndexSettings, Indexes, Predicate};
/// use filbert_wire::{ToData, compact::NO_SCHEMAS};
///
/// let mut indexes = Indexes::default();
/// indexes.add(IndexSettings::new("people", IndexKind::Sorted, None, ["this"])?.into());
/// for number in 0..100 {
///     let data = number.to_data()?;
///     indexes.insert(&number, &Entry::new(&data, &data, NO_SCHEMAS));
/// }
/// let plan = indexes.plan(&Predicate::between("this", 3, 5)?).expect("there is an index");
/// assert_eq!(plan.candidates(&indexes), [3, 4, 5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Indexes<E> {
    all: Vec<Index<E>>,
}

impl<E> Default for Indexes<E> {
    fn default() -> Self {
        Self { all: Vec::new() }
    }
}

impl<E: EntryId> Indexes<E> {
    /// Whether there is none: then entries need not be told of.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// What indexes there are.
    pub fn settings(&self) -> impl Iterator<Item = &Arc<IndexSettings>> {
        self.all.iter().map(|index| &index.settings)
    }

    /// Adds an index while there are no entries; false when there is one of that name.
    pub fn add(&mut self, settings: Arc<IndexSettings>) -> bool {
        let name = settings.name().to_owned();
        let added = self.begin(settings);
        self.finish(&name);
        added
    }

    /// Adds an index that queries do not use until it is [finished](Indexes::finish): it hears of changes, and the entries that exist
    /// are to be [inserted](Indexes::insert_into). False when there is one of that name.
    pub fn begin(&mut self, settings: Arc<IndexSettings>) -> bool {
        if self.settings().any(|known| known.name() == settings.name()) {
            return false;
        }
        let store = Store::new(settings.kind());
        self.all.push(Index { settings, store, unread: BTreeSet::new(), ready: false });
        true
    }

    /// All entries are in the index of that name.
    pub fn finish(&mut self, name: &str) {
        for index in self.all.iter_mut().filter(|index| index.settings.name() == name) {
            index.ready = true;
        }
    }

    /// Whether queries may use the index of that name.
    pub fn is_ready(&self, name: &str) -> bool {
        self.all.iter().any(|index| index.ready && index.settings.name() == name)
    }

    /// Takes an index away; false when there is none of that name.
    pub fn drop_index(&mut self, name: &str) -> bool {
        let before = self.all.len();
        self.all.retain(|index| index.settings.name() != name);
        self.all.len() < before
    }

    /// An entry is there.
    pub fn insert(&mut self, id: &E, entry: &Entry<'_>) {
        self.all.iter_mut().for_each(|index| index.insert(id, entry));
    }

    /// An entry that was there before the index of that name is.
    pub fn insert_into(&mut self, name: &str, id: &E, entry: &Entry<'_>) {
        for index in self.all.iter_mut().filter(|index| index.settings.name() == name) {
            index.insert(id, entry);
        }
    }

    /// An entry is not there any more; `entry` is as it was.
    pub fn remove(&mut self, id: &E, entry: &Entry<'_>) {
        self.all.iter_mut().for_each(|index| index.remove(id, entry));
    }

    /// An entry has changed.
    pub fn update(&mut self, id: &E, old: &Entry<'_>, new: &Entry<'_>) {
        self.all.iter_mut().for_each(|index| index.update(id, old, new));
    }

    /// Looks again at the entries whose Compact schema was not known when they were told of; until it is, no query uses the index.
    pub fn read_again<'e>(&mut self, entry: impl Fn(&E) -> Option<Entry<'e>>) {
        for index in &mut self.all {
            for id in std::mem::take(&mut index.unread) {
                if let Some(entry) = entry(&id) {
                    index.insert(&id, &entry);
                }
            }
        }
    }

    /// All entries are gone; the indexes stay.
    pub fn clear(&mut self) {
        for index in &mut self.all {
            index.store = Store::new(index.settings.kind());
            index.unread.clear();
        }
    }

    /// How the entries of a predicate are found by these indexes; `None` when all entries must be looked at.
    pub fn plan(&self, predicate: &Predicate) -> Option<Plan<'_>> {
        plan::plan(self, predicate)
    }
}

#[cfg(test)]
mod tests;
