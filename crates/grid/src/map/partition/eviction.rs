//! Room for new entries: of a few entries taken at random, the one that was used least recently, or least often, goes.
//!
//! Sampling instead of an exact order: no list to keep on every read, and with 15 of them the one that goes is nearly always among the
//! oldest tenth. Locked entries stay, and so does the one just written.

use super::{MapPartition, MapTurn};
use crate::map::events::MapEventKind;
use crate::map::settings::{EvictionPolicy, MaxSize};
use crate::map::store::{Slot, copied};
use std::time::Duration;

/// Entries that are compared.
const SAMPLE: usize = 15;

/// Slots that are looked at to find them; free ones among them.
const LOOKS: usize = 60;

/// Entries that go for one that comes or grows, at most; the next write goes on.
const ROUNDS: usize = 64;

/// The time as an entry's note: units of 16 ms, which lasts two years.
pub(super) fn tick(now: Duration) -> u32 {
    u32::try_from(now.as_millis() / 16).unwrap_or(u32::MAX)
}

impl MapPartition {
    /// Evicts until the map is within its bound, or this partition has nothing to give.
    pub(crate) fn evict_excess(&mut self, turn: &mut MapTurn<'_>, keep: Option<Slot>) {
        if self.context.bound().is_none() {
            return;
        }
        for _ in 0..ROUNDS {
            let share = match self.context.bound() {
                Some(MaxSize::EntriesPerPartition(_)) => self.store.len(),
                _ => 0,
            };
            if self.context.excess(share) == 0 {
                return;
            }
            let Some(victim) = self.choose_victim(turn, keep) else { return };
            self.remove(turn, victim, MapEventKind::Evicted);
        }
    }

    fn choose_victim(&self, turn: &MapTurn<'_>, keep: Option<Slot>) -> Option<Slot> {
        let end = self.store.end();
        if end == 0 {
            return None;
        }
        let (mut best, mut compared): (Option<(u32, Slot)>, usize) = (None, 0);
        let end = end as usize;
        let small = end <= LOOKS;
        let start = turn.clock().random_below(end);
        for look in 0..LOOKS.min(end) {
            // Few slots: all of them, so that the bound holds where there is anything to give.
            let number = if small { (start + look) % end } else { turn.clock().random_below(end) };
            let Some(slot) = self.store.at(number as u32) else { continue };
            if Some(slot) == keep || self.is_locked_entry(slot) {
                continue;
            }
            compared += 1;
            let note = self.store.note(slot);
            let random = self.context.settings.eviction == EvictionPolicy::Random;
            if best.is_none_or(|(known, _)| note < known && !random) {
                best = Some((note, slot));
            }
            if compared == SAMPLE && !small {
                break;
            }
        }
        best.map(|(_, slot)| slot)
    }

    pub(super) fn is_locked_entry(&self, slot: Slot) -> bool {
        !self.locks.is_empty() && self.locks.owner(&copied(self.store.key(slot))).is_some()
    }
}
