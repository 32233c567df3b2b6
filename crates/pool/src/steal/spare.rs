//! Spare workers: while a worker is inside one call for long, another thread does what is queued.
//!
//! A turn cannot be interrupted. Two turns of a minute on a stage with two workers would hold up everybody else's turns for a minute. So a timer
//! looks after the stage while work is queued: when workers are *held up*, in a turn that is longer than the stage's limit, and something
//! waits, it starts a spare worker for one of them, up to a bound. A spare is a worker in all things, in a slot behind those of guests; only
//! its polled tasks come from the queue of another. As soon as there are more spares than workers that are held up, one leaves.
//!
//! The argument that nothing waits unseen: who queues work sets the timer unless it is set. The timer, when it is due, first takes the mark away,
//! then looks for work, and sets itself again when there is some. Between "queued" and "is it set", and between "taken away" and "is there
//! work", stands a SeqCst fence, so one of the two sees the other. An idle stage has no timer.
//!
//! Spares can be held up as well. When all that may be are, work waits until one is free: the bound keeps a stage from having as many
//! threads as it has long calls. Rejected: more workers from the beginning (as many long calls hold them all up, and they share the processors
//! when there are none), and a thread that always watches (an idle stage must use no processor).

use super::core::{Core, GUESTS};
use super::worker;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};

/// What a pool knows of its spare workers.
#[derive(Debug, Default)]
pub(super) struct Spares {
    /// A timer is set.
    watched: AtomicBool,
    /// Spare workers that have not left.
    up: AtomicUsize,
}

/// The place of one spare worker; given back when dropped.
pub(super) struct SparePlace {
    pub(super) core: Arc<Core>,
    pub(super) index: usize,
    has_left: bool,
}

impl SparePlace {
    /// True once: there are more spares than workers that are held up, and this one is the one to go.
    pub(super) fn leave(&mut self) -> bool {
        let held_up = self.core.held_up();
        let one_less = |up: usize| (up > held_up).then(|| up - 1);
        let up = &self.core.spares.up;
        self.has_left = up.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_ok();
        self.has_left
    }
}

impl Drop for SparePlace {
    fn drop(&mut self) {
        if !self.has_left {
            self.core.spares.up.fetch_sub(1, Ordering::SeqCst);
        }
        self.core.slots[self.index].give_back();
    }
}

impl Core {
    /// Spare workers that there are now.
    pub(super) fn spares_up(&self) -> usize {
        self.spares.up.load(Ordering::SeqCst)
    }

    /// Whose polled tasks the holder of that slot takes first.
    pub(super) fn queue_of(&self, slot: usize) -> usize {
        let workers = self.settings.threads;
        if slot < workers { slot } else { slot.saturating_sub(workers + GUESTS) % workers }
    }

    /// The slots of spare workers.
    fn spare_slots(&self) -> std::ops::Range<usize> {
        self.settings.threads + GUESTS..self.slots.len()
    }

    /// Work was queued: somebody looks after it if it is not begun in time.
    #[inline]
    pub(super) fn watch(&self) {
        if self.settings.spares == 0 {
            return;
        }
        fence(Ordering::SeqCst);
        if !self.spares.watched.load(Ordering::Relaxed) {
            self.set_timer();
        }
    }

    #[cold]
    fn set_timer(&self) {
        let Some(limit) = self.settings.held_up_after else { return };
        if self.env.simulator().is_some() || self.spares.watched.swap(true, Ordering::SeqCst) {
            return;
        }
        let core = self.me.clone();
        self.env.after(limit, move || {
            if let Some(core) = core.upgrade() {
                core.look();
            }
        });
    }

    /// Starts a spare worker when work waits behind long turns.
    fn look(&self) {
        self.spares.watched.store(false, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if self.gate.is_closed() || self.visible().is_none() {
            return;
        }
        if self.held_up() > self.spares_up() {
            self.start_spare();
        }
        self.watch();
    }

    /// How many workers, spares included, are in a turn that is longer than it may be.
    pub(super) fn held_up(&self) -> usize {
        let Some(limit) = self.settings.held_up_after else { return 0 };
        let now = self.env.now();
        let is_held_up = |index: &usize| {
            let running = self.metrics.worker(*index).running();
            running.is_some_and(|task| u128::from(now.saturating_sub(task.since)) >= limit.as_nanos())
        };
        (0..self.settings.threads).chain(self.spare_slots()).filter(is_held_up).count()
    }

    fn start_spare(&self) {
        let Some(core) = self.me.upgrade() else { return };
        let Some(index) = self.spare_slots().find(|index| self.slots[*index].try_take()) else { return };
        self.spares.up.fetch_add(1, Ordering::SeqCst);
        let number = index - self.spare_slots().start;
        // Dropped with the body when there is no thread to be had.
        let place = SparePlace { core, index, has_left: false };
        self.env.threads().spawn(format!("{}-spare-{number}", self.id()), move || worker::run_spare(place));
    }

    /// A worker is back from a long turn: spares that sleep look whether they are needed.
    pub(super) fn ring_spares(&self) {
        if self.spares_up() > 0 {
            self.spare_slots().for_each(|bed| self.idle.ring(bed));
        }
    }
}
