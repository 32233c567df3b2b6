//! What can go wrong when work is handed to a stage, and when its result is asked for.

use crate::context::StageId;
use crate::rules::StageKind;
use std::time::Duration;

/// Why a stage did not take the work. Nothing was queued and nothing will run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SubmitError {
    /// The queue is full.
    #[error(
        "stage {stage} is overloaded: its bound of {capacity}{} is reached; try again later, send less, \
         or raise the setting {}",
        bound_counts(*.stage), bounding_setting(*.stage)
    )]
    Overloaded {
        /// The stage that is full.
        stage: StageId,
        /// Its bound.
        capacity: usize,
    },
    /// What waits there has waited too long already; more would wait at least as long.
    #[error(
        "stage {stage} is overloaded: work that was there before has waited for more than {bound_ms} ms; try again later, send less, \
         or raise the setting {}.overload_ms", stage.kind.as_str()
    )]
    Late {
        /// The stage whose work waits.
        stage: StageId,
        /// How long work may have waited before more is refused.
        bound_ms: u64,
    },
    /// The stage takes no more work.
    #[error("stage {stage} is shutting down and takes no more work")]
    ShutDown {
        /// The stage that ends.
        stage: StageId,
    },
    /// The submit goes in the wrong direction.
    #[error(
        "a task on stage {from} may not submit to stage {to}: work that may block is started from above, \
         never from pure computation; return a value and let the caller submit"
    )]
    Crossing {
        /// Where the caller stands.
        from: StageId,
        /// Where the work should have gone.
        to: StageId,
    },
    /// The group was made by another pool.
    #[error(
        "group {group} was not made by the pool of stage {stage}: a group shares the turns of the one pool that made it; \
         make one with `group` of the pool that is to run the task"
    )]
    ForeignGroup {
        /// The group's name.
        group: String,
        /// The stage that was to run the task.
        stage: StageId,
    },
}

/// The setting that bounds what a stage holds.
fn bounding_setting(stage: StageId) -> String {
    let name = match stage.kind {
        StageKind::Partition | StageKind::Query => "mailbox_capacity",
        StageKind::Dedicated => "threads",
        _ => "capacity",
    };
    // Pools beside the one of a kind have its bounds.
    let of = if stage.kind == StageKind::Executor { stage.name } else { stage.kind.as_str() };
    format!("{}.{name}", of.replace('/', "."))
}

/// What the bound of a stage counts, where that is not plainly its tasks.
fn bound_counts(stage: StageId) -> &'static str {
    match stage.kind {
        StageKind::Partition | StageKind::Query => " per strand",
        StageKind::Event => " over all topics",
        StageKind::Io => " over all loops",
        _ => "",
    }
}

impl SubmitError {
    /// True when the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        matches!(self, SubmitError::Overloaded { .. } | SubmitError::Late { .. })
    }
}

/// Why there is no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TaskError {
    /// The task panicked; its worker lives on.
    #[error("task {task} on stage {stage} panicked: {message}")]
    Panicked {
        /// Where it ran.
        stage: StageId,
        /// Its name.
        task: &'static str,
        /// What the panic said.
        message: String,
    },
    /// The task was cancelled, or its stage ended before it ran.
    #[error("task {task} on stage {stage} was cancelled")]
    Cancelled {
        /// Where it would have run.
        stage: StageId,
        /// Its name.
        task: &'static str,
    },
    /// The task is not done yet; it goes on, and its result can still be asked for.
    #[error("task {task} on stage {stage} was not done within {} ms; it goes on", .waited.as_millis())]
    TimedOut {
        /// Where it runs.
        stage: StageId,
        /// Its name.
        task: &'static str,
        /// How long the caller waited.
        waited: Duration,
    },
    /// Waiting here could hold up the very thread that must do the work.
    #[error(
        "a thread of stage {from} may not wait for stage {to}: waiting goes down only; {}",
        instead_of_waiting(*.from)
    )]
    WaitRefused {
        /// Where the caller stands.
        from: StageId,
        /// What it wanted to wait for.
        to: StageId,
    },
}

/// What else a thread of that stage can do to get a result.
fn instead_of_waiting(from: StageId) -> &'static str {
    match from.kind {
        StageKind::Cpu => {
            "leave a callback with `on_complete`, or return and let the caller ask for the result \
             (computation on `cpu` may not await either)"
        }
        _ => "leave a callback with `on_complete`, or await the result where the code is async",
    }
}

impl TaskError {
    /// True when asking again may succeed.
    pub fn is_retryable(&self) -> bool {
        matches!(self, TaskError::TimedOut { .. })
    }

    /// True when the task may still take effect.
    pub fn is_indeterminate(&self) -> bool {
        matches!(self, TaskError::TimedOut { .. } | TaskError::WaitRefused { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overload_names_the_setting_to_raise() {
        let text = |stage, capacity| SubmitError::Overloaded { stage, capacity }.to_string();
        let strand = text(StageId::of(StageKind::Partition), 1);
        assert!(strand.starts_with("stage partition is overloaded: its bound of 1 per strand is reached"));
        assert!(strand.ends_with("raise the setting partition.mailbox_capacity"), "{strand}");
        let pool = text(StageId::named(StageKind::Fragment, "reports"), 10);
        assert!(pool.ends_with("raise the setting fragment.capacity"), "{pool}");
        let late = SubmitError::Late { stage: StageId::of(StageKind::Partition), bound_ms: 5_000 };
        assert!(late.to_string().ends_with("raise the setting partition.overload_ms"), "{late}");
        assert!(late.is_retryable() && crate::settings::table::find("partition.overload_ms").is_some());
        let executor = text(StageId::named(StageKind::Executor, "reports"), 10);
        assert!(executor.ends_with("raise the setting executor.reports.capacity"), "{executor}");
    }

    #[test]
    fn every_setting_named_by_an_overload_exists() {
        for kind in StageKind::ALL {
            if matches!(kind, StageKind::Application | StageKind::Mixed | StageKind::Maintenance) {
                continue;
            }
            let stage =
                if kind == StageKind::Executor { StageId::named(kind, "any") } else { StageId::of(kind) };
            let setting = bounding_setting(stage);
            assert!(crate::settings::table::find(&setting).is_some(), "{setting}");
        }
    }

    #[test]
    fn computation_is_not_told_to_await() {
        let text = |from| {
            let (from, to) = (StageId::of(from), StageId::of(StageKind::Generic));
            TaskError::WaitRefused { from, to }.to_string()
        };
        assert!(text(StageKind::Partition).ends_with("or await the result where the code is async"));
        assert!(text(StageKind::Cpu).contains("`on_complete`, or return and let the caller ask"));
    }
}
