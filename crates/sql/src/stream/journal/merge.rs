//! Changes of all partitions of a map, in the order of their time.
//!
//! Each partition has an order of its own, and a page of one may be of today and the next page of another of yesterday: read one after
//! the other, windows over them would find most rows late. So the next change is the oldest of those at hand, and as long as a partition is
//! known to have more (its last page said so) nothing is given before its next page is here. A partition that has given all it had
//! holds nobody up: what it gets later is later. So changes that were there are in the order of their time, and new ones as they come.
//!
//! What goes from a journal before its first page is read was never promised to a reader that begins with the oldest change; whatever
//! goes later, and all that goes under a reader of what is new, is lost.

use super::schema::JournalStart;
use crate::maps::failed;
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryReservation;
use filbert_grid::{JournalEvent, JournalPage, JournalReader, Map};
use filbert_wire::PartitionId;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::task::{Context, Poll};

/// Changes of a partition that are asked for at once: all partitions have a page at hand while much is unread.
const PAGE: u32 = 64;

/// So many changes are given between two looks for pages that others have: each look takes a lock.
const LOOK_EVERY: u32 = 64;

/// What a change takes beside its bytes.
const OVERHEAD: usize = std::mem::size_of::<JournalEvent>();

/// A change, and of whom.
pub(super) struct Change {
    pub(super) event: JournalEvent,
    pub(super) partition: PartitionId,
    /// How many changes of the partition were lost right before it.
    pub(super) lost: u64,
}

/// Reads and merges.
pub(super) struct JournalMerge {
    map: Map,
    reader: JournalReader,
    start: JournalStart,
    parts: Vec<Part>,
    /// The parts that have a page, by the time of its next change.
    heads: BinaryHeap<Reverse<(u64, usize)>>,
    /// Parts that have more, and no page.
    awaited: usize,
    /// Changes since the last look.
    since_look: u32,
    /// What the pages take.
    memory: MemoryReservation,
}

struct Part {
    events: std::vec::IntoIter<JournalEvent>,
    lost: u64,
    bytes: usize,
    /// There is more behind the page.
    has_more: bool,
    /// It had no page yet.
    is_new: bool,
}

impl JournalMerge {
    /// Of these partitions: from which sequence on, and whether there is something already.
    pub(super) fn new(
        map: &Map,
        start: JournalStart,
        from: &[(PartitionId, u64, bool)],
        memory: MemoryReservation,
    ) -> Self {
        let parts: Vec<Part> = from
            .iter()
            .map(|(.., has_more)| Part {
                events: Vec::new().into_iter(),
                lost: 0,
                bytes: 0,
                has_more: *has_more,
                is_new: true,
            })
            .collect();
        Self {
            reader: map.journal_reader(from.iter().map(|(partition, next, _)| (*partition, *next)), PAGE),
            map: map.clone(),
            start,
            awaited: parts.iter().filter(|part| part.has_more).count(),
            parts,
            heads: BinaryHeap::new(),
            since_look: LOOK_EVERY,
            memory,
        }
    }

    /// The next change. Pages that have come are taken first, so that the oldest is among them. Pending, it has looked for pages, and the
    /// next one wakes.
    pub(super) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Result<Change>> {
        if self.awaited > 0 || self.heads.is_empty() || self.since_look >= LOOK_EVERY {
            self.since_look = 0;
            while let Poll::Ready(page) = self.reader.poll_page(context) {
                let (number, page) = page.map_err(|error| failed(self.map.name(), &error))?;
                self.take(number, page)?;
            }
        }
        self.since_look += 1;
        if self.awaited > 0 {
            return Poll::Pending;
        }
        let Some(Reverse((_, number))) = self.heads.pop() else { return Poll::Pending };
        let part = &mut self.parts[number];
        let Some(event) = part.events.next() else { return Poll::Pending };
        let lost = std::mem::take(&mut part.lost);
        match part.events.as_slice().first() {
            Some(next) => self.heads.push(Reverse((next.time_ms, number))),
            None => {
                self.memory.shrink(std::mem::take(&mut part.bytes));
                self.awaited += usize::from(part.has_more);
                self.reader.go_on(number);
            }
        }
        let partition = self.reader.partition(number).unwrap_or_else(|| event.key.partition());
        Poll::Ready(Ok(Change { event, partition, lost }))
    }

    fn take(&mut self, number: usize, page: JournalPage) -> Result<()> {
        let bytes = page.events.iter().map(cost).sum();
        self.memory.try_grow(bytes)?;
        let part = &mut self.parts[number];
        self.awaited -= usize::from(part.has_more);
        part.has_more = page.behind > 0;
        part.bytes = bytes;
        if !(std::mem::take(&mut part.is_new) && self.start == JournalStart::Oldest) {
            part.lost += page.lost;
        }
        part.events = page.events.into_iter();
        match part.events.as_slice().first() {
            Some(first) => self.heads.push(Reverse((first.time_ms, number))),
            None => {
                self.awaited += usize::from(part.has_more);
                self.reader.go_on(number);
            }
        }
        Ok(())
    }
}

pub(super) fn cost(event: &JournalEvent) -> usize {
    let value = |value: &Option<filbert_wire::Data>| value.as_ref().map_or(0, |value| value.as_bytes().len());
    OVERHEAD + event.key.as_bytes().len() + value(&event.value) + value(&event.old_value)
}
