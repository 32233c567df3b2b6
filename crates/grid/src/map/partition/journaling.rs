//! The journal of a partition: changes of one entry are noted where they happen; here is what concerns all of them.

use super::{MapPartition, MapTurn};
use crate::map::events::MapEventKind;
use crate::map::journal::{Change, Journal};

impl MapPartition {
    pub(crate) fn journal_mut(&mut self) -> Option<&mut Journal> {
        self.journal.as_deref_mut()
    }

    /// Notes that all entries go. Of a million at most as many are copied as the journal has places: the others are lost to its readers
    /// as if they had gone first.
    pub(super) fn journal_all(&mut self, turn: &mut MapTurn<'_>, kind: MapEventKind) {
        let Some(journal) = &mut self.journal else { return };
        let mut ahead = self.store.len().saturating_sub(journal.capacity());
        journal.skip(ahead as u64);
        let mut next = 0;
        while let Some(slot) = self.store.next(next) {
            next = slot.number() + 1;
            if ahead > 0 {
                ahead -= 1;
                continue;
            }
            let (key, old_value) = (self.store.key(slot), Some(self.store.value(slot)));
            journal.add(&Change { kind, key, old_value, value: None, time_ms: turn.unix_ms() });
        }
        journal.tell(turn);
    }

    /// The map is destroyed: readers that wait learn of it, and nobody reads the rest.
    pub(crate) fn forget_journal(&mut self, turn: &mut MapTurn<'_>) {
        if let Some(mut journal) = self.journal.take() {
            journal.tell(turn);
        }
    }
}
