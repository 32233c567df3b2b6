//! A worker's place in the pool: its private list of pending joins, its shared deque, and what thieves see of it.
//!
//! This module has unsafe code: parts of a slot belong to the one thread that holds it, without a lock.
//!
//! | Field | Who touches it |
//! |---|---|
//! | `head`, `tail`, `eager`, `skips`, `picks`, `in_turn`, `owes`, `pending`, `deque` | the holder |
//! | `attention` | the holder; a thief sets it after it took something |
//! | `stealer` | thieves |
//! | `taken` | guests that want to hold the slot; of a worker's slot nobody looks at it |
//!
//! Rules:
//! 1. A slot has one holder at a time: the worker thread of that number, or the guest that changed `taken` from false to
//!    true (Acquire; given back with Release). Only the holder's thread has the slot as its `CURRENT`.
//! 2. `pending[head..tail]` are private joins of frames that are alive on the holder's stack, oldest first; everything
//!    below `head` was promoted. A frame at position `p` sets `tail` back to `p` before it ends.
//!
//! A join looks at `attention` alone. It is set while the shared deque should get more: at the start of a task (the first joins
//! are shared at once, so that coarse work spreads like in any deque-based pool) and after a thief took something. In
//! between, joins stay private and cost neither a fence nor a read-modify-write.

use super::core::Core;
use super::job::JobRef;
use crossbeam_deque::{Steal, Stealer, Worker};
use filbert_sync::Ticks;
use filbert_sync::idle::News;
use std::cell::{Cell, UnsafeCell};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// How many joins may be pending on one stack before further ones run in sequence.
pub(super) const PRIVATE: usize = 4096;
/// How many joins are shared at once when a task begins.
const EAGER_AT_START: u32 = 16;
/// How many joins are shared after a thief took something.
const EAGER_AFTER_THEFT: u32 = 4;

/// How many joins run in sequence after a small one was seen.
const SKIPS: u32 = 512;
/// What counts as a small join, both halves together.
const SMALL_NANOS: u64 = 250;
/// How many private joins must be pending for whoever wants one, before any join may run in sequence.
const KEPT: usize = 3;

thread_local! {
    static CURRENT: Cell<*const Slot> = const { Cell::new(ptr::null()) };
}

/// One worker's or guest's place.
#[repr(align(128))]
pub(super) struct Slot {
    attention: AtomicU32,
    eager: Cell<u32>,
    skips: Cell<u32>,
    picks: Cell<usize>,
    /// A polled task has its turn.
    in_turn: Cell<bool>,
    /// The turn queued a task here that no other worker was told of.
    owes: Cell<bool>,
    head: Cell<usize>,
    tail: Cell<usize>,
    pending: Box<[UnsafeCell<MaybeUninit<JobRef>>]>,
    deque: Worker<JobRef>,
    core: Cell<*const Core>,
    clock: &'static Ticks,
    /// [`SMALL_NANOS`] in the clock's unit.
    small: u64,
    pub(super) index: usize,
    stealer: Stealer<JobRef>,
    taken: AtomicBool,
}

// SAFETY: by rule 1 the unsynchronised fields are the holder's; `core` is written once, before any thread starts.
unsafe impl Sync for Slot {}
// SAFETY: a slot that nobody holds can be held by any thread; jobs are `Send`.
unsafe impl Send for Slot {}

impl Slot {
    pub(super) fn new(index: usize) -> Self {
        let deque = Worker::new_lifo();
        Self {
            attention: AtomicU32::new(0),
            eager: Cell::new(0),
            skips: Cell::new(0),
            picks: Cell::new(0),
            in_turn: Cell::new(false),
            owes: Cell::new(false),
            head: Cell::new(0),
            tail: Cell::new(0),
            pending: (0..PRIVATE).map(|_| UnsafeCell::new(MaybeUninit::uninit())).collect(),
            stealer: deque.stealer(),
            deque,
            core: Cell::new(ptr::null()),
            clock: Ticks::get(),
            small: Ticks::get().raw_of_nanos(SMALL_NANOS),
            index,
            taken: AtomicBool::new(false),
        }
    }

    /// Says which pool this slot belongs to; once, before any thread can hold it.
    pub(super) fn bind(&self, core: *const Core) {
        self.core.set(core);
    }

    /// The pool of a slot that is held.
    #[inline]
    pub(super) fn core(&self) -> &Core {
        // SAFETY: the pool holds its slots, so it is alive while a slot is; `bind` came before everything.
        unsafe { &*self.core.get() }
    }

    /// True when this slot is one of `core`'s.
    #[inline(always)]
    pub(super) fn belongs_to(&self, core: *const Core) -> bool {
        ptr::eq(self.core.get(), core)
    }

    /// True when both slots are of one pool.
    pub(super) fn shares_pool_with(&self, other: &Slot) -> bool {
        ptr::eq(self.core.get(), other.core.get())
    }

    /// Counts a search for work.
    pub(super) fn next_pick(&self) -> usize {
        let pick = self.picks.get();
        self.picks.set(pick.wrapping_add(1));
        pick
    }

    /// Takes a free slot; false when it is held.
    pub(super) fn try_take(&self) -> bool {
        !self.taken.load(Ordering::Relaxed) && !self.taken.swap(true, Ordering::Acquire)
    }

    /// Gives the slot back.
    pub(super) fn give_back(&self) {
        self.taken.store(false, Ordering::Release);
    }

    /// A new task begins on this slot: its first joins are shared at once.
    #[inline]
    pub(super) fn begin_task(&self, is_turn: bool) {
        self.in_turn.set(is_turn);
        self.eager.set(EAGER_AT_START);
        self.skips.set(0);
        self.attention.store(1, Ordering::Relaxed);
    }

    /// True when the holder gives a turn, so that it looks at its queue soon: it owes the others the news until then.
    #[inline]
    pub(super) fn owe(&self) -> bool {
        if self.in_turn.get() {
            self.owes.set(true);
        }
        self.in_turn.get()
    }

    /// True when others were not told of a task in the holder's queue; whoever asks tells them.
    #[inline]
    pub(super) fn settle(&self) -> bool {
        self.owes.replace(false)
    }

    /// The turn has ended, or waits in the middle, maybe for long: from now on others are told of every task at once.
    pub(super) fn suspend_turn(&self) {
        self.in_turn.set(false);
    }

    /// True when the next join is to run in sequence.
    #[inline(always)]
    pub(super) fn skips(&self) -> bool {
        let skips = self.skips.get();
        if skips != 0 {
            self.skips.set(skips - 1);
        }
        skips != 0
    }

    /// The time, for [`Slot::ended`].
    #[inline(always)]
    pub(super) fn now(&self) -> u64 {
        self.clock.raw()
    }

    /// A private join ended that began at `began`: after a small one the next ones run in sequence.
    #[inline(always)]
    pub(super) fn ended(&self, began: u64) {
        if self.clock.raw().wrapping_sub(began) < self.small && self.tail.get() - self.head.get() >= KEPT {
            self.skips.set(SKIPS);
        }
    }

    /// The next free position of the private list, if there is one.
    #[inline(always)]
    pub(super) fn position(&self) -> Option<usize> {
        let tail = self.tail.get();
        (tail < PRIVATE).then_some(tail)
    }

    /// Adds a private join at `position`, which [`Slot::position`] gave.
    ///
    /// # Safety
    /// The job lives until [`Slot::retract`] of the same position says that it is private, or until it has run.
    #[inline(always)]
    pub(super) unsafe fn add(&self, position: usize, job: JobRef) {
        debug_assert!(position == self.tail.get() && position < PRIVATE);
        // SAFETY: `position` is within the list, and only the holder touches it.
        unsafe { (*self.pending.get_unchecked(position).get()).write(job) };
        self.tail.set(position + 1);
        if self.attention.load(Ordering::Relaxed) != 0 {
            self.share_more();
        }
    }

    /// Takes the join at `position` back; false when it was promoted. Shares an older one first if there should be more.
    #[inline(always)]
    pub(super) fn retract(&self, position: usize) -> bool {
        self.tail.set(position);
        if self.attention.load(Ordering::Relaxed) != 0 {
            // The second half may be long: whoever waits for work should not have to wait for its end.
            self.share_more();
        }
        self.head.get() <= position
    }

    /// After [`Slot::retract`] said false: the list is empty down to `position`.
    pub(super) fn forget_promoted(&self, position: usize) {
        self.head.set(position);
        self.skips.set(0);
    }

    /// Promotes the oldest private join.
    #[cold]
    fn share_more(&self) {
        let eager = match self.eager.get() {
            0 => EAGER_AFTER_THEFT,
            left => left,
        } - 1;
        self.eager.set(eager);
        if eager == 0 {
            self.attention.store(0, Ordering::Relaxed);
        }
        let head = self.head.get();
        if head >= self.tail.get() {
            // Nothing is private; above `tail` only while a promoted join is being retracted.
            return;
        }
        self.head.set(head + 1);
        let core = self.core();
        // SAFETY: by rule 2 the entry is a private stack job of a live frame, and leaves the private list here.
        let job = unsafe {
            let job = (*self.pending[head].get()).assume_init_read();
            job.promote(&core.idle, self.index);
            job
        };
        self.push(job);
    }

    /// Shares a job, and wakes someone for it if that is useful.
    pub(super) fn push(&self, job: JobRef) {
        self.deque.push(job);
        self.core().notify(News::Fork);
    }

    /// Takes the newest job of the own deque.
    #[inline]
    pub(super) fn pop(&self) -> Option<JobRef> {
        self.deque.pop()
    }

    /// How many jobs wait in the own deque.
    #[inline]
    pub(super) fn surplus(&self) -> usize {
        self.deque.len()
    }

    /// True when thieves would find something.
    pub(super) fn has_shared(&self) -> bool {
        !self.stealer.is_empty()
    }

    /// Takes the oldest job from this slot, as a thief. `None` also when another thief was faster: look elsewhere.
    pub(super) fn steal(&self) -> Option<JobRef> {
        if self.stealer.is_empty() {
            return None;
        }
        match self.stealer.steal() {
            Steal::Success(job) => {
                if self.stealer.is_empty() {
                    // A hint only: lost against the holder's own store, it costs some parallelism for a while.
                    self.attention.store(1, Ordering::Relaxed);
                }
                Some(job)
            }
            Steal::Empty | Steal::Retry => None,
        }
    }
}

/// The slot that this thread holds. The reference must not outlive the current call into the pool.
#[inline(always)]
pub(super) fn current<'a>() -> Option<&'a Slot> {
    let slot = CURRENT.get();
    // SAFETY: `CURRENT` is set only while this thread holds the slot (rule 1), and a held slot keeps its pool alive.
    (!slot.is_null()).then(|| unsafe { &*slot })
}

/// Makes `slot` the current one of this thread until dropped.
pub(super) struct Held {
    before: *const Slot,
}

/// This thread holds `slot` from now on.
///
/// # Safety
/// The caller is the only holder (rule 1), and keeps the pool alive until the answer is dropped.
pub(super) unsafe fn hold(slot: &Slot) -> Held {
    Held { before: CURRENT.replace(slot) }
}

impl Drop for Held {
    fn drop(&mut self) {
        CURRENT.set(self.before);
    }
}
