//! A partition and the store behind its map: what is written there, and what is asked for.

use super::{MapPartition, MapTurn, Tells};
use crate::error::GridResult;
use crate::map::behind::{Brought, Errand, Unkept};
use crate::map::events::MapEventKind;
use crate::map::expiry::Lifetime;
use crate::map::store::{Slot, copied};
use filbert_wire::Data;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

/// What a partition has to do with the store behind its map.
#[derive(Debug, Default)]
pub(super) struct Loading {
    /// The keys that the store is asked for. A change of a key takes it out: what the store says of it is old by then.
    asked: HashMap<Data, Arc<Errand>>,
    errands: u64,
    /// Changes of keys so far, as far as there is a store.
    changes: u64,
}

/// What was asked of the store, and what was known already.
#[derive(Debug, Default)]
pub(crate) struct AskedOfStore {
    /// What asks for the others; `None` when all is here that there will be.
    pub(crate) errand: Option<Arc<Errand>>,
    /// Values that are not written yet, and that there is no room for.
    pub(crate) unkept: Unkept,
}

impl MapPartition {
    /// Refuses a change when too many wait for the store.
    #[inline]
    pub(super) fn check_store(&self) -> GridResult<()> {
        self.context.behind.as_ref().map_or(Ok(()), |behind| behind.check_room())
    }

    /// Someone has changed `key`: the store is to have the value, or none.
    #[inline]
    pub(super) fn tell_store(&mut self, turn: &mut MapTurn<'_>, key: &Data, value: Option<&[u8]>) {
        if self.context.behind.is_none() {
            return;
        }
        self.forget_store(key);
        let Some(behind) = &self.context.behind else { return };
        let value = value.map(copied);
        if let Some(under_way) = behind.write(&key.detached(), value) {
            turn.writes(under_way);
        }
    }

    /// A key has another value that the store is not to have: what it says of the key is old.
    pub(super) fn forget_store(&mut self, key: &Data) {
        self.loading.changes += 1;
        self.loading.asked.remove(key);
    }

    /// How often keys were changed. While it is the same, what the store said of a key is not old.
    pub(crate) fn store_changes(&self) -> u64 {
        self.loading.changes
    }

    /// All entries whose keys nobody has locked are to go from the store too.
    pub(crate) fn clear_store(&mut self, turn: &mut MapTurn<'_>) {
        if self.context.behind.is_none() {
            return;
        }
        let mut next = 0;
        while let Some(slot) = self.store.next(next) {
            next = slot.number() + 1;
            let key = copied(self.store.key(slot));
            if self.locks.owner(&key).is_none() {
                self.store_untold_removal(turn, &key);
                self.tell_store(turn, &key, None);
            }
        }
    }

    /// The errand that asks the store for `key`, if there is one.
    pub(crate) fn errand_for(&self, key: &Data) -> Option<&Arc<Errand>> {
        self.loading.asked.get(key)
    }

    /// Asks the store for those of `keys` that have no entry, or with `replace` for all of them. What is not written yet need not be asked
    /// for.
    pub(crate) fn ask_store<'k>(
        &mut self,
        turn: &mut MapTurn<'_>,
        keys: impl IntoIterator<Item = &'k Data>,
        replace: bool,
    ) -> GridResult<AskedOfStore> {
        let Some(behind) = self.context.behind.clone() else { return Ok(AskedOfStore::default()) };
        let (mut wanted, mut others) = (Vec::new(), None);
        let (mut unkept, mut grown) = (Unkept::default(), 0);
        for key in keys {
            if !replace && self.find(turn, key).is_some() {
                continue;
            }
            if let Some(other) = self.loading.asked.get(key) {
                others = Some(Arc::clone(other));
                continue;
            }
            match behind.unwritten(key) {
                Some(Some(value)) => {
                    match self.check_room_after(turn, key, value.as_bytes().len(), &mut grown) {
                        Ok(()) => drop(self.bring(turn, key, &value)),
                        Err(refused) => unkept.add(key, &value, refused),
                    }
                }
                Some(None) => {}
                None => wanted.push(key.detached()),
            }
        }
        if wanted.is_empty() {
            return Ok(AskedOfStore { errand: others, unkept });
        }
        self.loading.errands += 1;
        let errand = Arc::new(Errand { number: self.loading.errands, brought: OnceLock::new() });
        behind.ask(self.partition, wanted.clone(), replace, &errand)?;
        self.loading.asked.extend(wanted.into_iter().map(|key| (key, Arc::clone(&errand))));
        Ok(AskedOfStore { errand: Some(errand), unkept })
    }

    /// An errand is over: `keys` were asked for, and `loaded` was found. What changed meanwhile stays as it is, and what there is no room
    /// for is left with the errand, for whoever only wants to read or remove it.
    pub(crate) fn end_errand(
        &mut self,
        turn: &mut MapTurn<'_>,
        errand: &Arc<Errand>,
        keys: &[Data],
        loaded: GridResult<Vec<(Data, Data)>>,
        replace: bool,
    ) {
        let fresh: HashSet<&Data> = keys
            .iter()
            .filter(|key| {
                let ours = self.loading.asked.get(*key).is_some_and(|known| Arc::ptr_eq(known, errand));
                ours && self.loading.asked.remove(*key).is_some()
            })
            .collect();
        let brought = loaded.map(|entries| {
            let (mut kept, mut grown, mut unkept) = (0, 0, Unkept::default());
            for (key, value) in &entries {
                if !fresh.contains(key) || (!replace && self.find(turn, key).is_some()) {
                    continue;
                }
                match self.check_room_after(turn, key, value.as_bytes().len(), &mut grown) {
                    Ok(()) => {
                        self.bring(turn, key, value);
                        kept += 1;
                    }
                    Err(refused) => unkept.add(key, value, refused),
                }
            }
            Brought { kept, unkept, changes: self.loading.changes }
        });
        let _ = errand.brought.set(brought);
    }

    /// Gives `key` the value that the store has for it; listeners hear that it was loaded.
    fn bring(&mut self, turn: &mut MapTurn<'_>, key: &Data, value: &Data) -> Slot {
        let slot = match self.find(turn, key) {
            Some(slot) => {
                self.update(turn, slot, value.as_bytes(), false);
                slot
            }
            None => self.add(turn, key, value.as_bytes(), MapEventKind::Loaded),
        };
        self.live_for(turn, slot, Lifetime::DEFAULT);
        self.store_entry(turn, slot, Tells::Nobody);
        self.evict_excess(turn, Some(slot));
        slot
    }

    /// Removes a key whose loaded value there was no room for: it has an entry for a moment, so that everyone hears of both.
    pub(crate) fn take_unkept(
        &mut self,
        turn: &mut MapTurn<'_>,
        key: &Data,
        value: &Data,
        want_old: bool,
    ) -> GridResult<Option<Data>> {
        let slot = self.bring(turn, key, value);
        let taken = self.take(turn, slot, MapEventKind::Removed, want_old);
        if taken.is_err()
            && let Some(slot) = self.find(turn, key)
        {
            self.remove(turn, slot, MapEventKind::Evicted);
        }
        taken
    }

    /// The store refused the last change of `key`: what the entry has is nowhere else, so it goes. One that has changed since stays.
    pub(crate) fn forget_refused(&mut self, turn: &mut MapTurn<'_>, key: &Data) {
        let newer = self.context.behind.as_ref().is_some_and(|behind| behind.unwritten(key).is_some());
        if !newer && let Some(slot) = self.find(turn, key) {
            self.remove(turn, slot, MapEventKind::Evicted);
        }
        if let Some(behind) = &self.context.behind {
            behind.settle(std::iter::once(key));
        }
    }
}
