//! The consumer's end of a lane.
//!
//! Every receive takes slots, moves the head once, and rings once. The rules that the `SAFETY` lines cite are those of
//! `ring.rs`.

use super::ring::Ring;
use super::{Closed, ReceiveError};
use crate::primitives::{Arc, Ordering};
use std::cell::Cell;
use std::task::Waker;

/// The consumer's end of a lane; dropping it drops what is queued and closes the lane for the sender.
pub struct Receiver<T> {
    ring: Arc<Ring<T>>,
    /// Our own position, exact.
    head: usize,
    /// The producer's position as last seen (rule 5).
    seen_tail: usize,
    /// False in a conveyor, whose lanes share one bell.
    alone_at_bell: bool,
}

impl<T> Receiver<T> {
    pub(super) fn new(ring: Arc<Ring<T>>, alone_at_bell: bool) -> Self {
        Self { ring, head: 0, seen_tail: 0, alone_at_bell }
    }

    /// How many items the lane holds at most.
    pub fn capacity(&self) -> usize {
        self.ring.capacity()
    }

    /// How many items are there now; more may come at any time.
    pub fn available(&mut self) -> usize {
        self.items_for(self.ring.capacity())
    }

    /// Takes one item. Prefer batches: each call pays a fence.
    #[inline]
    pub fn try_receive(&mut self) -> Result<T, ReceiveError> {
        match self.begin(1) {
            Err(Closed) => return Err(ReceiveError::Closed),
            Ok(0) => return Err(ReceiveError::Empty),
            Ok(_) => {}
        }
        let mut item = None;
        self.ring.run(self.head, 1, |slot, _| {
            // SAFETY: the slot holds an item that is ours (rules 2, 3); `release` gives the slot away empty.
            item = Some(unsafe { slot.read() });
        });
        self.release(1);
        item.ok_or(ReceiveError::Empty)
    }

    /// Moves up to `max` items to the end of `items`; returns how many. 0 means: nothing there now.
    pub fn receive_into(&mut self, items: &mut Vec<T>, max: usize) -> Result<usize, Closed> {
        let count = self.begin(max)?;
        items.reserve(count);
        let length = items.len();
        self.ring.runs(self.head, count, |done, slots, run| {
            // SAFETY: the slots hold items that are ours (rules 2, 3); `reserve` made room for `count` of them.
            unsafe { std::ptr::copy_nonoverlapping(slots, items.as_mut_ptr().add(length + done), run) };
        });
        // SAFETY: `count` items were moved in behind `length`.
        unsafe { items.set_len(length + count) };
        self.release(count);
        Ok(count)
    }

    /// Hands up to `max` items to `each`, as slices of the ring itself, and drops them afterwards; returns how many.
    ///
    /// 0 means: nothing there now. When `each` panics, the items it was given are dropped and the lane goes on after them.
    pub fn drain(&mut self, max: usize, mut each: impl FnMut(&mut [T])) -> Result<usize, Closed> {
        let count = self.begin(max)?;
        let given = DroppedOnDrop { receiver: self, count: Cell::new(0) };
        while given.count.get() < count {
            let done = given.count.get();
            let receiver = &*given.receiver;
            receiver.ring.run(receiver.head.wrapping_add(done), count - done, |slots, length| {
                given.count.set(done + length);
                // SAFETY: the slots hold items that are ours (rules 2, 3) until the guard gives them away.
                each(unsafe { std::slice::from_raw_parts_mut(slots, length) });
            });
        }
        Ok(count)
    }

    /// True when there is an item, or the sender is gone: try again now. False: `waker` will be woken when that is so.
    pub fn ready_or_wake(&mut self, waker: &Waker) -> bool {
        if !self.is_ready() {
            if !self.ring.data_bell.arm(waker) {
                return true;
            }
            if !self.is_ready() {
                return false;
            }
        }
        self.ring.data_bell.disarm();
        true
    }

    /// True when a receive would give an item or [`Closed`].
    pub(super) fn is_ready(&mut self) -> bool {
        self.items_for(1) > 0 || self.ring.sender_gone.load(Ordering::Relaxed)
    }

    /// How many of `wanted` items are there; looks at the producer's position only when its copy shows too few.
    #[inline]
    fn items_for(&mut self, wanted: usize) -> usize {
        let mut items = self.seen_tail.wrapping_sub(self.head);
        if items < wanted {
            // Acquire: the producer has written the slots before `tail` (rule 3).
            self.seen_tail = self.ring.tail.load(Ordering::Acquire);
            items = self.seen_tail.wrapping_sub(self.head);
        }
        items.min(wanted)
    }

    #[inline]
    fn begin(&mut self, wanted: usize) -> Result<usize, Closed> {
        let items = self.items_for(wanted);
        if items > 0 || wanted == 0 {
            return Ok(items);
        }
        // Acquire: whoever sees the flag sees everything that was sent before it, so look once more.
        if !self.ring.sender_gone.load(Ordering::Acquire) {
            return Ok(0);
        }
        match self.items_for(wanted) {
            0 => Err(Closed),
            items => Ok(items),
        }
    }

    /// Gives `count` emptied slots back to the sender and wakes it if it sleeps.
    #[inline]
    fn release(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        self.head = self.head.wrapping_add(count);
        // Release: we are done with the slots (rule 4).
        self.ring.head.store(self.head, Ordering::Release);
        self.ring.room_bell.ring();
    }
}

/// Drops the items that were given out and releases their slots, also when the closure or an item's drop panics.
struct DroppedOnDrop<'a, T> {
    receiver: &'a mut Receiver<T>,
    count: Cell<usize>,
}

impl<T> Drop for DroppedOnDrop<'_, T> {
    fn drop(&mut self) {
        struct ReleasedOnDrop<'a, T>(&'a mut Receiver<T>, usize);
        impl<T> Drop for ReleasedOnDrop<'_, T> {
            fn drop(&mut self) {
                self.0.release(self.1);
            }
        }
        let ReleasedOnDrop(receiver, count) = &ReleasedOnDrop(self.receiver, self.count.get());
        // SAFETY: these slots hold items that are ours (rules 2, 3); the inner guard gives the slots away empty.
        unsafe { receiver.ring.drop_items(receiver.head, receiver.head.wrapping_add(*count)) };
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        if self.alone_at_bell {
            self.ring.data_bell.clear();
        }
        self.ring.receiver_gone.store(true, Ordering::Relaxed);
        // Before the items: their drops may panic, and a sleeping sender must learn of the end all the same.
        self.ring.room_bell.ring();
        self.ring.end_bell.ring();
        let count = Cell::new(self.items_for(self.ring.capacity()));
        drop(DroppedOnDrop { receiver: self, count });
    }
}

impl<T> std::fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Receiver").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}
