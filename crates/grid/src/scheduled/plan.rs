//! What a scheduled executor is told, and what it tells: values that travel.

use crate::code::Code;
use crate::error::{GridError, GridResult};
use filbert_wire::PartitionId;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// The longest name of a task, in bytes.
const LONGEST_NAME: usize = 4 << 10;

/// Runs that are due more often would do nothing but be begun.
const SHORTEST_PERIOD: Duration = Duration::from_millis(1);

/// What is to be done, and when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskPlan {
    pub(super) name: Option<String>,
    pub(super) code: Code,
    pub(super) delay: Duration,
    pub(super) period: Option<Duration>,
    pub(super) auto_dispose: bool,
}

impl TaskPlan {
    /// Once, `delay` from when it is scheduled.
    pub fn once(code: Code, delay: Duration) -> Self {
        Self { name: None, code, delay, period: None, auto_dispose: false }
    }

    /// Again and again: `delay` from when it is scheduled, then each `period` of one millisecond or more. A run that is due while the one before still runs is left
    /// out. A run that fails is the last one.
    pub fn at_fixed_rate(code: Code, delay: Duration, period: Duration) -> Self {
        Self { period: Some(period), ..Self::once(code, delay) }
    }

    /// Under this name, which no other task of the same partition or member has; else it gets one that nobody has.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Disposed of when its only or last run is over, with its result: for whoever never asks for it. One that is cancelled stays.
    #[must_use]
    pub fn auto_dispose(mut self) -> Self {
        self.auto_dispose = true;
        self
    }

    pub(super) fn check(&self) -> GridResult<()> {
        let refused =
            |problem| Err(GridError::BadArgument { operation: "scheduled_executor.schedule", problem });
        if let Some(period) = self.period.filter(|period| *period < SHORTEST_PERIOD) {
            return refused(format!("a period of {period:?} is too short; give one millisecond or more"));
        }
        match self.name.as_ref().map(String::len) {
            Some(length) if length == 0 || length > LONGEST_NAME => {
                refused(format!("a task's name has 1 to {LONGEST_NAME} bytes; this one has {length}"))
            }
            _ => Ok(()),
        }
    }
}

/// Where a task lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TaskPlace {
    /// With a partition: on the member that owns it.
    Partition(PartitionId),
    /// On this member.
    Member,
}

/// Which task of a scheduled executor.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ScheduledTask {
    /// Where it lives.
    pub place: TaskPlace,
    /// Its name there.
    pub name: String,
}

impl ScheduledTask {
    /// The task of that name on a partition.
    pub fn on_partition(partition: PartitionId, name: impl Into<String>) -> Self {
        Self { place: TaskPlace::Partition(partition), name: name.into() }
    }

    /// The task of that name on this member.
    pub fn on_member(name: impl Into<String>) -> Self {
        Self { place: TaskPlace::Member, name: name.into() }
    }
}

/// The tasks of a scheduled executor, each of which is told with the executor's name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskList {
    /// The name of their executor.
    pub executor: Arc<str>,
    /// All of them, those that are done too.
    pub tasks: Vec<ScheduledTask>,
}

/// What is known of the runs of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct TaskStatistics {
    /// How often it ran to its end.
    pub runs: u64,
    /// How long the last run took.
    pub last_run: Duration,
    /// How long all runs took.
    pub total_run: Duration,
    /// How long it waited before the last run.
    pub last_idle: Duration,
    /// How long it waited in all.
    pub total_idle: Duration,
}

impl TaskStatistics {
    pub(super) fn ran(&mut self, idle: Duration, run: Duration) {
        self.runs += 1;
        (self.last_run, self.last_idle) = (run, idle);
        self.total_run = self.total_run.saturating_add(run);
        self.total_idle = self.total_idle.saturating_add(idle);
    }
}
