//! One task: when it is due, whether it runs, what came of it. Pure: time is passed in, runs are begun by the timetable.
//!
//! ```text
//! waits -- due --> runs -- ended, once or with an error --> done
//!   ^               |
//!   +-- ended, at --+        cancelled: done, from both
//!       fixed rate
//! ```

use super::plan::{TaskPlan, TaskStatistics};
use crate::code::Code;
use crate::error::GridResult;
use crate::executor::Ran;
use filbert_pool::Canceller;
use filbert_wire::Data;
use std::time::Duration;

/// Later than anyone waits for; additions of it do not overflow.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 86_400);

/// Tells a task from another one that had its name before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub(crate) struct TaskId(pub(super) u64);

/// What became of a task.
#[derive(Debug, Clone)]
pub(super) enum Outcome {
    Result(GridResult<Option<Data>>),
    Cancelled,
}

#[derive(Debug)]
enum Phase {
    Waits,
    /// It was given to the threads; what cancels it there.
    Runs(Canceller),
    Done(Outcome),
}

#[derive(Debug)]
pub(super) struct Task {
    pub(super) id: TaskId,
    pub(super) code: Code,
    pub(super) auto_dispose: bool,
    period: Option<Duration>,
    /// When the next run is due.
    due: Duration,
    phase: Phase,
    statistics: TaskStatistics,
    /// Since when it waits for a run.
    idle_since: Duration,
}

impl Task {
    pub(super) fn new(id: TaskId, plan: TaskPlan, now: Duration) -> Self {
        let TaskPlan { code, delay, period, auto_dispose, .. } = plan;
        Self {
            id,
            code,
            auto_dispose,
            period: period.map(|period| period.min(FOREVER)),
            due: now.saturating_add(delay.min(FOREVER)),
            phase: Phase::Waits,
            statistics: TaskStatistics::default(),
            idle_since: now,
        }
    }

    /// When the next run is due, if there will be one.
    pub(super) fn due(&self) -> Option<Duration> {
        match self.phase {
            Phase::Waits => Some(self.due),
            Phase::Runs(_) => self.period.map(|_| self.due),
            Phase::Done(_) => None,
        }
    }

    /// How long until the next run; nothing when it is due, runs for the only time, or is done.
    pub(super) fn delay(&self, now: Duration) -> Duration {
        self.due().map_or(Duration::ZERO, |due| due.saturating_sub(now))
    }

    /// True when a run can begin: the one before is over.
    pub(super) fn may_begin(&self) -> bool {
        matches!(self.phase, Phase::Waits)
    }

    pub(super) fn is_repeated(&self) -> bool {
        self.period.is_some()
    }

    /// A run was due; the next one is the first after `now`, so that runs which could not be are not made up for.
    pub(super) fn passed(&mut self, now: Duration) {
        let Some(period) = self.period else { return };
        let late = now.saturating_sub(self.due).as_nanos() / period.as_nanos().max(1);
        let late = period.saturating_mul(u32::try_from(late).unwrap_or(u32::MAX));
        self.due = self.due.saturating_add(late).saturating_add(period);
        if self.due <= now {
            self.due = now.saturating_add(period);
        }
    }

    /// Its run could not begin; it waits until then.
    pub(super) fn put_off(&mut self, due: Duration) {
        self.due = due;
    }

    pub(super) fn begun(&mut self, canceller: Canceller) {
        self.phase = Phase::Runs(canceller);
    }

    /// A run is over; true when the task is, too.
    pub(super) fn ran(&mut self, ran: Ran) -> bool {
        let Ran { result, began, ended } = ran;
        self.statistics.ran(began.saturating_sub(self.idle_since), ended.saturating_sub(began));
        self.idle_since = ended;
        if !matches!(self.phase, Phase::Runs(_)) {
            return false;
        }
        if self.period.is_some() && result.is_ok() {
            self.phase = Phase::Waits;
            return false;
        }
        self.phase = Phase::Done(Outcome::Result(result));
        true
    }

    /// It ends without a run.
    pub(super) fn fail(&mut self, result: GridResult<Option<Data>>) {
        self.phase = Phase::Done(Outcome::Result(result));
    }

    /// False when it is done already. A run that is under way is told, and its result is lost.
    pub(super) fn cancel(&mut self) -> bool {
        match std::mem::replace(&mut self.phase, Phase::Done(Outcome::Cancelled)) {
            Phase::Waits => true,
            Phase::Runs(canceller) => {
                canceller.cancel();
                true
            }
            done @ Phase::Done(_) => {
                self.phase = done;
                false
            }
        }
    }

    /// What became of it, when it is done.
    pub(super) fn outcome(&self) -> Option<&Outcome> {
        match &self.phase {
            Phase::Done(outcome) => Some(outcome),
            Phase::Waits | Phase::Runs(_) => None,
        }
    }

    pub(super) fn statistics(&self) -> TaskStatistics {
        self.statistics
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn each(period: u64) -> Task {
        let code = Code::named("c", Data::new(0, b""));
        Task::new(TaskId(1), TaskPlan::at_fixed_rate(code, seconds(1), seconds(period)), seconds(10))
    }

    #[test]
    fn runs_keep_to_their_times_and_missed_ones_are_left_out() {
        let mut task = each(10);
        assert_eq!((task.due(), task.delay(seconds(4))), (Some(seconds(11)), seconds(7)));
        task.passed(seconds(11));
        assert_eq!(task.due(), Some(seconds(21)));
        task.passed(seconds(67));
        assert_eq!(task.due(), Some(seconds(71)), "21, 31, 41, 51 and 61 could not be");
    }

    #[test]
    fn no_time_is_too_long() {
        let code = Code::named("c", Data::new(0, b""));
        let mut task =
            Task::new(TaskId(1), TaskPlan::at_fixed_rate(code, Duration::MAX, Duration::MAX), seconds(1));
        task.passed(FOREVER + seconds(2));
        assert!(task.due() > Some(FOREVER + FOREVER - seconds(1)));
        let mut task = each(1);
        task.passed(FOREVER);
        assert!(task.due() > Some(FOREVER));
    }
}
