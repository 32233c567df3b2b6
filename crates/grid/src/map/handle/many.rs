//! Many keys, or all of them: a part per partition, beside each other, and one result.

use super::{CLEARED_AGAIN, Map};
use crate::invocation::Invocation;
use crate::map::events::MapEventKind;
use crate::map::near_cache::NearCache;
use crate::map::operations::{
    Clear, Entries, EntryFilter, Everything, GetAll, Keys, Pick, PutAll, RemoveAll, Scan, TellCleared, Values,
};
use crate::map::partition::{EntryView, MapPartition};
use crate::strands::{Strands, mail_until_taken};
use filbert_wire::Data;
use std::sync::Arc;
use uuid::Uuid;

/// Tells near caches that all entries went, once it is dropped: when all partitions were cleared, or when one refused it and others were.
pub(super) struct TellsCleared {
    pub(super) strands: Arc<Strands<MapPartition>>,
    pub(super) near: Arc<NearCache>,
    /// The client that cleared the map; `None` for the member.
    pub(super) source: Option<Uuid>,
}

impl Drop for TellsCleared {
    fn drop(&mut self) {
        if !self.near.is_kept() {
            return;
        }
        let (home, clock) = (Arc::downgrade(&self.strands), self.strands.stages().clock());
        let told = TellCleared { source: self.source };
        mail_until_taken(&home, self.near.partition(), &clock, told, CLEARED_AGAIN);
    }
}

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
        let told = TellsCleared {
            strands: Arc::clone(self.strands()),
            near: Arc::clone(&context.near),
            source: Some(self.owner.id),
        };
        self.everywhere(
            move || Clear { evicts: kind == MapEventKind::EvictAll },
            move |gone| {
                context.listeners.all_gone(kind, gone.into_iter().sum());
                drop(told);
            },
        )
    }

    /// Removes all entries that `filter` takes, locked or not; how many.
    pub fn remove_all<F: EntryFilter + Clone>(&self, filter: F) -> Invocation<u64> {
        self.everywhere(|| RemoveAll::new(filter.clone()), |removed| removed.into_iter().sum())
    }
}
