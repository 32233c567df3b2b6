//! Variable unicast: every item goes to one consumer, whichever has room.
//!
//! A slice is dealt in equal parts, beginning with another consumer each time; what finds no room there goes to whoever has some.
//! What no queue has room for is held for all of them together, so that a slow consumer holds up nobody else.

use super::link::{Flushed, Link};
use crate::processor::Failure;
use filbert_sync::conveyor::{Closed, Sender};
use std::task::Waker;

/// Deals the slices of one producer to all consumers.
pub(crate) struct UnicastLink<T> {
    /// Those of consumers that are gone are gone too.
    senders: Vec<Sender<T>>,
    held: Vec<T>,
    next: usize,
}

impl<T> UnicastLink<T> {
    /// `first` is the consumer that gets the first part: another one for every producer.
    pub(crate) fn new(senders: Vec<Sender<T>>, first: usize) -> Self {
        Self { senders, held: Vec::new(), next: first }
    }
}

impl<T: Send> Link<T> for UnicastLink<T> {
    fn route(&mut self, items: &mut Vec<T>) -> Result<(), Failure> {
        if self.held.is_empty() {
            std::mem::swap(&mut self.held, items);
        } else {
            self.held.append(items);
        }
        Ok(())
    }

    fn flush(&mut self) -> Flushed {
        self.senders.retain(|sender| !sender.is_closed());
        if self.senders.is_empty() {
            self.held.clear();
            return Flushed { held: 0, closed: true };
        }
        if let [only] = &mut *self.senders {
            // Closed in this moment: seen by the next flush.
            let _ = only.send_vec(&mut self.held);
        } else if !self.held.is_empty() {
            let count = self.senders.len();
            let part = self.held.len().div_ceil(count);
            // Equal parts first, then whatever there is room for. The vector stays: it is the bucket's next one.
            for most in [part, usize::MAX] {
                for step in 0..count {
                    if self.held.is_empty() {
                        break;
                    }
                    let sender = &mut self.senders[(self.next + step) % count];
                    let _: Result<usize, Closed> = sender.send_up_to(most, &mut self.held);
                }
            }
            self.next = (self.next + 1) % count;
        }
        Flushed { held: self.held.len(), closed: false }
    }

    fn ready_or_wake(&mut self, waker: &Waker) -> bool {
        if self.held.is_empty() {
            return false;
        }
        let mut ready = false;
        for sender in &mut self.senders {
            ready |= sender.ready_or_wake(waker);
        }
        ready
    }

    fn closed_or_wake(&mut self, waker: &Waker) -> bool {
        let mut closed = false;
        for sender in &mut self.senders {
            closed |= sender.closed_or_wake(waker);
        }
        closed
    }
}
