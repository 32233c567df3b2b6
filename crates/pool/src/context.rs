//! Where the current thread stands: on which stage, as far as the rules are concerned.
//!
//! A thread-local word is set when a worker begins a task, when a caller claims a strand, and when the simulator runs a
//! step; every submit and wait reads it. Outside all stages it says "application".

use crate::error::{SubmitError, TaskError};
use crate::rules::StageKind;
use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Mutex;

/// A stage's kind and name; small enough to copy into every error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
pub struct StageId {
    /// What kind of work it is for.
    pub kind: StageKind,
    /// Its name: the kind's own word, or `executor/<name>`.
    pub name: &'static str,
}

impl StageId {
    /// Outside all stages.
    pub const APPLICATION: StageId = StageId { kind: StageKind::Application, name: "application" };

    /// The one stage of a kind.
    pub const fn of(kind: StageKind) -> Self {
        StageId { kind, name: kind.as_str() }
    }

    /// A named stage of a kind (`executor/reports`). Names are kept for the life of the process: there are few.
    pub fn named(kind: StageKind, name: &str) -> Self {
        static NAMES: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
        let full = format!("{kind}/{name}");
        let mut names = NAMES.lock().unwrap_or_else(|broken| broken.into_inner());
        let names = names.get_or_insert_default();
        let name = match names.get(full.as_str()) {
            Some(known) => known,
            None => {
                let kept: &'static str = Box::leak(full.into_boxed_str());
                names.insert(kept);
                kept
            }
        };
        StageId { kind, name }
    }
}

impl fmt::Display for StageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

thread_local! {
    static HERE: Cell<Here> = const { Cell::new(Here { stage: StageId::APPLICATION, in_turn: false }) };
}

/// Where a thread stands.
#[derive(Debug, Clone, Copy)]
struct Here {
    stage: StageId,
    /// It gives a polled task a turn: a future there awaits, whatever the stage.
    in_turn: bool,
}

/// The stage that the current thread counts as.
#[inline]
pub fn current() -> StageId {
    HERE.get().stage
}

/// Says that this thread works for a stage until dropped; then it is what it was before.
#[derive(Debug)]
pub(crate) struct Entered {
    before: Here,
    _this_thread: PhantomData<*const ()>,
}

/// The current thread counts as a thread of `stage` from now on.
#[inline]
pub(crate) fn enter(stage: StageId) -> Entered {
    enter_at(Here { stage, in_turn: false })
}

/// The current thread gives a polled task a turn, on the stage where it is.
#[inline]
pub(crate) fn enter_turn() -> Entered {
    enter_at(Here { stage: current(), in_turn: true })
}

/// The current thread runs a closure, on the stage where it is: what another one forked is no part of a turn under way here.
#[inline]
pub(crate) fn enter_closure() -> Entered {
    enter(current())
}

#[inline]
fn enter_at(here: Here) -> Entered {
    Entered { before: HERE.replace(here), _this_thread: PhantomData }
}

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        HERE.set(self.before);
    }
}

/// The current thread belongs to `stage` for the rest of its life: for threads that a runtime makes for us.
pub(crate) fn adopt(stage: StageId) {
    HERE.set(Here { stage, in_turn: false });
}

/// Refuses a submit that crosses in the wrong direction.
#[inline]
pub(crate) fn check_submit(to: StageId) -> Result<(), SubmitError> {
    let from = current();
    if from.kind.permission(to.kind).submit { Ok(()) } else { Err(SubmitError::Crossing { from, to }) }
}

/// Refuses a wait that does not go down.
#[inline]
pub(crate) fn check_wait(to: StageId) -> Result<(), TaskError> {
    let from = current();
    if from.kind.permission(to.kind).wait { Ok(()) } else { Err(TaskError::WaitRefused { from, to }) }
}

/// Refuses an await where there is no one to be woken: in a closure on `cpu`. A future that is polled there has a task that is woken.
#[inline]
pub(crate) fn check_await(to: StageId) -> Result<(), TaskError> {
    let Here { stage: from, in_turn } = HERE.get();
    let allowed = in_turn || from.kind.permission(to.kind).r#await;
    if allowed { Ok(()) } else { Err(TaskError::WaitRefused { from, to }) }
}
