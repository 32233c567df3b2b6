//! Room for a write: in the memory of the member's data, and in a map that is bounded and evicts nothing.
//!
//! Judged where an entry is written for someone, so that processors, interceptors and what a store brings are judged too. What comes back
//! from disk is not: it was let in before. A write that makes no more of the entry than there was always goes.

use super::{MapPartition, MapTurn};
use crate::error::{GridError, GridResult};
use crate::map::settings::MaxSize;
use crate::map::store::{ENTRY_OVERHEAD, Slot};
use filbert_wire::Data;

/// What writes of entries are called in errors.
const WRITE: &str = "map.put";

impl MapPartition {
    /// Refuses to give `key` a value of so many bytes when there is no room for it.
    #[inline]
    pub(super) fn check_room(&mut self, turn: &mut MapTurn<'_>, key: &Data, value: usize) -> GridResult<()> {
        let new = key.as_bytes().len() + value + ENTRY_OVERHEAD;
        if self.context.refusing_bound().is_none() && self.context.memory.has_room(new) {
            return Ok(());
        }
        match self.find(turn, key) {
            Some(slot) => self.check_room_at(slot, value),
            None => self.check_growth(1, new),
        }
    }

    /// The same for an entry after others of the same turn, which made `grown` bytes more: the account does not know of them yet.
    pub(super) fn check_room_after(
        &mut self,
        turn: &mut MapTurn<'_>,
        key: &Data,
        value: usize,
        grown: &mut usize,
    ) -> GridResult<()> {
        self.check_room(turn, key, value)?;
        let growth = match self.find(turn, key) {
            Some(slot) => value.saturating_sub(self.store.value(slot).len()),
            None => key.as_bytes().len() + value + ENTRY_OVERHEAD,
        };
        if growth > 0 {
            self.context.memory.admit(WRITE, *grown + growth)?;
        }
        *grown += growth;
        Ok(())
    }

    /// The same for another value of the entry in `slot`.
    pub(super) fn check_room_at(&self, slot: Slot, value: usize) -> GridResult<()> {
        self.check_growth(0, value.saturating_sub(self.store.value(slot).len()))
    }

    fn check_growth(&self, entries: u64, bytes: usize) -> GridResult<()> {
        if bytes == 0 {
            return Ok(());
        }
        let context = &self.context;
        let full =
            |limit, unit| GridError::MapFull { map: context.name.to_string(), limit, unit, in_part: false };
        match context.refusing_bound() {
            Some(MaxSize::Entries(most)) if entries > 0 && context.used() >= most => {
                return Err(full(most, "entries"));
            }
            Some(MaxSize::EntriesPerPartition(most)) if entries > 0 && self.store.len() as u64 >= most => {
                return Err(full(most, "entries in each partition"));
            }
            Some(MaxSize::Bytes(most)) if context.used() + bytes as u64 > most => {
                return Err(full(most, "bytes"));
            }
            _ => {}
        }
        context.memory.admit(WRITE, bytes)
    }
}
