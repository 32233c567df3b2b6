//! What happens in a map, for those who listen.
//!
//! An event is made, and the values in it copied, only when a listener wants its kind. Kinds and keys are compared where it is made, so
//! that a listener of one key costs nothing for the others. Conditions are looked at on the `event` stage: they may take long.

use crate::allowance::Weighs;
use crate::listeners::Listeners;
use crate::memory::MemoryAccount;
use crate::operation::{Target, Turn};
use crate::structures::Service;
use filbert_pool::EventStage;
use filbert_wire::Data;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex};
use uuid::Uuid;

/// What happened; the numbers are the bits of Hazelcast's listener flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(i32)]
pub enum MapEventKind {
    /// A key came.
    Added = 1,
    /// A key was removed.
    Removed = 2,
    /// A key has another value.
    Updated = 4,
    /// A key was evicted: there was no room, or someone asked for it.
    Evicted = 8,
    /// A key's time was over.
    Expired = 16,
    /// All keys were evicted.
    EvictAll = 32,
    /// All keys were removed.
    ClearAll = 64,
    /// A key came from the store behind the map.
    Loaded = 512,
}

impl MapEventKind {
    /// Its bit in a listener's flags.
    pub const fn flag(self) -> i32 {
        self as i32
    }
}

/// Something that happened in a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapEvent {
    /// What.
    pub kind: MapEventKind,
    /// To which key; `None` when it was all of them.
    pub key: Option<Data>,
    /// The value after it, for those who want values.
    pub value: Option<Data>,
    /// The value before it, for those who want values.
    pub old_value: Option<Data>,
    /// How many entries, when it was all of them; otherwise 1.
    pub affected: u64,
}

impl MapEvent {
    /// What it holds, in bytes.
    fn weight(&self) -> usize {
        self.key.weight() + self.value.weight() + self.old_value.weight()
    }
}

/// Says of a key and a value whether a listener wants to hear of it.
pub type EventCondition = Arc<dyn Fn(&Data, &Data) -> bool + Send + Sync>;

/// What a listener wants to hear.
#[derive(Clone)]
pub struct Interest {
    /// Which kinds: bits of [`MapEventKind`].
    pub flags: i32,
    /// Only of this key.
    pub key: Option<Data>,
    /// Only when this holds: for the new value, or the old one when there is no new one.
    pub condition: Option<EventCondition>,
    /// With values.
    pub include_value: bool,
}

impl Interest {
    /// Everything, with values.
    pub const ALL: Interest = Interest {
        flags: 127 | MapEventKind::Loaded.flag(),
        key: None,
        condition: None,
        include_value: true,
    };

    fn wants_values(&self) -> bool {
        self.include_value || self.condition.is_some()
    }

    /// True when kind and key are wanted.
    fn takes(&self, event: &MapEvent) -> bool {
        let other_key = |key| self.key.as_ref().is_some_and(|wanted| wanted != key);
        self.flags & event.kind.flag() != 0 && !event.key.as_ref().is_some_and(other_key)
    }

    /// An event that it takes, as this listener hears it; `None` when the condition does not hold.
    fn filtered(&self, event: &MapEvent) -> Option<MapEvent> {
        if let (Some(key), Some(condition)) = (&event.key, &self.condition) {
            let value = event.value.as_ref().or(event.old_value.as_ref())?;
            if !condition(key, value) {
                return None;
            }
        }
        let mut event = event.clone();
        if !self.include_value {
            (event.value, event.old_value) = (None, None);
        }
        Some(event)
    }
}

impl std::fmt::Debug for Interest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Interest")
            .field("flags", &self.flags)
            .field("key", &self.key)
            .field("conditional", &self.condition.is_some())
            .field("include_value", &self.include_value)
            .finish()
    }
}

/// The listeners of a map, and what all of them together want.
#[derive(Debug)]
pub(crate) struct MapListeners {
    listeners: Listeners<MapEvent>,
    interests: Mutex<Vec<(Uuid, i32, bool)>>,
    flags: AtomicI32,
    values: AtomicBool,
}

impl MapListeners {
    pub(crate) fn new(stage: &EventStage, memory: &Arc<MemoryAccount>, service: Service, name: &str) -> Self {
        let source = format!("{}/{name}", service.as_str());
        Self {
            listeners: Listeners::counted(stage, &source, memory, MapEvent::weight),
            interests: Mutex::new(Vec::new()),
            flags: AtomicI32::new(0),
            values: AtomicBool::new(false),
        }
    }

    pub(crate) fn add(
        &self,
        id: Uuid,
        interest: Interest,
        listener: impl Fn(&MapEvent) + Send + Sync + 'static,
    ) {
        let mut interests = self.interests.lock().unwrap_or_else(|broken| broken.into_inner());
        interests.push((id, interest.flags, interest.wants_values()));
        let interest = Arc::new(interest);
        let taken = Arc::clone(&interest);
        self.listeners.add_for(
            id,
            move |event| taken.takes(event),
            move |event| {
                if let Some(event) = interest.filtered(event) {
                    listener(&event);
                }
            },
        );
        self.sum_up(&interests);
    }

    pub(crate) fn remove(&self, id: Uuid) -> bool {
        let mut interests = self.interests.lock().unwrap_or_else(|broken| broken.into_inner());
        interests.retain(|(known, _, _)| *known != id);
        self.sum_up(&interests);
        self.listeners.remove(id)
    }

    fn sum_up(&self, interests: &[(Uuid, i32, bool)]) {
        let flags = interests.iter().fold(0, |all, (_, flags, _)| all | flags);
        let values = interests.iter().any(|(_, _, values)| *values);
        self.flags.store(flags, Ordering::Relaxed);
        self.values.store(values, Ordering::Relaxed);
    }

    /// True when someone wants to hear of that.
    #[inline]
    pub(crate) fn wants(&self, kind: MapEventKind) -> bool {
        self.flags.load(Ordering::Relaxed) & kind.flag() != 0
    }

    /// True when values are to be copied into events.
    pub(crate) fn wants_values(&self) -> bool {
        self.values.load(Ordering::Relaxed)
    }

    /// Says that all entries went, if there were any.
    pub(crate) fn all_gone(&self, kind: MapEventKind, affected: u64) {
        if affected > 0 && self.wants(kind) {
            self.listeners.offer(|| MapEvent { kind, key: None, value: None, old_value: None, affected });
        }
    }

    pub(crate) fn publish<T: Target>(&self, turn: &mut Turn<'_, T>, event: impl FnOnce() -> MapEvent) {
        self.listeners.publish(turn, event);
    }
}
