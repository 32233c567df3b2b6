//! Adds an index to a partition, and keeps it in step with the entries.
//!
//! The index hears of changes from the first turn on, and the entries that were there before are read in slices. An entry may be told of twice,
//! which changes nothing. Until all are in it, no query uses it.

use super::{MapTurn, Shared};
use crate::map::operations::Slice;
use crate::map::{EntryWatch, MapPartition, Slot};
use crate::operation::{Action, Operation, Step};
use crate::query::catalog::Catalog;
use crate::query::extract::Entry;
use crate::query::index::{IndexSettings, Indexes};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, MutexGuard};

/// The indexes of a partition. Shared by the partition and its watch, both on one strand: the lock is always free.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedIndexes(Arc<Mutex<Indexes<u32>>>);

impl SharedIndexes {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Indexes<u32>> {
        self.0.lock().unwrap_or_else(|broken| broken.into_inner())
    }
}

/// Tells the indexes of every change.
struct IndexWatch {
    indexes: SharedIndexes,
    catalog: Catalog,
}

impl EntryWatch for IndexWatch {
    fn changed(&mut self, slot: Slot, key: &[u8], old: Option<&[u8]>, new: Option<&[u8]>) {
        let slot = slot.number();
        let entry = |value| Entry::of_bytes(key, value, &self.catalog);
        let mut indexes = self.indexes.lock();
        match (old, new) {
            (Some(old), Some(new)) => indexes.update(&slot, &entry(old), &entry(new)),
            (None, Some(new)) => indexes.insert(&slot, &entry(new)),
            (Some(old), None) => indexes.remove(&slot, &entry(old)),
            (None, None) => {}
        }
    }

    fn cleared(&mut self) {
        self.indexes.lock().clear();
    }
}

/// The indexes of a partition; made when it has none yet.
pub(crate) fn indexes_of(map: &mut MapPartition) -> SharedIndexes {
    if let Some(indexes) = map.indexes() {
        return indexes.clone();
    }
    let indexes = SharedIndexes::default();
    let catalog = map.context().catalog.clone();
    map.watch(Box::new(IndexWatch { indexes: indexes.clone(), catalog }));
    map.set_indexes(indexes.clone());
    indexes
}

/// Adds an index; nothing to do when there is one of that name.
#[derive(Debug, Serialize, Deserialize)]
pub struct AddIndex {
    settings: Shared<IndexSettings>,
    #[serde(skip)]
    cursor: Option<u32>,
}

impl AddIndex {
    /// This one.
    pub fn new(settings: Shared<IndexSettings>) -> Self {
        Self { settings, cursor: None }
    }

    /// False when there is nothing to do.
    fn begin(&self, map: &mut MapPartition) -> bool {
        let indexes = indexes_of(map);
        let mut indexes = indexes.lock();
        // One that was begun and never finished, because its operation was lost, is read in again.
        indexes.begin((*self.settings).clone().into()) || !indexes.is_ready(self.settings.name())
    }
}

impl Operation for AddIndex {
    type Target = MapPartition;
    type Output = ();
    const NAME: &'static str = "map.add_index";
    const ACTION: Action = Action::Index;
    const SHORT: bool = false;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        let mut cursor = match self.cursor {
            Some(cursor) => cursor,
            None if self.begin(map) => 0,
            None => return Step::done(()),
        };
        let Some(indexes) = map.indexes() else { return Step::done(()) };
        let mut indexes = indexes.lock();
        let mut slice = Slice::begin(map, turn);
        let catalog = &map.context().catalog;
        while let Some(slot) = map.store().next(cursor) {
            cursor = slot.number() + 1;
            let entry = Entry::of_bytes(map.store().key(slot), map.store().value(slot), catalog);
            indexes.insert_into(self.settings.name(), &slot.number(), &entry);
            if slice.is_over(turn) {
                self.cursor = Some(cursor);
                return Step::Again;
            }
        }
        indexes.finish(self.settings.name());
        Step::done(())
    }
}

/// What indexes a partition has that queries use.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct ListIndexes;

impl Operation for ListIndexes {
    type Target = MapPartition;
    type Output = Vec<IndexSettings>;
    const NAME: &'static str = "map.indexes";
    const ACTION: Action = Action::Read;

    fn run(&mut self, map: &mut MapPartition, _: &mut MapTurn<'_>) -> Step<Self> {
        let Some(indexes) = map.indexes() else { return Step::done(Vec::new()) };
        let indexes = indexes.lock();
        let ready = indexes.settings().filter(|settings| indexes.is_ready(settings.name()));
        Step::done(ready.map(|settings| settings.as_ref().clone()).collect())
    }
}
