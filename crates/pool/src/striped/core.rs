//! A striped stage without its threads: where ready strands go, who takes them over, and how it all ends.
//!
//! Run by everyone: submitters push, stripes find and take over, callers push what came while they held a strand.

use super::StripedSettings;
use super::stripe::{Entry, Mode, Stripe};
use crate::context::StageId;
use crate::engine::{Ending, Engine};
use crate::env::Env;
use crate::error::SubmitError;
use crate::metrics::{StageMetrics, StageSnapshot};
use crate::panics::discard;
use crossbeam_utils::CachePadded;
use filbert_sync::strand::Lane;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

/// A strand as its stage sees it, whatever its value is.
pub(super) trait Turn: Send + Sync {
    /// Runs some of its mail as `worker`, on the strength of one entry of that lane.
    fn turn(self: Arc<Self>, worker: usize, lane: Lane);
    /// The stripe where it is at home.
    fn home(&self) -> usize;
    /// Operations that wait for it.
    fn depth(&self) -> usize;
    /// Operations that callers ran.
    fn called(&self) -> u64;
    /// Takes no more; true when it still has something to do.
    fn close(&self) -> bool;
}

/// The sleeping stripes in the low half of [`Core::idle`], those of them that watch the others in the high half.
pub(super) const SLEEPER: usize = 1;
pub(super) const WATCHER: usize = 1 << (usize::BITS / 2);

/// The queues and rules of one striped stage.
pub(super) struct Core {
    pub(super) metrics: StageMetrics,
    pub(super) stripes: Box<[CachePadded<Stripe>]>,
    pub(super) capacity: usize,
    /// In nanoseconds.
    pub(super) takeover: Option<u64>,
    /// How long mail may have waited before more is refused by those who ask.
    pub(super) overload: Option<Duration>,
    /// Stripes that sleep without a time-out, and with one; read inside a stripe's lock by who pushes to it.
    pub(super) idle: CachePadded<AtomicUsize>,
    registry: Mutex<Registry>,
    closed: AtomicBool,
    cancelled: AtomicBool,
    /// Strands that are closed and not yet empty, plus one until the close itself is done.
    undrained: AtomicUsize,
    /// Operations without a key that have not begun.
    loose: Arc<AtomicUsize>,
    /// What callers ran on strands that are gone.
    called: AtomicU64,
    /// Strands that went since those that are gone were last forgotten.
    gone: AtomicUsize,
    rotation: AtomicUsize,
}

#[derive(Default)]
struct Registry {
    closed: bool,
    strands: Vec<Weak<dyn Turn>>,
    prune_at: usize,
}

impl Registry {
    /// Forgets strands that are gone; only then their memory is given back.
    fn prune(&mut self) {
        self.strands.retain(|strand| strand.strong_count() > 0);
        self.prune_at = 2 * self.strands.len() + 64;
    }
}

/// After so many strands are gone, it is time to see whether they are a good part of those that are known.
const PRUNE_EVERY: usize = 512;

/// The place of one operation without a key among those that may wait; given back when dropped.
pub(super) struct LoosePlace(Arc<AtomicUsize>);

impl Drop for LoosePlace {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Core {
    pub(super) fn new(env: &Arc<Env>, id: StageId, settings: &StripedSettings) -> Arc<Self> {
        Arc::new(Self {
            metrics: StageMetrics::new(env, id, settings.threads, settings.slow_limit),
            stripes: (0..settings.threads).map(|_| CachePadded::new(Stripe::new())).collect(),
            capacity: settings.mailbox_capacity,
            takeover: settings.takeover.map(|period| (period.as_nanos() as u64).max(1)),
            overload: settings.overload,
            idle: CachePadded::new(AtomicUsize::new(0)),
            registry: Mutex::new(Registry::default()),
            closed: AtomicBool::new(false),
            cancelled: AtomicBool::new(false),
            undrained: AtomicUsize::new(1),
            loose: Arc::new(AtomicUsize::new(0)),
            called: AtomicU64::new(0),
            gone: AtomicUsize::new(0),
            rotation: AtomicUsize::new(0),
        })
    }

    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// Makes a new strand known; on a closed stage it is closed at once.
    pub(super) fn register(&self, strand: &Arc<dyn Turn>) {
        let mut registry = self.registry();
        if registry.closed {
            strand.close();
        }
        if registry.strands.len() >= registry.prune_at {
            registry.prune();
        }
        registry.strands.push(Arc::downgrade(strand));
    }

    /// A strand is gone; what callers ran on it stays counted.
    pub(super) fn forget(&self, called: u64) {
        if called > 0 {
            self.called.fetch_add(called, Ordering::Relaxed);
        }
        let gone = self.gone.fetch_add(1, Ordering::Relaxed) + 1;
        // A strand that is gone keeps its place in memory while it is known: a structure that was destroyed would keep all of it.
        if gone.is_multiple_of(PRUNE_EVERY) {
            let mut registry = self.registry();
            if 4 * gone >= registry.strands.len() {
                registry.prune();
                self.gone.store(0, Ordering::Relaxed);
            }
        }
    }

    /// How many strands are known, those that are gone included.
    #[cfg(test)]
    pub(super) fn known(&self) -> usize {
        self.registry().strands.len()
    }

    /// Room for one more operation without a key.
    pub(super) fn place_for_loose(&self) -> Result<LoosePlace, SubmitError> {
        let before = self.loose.fetch_add(1, Ordering::Relaxed);
        let place = LoosePlace(Arc::clone(&self.loose));
        if before >= self.capacity {
            self.metrics.count_refused();
            return Err(SubmitError::Overloaded { stage: self.metrics.id, capacity: self.capacity });
        }
        Ok(place)
    }

    /// Puts a strand that became ready where it will be run, and wakes who is needed for that.
    pub(super) fn push(&self, strand: Arc<dyn Turn>, lane: Lane) {
        let since = self.metrics.env().now();
        self.place(Entry { strand, lane, since });
    }

    fn place(&self, entry: Entry) {
        let stripe = &self.stripes[self.target(entry.strand.home())];
        let (wake, watch) = stripe.push(entry, |before| match before {
            Mode::Asleep => (true, false),
            Mode::Looking => (false, false),
            Mode::Busy => (false, self.takeover.is_some() && self.is_unwatched()),
        });
        if wake {
            stripe.parker.unpark();
        } else if watch {
            self.wake_a_sleeper();
        }
    }

    /// The home stripe, or while that is stuck another one: asleep if possible.
    fn target(&self, home: usize) -> usize {
        if !self.stripes[home].is_stuck() {
            return home;
        }
        let count = self.stripes.len();
        let first = self.rotation.fetch_add(1, Ordering::Relaxed);
        let mut others = (0..count).map(|turn| (first + turn) % count).filter(|other| *other != home);
        let free = |other: &usize| !self.stripes[*other].is_stuck();
        others
            .clone()
            .find(|other| free(other) && self.stripes[*other].is_asleep())
            .or_else(|| others.find(free))
            .unwrap_or(home)
    }

    /// True when stripes sleep and none of them watches the busy ones.
    fn is_unwatched(&self) -> bool {
        let idle = self.idle.load(Ordering::SeqCst);
        idle != 0 && idle < WATCHER
    }

    /// Wakes one stripe that sleeps; before it sleeps again it looks at the others, and watches them if need be.
    fn wake_a_sleeper(&self) {
        let _ = self.stripes.iter().any(|stripe| stripe.is_asleep() && stripe.wake());
    }

    /// A watcher has found work: someone else must watch while it is busy.
    pub(super) fn hand_over_watch(&self) {
        // Under each stripe's lock, as the pushes that relied on the watcher's being there looked for it.
        if self.is_unwatched() && self.stripes.iter().any(|stripe| stripe.waiting_now() > 0) {
            self.wake_a_sleeper();
        }
    }

    /// The next entry for `me`: its own, or one that waits behind a stuck stripe.
    pub(super) fn find(&self, me: usize) -> Option<Entry> {
        let stripe = &self.stripes[me];
        stripe.moved();
        if let Some(takeover) = self.takeover {
            // A stripe that is never idle looks at the others once per period.
            let now = self.metrics.env().now();
            if now >= stripe.next_look.load(Ordering::Relaxed) {
                stripe.next_look.store(now + takeover, Ordering::Relaxed);
                if let Some(entry) = self.take_over(me, now, takeover) {
                    return Some(entry);
                }
            }
        }
        stripe.pop().or_else(|| self.take_over(me, self.metrics.env().now(), self.takeover?))
    }

    /// Takes what waits behind a stuck stripe: one entry to run now, the rest to stripes that are not stuck.
    fn take_over(&self, me: usize, now: u64, takeover: u64) -> Option<Entry> {
        let count = self.stripes.len();
        for other in (1..count).map(|distance| (me + distance) % count) {
            let stuck = || self.due(other, takeover).is_some_and(|due| due <= now);
            if self.stripes[other].waiting() == 0 || !stuck() {
                continue;
            }
            let mut taken = self.stripes[other].take_all(stuck);
            let Some(first) = taken.pop_front() else { continue };
            self.metrics.worker(me).count_stolen();
            for entry in taken {
                self.metrics.worker(me).count_stolen();
                self.place(entry);
            }
            // From here on `me` is busy; what was pushed while it looked waits behind what it runs now.
            if self.stripes[me].set_busy() > 0 && self.is_unwatched() {
                self.wake_a_sleeper();
            }
            return Some(first);
        }
        None
    }

    /// When the task that a stripe runs will have lasted too long.
    fn due(&self, stripe: usize, takeover: u64) -> Option<u64> {
        Some(self.metrics.worker(stripe).running()?.since + takeover)
    }

    /// When a stripe that has nothing to do must look at the others again: entries wait behind a busy one.
    pub(super) fn watch_until(&self, me: usize, now: u64) -> Option<u64> {
        let takeover = self.takeover?;
        let others = (0..self.stripes.len()).filter(|other| *other != me);
        others
            .filter(|other| self.stripes[*other].waiting_now() > 0)
            // Between two tasks: a full period from now.
            .map(|other| self.due(other, takeover).unwrap_or(now + takeover))
            .min()
    }

    /// A closed strand became empty.
    pub(super) fn strand_drained(&self) {
        if self.undrained.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.wake_all();
        }
    }

    /// An entry of any stripe.
    fn any_entry(&self) -> Option<(usize, Entry)> {
        (0..self.stripes.len()).find_map(|stripe| Some((stripe, self.find(stripe)?)))
    }

    fn wake_all(&self) {
        for stripe in &self.stripes {
            stripe.wake();
        }
    }

    /// True when operations that have not begun are dropped.
    #[inline]
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

impl Engine for Core {
    fn metrics(&self) -> &StageMetrics {
        &self.metrics
    }

    fn has_work(&self, worker: usize) -> bool {
        let overdue = |takeover: u64| {
            let now = self.metrics.env().now();
            (0..self.stripes.len()).any(|other| {
                other != worker
                    && self.stripes[other].waiting() > 0
                    && self.due(other, takeover).is_some_and(|due| due <= now)
            })
        };
        self.stripes[worker].waiting() > 0 || self.takeover.is_some_and(overdue)
    }

    fn step(&self, worker: usize) -> bool {
        let Some(entry) = self.find(worker) else { return false };
        entry.take_turn(worker);
        true
    }

    fn next_deadline(&self) -> Option<u64> {
        let takeover = self.takeover?;
        let now = self.metrics.env().now();
        (0..self.stripes.len())
            .filter(|stripe| self.stripes[*stripe].waiting() > 0)
            .filter_map(|stripe| self.due(stripe, takeover))
            // One that has passed and is not taken up has no free stripe to take it; only a task's end changes that.
            .filter(|due| *due > now)
            .min()
    }

    fn snapshot(&self) -> StageSnapshot {
        let strands: Vec<_> = self.registry().strands.iter().filter_map(Weak::upgrade).collect();
        let depth = strands.iter().map(|strand| strand.depth()).sum();
        let oldest = self.stripes.iter().filter_map(|stripe| stripe.oldest()).min();
        let mut snapshot = self.metrics.snapshot("striped", Some(self.capacity), depth, oldest);
        snapshot.executed += self.called.load(Ordering::Relaxed);
        snapshot.executed += strands.iter().map(|strand| strand.called()).sum::<u64>();
        snapshot
    }

    fn close(&self, ending: Ending) {
        if ending == Ending::Cancel {
            self.cancelled.store(true, Ordering::Relaxed);
        }
        let mut registry = self.registry();
        if !std::mem::replace(&mut registry.closed, true) {
            let strands: Vec<_> = registry.strands.iter().filter_map(Weak::upgrade).collect();
            drop(registry);
            for strand in &strands {
                // Counted before it is closed: its last release may come at once.
                self.undrained.fetch_add(1, Ordering::Relaxed);
                if !strand.close() {
                    self.undrained.fetch_sub(1, Ordering::AcqRel);
                }
            }
            self.closed.store(true, Ordering::Release);
            self.undrained.fetch_sub(1, Ordering::AcqRel);
            // These may be the last handles of a user's values.
            strands.into_iter().for_each(discard);
        } else {
            drop(registry);
        }
        self.wake_all();
        if ending == Ending::Cancel && self.metrics.env().simulator().is_some() {
            // Nobody may drive the simulator any more: what is queued is dropped here and now.
            while let Some((worker, entry)) = self.any_entry() {
                entry.take_turn(worker);
            }
        }
    }

    fn is_drained(&self) -> bool {
        self.closed.load(Ordering::Acquire) && self.undrained.load(Ordering::Acquire) == 0
    }
}
