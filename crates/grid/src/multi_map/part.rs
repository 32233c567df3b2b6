//! The keys of one partition.

use crate::allowance::Weighs;
use crate::grid::Grid;
use crate::keeper::{Home, KeptTurn, State};
use crate::map::{Locks, MapEvent, MapEventKind, MapListeners};
use crate::memory::MemoryAccount;
use crate::strands::Alarms;
use crate::structures::Service;
use filbert_wire::{Data, PartitionId};
use serde::{Deserialize, Serialize};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What the values of a key are kept in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ValueCollection {
    /// Each value once, in no order.
    #[default]
    Set,
    /// As often as they came, in that order.
    List,
}

impl ValueCollection {
    /// The words of the settings.
    pub const WORDS: &'static [&'static str] = &["set", "list"];
}

/// What the partitions of one multimap share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) listeners: MapListeners,
    pub(super) collection: ValueCollection,
    pub(super) lock_wait: Duration,
    pub(super) memory: Arc<MemoryAccount>,
    pub(super) destroyed: AtomicBool,
}

impl Shared {
    pub(super) fn new(grid: &Grid, name: &Arc<str>) -> Self {
        let settings = grid.settings();
        Self {
            listeners: MapListeners::new(grid.stages().event(), grid.memory(), Service::MultiMap, name),
            collection: settings.multi_maps.of(name).collection,
            lock_wait: Duration::from_millis(settings.lock_wait_ms),
            memory: Arc::clone(grid.memory()),
            destroyed: AtomicBool::new(false),
        }
    }
}

/// The values of a key.
#[derive(Debug)]
pub(super) enum ValuesOfKey {
    Set(HashSet<Data>),
    List(Vec<Data>),
}

impl ValuesOfKey {
    fn new(collection: ValueCollection) -> Self {
        match collection {
            ValueCollection::Set => ValuesOfKey::Set(HashSet::new()),
            ValueCollection::List => ValuesOfKey::List(Vec::new()),
        }
    }

    fn add(&mut self, value: &Data) -> bool {
        match self {
            ValuesOfKey::Set(values) => values.insert(value.clone()),
            ValuesOfKey::List(values) => {
                values.push(value.clone());
                true
            }
        }
    }

    fn remove(&mut self, value: &Data) -> bool {
        match self {
            ValuesOfKey::Set(values) => values.remove(value),
            ValuesOfKey::List(values) => {
                let place = values.iter().position(|known| known == value);
                place.map(|place| values.remove(place)).is_some()
            }
        }
    }

    pub(super) fn contains(&self, value: &Data) -> bool {
        match self {
            ValuesOfKey::Set(values) => values.contains(value),
            ValuesOfKey::List(values) => values.contains(value),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            ValuesOfKey::Set(values) => values.len(),
            ValuesOfKey::List(values) => values.len(),
        }
    }

    pub(super) fn iter(&self) -> Box<dyn Iterator<Item = &Data> + '_> {
        match self {
            ValuesOfKey::Set(values) => Box::new(values.iter()),
            ValuesOfKey::List(values) => Box::new(values.iter()),
        }
    }
}

/// What a key takes beside its values: its bytes, its place in the table and the table of its values.
fn key_cost(key: &Data) -> usize {
    key.weight() + 128
}

/// The keys of one partition.
#[derive(Debug)]
pub(crate) struct Part {
    pub(super) entries: HashMap<Data, ValuesOfKey>,
    pub(super) size: usize,
    /// What keys and values take.
    bytes: usize,
    pub(super) locks: Locks,
    pub(super) lease_alarms: Alarms,
    pub(super) shared: Arc<Shared>,
    pub(super) home: Home<Self>,
    pub(super) partition: PartitionId,
}

/// Nobody has locked a key any more.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Free(pub(super) Data);

impl State for Part {
    const SERVICE: Service = Service::MultiMap;
    type Event = Free;

    const HOLDS_DATA: bool = true;

    fn held_bytes(&self) -> usize {
        self.bytes + self.locks.bytes()
    }

    fn end(&mut self) -> Vec<Free> {
        (self.entries, self.size, self.bytes) = (HashMap::new(), 0, 0);
        // Only a locked key is waited for.
        self.locks.release(|_| true).into_iter().map(Free).collect()
    }
}

impl Part {
    pub(super) fn new(shared: &Arc<Shared>, home: Home<Self>, partition: PartitionId) -> Self {
        Self {
            entries: HashMap::new(),
            size: 0,
            bytes: 0,
            locks: Locks::default(),
            lease_alarms: Alarms::default(),
            shared: Arc::clone(shared),
            home,
            partition,
        }
    }

    pub(super) fn add(&mut self, turn: &mut KeptTurn<'_, Self>, key: &Data, value: &Data) -> bool {
        let values = match self.entries.entry(key.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => {
                self.bytes += key_cost(key);
                free.insert(ValuesOfKey::new(self.shared.collection))
            }
        };
        let added = values.add(value);
        if added {
            self.size += 1;
            self.bytes += value.weight();
            self.tell(turn, MapEventKind::Added, key, value);
        }
        added
    }

    pub(super) fn remove_value(&mut self, turn: &mut KeptTurn<'_, Self>, key: &Data, value: &Data) -> bool {
        let Some(values) = self.entries.get_mut(key) else { return false };
        let removed = values.remove(value);
        if values.len() == 0 && self.entries.remove(key).is_some() {
            self.bytes -= key_cost(key);
        }
        if removed {
            self.size -= 1;
            self.bytes -= value.weight();
            self.tell(turn, MapEventKind::Removed, key, value);
        }
        removed
    }

    pub(super) fn remove(&mut self, turn: &mut KeptTurn<'_, Self>, key: &Data) -> Vec<Data> {
        let Some(values) = self.entries.remove(key) else { return Vec::new() };
        self.size -= values.len();
        let values: Vec<Data> = values.iter().cloned().collect();
        self.bytes -= key_cost(key) + values.weight();
        for value in &values {
            self.tell(turn, MapEventKind::Removed, key, value);
        }
        values
    }

    /// Removes all keys that are not locked; how many.
    pub(super) fn clear(&mut self) -> u64 {
        let (before, locks) = (self.entries.len(), &self.locks);
        self.entries.retain(|key, _| locks.owner(key).is_some());
        self.size = self.entries.values().map(ValuesOfKey::len).sum();
        let cost = |(key, values): (&Data, &ValuesOfKey)| {
            key_cost(key) + values.iter().map(Weighs::weight).sum::<usize>()
        };
        self.bytes = self.entries.iter().map(cost).sum();
        (before - self.entries.len()) as u64
    }

    fn tell(&self, turn: &mut KeptTurn<'_, Self>, kind: MapEventKind, key: &Data, value: &Data) {
        let listeners = &self.shared.listeners;
        if !listeners.wants(kind) {
            return;
        }
        listeners.publish(turn, || {
            let value = Some(value.clone());
            let (value, old_value) = if kind == MapEventKind::Added { (value, None) } else { (None, value) };
            MapEvent { kind, key: Some(key.clone()), value, old_value, affected: 1 }
        });
    }
}
