//! A stage without its threads: what real workers and the simulator both drive.
//!
//! A mechanism keeps its queues and its rules in an engine. Real threads call [`Engine::step`] in a loop and sleep when it
//! finds nothing; the simulator calls it for one worker at a time, in an order that comes from the seed. Neither
//! knows what the other does, and the engine does not know which of them calls.

use crate::metrics::{StageMetrics, StageSnapshot};
use std::time::Duration;

/// How a stage ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Takes no more work from outside and does what it has.
    Drain,
    /// Takes no more work and drops what it has not begun.
    Cancel,
}

/// The queues and rules of one stage.
pub(crate) trait Engine: Send + Sync + 'static {
    /// Its counters, its name and its surroundings.
    fn metrics(&self) -> &StageMetrics;

    /// True when [`Engine::step`] by this worker would find something to do. May be wrong for a moment under real
    /// threads; is exact under simulation.
    fn has_work(&self, worker: usize) -> bool;

    /// Does one unit of work as `worker`; false when it found none.
    fn step(&self, worker: usize) -> bool;

    /// The moment at which a worker that has no work now would find some, if that depends on the clock (takeover).
    fn next_deadline(&self) -> Option<u64> {
        None
    }

    /// What the stage says of itself.
    fn snapshot(&self) -> StageSnapshot;

    /// Begins the end: new work is refused, sleepers are woken, threads leave when nothing is left for them.
    fn close(&self, ending: Ending);

    /// After [`Engine::close`] with [`Ending::Cancel`]: waits for threads that the stage did not get from `Threads`; how many are
    /// still inside a task when the time is over.
    fn leave_behind(&self, _within: Duration) -> usize {
        0
    }

    /// True when the stage is closed and nothing is queued or running any more.
    fn is_drained(&self) -> bool;
}
