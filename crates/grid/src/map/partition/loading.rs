//! A partition and the store behind its map: what is written there, and what is asked for.

use super::{MapPartition, MapTurn};
use crate::error::GridResult;
use crate::map::behind::Errand;
use crate::map::events::MapEventKind;
use crate::map::expiry::Lifetime;
use crate::map::store::copied;
use filbert_wire::Data;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

/// What a partition has to do with the store behind its map.
#[derive(Debug, Default)]
pub(super) struct Loading {
    /// The keys that the store is asked for. A change of a key takes it out: what the store says of it is old by then.
    asked: HashMap<Data, Arc<Errand>>,
    errands: u64,
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
        let Some(behind) = &self.context.behind else { return };
        self.loading.asked.remove(key);
        let value = value.map(copied);
        if let Some(under_way) = behind.write(&key.detached(), value) {
            turn.writes(under_way);
        }
    }

    /// A key has another value that the store is not to have: what it says of the key is old.
    pub(super) fn forget_store(&mut self, key: &Data) {
        self.loading.asked.remove(key);
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
                self.tell_store(turn, &key, None);
            }
        }
    }

    /// The errand that asks the store for `key`, if there is one.
    pub(crate) fn errand_for(&self, key: &Data) -> Option<&Arc<Errand>> {
        self.loading.asked.get(key)
    }

    /// Asks the store for those of `keys` that have no entry, or with `replace` for all of them. The errand, or nothing when all is here
    /// that there will be: what is not written yet need not be asked for.
    pub(crate) fn ask_store<'k>(
        &mut self,
        turn: &mut MapTurn<'_>,
        keys: impl IntoIterator<Item = &'k Data>,
        replace: bool,
    ) -> GridResult<Option<Arc<Errand>>> {
        let Some(behind) = self.context.behind.clone() else { return Ok(None) };
        let (mut wanted, mut others) = (Vec::new(), None);
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
                    self.check_room(turn, key, value.as_bytes().len())?;
                    self.bring(turn, key, &value);
                }
                Some(None) => {}
                None => wanted.push(key.detached()),
            }
        }
        if wanted.is_empty() {
            return Ok(others);
        }
        self.loading.errands += 1;
        let errand = Arc::new(Errand { number: self.loading.errands, brought: OnceLock::new() });
        behind.ask(self.partition, wanted.clone(), replace, &errand)?;
        self.loading.asked.extend(wanted.into_iter().map(|key| (key, Arc::clone(&errand))));
        Ok(Some(errand))
    }

    /// An errand is over: `keys` were asked for, and `loaded` was found. What changed meanwhile stays as it is.
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
        let brought = loaded.and_then(|entries| {
            let mut brought = 0;
            for (key, value) in &entries {
                if fresh.contains(key) && (replace || self.find(turn, key).is_none()) {
                    self.check_room(turn, key, value.as_bytes().len())?;
                    self.bring(turn, key, value);
                    brought += 1;
                }
            }
            Ok(brought)
        });
        let _ = errand.brought.set(brought);
    }

    /// Gives `key` the value that the store has for it; listeners hear that it was loaded.
    fn bring(&mut self, turn: &mut MapTurn<'_>, key: &Data, value: &Data) {
        let slot = match self.find(turn, key) {
            Some(slot) => {
                self.update(turn, slot, value.as_bytes(), false);
                slot
            }
            None => self.add(turn, key, value.as_bytes(), MapEventKind::Loaded),
        };
        self.live_for(turn, slot, Lifetime::DEFAULT);
        self.store_entry(turn, slot);
        self.evict_excess(turn, Some(slot));
    }

    /// The store refused the last change of `key`: what the entry has is nowhere else, so it goes. One that has changed since stays.
    pub(crate) fn forget_refused(&mut self, turn: &mut MapTurn<'_>, key: &Data) {
        let newer = self.context.behind.as_ref().is_some_and(|behind| behind.unwritten(key).is_some());
        if !newer && let Some(slot) = self.find(turn, key) {
            self.remove(turn, slot, MapEventKind::Evicted);
        }
    }
}
