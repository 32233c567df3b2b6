//! The slots of a lane and the two positions in them.
//!
//! Positions count up for ever and wrap with the word; a slot is `position & mask`. The ring is the next power of two,
//! the bound is what was asked for, so a lane of 1000 holds 1000 items.
//!
//! | Field | Producer | Consumer |
//! |---|---|---|
//! | `slots[tail .. head + capacity]` | writes | - |
//! | `slots[head .. tail]` | - | reads, moves out, drops |
//! | `tail` | writes (Release) | reads (Acquire) |
//! | `head` | reads (Acquire) | writes (Release) |
//! | `sender_gone` | writes once, last (Release) | reads (Acquire), then reads `tail` again |
//! | `receiver_gone` | reads (Relaxed) | writes once |
//! | `data_bell` | rings | arms |
//! | `room_bell` | arms | rings |
//! | `end_bell` | arms | rings once, last |
//!
//! Rules:
//! 1. One producer and one consumer: [`Sender`](super::Sender) and [`Receiver`](super::Receiver) are not `Clone`, and
//!    everything they do takes `&mut self`.
//! 2. A slot in `head .. tail` holds an item; every other slot holds none.
//! 3. The producer writes slots before it moves `tail` past them (Release, partner: the consumer's Acquire load); only
//!    then may the consumer read them.
//! 4. The consumer is done with slots before it moves `head` past them (Release, partner: the producer's Acquire load);
//!    only then may the producer write them again.
//! 5. Each side knows its own position exactly and keeps a copy of the other's that may lag; a lagging copy shows less
//!    room or fewer items than there are, never more.
//! 6. When the ring is dropped both ends are gone, and whoever drops it is alone with `head .. tail`.
//!
//! `receiver_gone` may be read late without harm: what is sent meanwhile is dropped under rule 6.

use super::bell::Bell;
use crate::primitives::{Arc, AtomicBool, AtomicUsize, Ordering, UnsafeCell};
use crossbeam_utils::CachePadded;
use std::mem::MaybeUninit;

/// What the two ends of a lane share. Each word that one side writes often has a cache line of its own.
pub(super) struct Ring<T> {
    slots: Box<[UnsafeCell<MaybeUninit<T>>]>,
    mask: usize,
    capacity: usize,
    pub(super) sender_gone: AtomicBool,
    pub(super) receiver_gone: AtomicBool,
    pub(super) data_bell: Arc<Bell>,
    pub(super) end_bell: Bell,
    pub(super) room_bell: CachePadded<Bell>,
    pub(super) tail: CachePadded<AtomicUsize>,
    pub(super) head: CachePadded<AtomicUsize>,
}

// SAFETY: items move from the producer's thread to the consumer's, so `T: Send`; `T` is never shared. Rules 1 to 4 keep
// the two sides apart.
unsafe impl<T: Send> Sync for Ring<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Ring<T> {}

impl<T> Ring<T> {
    pub(super) fn new(capacity: usize, data_bell: Arc<Bell>) -> Self {
        assert!(capacity > 0, "a lane needs room for at least one item; ask for a capacity of 1 or more");
        let length = capacity.checked_next_power_of_two().expect("a lane of that capacity fits no memory");
        Self {
            slots: (0..length).map(|_| UnsafeCell::new(MaybeUninit::uninit())).collect(),
            mask: length - 1,
            capacity,
            sender_gone: AtomicBool::new(false),
            receiver_gone: AtomicBool::new(false),
            data_bell,
            end_bell: Bell::new(),
            room_bell: CachePadded::new(Bell::new()),
            tail: CachePadded::new(AtomicUsize::new(0)),
            head: CachePadded::new(AtomicUsize::new(0)),
        }
    }

    /// The bound that was asked for.
    #[inline]
    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Runs `access` on the slots from `position` on, at most `count` of them and at least one: as many as lie side by
    /// side. Returns how many that were. `count` is at most the capacity.
    ///
    /// The pointer is good for as many slots as are named beside it, during the call.
    #[cfg(not(filbert_loom))]
    #[inline]
    pub(super) fn run(&self, position: usize, count: usize, access: impl FnOnce(*mut T, usize)) -> usize {
        let start = position & self.mask;
        let length = count.min(self.slots.len() - start);
        // The cell and MaybeUninit are transparent, so a pointer to the slots is a pointer to items; taken from the
        // whole slice, it may be used for all of them.
        let first: *const UnsafeCell<MaybeUninit<T>> = self.slots.as_ptr();
        access(first.cast::<T>().cast_mut().wrapping_add(start), length);
        length
    }

    /// A model watches each slot by itself, so there a run is one slot.
    #[cfg(filbert_loom)]
    pub(super) fn run(&self, position: usize, _count: usize, access: impl FnOnce(*mut T, usize)) -> usize {
        self.slots[position & self.mask].with_mut(|slot| access(slot.cast::<T>(), 1));
        1
    }

    /// Calls `access` run by run until `count` slots have been seen; `access` also learns how many came before.
    #[inline]
    pub(super) fn runs(&self, position: usize, count: usize, mut access: impl FnMut(usize, *mut T, usize)) {
        let mut done = 0;
        while done < count {
            done += self
                .run(position.wrapping_add(done), count - done, |slots, length| access(done, slots, length));
        }
    }

    /// Drops the items of `from .. to`.
    ///
    /// # Safety
    /// The caller alone may touch these slots, and each holds an item.
    pub(super) unsafe fn drop_items(&self, from: usize, to: usize) {
        if std::mem::needs_drop::<T>() {
            self.runs(from, to.wrapping_sub(from), |_, items, length| {
                // SAFETY: the caller's promise; the run is `length` items side by side.
                unsafe { std::ptr::slice_from_raw_parts_mut(items, length).drop_in_place() }
            });
        }
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        let head = self.head.load(Ordering::Acquire);
        let tail = self.tail.load(Ordering::Acquire);
        // SAFETY: rules 2 and 6.
        unsafe { self.drop_items(head, tail) };
    }
}
