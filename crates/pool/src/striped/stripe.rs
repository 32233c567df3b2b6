//! One stripe: its ready queues, its mode, and what others may know of it without its locks.
//!
//! Entries are pushed into the inbox, whose lock also guards the mode, so that a push and the going to sleep exclude each other.
//! The owner empties the inbox's normal lane into its own queue, all at once, and pops from there: it meets the pushers' lock once per
//! batch of entries and not once per entry. Who takes over takes from both. Locks are taken in the order queue, inbox.
//!
//! The atomics are hints, written under the locks (`pushed`, `queued`, `priority`, `asleep`) or by anyone (`stuck`); a wrong one costs a
//! look, never an entry.

use super::core::Turn;
use crate::panics::caught;
use crossbeam_utils::CachePadded;
use filbert_sync::Parker;
use filbert_sync::strand::Lane;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// A strand that is ready, in the queue of a stripe.
pub(super) struct Entry {
    pub(super) strand: Arc<dyn Turn>,
    pub(super) lane: Lane,
    /// When it was queued.
    pub(super) since: u64,
}

impl Entry {
    /// Gives the strand its turn. Nothing that its owner's code does, not even the drop of its value or of a panic's payload, ends
    /// the stripe; the strand itself is released by its guard.
    pub(super) fn take_turn(self, worker: usize) {
        let Self { strand, lane, .. } = self;
        let _ = caught(|| strand.turn(worker, lane));
    }
}

/// What the stripe's thread is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Runs something, or has something to run.
    Busy,
    /// Looks for work, and takes the next entry at once.
    Looking,
    /// Sleeps, or is about to.
    Asleep,
}

/// One thread's queues.
pub(super) struct Stripe {
    inbox: CachePadded<Mutex<Inbox>>,
    queue: CachePadded<Mutex<VecDeque<Entry>>>,
    pub(super) parker: Parker,
    pushed: AtomicUsize,
    queued: AtomicUsize,
    priority: AtomicUsize,
    asleep: AtomicBool,
    stuck: AtomicBool,
    /// Woken to watch the others; taken by its own thread when it gets up.
    summoned: AtomicBool,
    /// When the stripe, though busy, looks at the others again; written by its own thread.
    pub(super) next_look: AtomicU64,
}

struct Inbox {
    normal: VecDeque<Entry>,
    priority: VecDeque<Entry>,
    mode: Mode,
}

impl Stripe {
    pub(super) fn new() -> Self {
        let inbox = Inbox { normal: VecDeque::new(), priority: VecDeque::new(), mode: Mode::Busy };
        Self {
            inbox: CachePadded::new(Mutex::new(inbox)),
            queue: CachePadded::new(Mutex::new(VecDeque::new())),
            parker: Parker::new(),
            pushed: AtomicUsize::new(0),
            queued: AtomicUsize::new(0),
            priority: AtomicUsize::new(0),
            asleep: AtomicBool::new(false),
            stuck: AtomicBool::new(false),
            summoned: AtomicBool::new(false),
            next_look: AtomicU64::new(0),
        }
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        self.queue.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    fn publish(&self, inbox: &Inbox) {
        self.pushed.store(inbox.normal.len() + inbox.priority.len(), Ordering::Relaxed);
        self.priority.store(inbox.priority.len(), Ordering::Relaxed);
    }

    fn set_mode(&self, inbox: &mut Inbox, mode: Mode) -> Mode {
        let before = std::mem::replace(&mut inbox.mode, mode);
        if (before == Mode::Asleep) != (mode == Mode::Asleep) {
            self.asleep.store(mode == Mode::Asleep, Ordering::Relaxed);
        }
        before
    }

    /// Adds an entry. From now on the stripe counts as busy. `inside` gets the mode before, under the lock, after the push.
    pub(super) fn push<T>(&self, entry: Entry, inside: impl FnOnce(Mode) -> T) -> T {
        let mut inbox = self.inbox();
        match entry.lane {
            Lane::Normal => inbox.normal.push_back(entry),
            Lane::Priority => inbox.priority.push_back(entry),
        }
        self.publish(&inbox);
        let before = self.set_mode(&mut inbox, Mode::Busy);
        inside(before)
    }

    /// The next entry, priority first; without one the stripe counts as looking. By the owner.
    pub(super) fn pop(&self) -> Option<Entry> {
        let mut queue = self.queue();
        let entry = if self.has_priority() { None } else { queue.pop_front() };
        let entry = entry.or_else(|| {
            let mut inbox = self.inbox();
            let entry = inbox.priority.pop_front().or_else(|| {
                if queue.is_empty() {
                    std::mem::swap(&mut *queue, &mut inbox.normal);
                }
                queue.pop_front()
            });
            self.publish(&inbox);
            self.set_mode(&mut inbox, if entry.is_some() { Mode::Busy } else { Mode::Looking });
            entry
        });
        self.queued.store(queue.len(), Ordering::Relaxed);
        entry
    }

    /// Takes all entries away from a stripe that is `still` stuck, and marks it.
    pub(super) fn take_all(&self, still: impl FnOnce() -> bool) -> VecDeque<Entry> {
        let mut queue = self.queue();
        let mut inbox = self.inbox();
        if !still() {
            return VecDeque::new();
        }
        self.stuck.store(true, Ordering::Relaxed);
        let mut taken = std::mem::take(&mut inbox.priority);
        taken.append(&mut queue);
        taken.append(&mut inbox.normal);
        self.publish(&inbox);
        self.queued.store(0, Ordering::Relaxed);
        taken
    }

    /// The stripe will run something that was not in its queues; how many entries wait in them.
    pub(super) fn set_busy(&self) -> usize {
        let queue = self.queue();
        let mut inbox = self.inbox();
        self.set_mode(&mut inbox, Mode::Busy);
        queue.len() + inbox.normal.len() + inbox.priority.len()
    }

    /// Goes to sleep, unless entries came: then false. By the owner, when its queue is empty.
    pub(super) fn fall_asleep(&self) -> bool {
        let mut inbox = self.inbox();
        if !(inbox.normal.is_empty() && inbox.priority.is_empty()) {
            return false;
        }
        self.stuck.store(false, Ordering::Relaxed);
        self.set_mode(&mut inbox, Mode::Asleep);
        true
    }

    /// Wakes the stripe if it sleeps; false when it does not.
    pub(super) fn wake(&self) -> bool {
        let asleep = {
            let mut inbox = self.inbox();
            let asleep = inbox.mode == Mode::Asleep;
            if asleep {
                self.set_mode(&mut inbox, Mode::Looking);
                self.summoned.store(true, Ordering::Relaxed);
            }
            asleep
        };
        if asleep {
            self.parker.unpark();
        }
        asleep
    }

    /// True when [`Stripe::wake`] ended the last sleep. By the owner; the unpark published it.
    pub(super) fn was_summoned(&self) -> bool {
        self.summoned.load(Ordering::Relaxed) && self.summoned.swap(false, Ordering::Relaxed)
    }

    /// Entries that wait, seen under the locks.
    pub(super) fn waiting_now(&self) -> usize {
        let queue = self.queue();
        let inbox = self.inbox();
        queue.len() + inbox.normal.len() + inbox.priority.len()
    }

    /// When the oldest entry was queued.
    pub(super) fn oldest(&self) -> Option<u64> {
        let queue = self.queue();
        let inbox = self.inbox();
        let fronts = [queue.front(), inbox.normal.front(), inbox.priority.front()];
        fronts.into_iter().flatten().map(|entry| entry.since).min()
    }

    /// Entries that wait, as a hint.
    #[inline]
    pub(super) fn waiting(&self) -> usize {
        self.pushed.load(Ordering::Relaxed) + self.queued.load(Ordering::Relaxed)
    }

    /// True when a priority entry waits; looked at between two operations.
    #[inline]
    pub(super) fn has_priority(&self) -> bool {
        self.priority.load(Ordering::Relaxed) > 0
    }

    #[inline]
    pub(super) fn is_asleep(&self) -> bool {
        self.asleep.load(Ordering::Relaxed)
    }

    /// True while new entries should go elsewhere.
    #[inline]
    pub(super) fn is_stuck(&self) -> bool {
        self.stuck.load(Ordering::Relaxed)
    }

    /// The stripe's own thread has come out of a task.
    #[inline]
    pub(super) fn moved(&self) {
        if self.is_stuck() {
            self.stuck.store(false, Ordering::Relaxed);
        }
    }
}
