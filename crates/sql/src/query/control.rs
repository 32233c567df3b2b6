//! A query's control: start and cancel, as messages on the query's own strand of stage `query`.
//!
//! Fragments keep their workers busy for as long as they like; whoever steers them must not stand in the same queue. On a strand, start
//! comes before cancel in the order in which they were sent: a cancel that overtakes its start would leave the query running.

use super::admission::Permit;
use crate::error::SqlError;
use filbert_pool::{Group, Strand, SubmitError, TaskFuture};

/// How far a query is.
pub(crate) enum Control {
    /// It waits for its turn; starting it is the closure.
    Waiting(Box<dyn FnOnce() -> Result<(), SqlError> + Send>, Group),
    /// Its tasks are this group's.
    Running {
        group: Group,
        /// Given back when the query is over.
        _permit: Permit,
    },
    /// It ended, or was cancelled before it began.
    Over,
}

impl Control {
    /// The message `execute`: the query may run now.
    pub(crate) fn execute(&mut self, permit: Permit) {
        match std::mem::replace(self, Control::Over) {
            Control::Waiting(start, group) => {
                // What fails here, the reader sees: its sender is dropped with the closure.
                if start().is_ok() {
                    *self = Control::Running { group, _permit: permit };
                }
            }
            other => *self = other,
        }
    }

    /// The message `cancel`: every task of the query drops its state at its next turn. True when there was something to cancel.
    pub(crate) fn cancel(&mut self) -> bool {
        match std::mem::replace(self, Control::Over) {
            Control::Waiting(_, group) | Control::Running { group, .. } => {
                group.cancel();
                true
            }
            Control::Over => false,
        }
    }
}

/// Cancels one query; for any thread, any number of times. Cheap to clone.
#[derive(Clone)]
pub struct QueryCanceller {
    control: Strand<Control>,
    group: Group,
}

impl QueryCanceller {
    pub(super) fn new(control: Strand<Control>, group: Group) -> Self {
        Self { control, group }
    }

    /// Cancels the query. The future says that stage `query` has done so, and whether there was something to cancel; fragments end at
    /// their next turn.
    ///
    /// # Errors
    /// When the stage is shutting down, which cancels queries too.
    pub fn cancel(&self) -> Result<TaskFuture<bool>, SubmitError> {
        self.control.submit_priority("cancel", Control::cancel)
    }

    /// Fragments of the query that are not gone yet. It may grow while the query runs; after a cancel it falls to zero.
    pub fn fragments(&self) -> usize {
        self.group.tasks()
    }
}

impl std::fmt::Debug for QueryCanceller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("QueryCanceller")
    }
}
