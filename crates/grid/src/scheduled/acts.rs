//! What can be done with the tasks of one partition.

use super::plan::{ScheduledTask, TaskPlan, TaskStatistics};
use super::task::{Outcome, TaskId};
use super::timetable::Timetable;
use crate::executor::Ran;
use crate::keeper::acts;
use crate::operation::Step;
use filbert_wire::Data;
use std::time::Duration;

/// A step of what may fail.
macro_rules! given {
    ($result:expr) => {
        match $result {
            Ok(given) => given,
            Err(error) => return Step::failed(error),
        }
    };
}

acts! {
    Timetable;
    /// Takes a task in.
    Execute "scheduled_executor.schedule" Schedule { task: ScheduledTask, plan: TaskPlan } -> ScheduledTask = |self, table, turn| {
        Step::Done(table.schedule(&self.task, self.plan.clone(), turn.clock()))
    };
    /// The timer came.
    #[derive(Clone)]
    Execute "scheduled_executor.due" Due { at: Duration } -> (), long = |self, table, turn| {
        let ended = table.begin_due(self.at, turn.clock());
        ended.into_iter().for_each(|id| turn.happened(id));
        Step::done(())
    };
    /// A run is over.
    #[derive(Clone)]
    Execute "scheduled_executor.run_over" RunOver {
        task: ScheduledTask,
        id: TaskId,
        /// Runs come back where they were begun, and do not travel.
        #[serde(skip)] ran: Option<Ran>,
    } -> () = |self, table, turn| {
        if let Some(id) = self.ran.take().and_then(|ran| table.run_over(&self.task, self.id, ran)) {
            turn.happened(id);
        }
        Step::done(())
    };
    /// How long until the next run.
    Read "scheduled_executor.delay" Delay { task: ScheduledTask } -> Duration = |self, table, turn| {
        Step::done(given!(table.find(&self.task)).delay(turn.now()))
    };
    /// What is known of its runs.
    Read "scheduled_executor.statistics" Statistics { task: ScheduledTask } -> TaskStatistics = |self, table, _turn| {
        Step::done(given!(table.find(&self.task)).statistics())
    };
    /// Whether there will be no run any more.
    Read "scheduled_executor.is_done" IsDone { task: ScheduledTask } -> bool = |self, table, _turn| {
        Step::done(given!(table.find(&self.task)).outcome().is_some())
    };
    /// Whether it was cancelled.
    Read "scheduled_executor.is_cancelled" IsCancelled { task: ScheduledTask } -> bool = |self, table, _turn| {
        Step::done(matches!(given!(table.find(&self.task)).outcome(), Some(Outcome::Cancelled)))
    };
    /// Cancels it; false when it is done already.
    Remove "scheduled_executor.cancel" Cancel { task: ScheduledTask } -> bool = |self, table, turn| {
        let cancelled = given!(table.cancel(&self.task));
        cancelled.inspect(|id| turn.happened(*id));
        Step::done(cancelled.is_some())
    };
    /// Forgets it.
    Remove "scheduled_executor.dispose" Dispose { task: ScheduledTask } -> () = |self, table, turn| {
        let id = given!(table.dispose(&self.task));
        turn.happened(id);
        Step::done(())
    };
    /// What became of it; waits until it is done.
    Read "scheduled_executor.result" GetResult {
        task: ScheduledTask,
        /// The task that it waits for: another may have the name before it runs again.
        #[serde(skip)] waits_for: Option<TaskId>,
    } -> Option<Data> = |self, table, _turn| {
        let task = given!(table.find(&self.task));
        let id = *self.waits_for.get_or_insert(task.id);
        if id != task.id {
            return Step::failed(table.stale(&self.task));
        }
        match task.outcome() {
            Some(outcome) => Step::Done(table.result(&self.task, outcome)),
            None => Step::Wait { event: id, deadline: None },
        }
    };
    /// All tasks.
    Read "scheduled_executor.list" List {} -> Vec<ScheduledTask>, long = |self, table, _turn| {
        Step::done(table.list())
    };
}
