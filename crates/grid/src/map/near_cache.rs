//! What near caches are told: copies of entries that clients keep must go when the entries change.
//!
//! Every change of a map gets a number of its partition, on the partition's strand and before the event is offered: events may be
//! dropped, numbers are not. A client compares the numbers that it saw with [`Grid::invalidation_numbers`](crate::Grid::invalidation_numbers), finds what it
//! has missed, and reads those entries again.
//!
//! ```text
//! change on the strand -> number + 1 -> event stage (may drop) -> client: saw 7, then 9: missed 8
//!                                    \-> fetched metadata: 9   -> client: saw 7 last: missed 8 and 9
//! ```
//!
//! Numbers are kept from the first listener on, and for as long as the map or a listener lives: a client that registers anew, after it
//! was disconnected, finds them further on. A map that was destroyed and is made anew never has a number that was there before. The
//! clear of a map is one change in each of its partitions, and one event, which is raised when all are cleared: a client may read from
//! a partition that is not cleared yet, and must forget that too.
//!
//! Rejected: numbers per listener, counted where events are sent. What was dropped before leaves no gap there.

use crate::allowance::Weighs;
use crate::listeners::Listeners;
use crate::map::store::copied;
use crate::memory::MemoryAccount;
use crate::operation::{Target, Turn};
use crate::structures::Service;
use filbert_pool::EventStage;
use filbert_wire::{Data, PARTITION_COUNT, PartitionId, ToData, partition_of_name};
use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use uuid::Uuid;

/// A change of a map, for near caches.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Invalidation {
    /// The key whose entry changed; `None` when all did.
    pub key: Option<Data>,
    /// The client that made the change, which knows of it; the member for what nobody asked for.
    pub source: Uuid,
    /// The partition in which it is numbered.
    pub partition: PartitionId,
    /// Its number: one more than the change before in the partition.
    pub number: i64,
}

/// Changes of a map that is destroyed may still be numbered for a moment: the next map of that name begins so far behind.
const DISTANCE: i64 = 1 << 20;

/// The numbers of all maps of a member.
#[derive(Debug)]
pub(crate) struct NearCaches {
    stage: EventStage,
    memory: Arc<MemoryAccount>,
    member: Uuid,
    known: Mutex<HashMap<Arc<str>, Weak<NearCache>>>,
    /// Greater than any number of a map that was destroyed.
    begin: Arc<AtomicI64>,
}

impl NearCaches {
    pub(crate) fn new(stage: &EventStage, memory: &Arc<MemoryAccount>, member: Uuid) -> Self {
        let (stage, memory) = (stage.clone(), Arc::clone(memory));
        Self { stage, memory, member, known: Mutex::default(), begin: Arc::default() }
    }

    /// What near caches of that map are told. The same for as long as the map lives, or one of its listeners.
    pub(crate) fn of(&self, service: Service, name: &Arc<str>) -> Arc<NearCache> {
        if service != Service::Map {
            return Arc::new(self.made(service, name));
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(near) = known.get(name).and_then(Weak::upgrade) {
            return near;
        }
        // Now and then, so that names that come and go leave nothing behind.
        if known.len().is_power_of_two() {
            known.retain(|_, near| near.strong_count() > 0);
        }
        let near = Arc::new(self.made(service, name));
        known.insert(Arc::clone(name), Arc::downgrade(&near));
        near
    }

    fn made(&self, service: Service, name: &Arc<str>) -> NearCache {
        let source = format!("near-cache/{}/{name}", service.as_str());
        let weigh = |change: &Invalidation| change.key.weight();
        NearCache {
            listeners: Listeners::counted(&self.stage, &source, &self.memory, weigh),
            numbers: OnceLock::new(),
            begin: Arc::clone(&self.begin),
            member: self.member,
            partition: name.to_data().map_or_else(|_| partition_of_name(name), |name| name.partition()),
        }
    }

    /// The last numbers of a map by partition, from now on kept; nothing when there is and was no such map.
    pub(crate) fn numbers(&self, name: &str) -> Option<Vec<i64>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(near) = known.get(name).and_then(Weak::upgrade) {
            return Some(near.numbers().iter().map(|number| number.load(Ordering::Relaxed)).collect());
        }
        // Perhaps of a map that was destroyed: whoever has entries of it must find that they are old.
        let begin = self.begin.load(Ordering::Acquire);
        (begin > 0).then(|| vec![begin; PARTITION_COUNT as usize])
    }
}

/// What the near caches of one map are told.
#[derive(Debug)]
pub(crate) struct NearCache {
    listeners: Listeners<Invalidation>,
    /// The number of the last change by partition; nothing until someone listens. Written on the partition's strand.
    numbers: OnceLock<Box<[AtomicI64]>>,
    begin: Arc<AtomicI64>,
    member: Uuid,
    /// Where clients look for the number of a change of all entries: the partition of the map's name as a key.
    partition: PartitionId,
}

impl NearCache {
    fn numbers(&self) -> &[AtomicI64] {
        self.numbers.get_or_init(|| {
            let begin = self.begin.load(Ordering::Acquire);
            (0..PARTITION_COUNT).map(|_| AtomicI64::new(begin)).collect()
        })
    }

    pub(crate) fn add(&self, id: Uuid, listener: impl Fn(&Invalidation) + Send + Sync + 'static) {
        self.numbers();
        self.listeners.add(id, listener);
    }

    pub(crate) fn remove(&self, id: Uuid) -> bool {
        self.listeners.remove(id)
    }

    /// True when there is, or was, someone to tell.
    pub(crate) fn is_kept(&self) -> bool {
        self.numbers.get().is_some()
    }

    /// The partition on whose strand [`NearCache::all_changed`] is called.
    pub(crate) fn partition(&self) -> PartitionId {
        self.partition
    }

    fn count(&self, partition: PartitionId) -> Option<i64> {
        let numbers = self.numbers.get()?;
        Some(numbers[partition.index()].fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// The entry of `key` changed, because of `source`, or by itself.
    #[inline]
    pub(crate) fn changed<T: Target>(&self, turn: &mut Turn<'_, T>, key: &[u8], source: Option<Uuid>) {
        // Without near caches a change costs this look.
        if self.is_kept() {
            self.tell(turn, Some(key), source);
        }
    }

    /// All entries of the map changed, and all partitions have counted that.
    pub(crate) fn all_changed<T: Target>(&self, turn: &mut Turn<'_, T>, source: Option<Uuid>) {
        self.tell(turn, None, source);
    }

    fn tell<T: Target>(&self, turn: &mut Turn<'_, T>, key: Option<&[u8]>, source: Option<Uuid>) {
        let partition = turn.partition();
        let Some(number) = self.count(partition) else { return };
        let source = source.unwrap_or(self.member);
        self.listeners.publish(turn, || Invalidation { key: key.map(copied), source, partition, number });
    }

    /// Entries of a partition went with others: the event for all of them comes when the others are gone too.
    pub(crate) fn part_changed(&self, partition: PartitionId) {
        self.count(partition);
    }

    /// The map is destroyed: from now on no map begins at a number that this one has had.
    pub(crate) fn leave(&self) {
        let numbers = self.numbers.get().into_iter().flatten();
        if let Some(last) = numbers.map(|number| number.load(Ordering::Relaxed)).max() {
            self.begin.fetch_max(last.saturating_add(DISTANCE), Ordering::AcqRel);
        }
    }
}
