//! Many lanes, one receiver, one bell.
//!
//! The receiving side of an edge: one lane per producer, so that every queue stays single-producer and wait-free. Calls take
//! turns over the lanes, so a busy lane does not starve a quiet one, and order holds per lane.

use super::bell::Bell;
use super::ring::Ring;
use super::{Closed, Receiver, Sender};
use crate::primitives::Arc;
use std::task::Waker;

/// A bundle of lanes with one receiver, woken once for all of them.
///
/// ```
/// let mut conveyor = filbert_sync::conveyor::Conveyor::new();
/// let (mut left, mut right) = (conveyor.add_lane(8), conveyor.add_lane(8));
/// left.try_send(1).unwrap();
/// right.try_send(2).unwrap();
/// drop((left, right));
/// let mut items = Vec::new();
/// while conveyor.receive_into(&mut items, 100).is_ok() {}
/// items.sort();
/// assert_eq!(items, [1, 2]);
/// ```
pub struct Conveyor<T> {
    /// By ordinal; a lane that is closed and empty is gone.
    lanes: Vec<Option<Receiver<T>>>,
    open: usize,
    /// The lane whose turn is next.
    next: usize,
    bell: Arc<Bell>,
}

impl<T> Default for Conveyor<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Conveyor<T> {
    /// A conveyor without lanes, which is closed until it has one.
    pub fn new() -> Self {
        Self { lanes: Vec::new(), open: 0, next: 0, bell: Arc::new(Bell::new()) }
    }

    /// A new lane of `capacity` items; its ordinal is the number of lanes made before.
    ///
    /// # Panics
    /// When `capacity` is 0.
    pub fn add_lane(&mut self, capacity: usize) -> Sender<T> {
        let ring = Arc::new(Ring::new(capacity, Arc::clone(&self.bell)));
        self.lanes.push(Some(Receiver::new(Arc::clone(&ring), false)));
        self.open += 1;
        Sender::new(ring)
    }

    /// How many lanes were made, closed ones included.
    pub fn lanes(&self) -> usize {
        self.lanes.len()
    }

    /// How many lanes may still give items.
    pub fn open_lanes(&self) -> usize {
        self.open
    }

    /// How many items wait in all lanes now; more may come at any time.
    pub fn available(&mut self) -> usize {
        self.lanes.iter_mut().flatten().map(Receiver::available).sum()
    }

    /// One lane, to take from it alone; nothing when it is closed and was found empty.
    ///
    /// Wait through [`Conveyor::ready_or_wake`], not through the lane: they share the bell.
    pub fn lane_mut(&mut self, ordinal: usize) -> Option<&mut Receiver<T>> {
        self.lanes.get_mut(ordinal)?.as_mut()
    }

    /// Moves up to `max` items to the end of `items`, lane after lane; returns how many. 0 means: nothing there now.
    pub fn receive_into(&mut self, items: &mut Vec<T>, max: usize) -> Result<usize, Closed> {
        self.take_turns(max, |_, lane, left| lane.receive_into(items, left))
    }

    /// Hands up to `max` items to `each` as slices of the rings, with the ordinal of their lane; returns how many.
    ///
    /// The items are dropped afterwards, also when `each` panics.
    pub fn drain(&mut self, max: usize, mut each: impl FnMut(usize, &mut [T])) -> Result<usize, Closed> {
        self.take_turns(max, |ordinal, lane, left| lane.drain(left, |items| each(ordinal, items)))
    }

    /// True when a lane has items or has ended: try again now. False: `waker` will be woken, once, when that is so.
    pub fn ready_or_wake(&mut self, waker: &Waker) -> bool {
        if !self.is_ready() {
            if !self.bell.arm(waker) {
                return true;
            }
            if !self.is_ready() {
                return false;
            }
        }
        self.bell.disarm();
        true
    }

    fn is_ready(&mut self) -> bool {
        self.open == 0 || self.lanes.iter_mut().flatten().any(Receiver::is_ready)
    }

    /// Calls `take` for each lane with what is still wanted, from the next lane on, and drops lanes that have ended.
    fn take_turns(
        &mut self,
        max: usize,
        mut take: impl FnMut(usize, &mut Receiver<T>, usize) -> Result<usize, Closed>,
    ) -> Result<usize, Closed> {
        let mut taken = 0;
        for _ in 0..self.lanes.len() {
            if taken == max {
                break;
            }
            let ordinal = self.next;
            // Before the call, so that a closure that panics has had its turn.
            self.next = if ordinal + 1 == self.lanes.len() { 0 } else { ordinal + 1 };
            let Some(lane) = self.lanes[ordinal].as_mut() else { continue };
            match take(ordinal, lane, max - taken) {
                Ok(count) => taken += count,
                Err(Closed) => {
                    self.lanes[ordinal] = None;
                    self.open -= 1;
                }
            }
        }
        if taken == 0 && self.open == 0 { Err(Closed) } else { Ok(taken) }
    }
}

impl<T> Drop for Conveyor<T> {
    fn drop(&mut self) {
        self.bell.clear();
    }
}

impl<T> std::fmt::Debug for Conveyor<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conveyor").field("lanes", &self.lanes.len()).field("open", &self.open).finish()
    }
}
