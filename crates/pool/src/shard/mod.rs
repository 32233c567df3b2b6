//! Moving elements between partitions: each into its own, one source into many, many into many.
//!
//! ```text
//!   sharded_for_each        sharding_for_each            resharding_for_each
//!
//!   in 0 ──► out 0                  ┌──► out 0           in 0 ─┬─╳─┬─► out 0
//!   in 1 ──► out 1          source ─┼──► out 1           in 1 ─┼─╳─┼─► out 1
//!   in 2 ──► out 2                  └──► out 2           in 2 ─┴─╳─┴─► out 2
//! ```
//!
//! A step that keeps its grouping uses the first: no element leaves its partition, nobody shares anything. Reading a table into
//! partitions is the second. A step that changes its grouping needs new shard keys; the third does that in one pass,
//! instead of one for partition-local results and another that shards them anew.
//!
//! ## How elements travel
//! An output is a *station*: a consumer behind a lock, and one lane of batches per producer in front of it. Whoever holds
//! the lock *is* the consumer; there is no thread per output. After a send, a producer summons a drain task if none is on duty
//! for that output; the pool runs it. A producer that finds its lane full takes the lock and consumes itself (so one thread
//! is enough for any number of outputs); if the lock is taken, the output is being consumed at this very moment, and
//! the producer steps aside: a router task is parked *as data* at the station and started again by whoever releases the lock, and
//! its worker does something else; the calling thread of [`sharding_for_each`], which waits for the result anyway, leaves its
//! waker there instead and sleeps.
//!
//! ## Why it always ends
//! 1. A lock is held only to consume. The closure that consumes gets no handle to any lane or station, so a holder waits for
//!    nobody, and ends when the lanes are empty.
//! 2. A lane that holds a batch has a drain task on duty ([`Duty`](filbert_sync::Duty)), waiting in the pool or running.
//! 3. Whoever releases a lock then starts the routers that stepped aside there. A router puts itself down first and tries the lock
//!    once more afterwards; if that fails, somebody still holds it, and will look after releasing it.
//! 4. The one producer of [`sharding_for_each`] steps aside in the same way: it sleeps only while another thread holds that lock,
//!    and that thread wakes it when it lets go. No task that has not begun has to run for that. Where tasks run one after
//!    the other, no lock is ever found taken.
//! 5. The first error or panic stops everybody: consumers close their lanes, which wakes a sleeping producer; routers end.
//!
//! Memory: per output and producer, `queue` batches in the lane, one being filled, one being consumed. Order: a lane is first in,
//! first out and consumed under a lock, so order holds for each pair of input and output.
//!
//! Rejected: a thread or task per output that waits for its queue (deadlocks when there are fewer threads than outputs, and
//! level C may not wait); P x P intermediate lists that are merged later (all of the data is held twice); supersteps with
//! a barrier (the slowest output holds up all the others in every step).
//!
//! Threads: producers and consumers of the first and third form run on the stage behind [`Parallel`] (`cpu`), and the caller does its share of
//! them; the source of the second stays on the calling thread, because reading it may block.

mod failure;
mod key;
mod parallel;
mod resharding;
mod router;
mod sharded;
mod sharding;
mod station;

#[cfg(test)]
mod tests;

pub use key::{StableHasher, shard_of, shard_of_hash, stable_hash};
pub use parallel::{Parallel, Spawn, Task};
pub use resharding::{Outbox, resharding_for_each};
pub use sharded::sharded_for_each;
pub use sharding::sharding_for_each;

/// How many elements travel together when nobody says otherwise.
pub const DEFAULT_BATCH: usize = 256;

/// How many batches wait in a lane when nobody says otherwise: with the default batch, 1024 elements.
pub const DEFAULT_QUEUE: usize = 4;

/// Into how many partitions elements are routed, and in what portions.
///
/// ```
/// use filbert_pool::Sharding;
/// let sharding = Sharding::new(16).batch(64).queue(2);
/// assert_eq!(sharding.partitions(), 16);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sharding {
    partitions: usize,
    batch: usize,
    queue: usize,
}

impl Sharding {
    /// Into `partitions` outputs, with the default batch and queue.
    ///
    /// # Panics
    /// When `partitions` is 0: an element would have nowhere to go.
    pub fn new(partitions: usize) -> Self {
        assert!(partitions > 0, "sharding needs at least one partition; 0 were asked for");
        Self { partitions, batch: DEFAULT_BATCH, queue: DEFAULT_QUEUE }
    }

    /// How many elements travel together.
    ///
    /// # Panics
    /// When `elements` is 0.
    #[must_use]
    pub fn batch(mut self, elements: usize) -> Self {
        assert!(elements > 0, "a batch holds at least one element; 0 were asked for");
        self.batch = elements;
        self
    }

    /// How many batches may wait between one producer and one output.
    ///
    /// # Panics
    /// When `batches` is 0.
    #[must_use]
    pub fn queue(mut self, batches: usize) -> Self {
        assert!(batches > 0, "a queue holds at least one batch; 0 were asked for");
        self.queue = batches;
        self
    }

    /// The number of outputs.
    pub fn partitions(&self) -> usize {
        self.partitions
    }
}
