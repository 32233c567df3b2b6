//! What someone asked for, through the map's interceptors. Without any these are the plain verbs; what the member does by itself,
//! expiry and eviction, uses those directly.

use super::{MapPartition, MapTurn, Tells};
use crate::error::GridResult;
use crate::map::events::MapEventKind;
use crate::map::expiry::Lifetime;
use crate::map::interceptors::Chain;
use crate::map::store::{Slot, copied};
use filbert_wire::Data;

impl MapPartition {
    /// The map's interceptors, if it has any.
    #[inline]
    pub(crate) fn interceptors(&self) -> Option<Chain> {
        self.context.interceptors.chain()
    }

    /// What a reader of `key` is given; counts as a use. Without an entry it is `unkept`: what was loaded, and there was no room for.
    #[inline]
    pub(crate) fn read(
        &mut self,
        turn: &mut MapTurn<'_>,
        key: &Data,
        unkept: Option<&Data>,
    ) -> GridResult<Option<Data>> {
        let stored = self.get(turn, key).map(copied).or_else(|| unkept.cloned());
        match self.interceptors() {
            None => Ok(stored),
            Some(chain) => {
                let given = chain.get(stored)?;
                chain.after_get(given.as_ref());
                Ok(given)
            }
        }
    }

    /// Gives `key` a value for someone; what was stored before, only when `want_old`.
    #[inline]
    pub(crate) fn write(
        &mut self,
        turn: &mut MapTurn<'_>,
        key: &Data,
        value: &Data,
        lifetime: Lifetime,
        want_old: bool,
    ) -> GridResult<Option<Data>> {
        self.check_store()?;
        self.check_room(turn, key, value.as_bytes().len())?;
        let Some(chain) = self.interceptors() else {
            let old = self.put_and_tell(turn, key, value.as_bytes(), lifetime, want_old, Tells::Store);
            self.tell_store(turn, key, Some(value.as_bytes()));
            return Ok(old);
        };
        let (old, value) = self.put_through(turn, &chain, key, value, lifetime, Tells::Store)?;
        self.tell_store(turn, key, Some(value.as_bytes()));
        Ok(old.filter(|_| want_old))
    }

    /// The same for a value that the store behind the map is not to have.
    pub(crate) fn write_here(
        &mut self,
        turn: &mut MapTurn<'_>,
        key: &Data,
        value: &Data,
        lifetime: Lifetime,
    ) -> GridResult<Option<Data>> {
        self.check_room(turn, key, value.as_bytes().len())?;
        self.forget_store(key);
        match self.interceptors() {
            None => Ok(self.put(turn, key, value.as_bytes(), lifetime, true)),
            Some(chain) => {
                self.put_through(turn, &chain, key, value, lifetime, Tells::Nobody).map(|(old, _)| old)
            }
        }
    }

    /// What was stored before, and what interceptors made of the new value.
    fn put_through(
        &mut self,
        turn: &mut MapTurn<'_>,
        chain: &Chain,
        key: &Data,
        value: &Data,
        lifetime: Lifetime,
        tells: Tells,
    ) -> GridResult<(Option<Data>, Data)> {
        let old = self.find(turn, key).map(|slot| copied(self.store.value(slot)));
        let value = chain.put(old.as_ref(), value)?;
        // An interceptor may have made it larger.
        self.check_room(turn, key, value.as_bytes().len())?;
        self.put_and_tell(turn, key, value.as_bytes(), lifetime, false, tells);
        chain.after_put(&value);
        Ok((old, value))
    }

    /// The same for the entry in `slot`, and whoever does not ask for what was before.
    pub(crate) fn write_at(&mut self, turn: &mut MapTurn<'_>, slot: Slot, value: &Data) -> GridResult<()> {
        self.check_store()?;
        self.check_room_at(slot, value.as_bytes().len())?;
        let key = self.context.behind.is_some().then(|| copied(self.store.key(slot)));
        let Some(chain) = self.interceptors() else {
            self.put_at(turn, slot, value.as_bytes(), Tells::Store);
            if let Some(key) = key {
                self.tell_store(turn, &key, Some(value.as_bytes()));
            }
            return Ok(());
        };
        let value = chain.put(Some(&copied(self.store.value(slot))), value)?;
        self.check_room_at(slot, value.as_bytes().len())?;
        self.put_at(turn, slot, value.as_bytes(), Tells::Store);
        chain.after_put(&value);
        if let Some(key) = key {
            self.tell_store(turn, &key, Some(value.as_bytes()));
        }
        Ok(())
    }

    /// Takes an entry away for someone, because of `kind`; what that one is given, only when `want_old`.
    #[inline]
    pub(crate) fn take(
        &mut self,
        turn: &mut MapTurn<'_>,
        slot: Slot,
        kind: MapEventKind,
        want_old: bool,
    ) -> GridResult<Option<Data>> {
        // What is evicted stays in the store.
        let from_store = self.context.behind.is_some() && kind == MapEventKind::Removed;
        if from_store {
            self.check_store()?;
        }
        let key = from_store.then(|| copied(self.store.key(slot)));
        let tells = if from_store { Tells::Store } else { Tells::Nobody };
        let Some(chain) = self.interceptors() else {
            let old = want_old.then(|| copied(self.store.value(slot)));
            self.remove_and_tell(turn, slot, kind, tells);
            if let Some(key) = key {
                self.tell_store(turn, &key, None);
            }
            return Ok(old);
        };
        let given = chain.remove(copied(self.store.value(slot)))?;
        self.remove_and_tell(turn, slot, kind, tells);
        chain.after_remove(&given);
        if let Some(key) = key {
            self.tell_store(turn, &key, None);
        }
        Ok(Some(given).filter(|_| want_old))
    }
}
