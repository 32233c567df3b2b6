//! Indexes of a partition: from the values of attributes to the entries that have them.
//!
//! Each partition keeps its own part of every index, on the same strand as its entries: no lock, and never out of step. An entry
//! is known by whatever the store hands out, a slot or a key.

mod plan;
mod settings;
mod store;
mod tuple;

pub use plan::{Plan, Residual};
pub use settings::{IndexKind, IndexSettings};

use super::extract::Entry;
use super::predicate::Predicate;
use std::sync::Arc;
use store::Store;
use tuple::IndexTuple;

/// What an entry is known by in an index.
pub trait EntryId: Clone + Ord + std::hash::Hash + std::fmt::Debug {}

impl<T: Clone + Ord + std::hash::Hash + std::fmt::Debug> EntryId for T {}

/// One index of one partition.
#[derive(Debug)]
pub(crate) struct Index<E> {
    settings: Arc<IndexSettings>,
    store: Store<E>,
    /// All entries are in it: queries may use it.
    ready: bool,
}

impl<E: EntryId> Index<E> {
    /// The keys under which the entry stands: several when a path has `[any]`, none when that leads nowhere. An attribute that cannot
    /// be read counts as null: then the entry is not found by other values, where a scan would fail.
    fn keys(&self, entry: &Entry<'_>) -> Vec<IndexTuple> {
        let null = || super::Extracted::One(filbert_wire::Value::Null);
        let extract = |attribute| entry.extract(attribute).unwrap_or_else(|_| null());
        match self.settings.attributes() {
            [attribute] => {
                let mut keys: Vec<_> =
                    extract(attribute).values().iter().cloned().map(IndexTuple::one).collect();
                keys.sort();
                keys.dedup();
                keys
            }
            attributes => {
                let values = attributes.iter().map(|attribute| extract(attribute).values()[0].clone());
                vec![IndexTuple::many(values)]
            }
        }
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
        self.all.push(Index { settings, store, ready: false });
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
        for index in &mut self.all {
            for key in index.keys(entry) {
                index.store.insert(key, id.clone());
            }
        }
    }

    /// An entry that was there before the index of that name is.
    pub fn insert_into(&mut self, name: &str, id: &E, entry: &Entry<'_>) {
        for index in self.all.iter_mut().filter(|index| index.settings.name() == name) {
            for key in index.keys(entry) {
                index.store.insert(key, id.clone());
            }
        }
    }

    /// An entry is not there any more; `entry` is as it was.
    pub fn remove(&mut self, id: &E, entry: &Entry<'_>) {
        for index in &mut self.all {
            for key in index.keys(entry) {
                index.store.remove(&key, id);
            }
        }
    }

    /// An entry has changed.
    pub fn update(&mut self, id: &E, old: &Entry<'_>, new: &Entry<'_>) {
        for index in &mut self.all {
            let (before, after) = (index.keys(old), index.keys(new));
            if before == after {
                continue;
            }
            for key in before {
                index.store.remove(&key, id);
            }
            for key in after {
                index.store.insert(key, id.clone());
            }
        }
    }

    /// All entries are gone; the indexes stay.
    pub fn clear(&mut self) {
        for index in &mut self.all {
            index.store = Store::new(index.settings.kind());
        }
    }

    /// How the entries of a predicate are found by these indexes; `None` when all entries must be looked at.
    pub fn plan(&self, predicate: &Predicate) -> Option<Plan> {
        plan::plan(self, predicate)
    }
}

#[cfg(test)]
mod tests;
