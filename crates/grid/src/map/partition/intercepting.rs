//! What someone asked for, through the map's interceptors. Without any these are the plain verbs; what the member does by itself,
//! expiry and eviction, uses those directly.

use super::{MapPartition, MapTurn};
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

    /// What a reader of `key` is given; counts as a use.
    #[inline]
    pub(crate) fn read(&mut self, turn: &mut MapTurn<'_>, key: &Data) -> GridResult<Option<Data>> {
        let stored = self.get(turn, key).map(copied);
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
        let Some(chain) = self.interceptors() else {
            return Ok(self.put(turn, key, value.as_bytes(), lifetime, want_old));
        };
        let old = self.find(turn, key).map(|slot| copied(self.store.value(slot)));
        let value = chain.put(old.as_ref(), value)?;
        self.put(turn, key, value.as_bytes(), lifetime, false);
        chain.after_put(&value);
        Ok(old.filter(|_| want_old))
    }

    /// The same for the entry in `slot`, and whoever does not ask for what was before.
    pub(crate) fn write_at(&mut self, turn: &mut MapTurn<'_>, slot: Slot, value: &Data) -> GridResult<()> {
        let Some(chain) = self.interceptors() else {
            self.put_at(turn, slot, value.as_bytes());
            return Ok(());
        };
        let value = chain.put(Some(&copied(self.store.value(slot))), value)?;
        self.put_at(turn, slot, value.as_bytes());
        chain.after_put(&value);
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
        let Some(chain) = self.interceptors() else {
            let old = want_old.then(|| copied(self.store.value(slot)));
            self.remove(turn, slot, kind);
            return Ok(old);
        };
        let given = chain.remove(copied(self.store.value(slot)))?;
        self.remove(turn, slot, kind);
        chain.after_remove(&given);
        Ok(Some(given).filter(|_| want_old))
    }
}
