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

    /// True when a consumer is gone. Else, and for those that are not, `waker` will be woken when one goes.
    fn closed_or_wake(&mut self, _waker: &Waker) -> bool {
        false
    }
}

/// Decides where the items of a slice go.
pub(crate) trait Router<T>: Send {
    /// Puts every item into the lane, or the lanes, that it belongs to.
    fn route(&mut self, items: &mut Vec<T>, lanes: &mut Lanes<T>);
}

/// The ways to all consumers: for each its queue, and what waits for room in it.
pub(crate) struct Lanes<T> {
    /// None where the consumer is gone.
    senders: Vec<Option<Sender<T>>>,
    /// What the next flush sends, by consumer.
    pub(crate) held: Vec<Vec<T>>,
}

impl<T> Lanes<T> {
    /// How many consumers there are, or were.
    #[inline]
    pub(crate) fn count(&self) -> usize {
        self.held.len()
    }

    /// False when that consumer is gone.
    pub(crate) fn is_open(&self, consumer: usize) -> bool {
        self.senders[consumer].is_some()
    }

    fn flush(&mut self) -> Flushed {
        let mut flushed = Flushed { held: 0, closed: true };
        for (sender, held) in self.senders.iter_mut().zip(&mut self.held) {
            let is_closed = match sender {
                None => true,
                Some(open) if held.is_empty() => open.is_closed(),
                Some(open) => open.send_vec(held) == Err(Closed),
            };
            if is_closed {
                *sender = None;
                held.clear();
            }
            flushed.held += held.len();
            flushed.closed &= is_closed;
        }
        flushed
    }

    fn ready_or_wake(&mut self, waker: &Waker) -> bool {
        // Every lane is asked, ready or not: all of them must know the waker when none is.
        let mut ready = false;
        for (sender, held) in self.senders.iter_mut().zip(&self.held) {
            if let (Some(sender), false) = (sender, held.is_empty()) {
                ready |= sender.ready_or_wake(waker);
            }
        }
        ready
    }

    fn closed_or_wake(&mut self, waker: &Waker) -> bool {
        let mut closed = false;
        for sender in self.senders.iter_mut().flatten() {
            closed |= sender.closed_or_wake(waker);
        }
        closed
    }
}

/// A router with its lanes.
pub(crate) struct RoutedLink<T, R> {
    lanes: Lanes<T>,
    router: R,
}

impl<T, R> RoutedLink<T, R> {
    pub(crate) fn new(senders: Vec<Sender<T>>, router: R) -> Self {
        let held = senders.iter().map(|_| Vec::new()).collect();
        Self { lanes: Lanes { senders: senders.into_iter().map(Some).collect(), held }, router }
    }
}

impl<T: Send, R: Router<T>> Link<T> for RoutedLink<T, R> {
    fn route(&mut self, items: &mut Vec<T>) -> Result<(), Failure> {
        self.router.route(items, &mut self.lanes);
        debug_assert!(items.is_empty(), "a router leaves no item behind");
        Ok(())
    }

    fn flush(&mut self) -> Flushed {
        self.lanes.flush()
    }

    fn ready_or_wake(&mut self, waker: &Waker) -> bool {
        self.lanes.ready_or_wake(waker)
    }

    fn closed_or_wake(&mut self, waker: &Waker) -> bool {
        self.lanes.closed_or_wake(waker)
    }
}
