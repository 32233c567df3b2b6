//! The items of a ringbuffer and their numbers.

use crate::allowance::Weighs;
use crate::code::Registry;
use crate::keeper::State;
use crate::settings::RingbufferSettings;
use crate::structures::Service;
use filbert_wire::Data;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::time::Duration;

/// What happens to an item for which there is no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Overflow {
    /// The oldest goes.
    Overwrite,
    /// It is not added.
    Fail,
}

/// An item came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Came;

/// The items of a ringbuffer.
#[derive(Debug)]
pub(crate) struct Ring {
    items: VecDeque<Item>,
    /// The number of the first item.
    head: i64,
    /// What the items take.
    bytes: usize,
    capacity: usize,
    ttl: Option<Duration>,
    pub(super) registry: Registry,
}

#[derive(Debug)]
struct Item {
    data: Data,
    came: Duration,
}

/// What a ringbuffer says of itself at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RingbufferSizes {
    /// How many items it holds at most.
    pub capacity: u64,
    /// How many there are.
    pub size: u64,
    /// How many more fit before one is overwritten that is not too old yet: all, when items do not grow old.
    pub remaining: u64,
    /// The number of the first item that is there; of the next one when there is none.
    pub head: i64,
    /// The number of the last item; -1 when there never was one.
    pub tail: i64,
}

impl State for Ring {
    const SERVICE: Service = Service::Ringbuffer;
    type Event = Came;

    const HOLDS_DATA: bool = true;

    fn held_bytes(&self) -> usize {
        self.bytes
    }

    fn end(&mut self) -> Vec<Came> {
        (self.items, self.bytes) = (VecDeque::new(), 0);
        vec![Came]
    }
}

impl Ring {
    pub(crate) fn new(settings: RingbufferSettings, registry: &Registry) -> Self {
        let ttl = (settings.ttl_seconds > 0).then(|| Duration::from_secs(settings.ttl_seconds));
        let capacity = settings.capacity.max(1);
        Self { items: VecDeque::new(), head: 0, bytes: 0, capacity, ttl, registry: registry.clone() }
    }

    /// Gives up what is too old.
    pub(crate) fn expire(&mut self, now: Duration) {
        let Some(ttl) = self.ttl else { return };
        while self.items.front().is_some_and(|item| item.came.saturating_add(ttl) <= now) {
            self.pop();
        }
    }

    fn pop(&mut self) {
        let gone = self.items.pop_front();
        self.bytes -= gone.map_or(0, |item| item.data.weight());
        self.head += 1;
    }

    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    pub(crate) fn head(&self) -> i64 {
        self.head
    }

    /// The number that the next item gets.
    pub(crate) fn next(&self) -> i64 {
        self.head + self.items.len() as i64
    }

    /// How many fit before one is overwritten that is not too old yet.
    pub(crate) fn remaining(&self) -> usize {
        if self.ttl.is_some() { self.capacity - self.items.len() } else { self.capacity }
    }

    pub(crate) fn sizes(&self) -> RingbufferSizes {
        RingbufferSizes {
            capacity: self.capacity as u64,
            size: self.items.len() as u64,
            remaining: self.remaining() as u64,
            head: self.head,
            tail: self.next() - 1,
        }
    }

    /// Adds an item; the oldest goes if there is no room. Its number.
    pub(crate) fn push(&mut self, data: Data, now: Duration) -> i64 {
        if self.items.len() >= self.capacity {
            self.pop();
        }
        self.bytes += data.weight();
        self.items.push_back(Item { data, came: now });
        self.next() - 1
    }

    /// The item with that number.
    pub(crate) fn get(&self, sequence: i64) -> Option<&Data> {
        let place = usize::try_from(sequence.checked_sub(self.head)?).ok()?;
        self.items.get(place).map(|item| &item.data)
    }
}
