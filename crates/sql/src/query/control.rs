//! A query's control: start and cancel, as messages on the query's own strand of stage `query`.
//!
//! Fragments keep their workers busy for as long as they like; whoever steers them must not stand in the same queue. One message at a time,
//! and none after the end: a cancel that comes before the start leaves nothing to start.

use super::registry::{Entry, State};
use crate::error::SqlError;
use filbert_pool::{Called, Engagement, Group, Strand, SubmitError};
use std::sync::{Arc, Weak};

/// How far a query is.
pub(crate) enum Control {
    /// It waits for its turn. Engaged already: a shutdown that drains waits for what was accepted.
    Waiting(Arc<Entry>, Engagement),
    /// It has begun.
    Begun {
        entry: Arc<Entry>,
        /// Without it the reactor would end, and fail the reads of files, before the fragments are drained.
        _engaged: Engagement,
    },
    /// It ended, or was cancelled before it began.
    Over,
}

impl Control {
    /// The message `execute`: the query may run now.
    pub(crate) fn execute(&mut self) {
        match std::mem::replace(self, Control::Over) {
            Control::Waiting(entry, engaged) => {
                entry.set(State::Begun);
                match entry.take_start().map(|start| start()) {
                    Some(Ok(())) => *self = Control::Begun { entry, _engaged: engaged },
                    Some(Err(refused)) => {
                        // Its reader knows only that nobody will send.
                        entry.set_reason(refused);
                        entry.end();
                    }
                    None => entry.end(),
                }
            }
            other => *self = other,
        }
    }

    /// The message `refuse`: as `cancel`, for a reason that its reader is told.
    pub(super) fn refuse(&mut self, reason: SqlError) {
        if let Control::Waiting(entry, _) | Control::Begun { entry, .. } = self {
            entry.set_reason(reason);
        }
        self.cancel();
    }

    /// The message `cancel`: every task of the query drops its state at its next turn. True when there was something to cancel.
    pub(crate) fn cancel(&mut self) -> bool {
        match std::mem::replace(self, Control::Over) {
            Control::Waiting(entry, _) | Control::Begun { entry, .. } => {
                drop(entry.take_start());
                Group::cancel(entry.group());
                entry.end();
                true
            }
            Control::Over => false,
        }
    }
}

/// The two ways to a query: its control, and what is known of it.
pub(super) struct Steering {
    pub(super) control: Strand<Control>,
    pub(super) entry: Arc<Entry>,
}

impl Steering {
    /// Whatever is left of the query goes, and the next in line may run. Here and now where that can be: whoever has read to the end and
    /// asks again is not told that too many are open.
    pub(super) fn end(&self) {
        let Err(cancel) = self.control.try_run_here("end", Control::cancel) else { return };
        let ended = self.control.post("end", move |control| {
            cancel(control);
        });
        // The stages shut down, which ends queries as well; but it would stay counted, and in line.
        if ended.is_err() {
            self.entry.end();
        }
    }
}

/// Cancels one query; for any thread, any number of times. Cheap to clone.
#[derive(Clone)]
pub struct QueryCanceller {
    steering: Arc<Steering>,
}

impl QueryCanceller {
    pub(super) fn new(steering: &Arc<Steering>) -> Self {
        Self { steering: Arc::clone(steering) }
    }

    /// For a timer, which must not keep a query that is gone.
    pub(crate) fn downgrade(&self) -> WeakCanceller {
        WeakCanceller { steering: Arc::downgrade(&self.steering) }
    }

    /// Cancels the query for a reason that its reader is told.
    pub(crate) fn cancel_because(&self, reason: SqlError) {
        self.steering.entry.set_reason(reason);
        // Refused at shutdown only, which ends queries too.
        let _ = self.cancel().map(Called::detach);
    }

    /// Fragments of the query that are not gone: those that were cancelled are there until their next turn.
    pub fn fragments(&self) -> usize {
        self.steering.entry.fragments()
    }

    /// Cancels the query: at once, on the calling thread, when its strand is idle, as it is but for moments; a thread of the stage would
    /// first have to be given a core by the fragments. The result says that it is done, and whether there was something to cancel;
    /// fragments end at their next turn.
    ///
    /// # Errors
    /// When the stage is shutting down, which cancels queries too.
    pub fn cancel(&self) -> Result<Called<bool>, SubmitError> {
        match self.steering.control.try_run_here("cancel", Control::cancel) {
            Ok(result) => Ok(Called::Here(result)),
            Err(cancel) => self.steering.control.submit_priority("cancel", cancel).map(Called::Queued),
        }
    }
}

impl std::fmt::Debug for QueryCanceller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("QueryCanceller")
    }
}

/// Cancels a query as long as somebody else holds it.
pub(crate) struct WeakCanceller {
    steering: Weak<Steering>,
}

impl WeakCanceller {
    pub(crate) fn upgrade(&self) -> Option<QueryCanceller> {
        self.steering.upgrade().map(|steering| QueryCanceller { steering })
    }
}
