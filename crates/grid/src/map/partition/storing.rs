//! The partition on disk: every change is appended to the map's log where it happens, and a start puts entries back.
//!
//! What is stored is what the map holds: also entries that expired or were evicted are gone there. Not stored: locks, whose owners are gone
//! after a restart, uses of entries, statistics, and the event journal. A time to live goes on while the member is down; how long an
//! entry was idle is counted anew.

use super::statistics::EntryStats;
use super::{MapPartition, MapTurn, Tells, eviction};
use crate::error::GridError;
use crate::map::events::MapEventKind;
use crate::map::expiry::Expiry;
use crate::map::settings::EvictionPolicy;
use crate::map::store::{Slot, copied};
use filbert_store::{Change, Life};
use filbert_wire::Data;

impl MapPartition {
    /// Why no change can be made now: the map is gone, or its log cannot be written.
    #[inline]
    pub(crate) fn refuses_changes(&self) -> Option<GridError> {
        if self.context.is_destroyed() {
            return Some(GridError::Destroyed { structure: format!("map {}", self.context.name) });
        }
        let refused = self.context.log.as_ref()?.refuses()?;
        self.context.count_refused();
        Some(GridError::Store(refused))
    }

    /// Stores an entry as it is now.
    #[inline]
    pub(crate) fn store_entry(&self, turn: &mut MapTurn<'_>, slot: Slot, tells: Tells) {
        if self.context.log.is_some() {
            let life = self.expiry.get(slot).map(|expiry| expiry.life(turn.now(), turn.unix_ms()));
            let (key, value) = (self.store.key(slot), self.store.value(slot));
            let change = if self.is_untold(tells, key) {
                Change::PutUntold { key, value, life }
            } else {
                Change::Put { key, value, life }
            };
            self.store_change(turn, &change, true);
        }
    }

    /// Returns true when the store behind the map is told of a change of `key` next. From here on the mark that says so on disk stays,
    /// until the store has that change: what it has of an earlier one does not count.
    fn is_untold(&self, tells: Tells, key: &[u8]) -> bool {
        let behind = self.context.behind.as_ref().filter(|_| tells == Tells::Store);
        behind.inspect(|behind| behind.announce(&copied(key))).is_some()
    }

    /// Stores that an entry goes. When its time was over, nobody asked for that, and nobody waits: it may have been a reader who found it.
    #[inline]
    pub(super) fn store_removal(&self, turn: &mut MapTurn<'_>, slot: Slot, kind: MapEventKind, tells: Tells) {
        if self.context.log.is_some() {
            let (key, waits) = (self.store.key(slot), kind != MapEventKind::Expired);
            let is_untold = self.is_untold(tells, key);
            let change = if is_untold { Change::RemoveUntold { key } } else { Change::Remove { key } };
            self.store_change(turn, &change, waits);
        }
    }

    /// Stores that a key goes, before the entry itself does: the store behind the map is told of it next.
    pub(super) fn store_untold_removal(&self, turn: &mut MapTurn<'_>, key: &Data) {
        if self.context.log.is_some() && self.is_untold(Tells::Store, key.as_bytes()) {
            self.store_change(turn, &Change::RemoveUntold { key: key.as_bytes() }, true);
        }
    }

    /// Stores that all entries go.
    pub(super) fn store_clear(&self, turn: &mut MapTurn<'_>) {
        if !self.store.is_empty() {
            self.store_change(turn, &Change::Clear, true);
        }
    }

    fn store_change(&self, turn: &mut MapTurn<'_>, change: &Change<'_>, waits: bool) {
        let Some(log) = &self.context.log else { return };
        if let Some(pending) = log.append(self.partition.number() as u16, change)
            && waits
        {
            turn.stores(pending);
        }
    }

    /// Puts back an entry that was stored. Nobody hears of it: it was there all the time.
    pub(crate) fn restore(&mut self, turn: &MapTurn<'_>, key: &Data, value: &Data, life: Option<Life>) {
        if self.store.find(key.as_bytes()).is_some() {
            return;
        }
        let slot = self.store.insert(key.as_bytes(), value.as_bytes());
        for watch in &mut self.watches {
            watch.changed(slot, key.as_bytes(), None, Some(value.as_bytes()));
        }
        self.context.changed(1, self.store.cost(slot) as i64);
        if self.context.settings.eviction == EvictionPolicy::Lru {
            *self.store.note_mut(slot) = eviction::tick(turn.now());
        }
        if let Some(stats) = &mut self.entry_stats {
            stats.set(slot, EntryStats::new(turn.unix_ms()));
        }
        if let Some(life) = life {
            let expiry = Expiry::restored(&life, turn.now(), turn.unix_ms());
            self.expiry.set(slot, expiry);
            self.sweep_by(turn, expiry.due_ms());
        }
    }
}
