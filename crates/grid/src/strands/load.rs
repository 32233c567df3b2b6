//! How long operations wait for their turns: who would wait too long is refused before it begins.
//!
//! A thread takes a second for each scan, and two scans a second arrive. The queues are bounded by their number, which is far away: after half
//! a minute everybody waits for fifteen seconds, and most callers have gone. So new work is refused while work that came before it has waited
//! longer than the bound of the stage (`partition.overload_ms`), and what has been taken is served in time.
//!
//! Two things are looked at, since work waits in two ways:
//!
//! - **Mail of one strand.** One letter of each mailbox is watched: it carries the time at which it was mailed until it is opened, and then the
//!   next one does. While the watched letter is older than the bound, so is the wait. Cost: a load for each letter, a look at the clock for the
//!   watched ones. An operation that is parked (a lock, an empty queue) has been opened, so it is no overload.
//! - **Operations on many partitions.** Their parts wait behind those of others, each for a moment: two hundred waits of 30 ms are six seconds.
//!   Each adds up the waits of its parts and expects the rest to wait as long. While one that has waited for a good part of the bound expects
//!   to wait longer than it, no more are begun.
//!
//! Parts of what has begun, and the system's own work, are never refused for this. Rejected: times in all letters (a quarter more memory for
//! the smallest), and an average of the last waits (it says nothing of a strand that is stuck, and little of work that is done rarely).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Nobody is watched.
const NONE: u64 = 0;

/// When the watched letter of one mailbox was mailed. Clones are of the same mailbox.
#[derive(Debug, Clone, Default)]
pub(super) struct OldestMail {
    /// In nanoseconds, one at least.
    since: Arc<AtomicU64>,
}

impl OldestMail {
    /// True when the letter that is about to be mailed is the one to watch: it calls [`OldestMail::arrived`] when it is opened.
    #[inline]
    pub(super) fn watch(&self, now: impl FnOnce() -> Duration) -> bool {
        if self.since.load(Ordering::Relaxed) != NONE {
            return false;
        }
        let now = u64::try_from(now().as_nanos()).unwrap_or(u64::MAX).max(1);
        self.since.compare_exchange(NONE, now, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// The watched letter waits no more.
    #[inline]
    pub(super) fn arrived(&self) {
        self.since.store(NONE, Ordering::Relaxed);
    }

    /// True when the watched letter has waited for longer than that.
    #[inline]
    pub(super) fn is_older_than(&self, bound: Option<Duration>, now: impl FnOnce() -> Duration) -> bool {
        let since = self.since.load(Ordering::Relaxed);
        since != NONE && bound.is_some_and(|bound| now().saturating_sub(Duration::from_nanos(since)) > bound)
    }
}

/// How the operations on many partitions of one structure get on.
#[derive(Debug)]
pub(super) struct SpreadLoad {
    bound: Option<Duration>,
    /// How many expect to wait for longer than the bound.
    late: AtomicUsize,
}

impl SpreadLoad {
    pub(super) fn new(bound: Option<Duration>) -> Self {
        Self { bound, late: AtomicUsize::new(0) }
    }

    /// True when one that is under way waits longer than it may.
    pub(super) fn is_late(&self) -> bool {
        self.late.load(Ordering::Relaxed) > 0
    }
}

/// The waits of one operation on many partitions.
#[derive(Debug)]
pub(super) struct SpreadWait {
    load: Arc<SpreadLoad>,
    bound: Duration,
    /// Parts that go on beside each other.
    lanes: u32,
    parts: u32,
    begun: u32,
    /// Of all parts together.
    waited: Duration,
    is_late: bool,
}

impl SpreadWait {
    /// Of an operation with so many parts; `None` when there is no bound.
    pub(super) fn new(load: &Arc<SpreadLoad>, lanes: usize, parts: usize) -> Option<Self> {
        let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).max(1);
        let (load, bound) = (Arc::clone(load), load.bound?);
        let (lanes, parts) = (number(lanes.min(parts)), number(parts));
        Some(Self { load, bound, lanes, parts, begun: 0, waited: Duration::ZERO, is_late: false })
    }

    /// One part of it has waited for so long for a turn.
    pub(super) fn waited(&mut self, wait: Duration, begins: bool) {
        self.waited = self.waited.saturating_add(wait);
        self.begun += u32::from(begins);
        let so_far = self.waited / self.lanes;
        let expected = so_far.mul_f64(f64::from(self.parts) / f64::from(self.begun.max(1)));
        // What has had all its turns waits for none, though a part of it may be parked. A moment in which others had all threads says
        // little about the rest.
        self.be_late(self.begun < self.parts && so_far > self.bound / 4 && expected > self.bound);
    }

    fn be_late(&mut self, is_late: bool) {
        match (std::mem::replace(&mut self.is_late, is_late), is_late) {
            (false, true) => self.load.late.fetch_add(1, Ordering::Relaxed),
            (true, false) => self.load.late.fetch_sub(1, Ordering::Relaxed),
            _ => return,
        };
    }
}

impl Drop for SpreadWait {
    fn drop(&mut self) {
        self.be_late(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn one_letter_at_a_time_is_watched_until_it_is_opened() {
        let mail = OldestMail::default();
        let older = |now: Duration| mail.is_older_than(Some(SECOND), || now);
        assert!(!older(100 * SECOND), "there is none");
        assert!(mail.watch(|| Duration::ZERO), "at the very begin of the clock, too");
        assert!(!mail.watch(|| SECOND));
        assert!(!older(SECOND) && older(2 * SECOND));
        assert!(!mail.is_older_than(None, || 100 * SECOND), "without a bound");
        mail.arrived();
        assert!(!older(100 * SECOND));
        assert!(mail.watch(|| 3 * SECOND) && !older(4 * SECOND));
    }

    #[test]
    fn many_short_waits_are_late_before_they_add_up_to_the_bound() {
        let load = Arc::new(SpreadLoad::new(Some(SECOND)));
        let mut wait = SpreadWait::new(&load, 4, 100).unwrap();
        let mut parts = 0;
        while !load.is_late() {
            // Four lanes: a hundred waits of 80 ms are two seconds.
            wait.waited(SECOND * 8 / 100, true);
            parts += 1;
        }
        assert!((13..=14).contains(&parts), "a quarter of a second in each lane: {parts}");
        // The others before it have ended.
        (parts..50).for_each(|_| wait.waited(Duration::ZERO, true));
        assert!(!load.is_late());
        wait.waited(100 * SECOND, false);
        assert!(load.is_late());
        drop(wait);
        assert!(!load.is_late(), "what is gone waits no more");
        assert!(SpreadWait::new(&Arc::new(SpreadLoad::new(None)), 4, 100).is_none());
    }
}
