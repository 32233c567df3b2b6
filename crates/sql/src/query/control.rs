//! A query's control: start and cancel, as messages on the query's own strand of stage `query`.
//!
//! Fragments keep their workers busy for as long as they like; whoever steers them must not stand in the same queue. On a strand, start
//! comes before cancel in the order in which they were sent: a cancel that overtakes its start would leave the query running.

use super::admission::Permit;
use super::registry::{Entry, State};
use filbert_pool::{Engagement, Group, Strand, SubmitError, TaskFuture};
use std::sync::Arc;

/// How far a query is.
pub(crate) enum Control {
    /// It waits for its turn. Engaged already: a shutdown that drains waits for what was accepted.
    Waiting(Arc<Entry>, Engagement),
    /// Its tasks are this group's.
    Running {
        entry: Arc<Entry>,
        /// Given back when the query is over.
        _permit: Permit,
        /// Without it the reactor would end, and fail the reads of files, before the fragments are drained.
        _engaged: Engagement,
    },
    /// It ended, or was cancelled before it began.
    Over,
}

impl Control {
    /// The message `execute`: the query may run now.
    pub(crate) fn execute(&mut self, permit: Permit) {
        match std::mem::replace(self, Control::Over) {
            Control::Waiting(entry, engaged) => {
                entry.set(State::Running);
                // What fails here, the reader sees: its sender is dropped with the closure.
                match entry.take_start().map(|start| start()) {
                    Some(Ok(())) => *self = Control::Running { entry, _permit: permit, _engaged: engaged },
                    _ => entry.set(State::Over),
                }
            }
            other => *self = other,
        }
    }

    /// The message `cancel`: every task of the query drops its state at its next turn. True when there was something to cancel.
    pub(crate) fn cancel(&mut self) -> bool {
        match std::mem::replace(self, Control::Over) {
            Control::Waiting(entry, _) | Control::Running { entry, .. } => {
                entry.set(State::Over);
                drop(entry.take_start());
                Group::cancel(entry.group());
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
    entry: Arc<Entry>,
}

impl QueryCanceller {
    pub(super) fn new(control: Strand<Control>, entry: Arc<Entry>) -> Self {
        Self { control, entry }
    }

    /// Fragments of the query that are not gone: those that were cancelled are there until their next turn.
    pub fn fragments(&self) -> usize {
        self.entry.fragments()
    }

    /// Cancels the query. The future says that stage `query` has done so, and whether there was something to cancel; fragments end at
    /// their next turn.
    ///
    /// # Errors
    /// When the stage is shutting down, which cancels queries too.
    pub fn cancel(&self) -> Result<TaskFuture<bool>, SubmitError> {
        self.control.submit_priority("cancel", Control::cancel)
    }
}

impl std::fmt::Debug for QueryCanceller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("QueryCanceller")
    }
}
