//! One partition of a map: its entries, locks and lifetimes, and the few verbs that all operations are made of.
//!
//! All changes of an entry go through [`MapPartition::put`] and [`MapPartition::remove`], those that someone asked for by way of
//! `intercepting.rs`; so indexes, events, bounds and
//! statistics, near caches and the log on disk have one place each where they hear of them. It runs on the partition's strand: one thread at a time, nothing locked.

mod admission;
mod eviction;
mod expiring;
mod intercepting;
mod journaling;
mod loading;
mod locking;
mod statistics;
mod storing;

pub(crate) use locking::Blocked;
pub use statistics::{EntryView, LocalMapStats};

use crate::error::GridError;
use crate::map::context::MapContext;
use crate::map::events::{MapEvent, MapEventKind};
use crate::map::expiry::{Expiry, Lifetime};
use crate::map::journal::{Change, Journal};
use crate::map::locks::Locks;
use crate::map::settings::EvictionPolicy;
use crate::map::store::{Side, Slot, Store, copied};
use crate::operation::{Target, Turn};
use crate::query::operations::{SharedIndexes, indexes_of};
use crate::strands::{Alarms, Strands};
use expiring::Sweeping;
use filbert_wire::{Data, PartitionId};
use loading::Loading;
use statistics::EntryStats;
use std::sync::{Arc, Weak};

/// What operations on a map can wait for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum MapSignal {
    /// A key is not locked any more.
    Free(Data),
    /// An entry that was away for processing is back; by the number that the absence was given.
    Returned(u64),
    /// The journal has something new.
    Journal,
    /// The store behind the map has answered; by the number of the errand.
    Brought(u64),
}

/// Hears of every change of the entries of one partition, on its strand; an index does.
pub trait EntryWatch: Send {
    /// The entry in `slot` changes: `old` is `None` when it comes, `new` when it goes.
    fn changed(&mut self, slot: Slot, key: &[u8], old: Option<&[u8]>, new: Option<&[u8]>);
    /// All entries went at once.
    fn cleared(&mut self);
}

/// One partition of a map: its entries, locks and lifetimes. What operations of one's own work on.
pub struct MapPartition {
    store: Store,
    expiry: Side<Expiry>,
    entry_stats: Option<Side<EntryStats>>,
    locks: Locks,
    context: Arc<MapContext>,
    home: Weak<Strands<MapPartition>>,
    partition: PartitionId,
    watches: Vec<Box<dyn EntryWatch>>,
    /// Once there is one; a watch keeps them in step.
    indexes: Option<SharedIndexes>,
    journal: Option<Box<Journal>>,
    loading: Loading,
    stats: LocalMapStats,
    sweeping: Sweeping,
    absences: u64,
    /// The timers that will look after leases.
    lease_alarms: Alarms,
}

impl Target for MapPartition {
    type Event = MapSignal;

    fn held_bytes(&self) -> usize {
        let indexes = self.indexes.as_ref().map_or(0, |indexes| indexes.lock().settings().count());
        self.store.bytes()
            + self.expiry.len() * EXPIRY_BYTES
            + self.entry_stats.as_ref().map_or(0, |stats| stats.len() * STATS_BYTES)
            + indexes * self.store.len() * INDEX_BYTES
            + self.journal.as_ref().map_or(0, |journal| journal.bytes())
            + self.locks.bytes()
    }

    #[inline]
    fn refuses(&self) -> Option<GridError> {
        self.context.damage_of(self.partition).map(GridError::Store)
    }
}

/// What the end of life of an entry takes, and its statistics.
const EXPIRY_BYTES: usize = std::mem::size_of::<Option<Expiry>>();
const STATS_BYTES: usize = std::mem::size_of::<Option<EntryStats>>();

/// What an entry takes in an index, roughly: a short key and its place.
const INDEX_BYTES: usize = 96;

type MapTurn<'a> = Turn<'a, MapPartition>;

/// Who is to hear of a change of an entry, beside the map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tells {
    /// The store behind the map, if there is one: it is told next.
    Store,
    /// Nobody: the change is the member's own, or came from the store.
    Nobody,
}

impl MapPartition {
    pub(crate) fn new(context: &Arc<MapContext>, home: Weak<Strands<Self>>, partition: PartitionId) -> Self {
        let mut map = Self {
            store: Store::new(context.seed),
            expiry: Side::new(),
            entry_stats: context.settings.per_entry_stats.then(Side::new),
            locks: Locks::default(),
            context: Arc::clone(context),
            home,
            partition,
            watches: Vec::new(),
            indexes: None,
            journal: context.settings.journal.as_ref().map(|settings| Box::new(Journal::new(settings))),
            loading: Loading::default(),
            stats: LocalMapStats::default(),
            sweeping: Sweeping::default(),
            absences: 0,
            lease_alarms: Alarms::default(),
        };
        // There are no entries yet: they are ready at once.
        for index in &context.indexes {
            indexes_of(&mut map).lock().add(Arc::clone(index));
        }
        map
    }

    /// The entries, to read.
    pub fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn context(&self) -> &Arc<MapContext> {
        &self.context
    }

    /// From now on `watch` hears of every change. What is there already it has to read itself.
    pub fn watch(&mut self, watch: Box<dyn EntryWatch>) {
        self.watches.push(watch);
    }

    /// The indexes, once there is one.
    pub(crate) fn indexes(&self) -> Option<&SharedIndexes> {
        self.indexes.as_ref()
    }

    pub(crate) fn set_indexes(&mut self, indexes: SharedIndexes) {
        self.indexes = Some(indexes);
    }

    /// Where the live entry of `key` is; one whose time is over goes now.
    #[inline]
    pub fn find(&mut self, turn: &mut MapTurn<'_>, key: &Data) -> Option<Slot> {
        let slot = self.store.find(key.as_bytes())?;
        (!self.expire_if_over(turn, slot)).then_some(slot)
    }

    /// The value of `key`, for a reader: counts as a use.
    #[inline]
    pub fn get(&mut self, turn: &mut MapTurn<'_>, key: &Data) -> Option<&[u8]> {
        self.stats.gets += 1;
        let slot = self.find(turn, key)?;
        self.stats.hits += 1;
        self.used(turn, slot);
        Some(self.store.value(slot))
    }

    /// Notes that an entry was used. Without anything that asks for it, the time is not even read.
    #[inline]
    pub(crate) fn used(&mut self, turn: &MapTurn<'_>, slot: Slot) {
        match self.context.settings.eviction {
            EvictionPolicy::None | EvictionPolicy::Random => {}
            EvictionPolicy::Lru => *self.store.note_mut(slot) = eviction::tick(turn.now()),
            EvictionPolicy::Lfu => {
                let uses = self.store.note_mut(slot);
                *uses = uses.saturating_add(1);
            }
        }
        if !self.expiry.is_empty()
            && let Some(expiry) = self.expiry.get_mut(slot)
        {
            expiry.used(turn.now());
        }
        if let Some(stats) = &mut self.entry_stats
            && let Some(stats) = stats.get_mut(slot)
        {
            stats.used(turn.unix_ms());
        }
    }

    /// Gives `key` a value; what it had before is copied only when `want_old`.
    pub fn put(
        &mut self,
        turn: &mut MapTurn<'_>,
        key: &Data,
        value: &[u8],
        lifetime: Lifetime,
        want_old: bool,
    ) -> Option<Data> {
        self.put_and_tell(turn, key, value, lifetime, want_old, Tells::Nobody)
    }

    fn put_and_tell(
        &mut self,
        turn: &mut MapTurn<'_>,
        key: &Data,
        value: &[u8],
        lifetime: Lifetime,
        want_old: bool,
        tells: Tells,
    ) -> Option<Data> {
        let found = self.find(turn, key);
        let (slot, old) = match found {
            Some(slot) => (slot, self.update(turn, slot, value, want_old)),
            None => (self.add(turn, key, value, MapEventKind::Added), None),
        };
        self.live_for(turn, slot, lifetime);
        self.store_entry(turn, slot, tells);
        // After an update too: it may have grown.
        self.evict_excess(turn, Some(slot));
        old.filter(|_| want_old)
    }

    /// Gives the entry in `slot` another value: a put for whoever has found it already.
    pub(crate) fn put_at(&mut self, turn: &mut MapTurn<'_>, slot: Slot, value: &[u8], tells: Tells) {
        self.update(turn, slot, value, false);
        self.live_for(turn, slot, Lifetime::DEFAULT);
        self.store_entry(turn, slot, tells);
        self.evict_excess(turn, Some(slot));
    }

    /// A new entry, because of `kind`: added or loaded. To the journal it is the same.
    fn add(&mut self, turn: &mut MapTurn<'_>, key: &Data, value: &[u8], kind: MapEventKind) -> Slot {
        let slot = self.store.insert(key.as_bytes(), value);
        self.context.near.changed(turn, key.as_bytes(), turn.source());
        for watch in &mut self.watches {
            watch.changed(slot, key.as_bytes(), None, Some(value));
        }
        self.context.changed(1, self.store.cost(slot) as i64);
        match self.context.settings.eviction {
            EvictionPolicy::Lru => *self.store.note_mut(slot) = eviction::tick(turn.now()),
            EvictionPolicy::None | EvictionPolicy::Lfu | EvictionPolicy::Random => {}
        }
        if let Some(stats) = &mut self.entry_stats {
            stats.set(slot, EntryStats::new(turn.unix_ms()));
        }
        if let Some(journal) = &mut self.journal {
            let (kind, key, time_ms) = (MapEventKind::Added, key.as_bytes(), turn.unix_ms());
            journal.add(&Change { kind, key, old_value: None, value: Some(value), time_ms });
            journal.tell(turn);
        }
        let listeners = &self.context.listeners;
        if listeners.wants(kind) {
            let value = listeners.wants_values().then(|| copied(value));
            publish(&self.context, turn, kind, key.detached(), value, None);
        }
        slot
    }

    fn update(&mut self, turn: &mut MapTurn<'_>, slot: Slot, value: &[u8], want_old: bool) -> Option<Data> {
        let listeners = &self.context.listeners;
        let tell = listeners.wants(MapEventKind::Updated);
        let tell_values = tell && listeners.wants_values();
        let old = (want_old || tell_values).then(|| copied(self.store.value(slot)));
        self.context.near.changed(turn, self.store.key(slot), turn.source());
        for watch in &mut self.watches {
            watch.changed(slot, self.store.key(slot), Some(self.store.value(slot)), Some(value));
        }
        if let Some(journal) = &mut self.journal {
            let (key, old_value) = (self.store.key(slot), Some(self.store.value(slot)));
            let (kind, time_ms) = (MapEventKind::Updated, turn.unix_ms());
            journal.add(&Change { kind, key, old_value, value: Some(value), time_ms });
            journal.tell(turn);
        }
        let before = self.store.cost(slot);
        self.store.replace(slot, value);
        self.context.changed(0, self.store.cost(slot) as i64 - before as i64);
        match self.context.settings.eviction {
            // Nothing else needs the note then: it counts the updates.
            EvictionPolicy::None | EvictionPolicy::Random => {
                let version = self.store.note_mut(slot);
                *version = version.saturating_add(1);
            }
            EvictionPolicy::Lru | EvictionPolicy::Lfu => {}
        }
        self.used(turn, slot);
        if let Some(stats) = &mut self.entry_stats
            && let Some(stats) = stats.get_mut(slot)
        {
            stats.updated(turn.unix_ms());
        }
        if tell {
            let (new, before) = if tell_values { (Some(copied(value)), old.clone()) } else { (None, None) };
            let key = copied(self.store.key(slot));
            publish(&self.context, turn, MapEventKind::Updated, key, new, before);
        }
        old
    }

    /// Takes an entry away, because of `kind`: removed, evicted or expired.
    pub fn remove(&mut self, turn: &mut MapTurn<'_>, slot: Slot, kind: MapEventKind) {
        self.remove_and_tell(turn, slot, kind, Tells::Nobody);
    }

    fn remove_and_tell(&mut self, turn: &mut MapTurn<'_>, slot: Slot, kind: MapEventKind, tells: Tells) {
        let listeners = &self.context.listeners;
        if listeners.wants(kind) {
            let old = listeners.wants_values().then(|| copied(self.store.value(slot)));
            publish(&self.context, turn, kind, copied(self.store.key(slot)), None, old);
        }
        // An entry that goes to make room for another was not asked for by whoever brought that one.
        let asked = kind == MapEventKind::Removed;
        self.context.near.changed(turn, self.store.key(slot), turn.source().filter(|_| asked));
        match kind {
            MapEventKind::Evicted => self.stats.evictions += 1,
            MapEventKind::Expired => self.stats.expirations += 1,
            _ => {}
        }
        for watch in &mut self.watches {
            watch.changed(slot, self.store.key(slot), Some(self.store.value(slot)), None);
        }
        if let Some(journal) = &mut self.journal {
            let (key, old_value) = (self.store.key(slot), Some(self.store.value(slot)));
            journal.add(&Change { kind, key, old_value, value: None, time_ms: turn.unix_ms() });
            journal.tell(turn);
        }
        self.store_removal(turn, slot, kind, tells);
        self.forget(slot);
    }

    /// Takes an entry out of the store and what is beside it.
    fn forget(&mut self, slot: Slot) {
        self.context.changed(-1, -(self.store.cost(slot) as i64));
        self.store.remove(slot);
        self.expiry.remove(slot);
        if let Some(stats) = &mut self.entry_stats {
            stats.remove(slot);
        }
    }

    /// Takes all entries away whose keys nobody has locked; how many. The journal is told, with `kind`; the listeners are not.
    pub(crate) fn clear(&mut self, turn: &mut MapTurn<'_>, kind: MapEventKind) -> u64 {
        if !self.locks.is_empty() {
            return self.clear_unlocked(turn, kind);
        }
        self.journal_all(turn, kind);
        self.store_clear(turn);
        let gone = self.store.len();
        if gone > 0 {
            self.context.near.part_changed(self.partition);
        }
        self.context.changed(-(gone as i64), -(self.store.bytes() as i64));
        let store = std::mem::replace(&mut self.store, Store::new(self.context.seed));
        self.expiry = Side::new();
        self.sweeping = Sweeping::default();
        if let Some(stats) = &mut self.entry_stats {
            *stats = Side::new();
        }
        self.watches.iter_mut().for_each(|watch| watch.cleared());
        if gone > FREED_HERE {
            // A million entries take a tenth of a second to free: not on the strand. Refused only when the member ends.
            let _ = self
                .context
                .stages
                .maintenance()
                .submit("map.free", move || drop(store))
                .map(|freed| freed.detach());
        }
        gone as u64
    }

    fn clear_unlocked(&mut self, turn: &mut MapTurn<'_>, kind: MapEventKind) -> u64 {
        let (mut gone, mut next) = (0, 0);
        while let Some(slot) = self.store.next(next) {
            next = slot.number() + 1;
            if self.locks.owner(&copied(self.store.key(slot))).is_some() {
                continue;
            }
            for watch in &mut self.watches {
                watch.changed(slot, self.store.key(slot), Some(self.store.value(slot)), None);
            }
            if let Some(journal) = &mut self.journal {
                let (key, old_value) = (self.store.key(slot), Some(self.store.value(slot)));
                journal.add(&Change { kind, key, old_value, value: None, time_ms: turn.unix_ms() });
                journal.tell(turn);
            }
            self.store_removal(turn, slot, kind, Tells::Nobody);
            self.forget(slot);
            gone += 1;
        }
        if gone > 0 {
            self.context.near.part_changed(self.partition);
        }
        gone
    }

    /// The number of a new absence of an entry, see [`MapSignal::Returned`].
    pub(crate) fn new_absence(&mut self) -> u64 {
        self.absences += 1;
        self.absences
    }

    pub(crate) fn home(&self) -> &Weak<Strands<MapPartition>> {
        &self.home
    }
}

/// Entries that are freed on the strand; more are handed to `maintenance`.
const FREED_HERE: usize = 1_000;

fn publish(
    context: &MapContext,
    turn: &mut MapTurn<'_>,
    kind: MapEventKind,
    key: Data,
    value: Option<Data>,
    old_value: Option<Data>,
) {
    context.listeners.publish(turn, || MapEvent { kind, key: Some(key), value, old_value, affected: 1 });
}

impl std::fmt::Debug for MapPartition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MapPartition")
            .field("map", &self.context.name)
            .field("partition", &self.partition.number())
            .field("entries", &self.store.len())
            .finish_non_exhaustive()
    }
}
