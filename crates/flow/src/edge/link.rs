//! The producer's side of an edge: from the slices of one producer into the queues of all consumers.
//!
//! ```text
//!   bucket ──slice──► route ──► lane 0: held ──► queue to consumer 0
//!                          ├──► lane 1: held ──► queue to consumer 1
//!                          └──► ...
//! ```
//!
//! A [`Router`] decides where each item of a slice goes; it is generic code, called once per slice, so key extractors and hashes are
//! compiled into its loop. What a queue has no room for is held by its lane, in order. A consumer that is gone takes its
//! lane with it: what is held for it is dropped at once, so that nobody waits for somebody who is not there.

use crate::processor::Failure;
use filbert_sync::conveyor::{Closed, Sender};
use std::task::Waker;

/// What became of a flush.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flushed {
    /// Items that found no room.
    pub(crate) held: usize,
    /// Nobody takes items any more.
    pub(crate) closed: bool,
}

/// Moves the slices of one producer into queues.
pub(crate) trait Link<T>: Send {
    /// Takes all items of the slice.
    fn route(&mut self, items: &mut Vec<T>) -> Result<(), Failure>;

    /// Sends what there is room for.
    fn flush(&mut self) -> Flushed;

    /// True when a held item could go now. False: `waker` will be woken when that is so.
    fn ready_or_wake(&mut self, waker: &Waker) -> bool;
}

/// Decides where the items of a slice go.
pub(crate) trait Router<T>: Send {
    /// Puts every item into the lane, or the lanes, that it belongs to.
    fn route(&mut self, items: &mut Vec<T>, lanes: &mut [Lane<T>]);
}

/// The way to one consumer.
pub(crate) struct Lane<T> {
    /// None when the consumer is gone.
    sender: Option<Sender<T>>,
    held: Vec<T>,
}

impl<T> Lane<T> {
    pub(crate) fn new(sender: Sender<T>) -> Self {
        Self { sender: Some(sender), held: Vec::new() }
    }

    /// False when its consumer is gone.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.sender.is_some()
    }

    /// Takes an item; it is sent by the next flush.
    #[inline]
    pub(crate) fn put(&mut self, item: T) {
        self.held.push(item);
    }

    /// Takes items; they are sent by the next flush.
    #[inline]
    pub(crate) fn put_all(&mut self, items: impl Iterator<Item = T>) {
        self.held.extend(items);
    }

    /// Sends what there is room for; returns what is left.
    fn flush(&mut self) -> usize {
        let Some(sender) = &mut self.sender else {
            self.held.clear();
            return 0;
        };
        if self.held.is_empty() {
            if sender.is_closed() {
                self.sender = None;
            }
            return 0;
        }
        if sender.send_vec(&mut self.held) == Err(Closed) {
            self.sender = None;
            self.held.clear();
        }
        self.held.len()
    }
}

/// A router with its lanes.
pub(crate) struct RoutedLink<T, R> {
    lanes: Vec<Lane<T>>,
    router: R,
}

impl<T, R> RoutedLink<T, R> {
    pub(crate) fn new(senders: Vec<Sender<T>>, router: R) -> Self {
        Self { lanes: senders.into_iter().map(Lane::new).collect(), router }
    }
}

impl<T: Send, R: Router<T>> Link<T> for RoutedLink<T, R> {
    fn route(&mut self, items: &mut Vec<T>) -> Result<(), Failure> {
        self.router.route(items, &mut self.lanes);
        debug_assert!(items.is_empty(), "a router leaves no item behind");
        Ok(())
    }

    fn flush(&mut self) -> Flushed {
        let held = self.lanes.iter_mut().map(Lane::flush).sum();
        Flushed { held, closed: !self.lanes.iter().any(Lane::is_open) }
    }

    fn ready_or_wake(&mut self, waker: &Waker) -> bool {
        // Every lane is asked, ready or not: all of them must know the waker when none is.
        let mut ready = false;
        for lane in &mut self.lanes {
            if let (Some(sender), false) = (&mut lane.sender, lane.held.is_empty()) {
                ready |= sender.ready_or_wake(waker);
            }
        }
        ready
    }
}
