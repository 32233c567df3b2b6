//! Ids that are unique and grow with time, a batch at a time.
//!
//! An id is the time since 2018 in milliseconds, a counter of 6 bits, and 16 bits for the member, which is 0 here. A generator gives out
//! no more than 64 ids for each millisecond: who asks for more gets them from the milliseconds to come, up to 15 seconds ahead, and then
//! waits, holding no thread.

use crate::error::GridError;
use crate::grid::Grid;
use crate::keeper::{Keeper, State, acts, waiting};
use crate::operation::Step;
use crate::structures::{Service, Structure};
use std::sync::Arc;
use std::time::Duration;

/// Milliseconds from 1970 to 2018.
const EPOCH_MS: i64 = 1_514_764_800_000;
/// Ids for each millisecond.
const PER_MS: i64 = 64;
/// From each id to the next: above the bits of the member.
const INCREMENT: i64 = 1 << 16;
/// How far ahead ids may be.
const AHEAD_MS: i64 = 15_000;
/// The most ids of a batch.
const MOST: u32 = 100_000;

/// Ids that follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct IdBatch {
    /// The first.
    pub base: i64,
    /// From each to the next.
    pub increment: i64,
    /// How many.
    pub size: u32,
}

impl IdBatch {
    /// All of them.
    pub fn ids(self) -> impl ExactSizeIterator<Item = i64> {
        (0..self.size).map(move |number| self.base + i64::from(number) * self.increment)
    }
}

/// Ids that are unique and grow with time.
///
/// ```
/// let stages = filbert_pool::Stages::start()?;
/// let orders = filbert_grid::Grid::new(&stages).flake_id_generator("orders");
/// let (first, second) = (orders.new_batch(10).wait()?, orders.new_batch(10).wait()?);
/// assert!(first.ids().max() < second.ids().min());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FlakeIdGenerator {
    keeper: Keeper<Given>,
}

/// How far ids were given out, in 64ths of a millisecond.
#[derive(Debug, Default)]
pub(crate) struct Given {
    next: i64,
}

/// It is late enough: told by the clock alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Later;

impl State for Given {
    const SERVICE: Service = Service::FlakeIdGenerator;
    type Event = Later;

    fn end(&mut self) -> Vec<Later> {
        vec![Later]
    }
}

acts! {
    Given;
    /// Gives ids out.
    Put "flake_id.new_batch" NewBatch {
        size: u32,
        /// What it got, and waits until it may give.
        #[serde(skip)] taken: Option<IdBatch>,
    } -> IdBatch = |self, given, turn| {
        if let Some(taken) = self.taken {
            return Step::done(taken);
        }
        if self.size == 0 || self.size > MOST {
            let problem = format!("a batch has 1 to {MOST} ids, not {}", self.size);
            return Step::failed(GridError::BadArgument { operation: "flake_id.new_batch", problem });
        }
        let now_ms = i64::try_from(turn.unix_ms()).unwrap_or(i64::MAX) - EPOCH_MS;
        let (base, end, wait_ms) = given.take(now_ms, self.size);
        given.next = end;
        let batch = IdBatch { base: base * INCREMENT, increment: INCREMENT, size: self.size };
        if wait_ms <= 0 {
            return Step::done(batch);
        }
        self.taken = Some(batch);
        let deadline = turn.now().checked_add(Duration::from_millis(wait_ms as u64));
        Step::Wait { event: Later, deadline }
    }, or |self, _given| self.taken.ok_or(GridError::TimedOut { operation: "flake_id.new_batch" });
}

impl Given {
    /// Where a batch begins and ends, and how long it must wait.
    fn take(&self, now_ms: i64, size: u32) -> (i64, i64, i64) {
        let base = self.next.max(now_ms.saturating_mul(PER_MS));
        let end = base.saturating_add(i64::from(size));
        (base, end, (end - 1) / PER_MS - now_ms - AHEAD_MS)
    }
}

impl FlakeIdGenerator {
    pub(crate) fn new(grid: &Grid, name: &Arc<str>) -> Self {
        Self { keeper: Keeper::single(grid, name, Given::default()) }
    }

    waiting! {
        /// So many new ids, 1 to 100,000; waits until they are not too far ahead of the clock.
        new_batch, new_batch_to(&self, size: u32) -> IdBatch
            = self.keeper.partition(), NewBatch { size, taken: None };
    }
}

impl Structure for FlakeIdGenerator {
    fn service(&self) -> Service {
        Service::FlakeIdGenerator
    }

    fn name(&self) -> &Arc<str> {
        self.keeper.name()
    }

    fn destroy(&self) {
        self.keeper.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_ahead_of_the_clock_by_so_much_and_no_more() {
        let mut given = Given::default();
        let (mut last, mut waits) = (0, 0);
        for round in 0..100 {
            let (base, end, wait_ms) = given.take(1_000, 100_000);
            assert!(base >= last && end - base == 100_000, "round {round}");
            (last, given.next) = (end, end);
            waits += i64::from(wait_ms > 0);
            assert!(wait_ms <= (round + 1) * 100_000 / PER_MS - AHEAD_MS);
        }
        assert!((80..100).contains(&waits), "{waits} batches waited");
        assert_eq!(given.take(1_000_000, 1).0, 1_000_000 * PER_MS, "the clock went on");
    }
}
