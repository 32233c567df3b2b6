//! What an operation has around it while it runs.

use super::Target;
use filbert_pool::{Clock, Offer, Offered, TaskFuture};
use filbert_wire::PartitionId;
use std::time::Duration;

/// The surroundings of one run of an operation: the time, where it runs, and what it leaves behind.
#[derive(Debug)]
pub struct Turn<'a, T: Target> {
    clock: &'a Clock,
    partition: PartitionId,
    pub(crate) events: Vec<T::Event>,
    pub(crate) held: Vec<TaskFuture<Offered>>,
}

impl<'a, T: Target> Turn<'a, T> {
    pub(crate) fn new(clock: &'a Clock, partition: PartitionId) -> Self {
        Self { clock, partition, events: Vec::new(), held: Vec::new() }
    }

    /// The time since some fixed moment; deadlines are measured by it.
    #[inline]
    pub fn now(&self) -> Duration {
        self.clock.now()
    }

    /// Calendar time, in milliseconds since 1970.
    #[inline]
    pub fn unix_ms(&self) -> u64 {
        self.clock.unix_ms()
    }

    /// The clock itself, for randomness and timers.
    pub fn clock(&self) -> &Clock {
        self.clock
    }

    /// The partition that this strand stands for.
    pub fn partition(&self) -> PartitionId {
        self.partition
    }

    /// Something changed that parked operations may wait for: they run again, in the order in which they came.
    pub fn happened(&mut self, event: T::Event) {
        self.events.push(event);
    }

    /// An event was offered to listeners. When there is no room yet, the answer of this operation is held back until there is,
    /// or the offer's time is over: a publisher is slowed, no thread waits.
    pub fn offered(&mut self, offer: Offer) {
        if let Offer::Pending(later) = offer {
            self.held.push(later);
        }
    }
}
