//! Event time: items carry the time at which something happened, and watermarks say up to which time all is known.
//!
//! ```text
//!   items ──► Stamping ══ by key: items; to all: watermarks ══► windows ──► (window, key, result)
//! ```
//!
//! A *watermark* of time `t` is a producer's promise that it is done with items before `t`. It is the latest time it has seen, less the lag that
//! the user allows. Watermarks travel among the items, to every consumer. A consumer has heard from all its producers up to the
//! smallest of their watermarks (`Coalescer`): then it closes the windows that end there. An item that comes after its windows are closed is *late*:
//! it is counted and dropped, in the metrics of its vertex too. A producer that ends promises everything; one that is silent holds the
//! others up, unless it is told to say when it is *idle* ([`Timed::idle_after`](crate::pipeline::Timed::idle_after)): then it is left
//! out until it has something again.
//!
//! Times are `i64`, in whatever unit the user's timestamps have. Nothing here reads a clock; idleness is noticed by a timer of the
//! stages, which is set only while items come.

mod alarm;
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
    /// It has had no items for a while: until its next word the others go on without it.
    pub is_idle: bool,
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

    fn add(&self, more: u64) {
        self.count.fetch_add(more, Ordering::Relaxed);
    }
}

/// Makes one watermark of those of several producers: the smallest of those that are not idle.
#[derive(Debug, Default)]
pub(crate) struct Coalescer {
    producers: Vec<Heard>,
}

/// What was heard of a producer.
#[derive(Debug, Clone, Copy, Default)]
struct Heard {
    /// None of one that was not heard of.
    time: Option<i64>,
    is_idle: bool,
}

impl Coalescer {
    /// Takes a producer's watermark; returns up to which time all producers have promised.
    pub(crate) fn hear(&mut self, watermark: Watermark) -> Option<i64> {
        let count = watermark.producers.max(watermark.producer + 1);
        if self.producers.len() < count {
            self.producers.resize(count, Heard::default());
        }
        let heard = &mut self.producers[watermark.producer];
        *heard = Heard { time: heard.time.max(Some(watermark.time)), is_idle: watermark.is_idle };
        // `None` is less than any time: one that was not heard of holds the others up.
        let active = self.producers.iter().filter(|heard| !heard.is_idle).map(|heard| heard.time).min();
        // When all are idle none of them holds up the one that is farthest.
        active.unwrap_or_else(|| self.producers.iter().map(|heard| heard.time).max().flatten())
    }
}
