//! One stripe: its two ready queues, its mode, and what others may know of it without its lock.
//!
//! The queues and the mode are under one lock, so that a push and the going to sleep exclude each other. The atomics beside it
//! are hints, written under the lock (`waiting`, `priority`, `asleep`) or by anyone (`stuck`); a wrong one costs a look, never
//! an entry.

use super::core::Turn;
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
    ready: Mutex<Ready>,
    pub(super) parker: Parker,
    waiting: AtomicUsize,
    priority: AtomicUsize,
    asleep: AtomicBool,
    stuck: AtomicBool,
    /// When the stripe, though busy, looks at the others again; written by its own thread.
    pub(super) next_look: AtomicU64,
}

struct Ready {
    normal: VecDeque<Entry>,
    priority: VecDeque<Entry>,
    mode: Mode,
}

impl Stripe {
    pub(super) fn new() -> Self {
        Self {
            ready: Mutex::new(Ready { normal: VecDeque::new(), priority: VecDeque::new(), mode: Mode::Busy }),
            parker: Parker::new(),
            waiting: AtomicUsize::new(0),
            priority: AtomicUsize::new(0),
            asleep: AtomicBool::new(false),
            stuck: AtomicBool::new(false),
            next_look: AtomicU64::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Ready> {
        self.ready.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    fn publish(&self, ready: &Ready) {
        self.waiting.store(ready.normal.len() + ready.priority.len(), Ordering::Relaxed);
        self.priority.store(ready.priority.len(), Ordering::Relaxed);
    }

    fn set_mode(&self, ready: &mut Ready, mode: Mode) -> Mode {
        let before = std::mem::replace(&mut ready.mode, mode);
        if (before == Mode::Asleep) != (mode == Mode::Asleep) {
            self.asleep.store(mode == Mode::Asleep, Ordering::Relaxed);
        }
        before
    }

    /// Adds an entry; the mode before. From now on the stripe counts as busy. `inside` runs under the lock, after the push.
    pub(super) fn push<T>(&self, entry: Entry, inside: impl FnOnce(Mode) -> T) -> T {
        let mut ready = self.lock();
        match entry.lane {
            Lane::Normal => ready.normal.push_back(entry),
            Lane::Priority => ready.priority.push_back(entry),
        }
        self.publish(&ready);
        let before = self.set_mode(&mut ready, Mode::Busy);
        inside(before)
    }

    /// The next entry, priority first; without one the stripe counts as looking.
    pub(super) fn pop(&self) -> Option<Entry> {
        let mut ready = self.lock();
        let entry = ready.priority.pop_front().or_else(|| ready.normal.pop_front());
        self.publish(&ready);
        self.set_mode(&mut ready, if entry.is_some() { Mode::Busy } else { Mode::Looking });
        entry
    }

    /// Takes all entries away from a stripe that is `still` stuck, and marks it.
    pub(super) fn take_all(&self, still: impl FnOnce() -> bool) -> VecDeque<Entry> {
        let mut ready = self.lock();
        if !still() {
            return VecDeque::new();
        }
        self.stuck.store(true, Ordering::Relaxed);
        let mut taken = std::mem::take(&mut ready.priority);
        taken.append(&mut ready.normal);
        self.publish(&ready);
        taken
    }

    /// The stripe will run something that was not in its queues; how many entries wait in them.
    pub(super) fn set_busy(&self) -> usize {
        let mut ready = self.lock();
        self.set_mode(&mut ready, Mode::Busy);
        ready.normal.len() + ready.priority.len()
    }

    /// Goes to sleep, unless entries came: then false.
    pub(super) fn fall_asleep(&self) -> bool {
        let mut ready = self.lock();
        if !(ready.normal.is_empty() && ready.priority.is_empty()) {
            return false;
        }
        self.stuck.store(false, Ordering::Relaxed);
        self.set_mode(&mut ready, Mode::Asleep);
        true
    }

    /// Wakes the stripe if it sleeps; false when it does not.
    pub(super) fn wake(&self) -> bool {
        let asleep = {
            let mut ready = self.lock();
            let asleep = ready.mode == Mode::Asleep;
            if asleep {
                self.set_mode(&mut ready, Mode::Looking);
            }
            asleep
        };
        if asleep {
            self.parker.unpark();
        }
        asleep
    }

    /// Entries that wait, seen under the lock.
    pub(super) fn waiting_now(&self) -> usize {
        let ready = self.lock();
        ready.normal.len() + ready.priority.len()
    }

    /// When the oldest entry was queued.
    pub(super) fn oldest(&self) -> Option<u64> {
        let ready = self.lock();
        ready.normal.front().into_iter().chain(ready.priority.front()).map(|entry| entry.since).min()
    }

    /// Entries that wait, as a hint.
    #[inline]
    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
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
