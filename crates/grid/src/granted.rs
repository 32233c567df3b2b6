//! What a front door grants, beside what the operations of its handlers declare: in debug builds each pair is noted, so that a test can compare
//! them. Rejected: to refuse an operation here. The door has checked the right before, and a second look would cost every request.

use crate::operation::Action;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// An operation that was invoked under a granted action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GrantedOperation {
    /// The action that was granted.
    pub granted: Action,
    /// The operation's name.
    pub operation: &'static str,
    /// The action that the operation declares.
    pub declared: Action,
}

thread_local! {
    static GRANTED: Cell<Option<Action>> = const { Cell::new(None) };
}

static NOTED: Mutex<BTreeSet<GrantedOperation>> = Mutex::new(BTreeSet::new());

/// A scope in which the calling thread invokes operations under a granted action. It costs nothing in release builds, and notes nothing there.
#[derive(Debug)]
#[must_use = "the scope ends when this is dropped"]
pub struct Granted {
    before: Option<Action>,
}

impl Granted {
    /// Begins a scope.
    #[inline]
    pub fn begin(action: Action) -> Self {
        Self::set(Some(action))
    }

    /// Begins a scope in which nothing is noted: an operation runs, and what it invokes is its own affair.
    #[inline]
    pub(crate) fn pause() -> Self {
        Self::set(None)
    }

    #[inline]
    fn set(action: Option<Action>) -> Self {
        Self { before: if cfg!(debug_assertions) { GRANTED.replace(action) } else { None } }
    }

    /// Returns what was invoked in such scopes by this process so far.
    pub fn noted() -> Vec<GrantedOperation> {
        NOTED.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect()
    }
}

impl Drop for Granted {
    #[inline]
    fn drop(&mut self) {
        if cfg!(debug_assertions) {
            GRANTED.set(self.before);
        }
    }
}

/// Notes an operation that is invoked, if the thread is in such a scope.
#[inline]
pub(crate) fn note(operation: &'static str, declared: Action) {
    if cfg!(debug_assertions)
        && let Some(granted) = GRANTED.get()
    {
        let noted = GrantedOperation { granted, operation, declared };
        NOTED.lock().unwrap_or_else(PoisonError::into_inner).insert(noted);
    }
}
