//! Items in order on one strand: what a list and a queue have in common.
//!
//! A list and a queue of the same name are two structures; each has a target of this type, on the partition of its name. What both can do
//! (look for items, remove them, clear) is one set of operations; a list adds those with an index, a queue those that wait.
//!
//! Operations that look at every item do so a slice per turn: see [`scan`] for why they are atomic all the same.

mod event;
mod line;
mod operations;
mod scan;
mod sequence;
mod shelf;

pub(crate) use event::ItemListeners;
pub use event::{ItemChange, ItemEvent};
pub(crate) use line::{Chance, Line, Patience};
pub(crate) use operations::{
    AddAll, Clear, Close, Contains, ContainsAll, GetRange, IsEmpty, KeepOrRemove, Remove, SetMaxSize, Size,
};
pub(crate) use scan::{Scan, Scanned};
pub(crate) use sequence::Sequence;
pub(crate) use shelf::{Shelf, bound as item_bound, detached};

use crate::allowance::Weighs;
use crate::error::GridError;
use crate::operation::{Target, Turn};
use crate::structures::Service;
use filbert_wire::Data;
use std::sync::Arc;

/// The most items that a structure holds: clients count them in 31 bits.
const MOST: usize = i32::MAX as usize;

/// What a parked operation waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Awaited {
    /// An item to take.
    Item,
    /// Room for an item.
    Room,
}

/// The items of one list or queue.
#[derive(Debug)]
pub(crate) struct Items {
    sequence: Sequence,
    /// Another one after every change.
    version: u64,
    max_size: usize,
    closed: bool,
    listeners: ItemListeners,
    service: Service,
    name: Arc<str>,
    /// Who goes first, by what is waited for.
    lines: [Line; 2],
}

impl Target for Items {
    type Event = Awaited;

    const REFUSES_WRITES: bool = true;

    fn is_in_line(_: &Awaited) -> bool {
        true
    }

    fn held_bytes(&self) -> usize {
        self.sequence.bytes()
    }
}

impl Items {
    pub(crate) fn sequence(&self) -> &Sequence {
        &self.sequence
    }

    pub(crate) fn len(&self) -> usize {
        self.sequence.len()
    }

    /// How many more items there is room for.
    pub(crate) fn room(&self) -> usize {
        self.max_size.saturating_sub(self.len())
    }

    /// Why nothing can be done any more, when the structure is destroyed.
    pub(crate) fn gone(&self) -> Option<GridError> {
        self.closed
            .then(|| GridError::Destroyed { structure: format!("{} {}", self.service.as_str(), self.name) })
    }

    /// Adds `items` before the one at `index`; there must be room.
    pub(crate) fn insert(&mut self, turn: &mut Turn<'_, Self>, index: usize, items: Vec<Data>) {
        if items.is_empty() {
            return;
        }
        self.version += 1;
        self.publish(turn, ItemChange::Added, &items);
        self.sequence.insert_all(index, items);
        turn.happened(Awaited::Item);
    }

    /// Takes the item at `index` out.
    pub(crate) fn remove(&mut self, turn: &mut Turn<'_, Self>, index: usize) -> Option<Data> {
        let item = self.sequence.remove(index)?;
        self.removed(turn, std::slice::from_ref(&item));
        Some(item)
    }

    /// How many of the first items have up to so many bytes together; one in any case.
    pub(crate) fn fitting(&self, max_bytes: usize) -> usize {
        let (mut count, mut bytes) = (0, 0);
        let chunks = (0..).map_while(|number| self.sequence.chunk(number));
        for item in chunks.flatten() {
            bytes += item.weight();
            if bytes > max_bytes && count > 0 {
                break;
            }
            count += 1;
        }
        count.max(1)
    }

    /// Takes up to `count` items out, from the first on.
    pub(crate) fn take(&mut self, turn: &mut Turn<'_, Self>, count: usize) -> Vec<Data> {
        let taken: Vec<_> = (0..count.min(self.len())).filter_map(|_| self.sequence.pop_front()).collect();
        if !taken.is_empty() {
            self.removed(turn, &taken);
        }
        taken
    }

    /// Replaces the item at `index`; listeners hear that the old one went and the new one came.
    pub(crate) fn set(&mut self, turn: &mut Turn<'_, Self>, index: usize, item: Data) -> Option<Data> {
        let before = self.sequence.set(index, item.clone())?;
        self.version += 1;
        self.publish(turn, ItemChange::Removed, std::slice::from_ref(&before));
        self.publish(turn, ItemChange::Added, &[item]);
        Some(before)
    }

    /// Replaces all items by some of them; `removed` are the others.
    fn keep_only(&mut self, turn: &mut Turn<'_, Self>, kept: Sequence, removed: &[Data]) {
        self.sequence = kept;
        self.removed(turn, removed);
    }

    /// Takes all items out, as they are.
    fn clear(&mut self, turn: &mut Turn<'_, Self>) -> Sequence {
        let all = std::mem::take(&mut self.sequence);
        if !all.is_empty() {
            self.removed(turn, &[]);
            (0..).map_while(|number| all.chunk(number)).for_each(|chunk| {
                let (front, back) = chunk.as_slices();
                self.publish(turn, ItemChange::Removed, front);
                self.publish(turn, ItemChange::Removed, back);
            });
        }
        all
    }

    fn removed(&mut self, turn: &mut Turn<'_, Self>, items: &[Data]) {
        self.version += 1;
        self.publish(turn, ItemChange::Removed, items);
        turn.happened(Awaited::Room);
    }

    fn publish(&self, turn: &mut Turn<'_, Self>, change: ItemChange, items: &[Data]) {
        self.listeners.publish(turn, change, items);
    }
}
