//! What tasklets count: written by the tasklet alone, read by whoever looks at the job's metrics.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The counters of one processor. Times are in nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) busy: Counter,
    pub(crate) blocked: Counter,
    pub(crate) idle: Counter,
    pub(crate) calls: Counter,
    pub(crate) long_calls: Counter,
    pub(crate) longest_call: Counter,
    /// Items that came after their windows were closed.
    pub(crate) late: Counter,
    /// Bytes that the state of the processor takes.
    pub(crate) state_bytes: Counter,
    /// When the rest under way began, 0 for none; and whether the tasklet is blocked or idle.
    rests_since: Counter,
    is_blocked: Counter,
    /// By ordinal.
    pub(crate) inbound: Box<[EndCounters]>,
    pub(crate) outbound: Box<[EndCounters]>,
}

/// The counters of one end of an edge.
#[derive(Debug, Default)]
pub(crate) struct EndCounters {
    /// Items that came or went.
    pub(crate) items: Counter,
    /// Items that wait, in the queues before a consumer or in the bucket of a producer.
    pub(crate) waiting: Counter,
    /// The most items that waited in the queues before a consumer.
    pub(crate) fullest: Counter,
}

/// Why a tasklet rests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// It has found no items.
    Idle,
    /// Its processor waits for something else than items; counts as idle.
    Waiting,
    /// Its results find no room.
    Blocked,
    /// It has more to do, and others go first.
    Again,
}

/// What the buffers of one edge count, all together.
#[derive(Debug, Default)]
pub(crate) struct SpoolCounters {
    waiting: AtomicU64,
    spilled_bytes: AtomicU64,
}

/// A number that one thread at a time changes and others read.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counters {
    pub(crate) fn new(inbound: usize, outbound: usize) -> Self {
        let ends = |count: usize| (0..count).map(|_| EndCounters::default()).collect();
        Self { inbound: ends(inbound), outbound: ends(outbound), ..Self::default() }
    }

    /// A turn ended.
    pub(crate) fn begin_rest(&self, now: Duration, rest: Rest) {
        if rest != Rest::Again {
            self.is_blocked.set(u64::from(rest == Rest::Blocked));
            self.rests_since.set((now.as_nanos() as u64).max(1));
        }
    }

    /// A turn begins.
    pub(crate) fn end_rest(&self, now: Duration) {
        let (idle, blocked) = self.rest_so_far(now);
        if self.rests_since.get() != 0 {
            self.rests_since.set(0);
            self.idle.add(idle);
            self.blocked.add(blocked);
        }
    }

    /// How long the rest under way has been idle or blocked.
    pub(crate) fn rest_so_far(&self, now: Duration) -> (u64, u64) {
        match (self.rests_since.get(), self.is_blocked.get()) {
            (0, _) => (0, 0),
            (since, 0) => ((now.as_nanos() as u64).saturating_sub(since), 0),
            (since, _) => (0, (now.as_nanos() as u64).saturating_sub(since)),
        }
    }
}

impl SpoolCounters {
    pub(crate) fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    pub(crate) fn spilled_bytes(&self) -> u64 {
        self.spilled_bytes.load(Ordering::Relaxed)
    }

    /// One buffer has `now` items instead of `before`.
    pub(crate) fn set_waiting(&self, before: u64, now: u64) {
        self.waiting.fetch_add(now.wrapping_sub(before), Ordering::Relaxed);
    }

    pub(crate) fn spilled(&self, bytes: u64) {
        self.spilled_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Counter {
    #[inline]
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn add(&self, more: u64) {
        self.set(self.get() + more);
    }

    #[inline]
    pub(crate) fn raise_to(&self, value: u64) {
        if value > self.get() {
            self.set(value);
        }
    }
}
