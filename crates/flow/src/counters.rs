//! What a tasklet counts: written by the tasklet alone, read by whoever looks at the job's metrics.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The counters of one processor.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) busy: Counter,
    pub(crate) blocked: Counter,
    pub(crate) idle: Counter,
    pub(crate) calls: Counter,
    pub(crate) long_calls: Counter,
    pub(crate) longest_call: Counter,
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
}

/// A number that one thread at a time changes and others read.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counters {
    pub(crate) fn new(inbound: usize, outbound: usize) -> Self {
        let ends = |count: usize| (0..count).map(|_| EndCounters::default()).collect();
        Self { inbound: ends(inbound), outbound: ends(outbound), ..Self::default() }
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
    pub(crate) fn add_time(&self, more: Duration) {
        self.add(more.as_nanos() as u64);
    }

    #[inline]
    pub(crate) fn raise_to(&self, value: u64) {
        if value > self.get() {
            self.set(value);
        }
    }
}
