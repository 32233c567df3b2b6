//! A list: items in order, equal ones too, found by their place.
//!
//! It lives on one strand, on the partition of its name: every operation is atomic, and they all happen in one order. Those that look at
//! every item take their time in slices, and other operations run in between.

mod operations;

use crate::grid::Grid;
use crate::invocation::Invocation;
use crate::items::{
    AddAll, Clear, Contains, ContainsAll, GetRange, IsEmpty, ItemEvent, KeepOrRemove, Remove, Shelf, Size,
    detached,
};
use crate::structures::{Service, Structure};
use filbert_wire::{Data, PartitionId};
use operations::{Get, IndexOf, InsertAll, RemoveAt, Set};
use std::sync::Arc;
use uuid::Uuid;

/// Items in order. Places count from zero; one that is negative or behind the end is
/// [`IndexOutOfBounds`](crate::GridError::IndexOutOfBounds).
///
/// ```
/// use filbert_grid::Grid;
/// use filbert_wire::Data;
///
/// let stages = filbert_pool::Stages::start()?;
/// let colours = Grid::new(&stages).list("colours");
/// let (red, blue) = (Data::new(-3, b"r"), Data::new(-3, b"b"));
/// assert!(colours.add_all(vec![red.clone(), blue.clone()]).wait()?);
/// assert_eq!(colours.get(1).wait()?, blue);
/// assert_eq!(colours.index_of(&red).wait()?, Some(0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct List {
    shelf: Shelf,
}

impl List {
    pub(crate) fn new(grid: &Grid, name: &Arc<str>) -> Self {
        let max_size = grid.settings().lists.of(name).max_size;
        Self { shelf: Shelf::new(grid, Service::List, name, max_size) }
    }

    /// The partition it lives on.
    pub fn partition(&self) -> PartitionId {
        self.shelf.partition()
    }

    /// How many items there are.
    pub fn size(&self) -> Invocation<usize> {
        self.shelf.call(Size)
    }

    /// True when there is none.
    pub fn is_empty(&self) -> Invocation<bool> {
        self.shelf.call(IsEmpty)
    }

    /// True when an equal item is there.
    pub fn contains(&self, item: &Data) -> Invocation<bool> {
        self.shelf.call(Contains::new(item.clone()))
    }

    /// True when each of the items is there; how often does not count.
    pub fn contains_all(&self, items: Vec<Data>) -> Invocation<bool> {
        self.shelf.call(ContainsAll::new(items))
    }

    /// The item at a place.
    pub fn get(&self, index: i64) -> Invocation<Data> {
        self.shelf.call(Get { index })
    }

    /// All items, as they are at one moment.
    pub fn get_all(&self) -> Invocation<Vec<Data>> {
        self.shelf.call(GetRange::all())
    }

    /// All items from a place on; none from the place behind the last.
    pub fn get_from(&self, from: i64) -> Invocation<Vec<Data>> {
        self.shelf.call(GetRange::new(from, None))
    }

    /// The items from one place to before another.
    pub fn sub(&self, from: i64, to: i64) -> Invocation<Vec<Data>> {
        self.shelf.call(GetRange::new(from, Some(to)))
    }

    /// The place of the first equal item.
    pub fn index_of(&self, item: &Data) -> Invocation<Option<usize>> {
        self.shelf.call(IndexOf::first(item.clone()))
    }

    /// The place of the last equal item.
    pub fn last_index_of(&self, item: &Data) -> Invocation<Option<usize>> {
        self.shelf.call(IndexOf::last(item.clone()))
    }

    /// Adds an item at the end; false when the list is full.
    pub fn add(&self, item: &Data) -> Invocation<bool> {
        self.shelf.call(AddAll::new(vec![item.detached()]))
    }

    /// Adds items at the end, in one step; false when there is not room for all, and when there are none.
    pub fn add_all(&self, items: Vec<Data>) -> Invocation<bool> {
        self.shelf.call(AddAll::new(detached(items)))
    }

    /// Adds an item before the one at a place, or at the end; false when the list is full.
    pub fn add_at(&self, index: i64, item: &Data) -> Invocation<bool> {
        self.shelf.call(InsertAll { index, items: vec![item.detached()] })
    }

    /// Adds items before the one at a place, or at the end; false when there is not room for all, and when there are none.
    pub fn add_all_at(&self, index: i64, items: Vec<Data>) -> Invocation<bool> {
        self.shelf.call(InsertAll { index, items: detached(items) })
    }

    /// Replaces the item at a place; the one that was there.
    pub fn set(&self, index: i64, item: &Data) -> Invocation<Data> {
        self.shelf.call(Set { index, item: item.detached() })
    }

    /// Removes the first equal item; false when there is none.
    pub fn remove(&self, item: &Data) -> Invocation<bool> {
        self.shelf.call(Remove::new(item.clone()))
    }

    /// Removes the item at a place; the item.
    pub fn remove_at(&self, index: i64) -> Invocation<Data> {
        self.shelf.call(RemoveAt { index })
    }

    /// Removes all that equal one of `items`; false when there was none.
    pub fn remove_all(&self, items: Vec<Data>) -> Invocation<bool> {
        self.shelf.call(KeepOrRemove::new(items, false))
    }

    /// Removes all that equal none of `items`; false when there was none.
    pub fn retain_all(&self, items: Vec<Data>) -> Invocation<bool> {
        self.shelf.call(KeepOrRemove::new(items, true))
    }

    /// Removes all items.
    pub fn clear(&self) -> Invocation<()> {
        self.shelf.call(Clear::default())
    }

    /// Calls `listener` on the `event` stage for each item that comes or goes, in that order; with the item when `include_value`.
    pub fn add_listener(
        &self,
        include_value: bool,
        listener: impl Fn(&ItemEvent) + Send + Sync + 'static,
    ) -> Uuid {
        self.shelf.add_listener(include_value, listener)
    }

    /// Forgets a listener; false when there was none.
    pub fn remove_listener(&self, id: Uuid) -> bool {
        self.shelf.remove_listener(id)
    }
}

impl Structure for List {
    fn service(&self) -> Service {
        Service::List
    }

    fn name(&self) -> &Arc<str> {
        self.shelf.name()
    }

    fn destroy(&self) {
        self.shelf.close();
    }
}
