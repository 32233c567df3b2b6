//! A latch: whoever waits for it waits until something happened so many times. Then it can be set again: a new round.

use super::Patience;
use crate::error::GridError;
use crate::grid::Grid;
use crate::invocation::Invocation;
use crate::keeper::{Keeper, State, acts, waiting};
use crate::operation::Step;
use crate::structures::{Service, Structure};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// Waits until something happened so many times.
///
/// ```
/// let stages = filbert_pool::Stages::start()?;
/// let grid = filbert_grid::Grid::new(&stages);
/// let ready = grid.count_down_latch("ready");
/// assert!(ready.try_set_count(1).wait()?);
/// let all = ready.wait_for(None);
/// assert!(!all.is_done(), "it waits, and holds no thread");
/// ready.count_down(ready.round().wait()?, grid.new_id()).wait()?;
/// assert!(all.wait()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct CountDownLatch {
    keeper: Keeper<Latch>,
}

/// How often it still has to happen.
#[derive(Debug, Default)]
pub(crate) struct Latch {
    count: u32,
    round: u32,
    /// Those that were counted in this round: who asks again because an answer was lost is not counted again.
    counted: HashSet<Uuid>,
}

/// The count is down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Down;

impl State for Latch {
    const SERVICE: Service = Service::CountDownLatch;
    type Event = Down;

    fn end(&mut self) -> Vec<Down> {
        *self = Self::default();
        vec![Down]
    }
}

acts! {
    Latch;
    /// How often it still has to happen.
    Read "latch.count" Count {} -> u32 = |self, latch, _turn| Step::done(latch.count);
    /// How often it was set.
    Read "latch.round" Round {} -> u32 = |self, latch, _turn| Step::done(latch.round);
    /// Begins a round, if there is none.
    Put "latch.try_set_count" TrySetCount { count: u32 } -> bool = |self, latch, _turn| {
        if self.count == 0 || self.count > i32::MAX as u32 {
            let problem = format!("a latch counts down from 1 to {}, not from {}", i32::MAX, self.count);
            return Step::failed(GridError::BadArgument { operation: "latch.try_set_count", problem });
        }
        let is_free = latch.count == 0;
        if is_free {
            *latch = Latch { count: self.count, round: latch.round.wrapping_add(1), counted: HashSet::new() };
        }
        Step::done(is_free)
    };
    /// Counts down, since it happened once more. Others wait for it, and nobody else lets them go.
    Put "latch.count_down" CountDown { round: u32, id: Uuid } -> (), relieves = |self, latch, turn| {
        if self.round == latch.round && latch.count > 0 && latch.counted.insert(self.id) {
            latch.count -= 1;
            if latch.count == 0 {
                latch.counted = HashSet::new();
                turn.happened(Down);
            }
        }
        Step::done(())
    };
    /// Waits until the count is down; false when that took too long.
    Read "latch.wait" WaitFor {
        patience: Patience,
        /// The round that it waits for the end of: another may have begun before it runs again.
        #[serde(skip)] began: Option<u32>,
    } -> bool = |self, latch, turn| {
        if latch.count == 0 || self.began.is_some_and(|began| began != latch.round) {
            return Step::done(true);
        }
        if self.patience.is_none() {
            return Step::done(false);
        }
        self.began = Some(latch.round);
        Step::Wait { event: Down, deadline: self.patience.until(turn.now()) }
    }, or |self, _latch| Ok(false);
}

impl WaitFor {
    fn new(timeout: Option<Duration>) -> Self {
        Self { patience: Patience::new(timeout), began: None }
    }
}

impl CountDownLatch {
    pub(crate) fn new(grid: &Grid, name: &Arc<str>) -> Self {
        Self { keeper: Keeper::single(grid, name, Latch::default()) }
    }

    /// How often it still has to happen; 0 at first.
    pub fn count(&self) -> Invocation<u32> {
        self.keeper.call(Count {})
    }

    /// The round: how often it was set.
    pub fn round(&self) -> Invocation<u32> {
        self.keeper.call(Round {})
    }

    /// Begins a round that ends when it happened `count` times; false when one is under way.
    pub fn try_set_count(&self, count: u32) -> Invocation<bool> {
        self.keeper.call(TrySetCount { count })
    }

    /// It happened once more. Counted once for each `id`, and only in that round: so it may be said again when the answer was lost.
    pub fn count_down(&self, round: u32, id: Uuid) -> Invocation<()> {
        self.keeper.call(CountDown { round, id })
    }

    waiting! {
        /// Waits until the count is 0; false when that took longer than the time-out. Does not wait with a time-out of zero.
        wait_for, wait_for_to(&self, timeout: Option<Duration>) -> bool
            = self.keeper.partition(), WaitFor::new(timeout);
    }
}

impl Structure for CountDownLatch {
    fn service(&self) -> Service {
        Service::CountDownLatch
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
    use filbert_pool::{Stages, SubmitError};

    /// The last step was refused as new work, and everybody who waited for it waited on.
    #[test]
    fn a_step_down_is_taken_while_other_work_is_refused() {
        let stages = Stages::builder().set("partition.overload_ms", 1_000_u64).simulated(1).unwrap();
        let (grid, simulation) = (Grid::new(&stages), stages.simulation().unwrap());
        let latch = grid.count_down_latch("ready");
        assert_eq!(latch.try_set_count(1).wait(), Ok(true));
        let round = latch.round().wait().unwrap();
        let waits = latch.wait_for(None);
        let strands = latch.keeper.home().upgrade().unwrap();
        let held = strands.try_look(latch.keeper.partition(), "hold", |_, _| {
            let before = latch.round();
            simulation.advance(Duration::from_millis(1_001));
            let late = latch.try_set_count(2).now().unwrap().unwrap_err();
            assert!(matches!(late, GridError::Refused(SubmitError::Late { .. })), "{late}");
            (before, latch.count_down(round, Uuid::from_u128(7)))
        });
        let (before, down) = held.unwrap();
        simulation.settle();
        assert_eq!((before.wait(), down.wait(), waits.wait()), (Ok(round), Ok(()), Ok(true)));
    }
}
