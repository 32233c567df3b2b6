//! Looks at all entries of a partition, in slices. An entry that is there from the begin to the end is seen exactly once.

use super::{MapTurn, Slice};
use crate::allowance::{Allowance, Tally, Weighs};
use crate::map::partition::MapPartition;
use crate::map::store::{Slot, Store, copied, identity};
use crate::operation::{Action, Operation, Step};
use bytes::Bytes;
use filbert_wire::Data;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

/// A stored entry, to look at: the bytes of two [`Data`], header included.
#[derive(Debug, Clone, Copy)]
pub struct EntryRef<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The value.
    pub value: &'a [u8],
}

impl<'a> EntryRef<'a> {
    /// The entry in a slot.
    pub fn at(store: &'a Store, slot: Slot) -> Self {
        Self { key: store.key(slot), value: store.value(slot) }
    }
}

/// Says which entries an operation is about. A value, so that the operation can travel.
pub trait EntryFilter: Serialize + DeserializeOwned + Send + 'static {
    /// True when it is about this one.
    fn matches(&self, entry: &EntryRef<'_>) -> bool;
}

/// All entries.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Everything;

impl EntryFilter for Everything {
    fn matches(&self, _: &EntryRef<'_>) -> bool {
        true
    }
}

/// What a scan takes of an entry.
pub trait Pick: Send + 'static {
    /// What it takes.
    type Item: Weighs + Send + 'static;
    /// The operation's name.
    const NAME: &'static str;
    /// Takes it.
    fn pick(entry: &EntryRef<'_>) -> Self::Item;
}

/// The key.
#[derive(Debug, Clone, Copy)]
pub enum Keys {}

impl Pick for Keys {
    type Item = Data;
    const NAME: &'static str = "map.key_set";

    fn pick(entry: &EntryRef<'_>) -> Data {
        copied(entry.key)
    }
}

/// The value.
#[derive(Debug, Clone, Copy)]
pub enum Values {}

impl Pick for Values {
    type Item = Data;
    const NAME: &'static str = "map.values";

    fn pick(entry: &EntryRef<'_>) -> Data {
        copied(entry.value)
    }
}

/// Key and value.
#[derive(Debug, Clone, Copy)]
pub enum Entries {}

impl Pick for Entries {
    type Item = (Data, Data);
    const NAME: &'static str = "map.entry_set";

    fn pick(entry: &EntryRef<'_>) -> (Data, Data) {
        (copied(entry.key), copied(entry.value))
    }
}

/// Something of all entries that a filter takes.
#[derive(Debug, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Scan<P: Pick, F: EntryFilter> {
    filter: F,
    #[serde(skip)]
    cursor: u32,
    #[serde(skip, default = "Vec::new")]
    found: Vec<P::Item>,
    #[serde(skip)]
    tally: Tally,
    #[serde(skip)]
    pick: PhantomData<fn() -> P>,
}

impl<P: Pick, F: EntryFilter> Scan<P, F> {
    /// Of those that `filter` takes.
    pub fn new(filter: F) -> Self {
        Self { filter, cursor: 0, found: Vec::new(), tally: Tally::default(), pick: PhantomData }
    }

    /// Takes no more memory than that.
    #[must_use]
    pub fn within(mut self, allowance: &Allowance) -> Self {
        self.tally = Tally::new(allowance);
        self
    }
}

impl<P: Pick, F: EntryFilter> Operation for Scan<P, F> {
    type Target = MapPartition;
    type Output = Vec<P::Item>;
    const NAME: &'static str = P::NAME;
    const ACTION: Action = Action::Read;
    const SHORT: bool = false;
    const SKIPS_UNUSED: bool = true;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        let mut slice = Slice::begin(map, turn);
        while let Some(slot) = map.store().next(self.cursor) {
            self.cursor = slot.number() + 1;
            let entry = EntryRef::at(map.store(), slot);
            if !map.is_over(turn, slot) && self.filter.matches(&entry) {
                let item = P::pick(&entry);
                if let Err(too_much) = self.tally.add(item.weight()) {
                    return Step::failed(too_much.into());
                }
                self.found.push(item);
            }
            if slice.is_over(turn) {
                return Step::Again;
            }
        }
        match self.tally.settle() {
            Ok(()) => Step::done(std::mem::take(&mut self.found)),
            Err(too_much) => Step::failed(too_much.into()),
        }
    }
}

/// Whether any key has this value.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ContainsValue {
    value: Data,
    #[serde(skip)]
    cursor: u32,
}

impl ContainsValue {
    /// This value.
    pub fn new(value: Data) -> Self {
        Self { value, cursor: 0 }
    }
}

impl Operation for ContainsValue {
    type Target = MapPartition;
    type Output = bool;
    const NAME: &'static str = "map.contains_value";
    const ACTION: Action = Action::Read;
    const SHORT: bool = false;
    const SKIPS_UNUSED: bool = true;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        let mut slice = Slice::begin(map, turn);
        while let Some(slot) = map.store().next(self.cursor) {
            self.cursor = slot.number() + 1;
            if identity(map.store().value(slot)) == self.value.identity() && !map.is_over(turn, slot) {
                return Step::done(true);
            }
            if slice.is_over(turn) {
                return Step::Again;
            }
        }
        Step::done(false)
    }
}

/// Entries in one piece of memory, which the last of them gives back: to make room for each key and each value takes longer than to
/// copy it. Who keeps one of them for long keeps all; [`Data::detached`] is one alone.
pub(crate) fn copied_together(store: &Store, slots: &[Slot]) -> Vec<(Data, Data)> {
    let entries = || slots.iter().map(|slot| EntryRef::at(store, *slot));
    let mut bytes = Vec::with_capacity(entries().map(|entry| entry.key.len() + entry.value.len()).sum());
    for entry in entries() {
        bytes.extend_from_slice(entry.key);
        bytes.extend_from_slice(entry.value);
    }
    let mut bytes = Bytes::from(bytes);
    let mut take = |length: usize| {
        Data::from_bytes(bytes.split_to(length)).expect("what is stored was a value when it came")
    };
    entries().map(|entry| (take(entry.key.len()), take(entry.value.len()))).collect()
}

/// Some entries of a partition, and where to go on. They are in one piece of memory, which keeping one of them keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// The entries.
    pub entries: Vec<(Data, Data)>,
    /// The cursor of the next page; `None` when this was the last.
    pub next: Option<u32>,
}

/// The next entries of a partition, for iteration.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct FetchEntries {
    /// Where to begin: 0, or what the last page said.
    pub cursor: u32,
    /// How many entries at most; fewer when they are large.
    pub batch: u32,
}

/// Entries of one page at most, whatever a client asks for.
const LARGEST_PAGE: u32 = 10_000;

/// Bytes after which a page is full, however few entries that are.
const FULL_PAGE_BYTES: usize = 1 << 20;

impl Operation for FetchEntries {
    type Target = MapPartition;
    type Output = Page;
    const NAME: &'static str = "map.fetch_entries";
    const ACTION: Action = Action::Read;
    const SHORT: bool = false;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        let (mut slots, mut next) = (Vec::new(), None);
        let (most, mut bytes) = (self.batch.clamp(1, LARGEST_PAGE) as usize, 0);
        while let Some(slot) = map.store().next(self.cursor) {
            if slots.len() >= most || bytes >= FULL_PAGE_BYTES {
                next = Some(slot.number());
                break;
            }
            self.cursor = slot.number() + 1;
            if !map.is_over(turn, slot) {
                bytes += map.store().cost(slot);
                slots.push(slot);
            }
        }
        Step::done(Page { entries: copied_together(map.store(), &slots), next })
    }
}
