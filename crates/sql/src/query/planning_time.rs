//! How long the planning of one query has worked, over all its turns.

use crate::error::SqlError;
use filbert_pool::Clock;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// The time that planning has taken of its workers; what it waited for them, or for tables, is not counted.
#[derive(Debug)]
pub(crate) struct PlanningTime {
    clock: Clock,
    limit: Option<Duration>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Of the turns that are over.
    worked: Duration,
    /// When the turn under way began.
    since: Option<Duration>,
}

impl PlanningTime {
    /// Nothing yet, of so much; `None`: of any time.
    pub(crate) fn new(clock: Clock, limit: Option<Duration>) -> Self {
        Self { clock, limit, state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// Planning has a turn.
    pub(crate) fn begin(&self) {
        self.lock().since = Some(self.clock.now());
    }

    /// The turn is over.
    pub(crate) fn pause(&self) {
        let mut state = self.lock();
        if let Some(since) = state.since.take() {
            state.worked += self.clock.now().saturating_sub(since);
        }
    }

    /// What was planned has had its effect: nobody is told from here on that it was too much.
    pub(crate) fn forget(&self) {
        let mut state = self.lock();
        state.worked = Duration::ZERO;
        state.since = state.since.map(|_| self.clock.now());
    }

    /// An error when it has worked for longer than it may.
    pub(super) fn check(&self) -> Result<(), SqlError> {
        let Some(limit) = self.limit else { return Ok(()) };
        let state = self.lock();
        let now = state.since.map_or(Duration::ZERO, |since| self.clock.now().saturating_sub(since));
        if state.worked + now > limit {
            return Err(SqlError::PlansTooLong { limit_ms: limit.as_millis() as u64 });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use filbert_pool::Stages;

    #[test]
    fn only_turns_count() {
        let stages = Stages::simulated(1);
        let (clock, second) = (stages.simulation().unwrap(), Duration::from_secs(1));
        let time = PlanningTime::new(stages.clock(), Some(2 * second));
        clock.advance(100 * second);
        time.begin();
        clock.advance(second);
        time.pause();
        clock.advance(100 * second);
        assert!(time.check().is_ok());
        time.begin();
        clock.advance(second);
        assert!(time.check().is_ok());
        clock.advance(second);
        assert!(matches!(time.check(), Err(SqlError::PlansTooLong { limit_ms: 2_000 })));
        time.forget();
        assert!(time.check().is_ok());
        let any = PlanningTime::new(stages.clock(), None);
        any.begin();
        clock.advance(1_000_000 * second);
        assert!(any.check().is_ok());
    }
}
