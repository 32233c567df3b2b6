//! Many keys, or all of them: a part per partition, beside each other, and one result.

use super::Map;
use crate::invocation::Invocation;
use crate::map::events::MapEventKind;
use crate::map::operations::{
    Clear, Entries, EntryFilter, Everything, GetAll, Keys, Pick, PutAll, RemoveAll, Scan, Values,
};
use crate::map::partition::EntryView;
use filbert_wire::Data;
use std::sync::Arc;

pub(super) fn flat<T>(parts: Vec<Vec<T>>) -> Vec<T> {
    parts.into_iter().flatten().collect()
}

impl Map {
    /// The entries of those keys that are there, in no order.
    pub fn get_all(&self, keys: impl IntoIterator<Item = Data>) -> Invocation<Vec<(Data, Data)>> {
        self.by_key(keys, |key| key, |keys| GetAll::new(keys).within(self.allowance()), flat)
    }

    /// Gives all these keys their values. Not at one moment: readers may see some of them before the others.
    pub fn put_all(&self, entries: impl IntoIterator<Item = (Data, Data)>) -> Invocation<()> {
        let owner = self.owner;
        self.by_key(entries, |(key, _)| key, |entries| PutAll::new(entries, owner), drop)
    }

    /// The same for entries with what another map knew of them: how long they still live and, as far as this map keeps it, when they were made,
    /// used and changed.
    pub fn put_all_views(&self, entries: impl IntoIterator<Item = EntryView>) -> Invocation<()> {
        let owner = self.owner;
        self.by_key(entries, |view| &view.key, |entries| PutAll::new(entries, owner), drop)
    }

    /// All keys, in no order.
    pub fn key_set(&self) -> Invocation<Vec<Data>> {
        self.scan::<Keys, _>(Everything)
    }

    /// All values, in no order.
    pub fn values(&self) -> Invocation<Vec<Data>> {
        self.scan::<Values, _>(Everything)
    }

    /// All entries, in no order.
    pub fn entry_set(&self) -> Invocation<Vec<(Data, Data)>> {
        self.scan::<Entries, _>(Everything)
    }

    /// What `P` takes of all entries that `filter` takes: [`Keys`], [`Values`] or [`Entries`].
    pub fn scan<P: Pick, F: EntryFilter + Clone>(&self, filter: F) -> Invocation<Vec<P::Item>> {
        self.everywhere(|| Scan::<P, F>::new(filter.clone()).within(self.allowance()), flat)
    }

    /// Removes all entries whose keys are not locked.
    pub fn clear(&self) -> Invocation<()> {
        self.clear_as(MapEventKind::ClearAll)
    }

    /// Evicts all entries whose keys are not locked.
    pub fn evict_all(&self) -> Invocation<()> {
        self.clear_as(MapEventKind::EvictAll)
    }

    fn clear_as(&self, kind: MapEventKind) -> Invocation<()> {
        let context = Arc::clone(&self.structure.context);
        self.everywhere(
            move || Clear { evicts: kind == MapEventKind::EvictAll },
            move |gone| context.listeners.all_gone(kind, gone.into_iter().sum()),
        )
    }

    /// Removes all entries that `filter` takes, locked or not; how many.
    pub fn remove_all<F: EntryFilter + Clone>(&self, filter: F) -> Invocation<u64> {
        self.everywhere(|| RemoveAll::new(filter.clone()), |removed| removed.into_iter().sum())
    }
}
