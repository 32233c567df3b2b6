//! The producer's end of a lane.
//!
//! Every send writes slots, moves the tail once, and rings once. The rules that the `SAFETY` lines cite are those of
//! `ring.rs`.

use super::ring::Ring;
use super::{Closed, SendError};
use crate::primitives::{Arc, Ordering};
use std::collections::VecDeque;
use std::task::Waker;

/// The producer's end of a lane; dropping it lets the receiver take the rest and then see [`Closed`].
///
/// A lane has one producer, so this is not `Clone`; a second producer is a second lane of a [`Conveyor`](super::Conveyor).
///
/// ```compile_fail
/// let (sender, receiver) = filbert_sync::conveyor::lane::<u8>(1);
/// let second = sender.clone();
/// ```
pub struct Sender<T> {
    ring: Arc<Ring<T>>,
    /// Our own position, exact.
    tail: usize,
    /// The consumer's position as last seen (rule 5).
    seen_head: usize,
}

impl<T> Sender<T> {
    pub(super) fn new(ring: Arc<Ring<T>>) -> Self {
        Self { ring, tail: 0, seen_head: 0 }
    }

    /// How many items the lane holds at most.
    pub fn capacity(&self) -> usize {
        self.ring.capacity()
    }

    /// How many items there is room for now; more may become free at any time.
    pub fn room(&mut self) -> usize {
        self.room_for(self.ring.capacity())
    }

    /// True when the receiver is gone.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.ring.receiver_gone.load(Ordering::Relaxed)
    }

    /// Sends one item. Prefer batches: each call pays a fence.
    #[inline]
    pub fn try_send(&mut self, item: T) -> Result<(), SendError<T>> {
        if self.is_closed() {
            return Err(SendError::Closed(item));
        }
        if self.room_for(1) == 0 {
            return Err(SendError::Full(item));
        }
        self.ring.run(self.tail, 1, |slot, _| {
            // SAFETY: there is room, so the slot is ours and empty (rules 2, 4).
            unsafe { slot.write(item) };
        });
        self.publish(1);
        Ok(())
    }

    /// Sends as many items from the front of `items` as there is room for; returns how many.
    #[inline]
    pub fn send_slice(&mut self, items: &[T]) -> Result<usize, Closed>
    where
        T: Copy,
    {
        let count = self.begin(items.len())?;
        // SAFETY: `count <= items.len()`, and a Copy item may be duplicated.
        unsafe { self.copy_in(items.as_ptr(), count) };
        self.publish(count);
        Ok(count)
    }

    /// Moves as many items from the front of `items` as there is room for; the rest stays, in order. Returns how many went.
    #[inline]
    pub fn send_vec(&mut self, items: &mut Vec<T>) -> Result<usize, Closed> {
        self.send_up_to(usize::MAX, items)
    }

    /// As [`Sender::send_vec`], but no more than `most`.
    pub fn send_up_to(&mut self, most: usize, items: &mut Vec<T>) -> Result<usize, Closed> {
        let length = items.len();
        let count = self.begin(length.min(most))?;
        // SAFETY: the first `count` items are moved out bytewise; the vector forgets them before anything can panic, and
        // what stays is moved to its front.
        unsafe {
            items.set_len(0);
            self.copy_in(items.as_ptr(), count);
            std::ptr::copy(items.as_ptr().add(count), items.as_mut_ptr(), length - count);
            items.set_len(length - count);
        }
        self.publish(count);
        Ok(count)
    }

    /// Moves as many items from the front of `items` as there is room for. Returns how many went.
    pub fn send_queue(&mut self, items: &mut VecDeque<T>) -> Result<usize, Closed> {
        self.send_from(&mut std::iter::from_fn(|| items.pop_front()))
    }

    /// Sends what `items` yields, and takes from it no more than there is room for. Returns how many went.
    ///
    /// An item that the iterator has not been asked for stays in it, so nothing is lost when the lane is full or closed.
    pub fn send_from(&mut self, items: &mut impl Iterator<Item = T>) -> Result<usize, Closed> {
        let room = self.begin(usize::MAX)?;
        // A guard: when the iterator panics, what it gave before is sent and not leaked.
        let mut sent = SentOnDrop { sender: self, count: 0 };
        while sent.count < room {
            let Some(item) = items.next() else { break };
            let position = sent.sender.tail.wrapping_add(sent.count);
            sent.sender.ring.run(position, 1, |slot, _| {
                // SAFETY: fewer than `room` slots are written, so this one is ours and empty (rules 2, 4).
                unsafe { slot.write(item) };
            });
            sent.count += 1;
        }
        Ok(sent.count)
    }

    /// True when there is room, or the receiver is gone: try again now. False: `waker` will be woken when that is so.
    pub fn ready_or_wake(&mut self, waker: &Waker) -> bool {
        if !self.is_ready() {
            if !self.ring.room_bell.arm(waker) {
                return true;
            }
            if !self.is_ready() {
                return false;
            }
        }
        self.ring.room_bell.disarm();
        true
    }

    /// True when the receiver is gone. False: `waker` will be woken when that is so, and not for room.
    ///
    /// For a sender that has nothing to send: who takes its items must be able to tell it to stop. Once is enough.
    pub fn closed_or_wake(&mut self, waker: &Waker) -> bool {
        // A bell that can not be armed is being rung, and there is one reason to ring it.
        self.is_closed() || !self.ring.end_bell.arm(waker) || self.is_closed()
    }

    fn is_ready(&mut self) -> bool {
        self.room_for(1) > 0 || self.is_closed()
    }

    /// How many of `wanted` items there is room for; looks at the consumer's position only when its copy shows too few.
    #[inline]
    fn room_for(&mut self, wanted: usize) -> usize {
        let capacity = self.ring.capacity();
        let mut room = capacity - self.tail.wrapping_sub(self.seen_head);
        if room < wanted {
            // Acquire: the consumer is done with the slots before `head` (rule 4).
            self.seen_head = self.ring.head.load(Ordering::Acquire);
            room = capacity - self.tail.wrapping_sub(self.seen_head);
        }
        room.min(wanted)
    }

    #[inline]
    fn begin(&mut self, wanted: usize) -> Result<usize, Closed> {
        if self.is_closed() { Err(Closed) } else { Ok(self.room_for(wanted)) }
    }

    /// Copies `count` items into the slots behind the tail.
    ///
    /// # Safety
    /// `items` points to `count` items, which the caller gives away; there is room for them.
    #[inline]
    unsafe fn copy_in(&self, items: *const T, count: usize) {
        self.ring.runs(self.tail, count, |done, slots, length| {
            // SAFETY: the slots are ours and empty (rules 2, 4); the caller vouches for the items.
            unsafe { std::ptr::copy_nonoverlapping(items.add(done), slots, length) };
        });
    }

    /// Shows `count` written items to the receiver and wakes it if it sleeps.
    #[inline]
    fn publish(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        self.tail = self.tail.wrapping_add(count);
        // Release: the slots are written (rule 3).
        self.ring.tail.store(self.tail, Ordering::Release);
        self.ring.data_bell.ring();
    }
}

struct SentOnDrop<'a, T> {
    sender: &'a mut Sender<T>,
    count: usize,
}

impl<T> Drop for SentOnDrop<'_, T> {
    fn drop(&mut self) {
        self.sender.publish(self.count);
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.ring.room_bell.clear();
        self.ring.end_bell.clear();
        // Release: everything sent is visible to a receiver that sees the flag.
        self.ring.sender_gone.store(true, Ordering::Release);
        self.ring.data_bell.ring();
    }
}

impl<T> std::fmt::Debug for Sender<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sender").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}
