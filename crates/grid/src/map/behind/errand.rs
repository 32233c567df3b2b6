//! What is asked of a store, on `mixed/map-store`, and brought to the strand that wants it.

use super::{Behind, MAIL_AGAIN, READ};
use crate::error::{GridError, GridResult};
use crate::invocation::Invocation;
use crate::map::operations::BringLoaded;
use crate::strands::mail_until_taken;
use filbert_pool::StageKind;
use filbert_wire::{Data, PartitionId};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// Some keys of one partition that the store is asked for.
#[derive(Debug)]
pub(crate) struct Errand {
    /// Which signal says that it is over.
    pub(crate) number: u64,
    /// What came of it, once the strand has it.
    pub(crate) brought: OnceLock<GridResult<Brought>>,
}

/// Entries that an errand found.
#[derive(Debug)]
pub(crate) struct Brought {
    /// How many of them the map has now.
    pub(crate) kept: usize,
    /// The others.
    pub(crate) unkept: Unkept,
    /// How often keys of the partition had been changed by then; see [`MapPartition::store_changes`](crate::map::partition::MapPartition).
    pub(crate) changes: u64,
}

/// Loaded values that there was no room for. Reads and removals are answered from them; whatever needs an entry is refused.
#[derive(Debug, Clone, Default)]
pub(crate) struct Unkept {
    values: HashMap<Data, Data>,
    /// Why there was no room.
    refused: Option<GridError>,
}

impl Unkept {
    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    pub(crate) fn add(&mut self, key: &Data, value: &Data, refused: GridError) {
        self.values.insert(key.clone(), value.clone());
        self.refused = Some(refused);
    }

    /// Adds what `other` has of `keys`.
    pub(crate) fn add_of<'k>(&mut self, other: &Unkept, keys: impl IntoIterator<Item = &'k Data>) {
        if other.is_empty() {
            return;
        }
        let found = keys.into_iter().filter_map(|key| Some((key.clone(), other.values.get(key)?.clone())));
        self.values.extend(found);
        self.refused.clone_from(&other.refused);
    }

    /// The value that `key` has in the store.
    pub(crate) fn get(&self, key: &Data) -> Option<&Data> {
        self.values.get(key)
    }

    /// Why there was no room.
    pub(crate) fn refused(&self) -> Option<&GridError> {
        self.refused.as_ref()
    }
}

impl Behind {
    /// Asks the store for `keys` of a partition; [`BringLoaded`] has the answer.
    pub(crate) fn ask(
        self: &Arc<Self>,
        partition: PartitionId,
        keys: Vec<Data>,
        replace: bool,
        errand: &Arc<Errand>,
    ) -> GridResult<()> {
        let (behind, errand) = (Arc::clone(self), Arc::clone(errand));
        let ask = move || {
            let loaded = behind.store().and_then(|store| match &keys[..] {
                [key] => store
                    .call(|store| store.load(key))
                    .map(|value| value.map(|value| (key.clone(), value)).into_iter().collect()),
                keys => store.call(|store| store.load_all(keys)),
            });
            let bring = BringLoaded { keys, loaded: Some(loaded), replace, errand: Some(errand) };
            if let Some(home) = behind.home.get() {
                mail_until_taken(home, partition, &behind.clock, bring, MAIL_AGAIN);
            }
        };
        self.pool.submit(READ, ask).map(|asks| asks.detach()).map_err(GridError::Refused)
    }

    /// All keys that the store has.
    pub(crate) fn all_keys(self: &Arc<Self>) -> Invocation<Vec<Data>> {
        let behind = Arc::clone(self);
        let ask = move || behind.store().and_then(|store| store.call(|store| store.load_all_keys()));
        match self.pool.submit(READ, ask) {
            Ok(later) => Invocation::later(later),
            Err(refused) => Invocation::ready(Err(GridError::Refused(refused))),
        }
    }

    /// Runs `then` with the result of `first`, on the `generic` stage.
    pub(crate) fn after<T: Send + 'static>(
        &self,
        first: Invocation<T>,
        then: impl FnOnce(T) -> Invocation<()> + Send + 'static,
    ) -> Invocation<()> {
        let (promise, later) = self.stages.promise(StageKind::Mixed, READ);
        first.on_complete(move |result| match result {
            Ok(output) => then(output).on_complete(move |result| promise.keep(result)),
            Err(error) => promise.keep(Err(error)),
        });
        Invocation::later(later)
    }
}
