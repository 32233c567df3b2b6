//! What a processor takes its items from.
//!
//! An [`Inbox`] holds the receiving ends of all inbound edges, [`Items`] each. The engine fills one of them from its queues, by the
//! slice, and calls the processor with that ordinal; what the processor leaves stays there for the next call. One tasklet owns
//! it all, so nothing here is shared but the queues themselves.
//!
//! Items come into a `Vec` (one copy of the slice). Taken one by one they are a `VecDeque`, taken all at once a `Vec` again, whose
//! iterator is twice as fast; turning one into the other is free as long as nothing was taken from the front.

use crate::outbox::count_items;
use crate::signature::{InputPort, Inputs, Many, Port};
use filbert_sync::conveyor::{Closed, Conveyor};
use std::collections::VecDeque;
use std::collections::vec_deque;
use std::task::Waker;
use std::vec;

/// The items that a processor may take now.
pub struct Inbox<I: Inputs> {
    pub(crate) store: I::Store,
    pub(crate) ordinal: usize,
}

impl<I: Inputs> Inbox<I> {
    /// The ordinal of the edge that brought the items of this call.
    #[inline]
    pub fn ordinal(&self) -> usize {
        self.ordinal
    }

    /// How many inbound edges there are.
    pub fn edges(&self) -> usize {
        I::count(&self.store)
    }

    /// The items of the edge at ordinal `N`; for signatures that are tuples.
    #[inline]
    pub fn at<const N: usize>(&mut self) -> &mut Items<<I as Port<N>>::Item>
    where
        I: InputPort<N>,
    {
        I::items(&mut self.store)
    }
}

impl<T: Send + 'static> Inbox<Many<T>> {
    /// The items of this call's edge.
    #[inline]
    pub fn items(&mut self) -> &mut Items<T> {
        &mut self.store[self.ordinal]
    }

    /// How many items there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.store[self.ordinal].len()
    }

    /// True when there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The next item; it stays.
    #[inline]
    pub fn peek(&self) -> Option<&T> {
        self.store[self.ordinal].peek()
    }

    /// Takes the next item.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        self.items().pop()
    }

    /// Takes up to `count` items; those that are not asked for are dropped.
    #[inline]
    pub fn take(&mut self, count: usize) -> vec_deque::Drain<'_, T> {
        self.items().take(count)
    }

    /// Takes all items; the fastest way where there is room for all results.
    #[inline]
    pub fn drain(&mut self) -> vec::Drain<'_, T> {
        self.items().drain()
    }

    /// Wants no more from this edge, see [`Items::close`].
    pub fn close(&mut self) {
        self.items().close();
    }
}

/// What one inbound edge brought to one processor.
pub struct Items<T> {
    ready: VecDeque<T>,
    /// What `drain` hands out; empty otherwise.
    spare: Vec<T>,
    /// A lane per producer; nothing when nothing more comes.
    queues: Option<Conveyor<T>>,
    taken: u64,
    /// The most that waited in the queues.
    fullest: usize,
    /// Where not everything that comes counts as an item.
    is_item: Option<fn(&T) -> bool>,
}

impl<T> Items<T> {
    pub(crate) fn new(queues: Conveyor<T>) -> Self {
        Self {
            ready: VecDeque::new(),
            spare: Vec::new(),
            queues: Some(queues),
            taken: 0,
            fullest: 0,
            is_item: None,
        }
    }

    pub(crate) fn counting(self, is_item: Option<fn(&T) -> bool>) -> Self {
        Self { is_item, ..self }
    }

    /// How many items there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.ready.len()
    }

    /// True when there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.ready.is_empty()
    }

    /// The next item; it stays.
    #[inline]
    pub fn peek(&self) -> Option<&T> {
        self.ready.front()
    }

    /// Takes the next item.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        self.ready.pop_front()
    }

    /// Puts an item back that was taken and can not be dealt with now: it is the next one again.
    #[inline]
    pub fn put_back(&mut self, item: T) {
        self.ready.push_front(item);
    }

    /// Takes up to `count` items; those that are not asked for are dropped.
    #[inline]
    pub fn take(&mut self, count: usize) -> vec_deque::Drain<'_, T> {
        let count = count.min(self.ready.len());
        self.ready.drain(..count)
    }

    /// Takes all items; the fastest way where there is room for all results.
    #[inline]
    pub fn drain(&mut self) -> vec::Drain<'_, T> {
        self.spare = Vec::from(std::mem::take(&mut self.ready));
        self.spare.drain(..)
    }

    /// Wants no more from this edge: what is there and what would come is dropped, and its producers are told, so that they can stop
    /// early. The edge counts as completed.
    pub fn close(&mut self) {
        self.ready.clear();
        self.queues = None;
    }
}

/// One inbound edge as the engine sees it.
pub trait Input {
    /// Brings up to `max` items from the queues, if there are none left here. [`Closed`]: none are left and none will come.
    fn fill(&mut self, max: usize) -> Result<usize, Closed>;

    /// How many items are here, ready to be taken.
    fn ready(&self) -> usize;

    /// Wants no more.
    fn close(&mut self);

    /// True when a `fill` would bring something or say [`Closed`]. False: `waker` will be woken when that is so.
    fn ready_or_wake(&mut self, waker: &Waker) -> bool;

    /// How many items came so far.
    fn taken(&self) -> u64;

    /// How many items wait in the queues.
    fn queued(&mut self) -> usize;

    /// How many items waited in the queues at most.
    fn fullest(&self) -> usize;
}

impl<T: Send + 'static> Input for Items<T> {
    fn fill(&mut self, max: usize) -> Result<usize, Closed> {
        if !self.ready.is_empty() {
            return Ok(0);
        }
        let Some(queues) = &mut self.queues else { return Err(Closed) };
        // Whichever has the memory.
        let mut slice = std::mem::take(&mut self.spare);
        if slice.capacity() == 0 {
            slice = Vec::from(std::mem::take(&mut self.ready));
        }
        // Nobody else takes from the queues: they are never fuller than just before.
        self.fullest = self.fullest.max(queues.available());
        let filled = queues.receive_into(&mut slice, max);
        self.ready = VecDeque::from(slice);
        match filled {
            Ok(_) => self.taken += count_items(self.ready.iter(), self.is_item),
            Err(Closed) => self.queues = None,
        }
        filled
    }

    fn ready(&self) -> usize {
        self.ready.len()
    }

    fn close(&mut self) {
        Items::close(self);
    }

    fn ready_or_wake(&mut self, waker: &Waker) -> bool {
        self.queues.as_mut().is_none_or(|queues| queues.ready_or_wake(waker))
    }

    fn taken(&self) -> u64 {
        self.taken
    }

    fn queued(&mut self) -> usize {
        self.queues.as_mut().map_or(0, Conveyor::available)
    }

    fn fullest(&self) -> usize {
        self.fullest
    }
}
