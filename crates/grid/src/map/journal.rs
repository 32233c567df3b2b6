//! The journal of a map: the last changes of every partition, in their order, for readers that come later.
//!
//! A listener hears of a change when it happens or not at all. A reader of the journal asks for what happened from some sequence on
//! ([`ReadJournal`](super::operations::ReadJournal)): it may come late, stop, and go on where it was. What bounds the journal is its
//! capacity: when it is full the oldest change goes, and a reader that was not there yet learns how many it has missed.
//!
//! One ring per partition, on the partition's strand: nothing is locked. A map without a journal pays one branch per change.
//! Rejected: the `event` stage as the way to readers. It drops under load without saying where, and its order is per key.

use super::events::MapEventKind;
use super::settings::JournalSettings;
use crate::map::partition::MapSignal;
use crate::map::store::copied;
use crate::operation::Turn;
use filbert_wire::{Data, PARTITION_COUNT};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// One change of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalEvent {
    /// Its number among the changes of its partition, from 0 on without gaps.
    pub sequence: u64,
    /// Added, updated, removed, evicted or expired.
    pub kind: MapEventKind,
    /// Of which key.
    pub key: Data,
    /// The value before it.
    pub old_value: Option<Data>,
    /// The value after it.
    pub value: Option<Data>,
    /// When it happened: calendar time, in milliseconds since 1970.
    pub time_ms: u64,
}

/// Some changes of a partition, and where to go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalPage {
    /// The changes, in their order.
    pub events: Vec<JournalEvent>,
    /// The sequence of the next one: where to go on.
    pub next: u64,
    /// How many changes between what was asked for and the first of these are not in the journal any more.
    pub lost: u64,
    /// How many more there were behind these.
    pub behind: u64,
}

/// What the journal of a partition has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalSpan {
    /// The sequence of the oldest change that is there; `next` when there is none.
    pub oldest: u64,
    /// The sequence that the next change will have.
    pub next: u64,
}

/// What an event takes beside its bytes.
const EVENT_OVERHEAD: usize = std::mem::size_of::<JournalEvent>() + 3 * 24;

/// The journal of one partition.
#[derive(Debug)]
pub(crate) struct Journal {
    events: VecDeque<JournalEvent>,
    /// The sequence of the next event.
    next: u64,
    /// What the events take.
    bytes: usize,
    capacity: usize,
    max_bytes: usize,
    /// A reader waits for the next event.
    is_awaited: bool,
}

/// An entry's change, before it has a number.
pub(crate) struct Change<'a> {
    pub(crate) kind: MapEventKind,
    pub(crate) key: &'a [u8],
    pub(crate) old_value: Option<&'a [u8]>,
    pub(crate) value: Option<&'a [u8]>,
    pub(crate) time_ms: u64,
}

impl Journal {
    /// One partition's share.
    pub(crate) fn new(settings: &JournalSettings) -> Self {
        let share =
            |whole: u64| usize::try_from(whole.div_ceil(u64::from(PARTITION_COUNT))).unwrap_or(usize::MAX);
        Self {
            events: VecDeque::new(),
            next: 0,
            bytes: 0,
            capacity: share(settings.capacity).max(1),
            max_bytes: share(settings.max_bytes).max(1),
            is_awaited: false,
        }
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Notes a change.
    pub(crate) fn add(&mut self, change: &Change<'_>) {
        let event = JournalEvent {
            sequence: self.next,
            kind: change.kind,
            key: copied(change.key),
            old_value: change.old_value.map(copied),
            value: change.value.map(copied),
            time_ms: change.time_ms,
        };
        self.next += 1;
        self.bytes += cost(&event);
        if self.events.len() >= self.capacity {
            self.forget_oldest();
        }
        self.events.push_back(event);
        // The newest stays, however large it is.
        while self.bytes > self.max_bytes && self.events.len() > 1 {
            self.forget_oldest();
        }
    }

    /// Counts changes that would not stay: as many as there is room for follow at once.
    pub(crate) fn skip(&mut self, changes: u64) {
        if changes > 0 {
            self.events.clear();
            self.bytes = 0;
            self.next += changes;
        }
    }

    fn forget_oldest(&mut self) {
        if let Some(oldest) = self.events.pop_front() {
            self.bytes -= cost(&oldest);
        }
    }

    /// Whoever waits for an event gets another try.
    pub(crate) fn tell(&mut self, turn: &mut Turn<'_, crate::map::MapPartition>) {
        if std::mem::take(&mut self.is_awaited) {
            turn.happened(MapSignal::Journal);
        }
    }

    pub(crate) fn awaited(&mut self) {
        self.is_awaited = true;
    }

    pub(crate) fn span(&self) -> JournalSpan {
        JournalSpan { oldest: self.next - self.events.len() as u64, next: self.next }
    }

    /// The event of that sequence, if it is there.
    pub(crate) fn get(&self, sequence: u64) -> Option<&JournalEvent> {
        let place = sequence.checked_sub(self.span().oldest)?;
        self.events.get(usize::try_from(place).ok()?)
    }

    /// What it keeps, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The events from `from` on, so many at most; none when there is nothing yet.
    pub(crate) fn read(&self, from: u64, most: usize, most_bytes: usize) -> Option<JournalPage> {
        let JournalSpan { oldest, next } = self.span();
        if from >= next {
            return None;
        }
        let first = from.max(oldest);
        let (mut bytes, mut events) = (0, Vec::new());
        for event in self.events.range((first - oldest) as usize..).take(most.max(1)) {
            bytes += cost(event);
            if bytes > most_bytes && !events.is_empty() {
                break;
            }
            events.push(event.clone());
        }
        let after = first + events.len() as u64;
        Some(JournalPage { next: after, lost: first - from, behind: next - after, events })
    }
}

fn cost(event: &JournalEvent) -> usize {
    let value = |value: &Option<Data>| value.as_ref().map_or(0, |value| value.as_bytes().len());
    EVENT_OVERHEAD + event.key.as_bytes().len() + value(&event.value) + value(&event.old_value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(journal: &mut Journal, number: u8, bytes: usize) {
        let value = Data::new(-12, &vec![number; bytes]);
        let change = Change {
            kind: MapEventKind::Added,
            key: value.as_bytes(),
            old_value: None,
            value: Some(value.as_bytes()),
            time_ms: u64::from(number),
        };
        journal.add(&change);
    }

    fn journal(per_partition: u64, bytes_per_partition: u64) -> Journal {
        let all = u64::from(PARTITION_COUNT);
        Journal::new(&JournalSettings { capacity: per_partition * all, max_bytes: bytes_per_partition * all })
    }

    #[test]
    fn a_reader_that_is_late_learns_how_much_it_lost() {
        let mut journal = journal(4, 1 << 20);
        assert_eq!(journal.read(0, 10, usize::MAX), None);
        (0..10).for_each(|number| note(&mut journal, number, 3));
        assert_eq!(journal.span(), JournalSpan { oldest: 6, next: 10 });
        let page = journal.read(1, 3, usize::MAX).unwrap();
        assert_eq!((page.lost, page.next, page.behind), (5, 9, 1));
        assert_eq!(page.events.iter().map(|event| event.sequence).collect::<Vec<_>>(), [6, 7, 8]);
        assert_eq!(page.events.iter().map(|event| event.time_ms).collect::<Vec<_>>(), [6, 7, 8]);
        assert_eq!(journal.read(10, 3, usize::MAX), None);
    }

    #[test]
    fn large_events_push_out_more_than_one() {
        let mut journal = journal(1_000, 4_000);
        (0..50).for_each(|number| note(&mut journal, number, 10));
        let before = journal.span();
        note(&mut journal, 99, 1_500);
        assert!(journal.bytes <= 4_000 && journal.span().oldest > before.oldest);
        note(&mut journal, 100, 50_000);
        assert_eq!(journal.span(), JournalSpan { oldest: 51, next: 52 });
        assert_eq!(journal.read(51, 10, 1).unwrap().events.len(), 1, "one, however large");
    }

    #[test]
    fn what_is_skipped_is_lost_to_readers() {
        let mut journal = journal(4, 1 << 20);
        note(&mut journal, 0, 3);
        journal.skip(7);
        note(&mut journal, 1, 3);
        let page = journal.read(0, 10, usize::MAX).unwrap();
        assert_eq!((page.lost, page.next, page.events.len()), (8, 9, 1));
    }
}
