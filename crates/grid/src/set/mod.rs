//! A set: items, each once, in the order in which they came.
//!
//! It lives on one strand, on the partition of its name: every operation is atomic. Those that look at all items do so in one turn: what
//! they copy are references, some ten million a second.

use crate::allowance::Weighs;
use crate::grid::{Grid, new_id};
use crate::invocation::Invocation;
use crate::items::{ItemChange, ItemEvent, ItemListeners, detached, item_bound};
use crate::keeper::{Keeper, KeptTurn, State, acts};
use crate::operation::Step;
use crate::structures::{Service, Structure};
use filbert_pool::Clock;
use filbert_wire::{Data, PartitionId};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::sync::Arc;
use uuid::Uuid;

/// Items, each once.
///
/// ```
/// use filbert_grid::Grid;
/// use filbert_wire::Data;
///
/// let stages = filbert_pool::Stages::start()?;
/// let seen = Grid::new(&stages).set("seen");
/// let item = Data::new(-3, b"1");
/// assert!(seen.add(&item).wait()? && !seen.add(&item).wait()?);
/// assert_eq!(seen.size().wait()?, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Set {
    keeper: Keeper<Members>,
    listeners: ItemListeners,
    clock: Clock,
}

/// The items of a set.
#[derive(Debug)]
pub(crate) struct Members {
    /// Each with its number: the order in which they came.
    items: HashMap<Data, u64>,
    next: u64,
    /// What its items take.
    bytes: usize,
    max_size: usize,
    listeners: ItemListeners,
}

impl State for Members {
    const SERVICE: Service = Service::Set;
    type Event = Infallible;

    const HOLDS_DATA: bool = true;

    fn held_bytes(&self) -> usize {
        self.bytes
    }

    fn end(&mut self) -> Vec<Infallible> {
        (self.items, self.bytes) = (HashMap::new(), 0);
        Vec::new()
    }
}

impl Members {
    /// Adds those that are not there; whether there was one. None when there is not room for all.
    fn add(&mut self, turn: &mut KeptTurn<'_, Self>, items: Vec<Data>) -> bool {
        if items.len() > self.max_size.saturating_sub(self.items.len())
            && items
                .iter()
                .collect::<HashSet<_>>()
                .iter()
                .filter(|item| !self.items.contains_key(**item))
                .count()
                > self.max_size.saturating_sub(self.items.len())
        {
            return false;
        }
        let mut added = Vec::new();
        for item in items {
            if let Entry::Vacant(place) = self.items.entry(item) {
                self.bytes += cost(place.key());
                added.push(place.key().clone());
                place.insert(self.next);
                self.next += 1;
            }
        }
        self.listeners.publish(turn, ItemChange::Added, &added);
        !added.is_empty()
    }

    /// Removes those that `goes` says; whether there was one.
    fn remove(&mut self, turn: &mut KeptTurn<'_, Self>, goes: impl Fn(&Data) -> bool) -> bool {
        let removed = in_order(self.items.extract_if(|item, _| goes(item)));
        self.bytes -= removed.iter().map(cost).sum::<usize>();
        self.listeners.publish(turn, ItemChange::Removed, &removed);
        !removed.is_empty()
    }
}

/// What an item takes: its bytes, its number and its place in the table.
fn cost(item: &Data) -> usize {
    item.weight() + 24
}

/// Items in the order in which they came.
fn in_order(items: impl Iterator<Item = (Data, u64)>) -> Vec<Data> {
    let mut items: Vec<_> = items.collect();
    items.sort_unstable_by_key(|(_, number)| *number);
    items.into_iter().map(|(item, _)| item).collect()
}

acts! {
    Members;
    /// How many items there are.
    Read "set.size" Size {} -> usize = |self, set, _turn| Step::done(set.items.len());
    /// Whether each of some items is there.
    Read "set.contains_all" ContainsAll { items: Vec<Data> } -> bool
        = |self, set, _turn| Step::done(self.items.iter().all(|item| set.items.contains_key(item)));
    /// All items.
    Read "set.get_all" GetAll {} -> Vec<Data>, long
        = |self, set, _turn| Step::done(in_order(set.items.iter().map(|(item, number)| (item.clone(), *number))));
    /// Adds items; whether there was a new one.
    Put "set.add_all" AddAll { items: Vec<Data> } -> bool
        = |self, set, turn| Step::done(set.add(turn, std::mem::take(&mut self.items)));
    /// Removes an item.
    Remove "set.remove" Remove { item: Data } -> bool = |self, set, turn| {
        let removed = set.items.remove_entry(&self.item).map(|(item, _)| item);
        set.bytes -= removed.as_ref().map_or(0, cost);
        set.listeners.publish(turn, ItemChange::Removed, removed.as_slice());
        Step::done(removed.is_some())
    };
    /// Removes all items that are among some, or all that are not.
    Remove "set.keep_or_remove" KeepOrRemove { items: HashSet<Data>, keep: bool } -> bool, long
        = |self, set, turn| Step::done(set.remove(turn, |item| self.items.contains(item) != self.keep));
    /// Removes all items.
    Remove "set.clear" Clear {} -> (), long = |self, set, turn| {
        set.remove(turn, |_| true);
        Step::done(())
    };
}

impl Set {
    pub(crate) fn new(grid: &Grid, name: &Arc<str>) -> Self {
        let listeners = ItemListeners::new(grid, Service::Set, name);
        let max_size = item_bound(grid.settings().sets.of(name).max_size);
        let listening = listeners.clone();
        let members = Members { items: HashMap::new(), next: 0, bytes: 0, max_size, listeners: listening };
        let clock = grid.stages().clock();
        Self { keeper: Keeper::single(grid, name, members), listeners, clock }
    }

    /// The partition it lives on.
    pub fn partition(&self) -> PartitionId {
        self.keeper.partition()
    }

    /// How many items there are.
    pub fn size(&self) -> Invocation<usize> {
        self.keeper.call(Size {})
    }

    /// True when each of the items is there.
    pub fn contains_all(&self, items: Vec<Data>) -> Invocation<bool> {
        self.keeper.call(ContainsAll { items })
    }

    /// True when the item is there.
    pub fn contains(&self, item: &Data) -> Invocation<bool> {
        self.contains_all(vec![item.clone()])
    }

    /// All items, as they are at one moment, in the order in which they came.
    pub fn get_all(&self) -> Invocation<Vec<Data>> {
        self.keeper.call(GetAll {})
    }

    /// Adds an item; false when it is there already, and when the set is full.
    pub fn add(&self, item: &Data) -> Invocation<bool> {
        self.keeper.call(AddAll { items: vec![item.detached()] })
    }

    /// Adds items, in one step; false when all are there already, and when there is not room for all that are not.
    pub fn add_all(&self, items: Vec<Data>) -> Invocation<bool> {
        self.keeper.call(AddAll { items: detached(items) })
    }

    /// Removes an item; false when it is not there.
    pub fn remove(&self, item: &Data) -> Invocation<bool> {
        self.keeper.call(Remove { item: item.clone() })
    }

    /// Removes all that are among `items`; false when there was none.
    pub fn remove_all(&self, items: Vec<Data>) -> Invocation<bool> {
        self.keeper.call(KeepOrRemove { items: items.into_iter().collect(), keep: false })
    }

    /// Removes all that are not among `items`; false when there was none.
    pub fn retain_all(&self, items: Vec<Data>) -> Invocation<bool> {
        self.keeper.call(KeepOrRemove { items: items.into_iter().collect(), keep: true })
    }

    /// Removes all items.
    pub fn clear(&self) -> Invocation<()> {
        self.keeper.call(Clear {})
    }

    /// Calls `listener` on the `event` stage for each item that comes or goes, in that order; with the item when `include_value`.
    pub fn add_listener(
        &self,
        include_value: bool,
        listener: impl Fn(&ItemEvent) + Send + Sync + 'static,
    ) -> Uuid {
        let id = new_id(&self.clock);
        self.listeners.add(id, include_value, listener);
        id
    }

    /// Forgets a listener; false when there was none.
    pub fn remove_listener(&self, id: Uuid) -> bool {
        self.listeners.remove(id)
    }
}

impl Structure for Set {
    fn service(&self) -> Service {
        Service::Set
    }

    fn name(&self) -> &Arc<str> {
        self.keeper.name()
    }

    fn destroy(&self) {
        self.keeper.end();
    }
}
