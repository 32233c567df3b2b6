//! Event time: items carry the time at which something happened, and watermarks say up to which time all is known.
//!
//! ```text
//!   items ──► Stamping ══ by key: items; to all: watermarks ══► windows ──► (window, key, result)
//! ```
//!
//! A *watermark* of time `t` is a producer's promise that it is done with items before `t`. It is the latest time it has seen, less the lag that
//! the user allows. Watermarks travel among the items, to every consumer. A consumer has heard from all its producers up to the
//! smallest of their watermarks (`Coalescer`): then it closes the windows that end there. An item that comes after its windows are closed is *late*:
//! it is counted and dropped. A producer that ends promises everything; one that is silent holds the others up.
//!
//! Times are `i64`, in whatever unit the user's timestamps have. Nothing here reads a clock.

mod fixed;
mod session;
mod stamping;
mod windowed;

pub use fixed::{FixedWindow, FixedWindowing, sliding, tumbling};
pub use session::{SessionWindow, SessionWindowing, session};
pub use stamping::Stamping;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What travels in event time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<T> {
    /// Something that happened.
    Item {
        /// When it happened.
        time: i64,
        /// What happened.
        item: T,
    },
    /// How far a producer is.
    Watermark(Watermark),
}

/// A producer's promise that it is done with items before `time`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watermark {
    /// Up to here all is known.
    pub time: i64,
    /// Which producer says so, from 0.
    pub producer: usize,
    /// How many producers there are.
    pub producers: usize,
}

/// The result of one key in one window: from `start` to before `end`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InWindow<K, R> {
    /// When the window begins.
    pub start: i64,
    /// When it ends; this time is not a part of it.
    pub end: i64,
    /// The key.
    pub key: K,
    /// What was made of its items.
    pub result: R,
}

/// Counts late items; clones are the same counter.
#[derive(Debug, Clone, Default)]
pub struct LateItems {
    count: Arc<AtomicU64>,
}

impl LateItems {
    /// A counter of none.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many items were late so far.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    fn add(&self) {
        self.count.fetch_add(1, Ordering::Relaxed);
    }
}

/// Makes one watermark of those of several producers: the smallest.
#[derive(Debug, Default)]
pub(crate) struct Coalescer {
    /// By producer; none of those that were not heard of.
    times: Vec<Option<i64>>,
}

impl Coalescer {
    /// Takes a producer's watermark; returns up to which time all producers have promised.
    pub(crate) fn hear(&mut self, watermark: Watermark) -> Option<i64> {
        let count = watermark.producers.max(watermark.producer + 1);
        if self.times.len() < count {
            self.times.resize(count, None);
        }
        let time = &mut self.times[watermark.producer];
        *time = (*time).max(Some(watermark.time));
        // `None` is less than any time: one that was not heard of holds the others up.
        self.times.iter().copied().min().flatten()
    }
}
