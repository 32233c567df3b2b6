//! What an operation has around it while it runs.

use super::Target;
use super::under_way::UnderWay;
use crate::error::GridError;
use filbert_pool::{Clock, Offer, Offered, TaskFuture};
use filbert_store::Pending;
use filbert_wire::PartitionId;
use std::time::Duration;
use uuid::Uuid;

/// The surroundings of one run of an operation: the time, where it runs, and what it leaves behind.
#[derive(Debug)]
pub struct Turn<'a, T: Target> {
    clock: &'a Clock,
    partition: PartitionId,
    source: Option<Uuid>,
    pub(crate) events: Vec<T::Event>,
    pub(crate) held: Vec<HeldBack>,
    pub(crate) stored: Option<Pending>,
}

impl<'a, T: Target> Turn<'a, T> {
    pub(crate) fn new(clock: &'a Clock, partition: PartitionId) -> Self {
        Self { clock, partition, source: None, events: Vec::new(), held: Vec::new(), stored: None }
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

    /// From now on this run makes changes for that client or member.
    #[inline]
    pub(crate) fn acts_for(&mut self, source: Uuid) {
        self.source = Some(source);
    }

    /// Whom it makes changes for; `None` when that is nobody in particular.
    #[inline]
    pub(crate) fn source(&self) -> Option<Uuid> {
        self.source
    }

    /// Something changed that parked operations may wait for: they run again, in the order in which they came.
    pub fn happened(&mut self, event: T::Event) {
        self.events.push(event);
    }

    /// An event was offered to listeners. When there is no room yet, the answer of this operation is held back until there is,
    /// or the offer's time is over: a publisher is slowed, no thread waits.
    pub fn offered(&mut self, offer: Offer) {
        if let Offer::Pending(later) = offer {
            self.held.push(HeldBack::Offer(later));
        }
    }

    /// A store is told of a change. The answer of this operation is held back until the store has it, or refuses it.
    pub(crate) fn writes(&mut self, under_way: UnderWay) {
        self.held.push(HeldBack::Write(under_way));
    }

    /// A change was appended to a log: the answer of this operation is held back until it is on disk.
    pub(crate) fn stores(&mut self, pending: Pending) {
        self.stored = Some(match self.stored.take() {
            Some(before) => before.or_later(pending),
            None => pending,
        });
    }
}

/// What an answer is held back for.
#[derive(Debug)]
pub(crate) enum HeldBack {
    /// An event that found no room yet.
    Offer(TaskFuture<Offered>),
    /// A change that a store does not have yet.
    Write(UnderWay),
}

impl HeldBack {
    pub(crate) fn is_done(&self) -> bool {
        match self {
            HeldBack::Offer(offered) => offered.is_done(),
            HeldBack::Write(under_way) => under_way.is_done(),
        }
    }

    /// Why the operation failed after all, once it is done.
    pub(crate) fn refused(&self) -> Option<GridError> {
        match self {
            HeldBack::Offer(_) => None,
            HeldBack::Write(under_way) => under_way.refused(),
        }
    }

    /// Calls back when it is done, with what [`HeldBack::refused`] says then.
    pub(crate) fn on_complete(self, callback: impl FnOnce(Option<GridError>) + Send + 'static) {
        match self {
            HeldBack::Offer(offered) => offered.on_complete(move |_| callback(None)),
            HeldBack::Write(under_way) => under_way.on_complete(callback),
        }
    }
}
