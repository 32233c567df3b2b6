//! A ringbuffer: the last items, each with a number that counts up for ever. Reading takes nothing away, so any number of readers go at
//! their own pace; one that is too slow finds that items are gone.
//!
//! It lives on one strand, on the partition of its name. A reader that wants more than there is is parked there and holds no thread.
//! Items go when newer ones need their place, and with a time to live also when that is over: they are given up by the next act.

mod acts;
mod ring;

pub use acts::ManyRead;
pub use ring::{Overflow, RingbufferSizes};

use crate::code::Code;
use crate::grid::Grid;
use crate::invocation::Invocation;
use crate::items::detached;
use crate::keeper::{Keeper, waiting};
use crate::structures::{Service, Structure};
use acts::{Add, ReadMany, ReadOne, Sizes};
use filbert_wire::{Data, PartitionId};
use ring::Ring;
use std::sync::Arc;

/// What the ringbuffer of a reliable topic is called: this, and the topic's name.
pub(crate) const OF_TOPIC: &str = "_hz_rb_";

/// The last items, by their number.
///
/// ```
/// use filbert_grid::{Grid, Overflow};
/// use filbert_wire::Data;
///
/// let stages = filbert_pool::Stages::start()?;
/// let log = Grid::new(&stages).ringbuffer("log");
/// let both = log.read_many(0, 2, 10, usize::MAX, None);
/// assert!(!both.is_done(), "it waits for a second item, and holds no thread");
/// let line = Data::new(-3, b"1");
/// assert_eq!(log.add(&line, Overflow::Overwrite).wait()?, Some(0));
/// assert_eq!(log.add(&line, Overflow::Overwrite).wait()?, Some(1));
/// let both = both.wait()?;
/// assert_eq!((both.items.len(), both.next_sequence), (2, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Ringbuffer {
    keeper: Keeper<Ring>,
}

impl Ringbuffer {
    pub(crate) fn new(grid: &Grid, name: &Arc<str>) -> Self {
        // A topic's ringbuffer is set by the topic's name.
        let settings = grid.settings().ringbuffers.of(name.strip_prefix(OF_TOPIC).unwrap_or(name));
        let ring = Ring::new(settings, grid.registry());
        Self { keeper: Keeper::single(grid, name, ring) }
    }

    /// The partition it lives on.
    pub fn partition(&self) -> PartitionId {
        self.keeper.partition()
    }

    /// How many items there are, how many fit, and their numbers.
    pub fn sizes(&self) -> Invocation<RingbufferSizes> {
        self.keeper.call(Sizes {})
    }

    /// Adds an item; its number, or none when there was no room.
    pub fn add(&self, item: &Data, overflow: Overflow) -> Invocation<Option<i64>> {
        self.keeper.call(Add { items: vec![item.detached()], overflow })
    }

    /// Adds items, in one step; the number of the last one, or none when there was not room for all.
    pub fn add_all(&self, items: Vec<Data>, overflow: Overflow) -> Invocation<Option<i64>> {
        self.keeper.call(Add { items: detached(items), overflow })
    }

    waiting! {
        /// The item with that number, when there is one; [`StaleSequence`](crate::GridError::StaleSequence) when it is gone.
        read_one, read_one_to(&self, sequence: i64) -> Data = self.partition(), ReadOne { sequence };
        /// At least `min` and at most `max` items from that number on, but no earlier than the first that is there and no later than the next: only those for which `filter` gives
        /// true. Fewer when they would have more than `max_bytes` together; one in any case.
        read_many, read_many_to(
            &self, from: i64, min: usize, max: usize, max_bytes: usize, filter: Option<Code>
        ) -> ManyRead = self.partition(), ReadMany::new(from, min, max, max_bytes, filter);
    }
}

impl Structure for Ringbuffer {
    fn service(&self) -> Service {
        Service::Ringbuffer
    }

    fn name(&self) -> &Arc<str> {
        self.keeper.name()
    }

    fn destroy(&self) {
        self.keeper.end();
    }
}
