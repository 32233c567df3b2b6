//! A queue: items in order, taken from the front; bounded if one wants it; whoever finds it empty or full may wait.
//!
//! It lives on one strand, on the partition of its name. An offer that finds no room, or a poll that finds no item, is parked there and
//! holds no thread. Those that wait are served in the order in which they came, also before newcomers; one that is cancelled takes
//! nothing.
//!
//! Left out: a time after which an empty queue destroys itself. Whoever made it destroys it.

mod operations;

use crate::grid::Grid;
use crate::invocation::Invocation;
use crate::items::{
    AddAll, Clear, Contains, ContainsAll, GetRange, IsEmpty, ItemEvent, KeepOrRemove, Remove, SetMaxSize,
    Shelf, Size, detached,
};
use crate::strands::{Answer, Invoked};
use crate::structures::{Service, Structure};
use filbert_wire::{Data, PartitionId};
use operations::{Drain, Offer, Peek, Poll, Put, RemainingCapacity, Take};
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// Items in order, first in, first out.
///
/// ```
/// use filbert_grid::Grid;
/// use filbert_wire::Data;
///
/// let stages = filbert_pool::Stages::start()?;
/// let jobs = Grid::new(&stages).queue("jobs");
/// let next = jobs.take();
/// assert!(!next.is_done(), "it waits, and holds no thread");
/// let job = Data::new(-3, b"1");
/// jobs.put(&job).wait()?;
/// assert_eq!(next.wait()?, job);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Queue {
    shelf: Shelf,
}

impl Queue {
    pub(crate) fn new(grid: &Grid, name: &Arc<str>) -> Self {
        let max_size = grid.settings().queues.of(name).max_size;
        Self { shelf: Shelf::new(grid, Service::Queue, name, max_size) }
    }

    /// The partition it lives on.
    pub fn partition(&self) -> PartitionId {
        self.shelf.partition()
    }

    /// Adds an item at the end; false when there was no room in time. Does not wait with a time-out of zero.
    pub fn offer(&self, item: &Data, timeout: Duration) -> Invocation<bool> {
        self.shelf.call(Offer::new(item.detached(), timeout))
    }

    /// Adds an item at the end, when there is room.
    pub fn put(&self, item: &Data) -> Invocation<()> {
        self.shelf.call(Put::new(item.detached()))
    }

    /// Adds items at the end, in one step and without waiting; false when there is not room for all, and when there are none.
    pub fn add_all(&self, items: Vec<Data>) -> Invocation<bool> {
        self.shelf.call(AddAll::new(detached(items)))
    }

    /// Takes the first item; none when there was none in time. Does not wait with a time-out of zero.
    pub fn poll(&self, timeout: Duration) -> Invocation<Option<Data>> {
        self.shelf.call(Poll::new(timeout))
    }

    /// Takes the first item, when there is one.
    pub fn take(&self) -> Invocation<Data> {
        self.shelf.call(Take::new())
    }

    /// As [`Queue::offer`], with the result given to the answer that `answer` makes when it comes later: for whoever may be gone by then.
    pub fn offer_to<A: Answer<bool>>(
        &self,
        item: &Data,
        timeout: Duration,
        answer: impl FnOnce() -> A,
    ) -> Invoked<bool> {
        self.shelf.invoke(Offer::new(item.detached(), timeout), answer)
    }

    /// As [`Queue::put`], for an answer.
    pub fn put_to<A: Answer<()>>(&self, item: &Data, answer: impl FnOnce() -> A) -> Invoked<()> {
        self.shelf.invoke(Put::new(item.detached()), answer)
    }

    /// As [`Queue::poll`], for an answer.
    pub fn poll_to<A: Answer<Option<Data>>>(
        &self,
        timeout: Duration,
        answer: impl FnOnce() -> A,
    ) -> Invoked<Option<Data>> {
        self.shelf.invoke(Poll::new(timeout), answer)
    }

    /// As [`Queue::take`], for an answer.
    pub fn take_to<A: Answer<Data>>(&self, answer: impl FnOnce() -> A) -> Invoked<Data> {
        self.shelf.invoke(Take::new(), answer)
    }

    /// Takes all items that are there, or so many of the first.
    pub fn drain(&self, max: Option<usize>) -> Invocation<Vec<Data>> {
        self.shelf.call(Drain::new(max, None))
    }

    /// The same, but no more than have so many bytes together; one item in any case.
    pub fn drain_within(&self, max: Option<usize>, max_bytes: usize) -> Invocation<Vec<Data>> {
        self.shelf.call(Drain::new(max, Some(max_bytes)))
    }

    /// The first item, which stays.
    pub fn peek(&self) -> Invocation<Option<Data>> {
        self.shelf.call(Peek)
    }

    /// How many items there are.
    pub fn size(&self) -> Invocation<usize> {
        self.shelf.call(Size)
    }

    /// True when there is none.
    pub fn is_empty(&self) -> Invocation<bool> {
        self.shelf.call(IsEmpty)
    }

    /// How many more there is room for; up to 2,147,483,647 when it is not bounded.
    pub fn remaining_capacity(&self) -> Invocation<usize> {
        self.shelf.call(RemainingCapacity)
    }

    /// Sets how many items there may be, zero for no bound. What is there already stays.
    pub fn set_max_size(&self, max_size: usize) -> Invocation<()> {
        self.shelf.call(SetMaxSize { max_size })
    }

    /// All items, as they are at one moment; they stay.
    pub fn get_all(&self) -> Invocation<Vec<Data>> {
        self.shelf.call(GetRange::all())
    }

    /// True when an equal item is there.
    pub fn contains(&self, item: &Data) -> Invocation<bool> {
        self.shelf.call(Contains::new(item.clone()))
    }

    /// True when each of the items is there; how often does not count.
    pub fn contains_all(&self, items: Vec<Data>) -> Invocation<bool> {
        self.shelf.call(ContainsAll::new(items))
    }

    /// Removes the first equal item; false when there is none.
    pub fn remove(&self, item: &Data) -> Invocation<bool> {
        self.shelf.call(Remove::new(item.clone()))
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

impl Structure for Queue {
    fn service(&self) -> Service {
        Service::Queue
    }

    fn name(&self) -> &Arc<str> {
        self.shelf.name()
    }

    fn destroy(&self) {
        self.shelf.close();
    }
}
