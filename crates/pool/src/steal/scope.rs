//! `scope`: any number of tasks that borrow from around the call.
//!
//! This module has unsafe code: a task's closure is shared although it borrows.
//!
//! Rules:
//! 1. A scope counts its tasks and itself; [`run`] returns, or goes on unwinding, only after the count is zero. So whatever a
//!    task borrows (it outlives `'scope`, and so the call) is there until the task has ended.
//! 2. The thread that brings the count to zero touches the scope no more after `done.finish()`.

use super::job::JobRef;
use super::slot::{self, Slot};
use super::worker;
use filbert_sync::join_slot::JoinSlot;
use filbert_sync::pending::Pending;
use std::any::Any;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;

/// The tasks of one [`scope`](super::WorkStealing::scope) call.
pub struct Scope<'scope, 'env: 'scope> {
    tasks: Pending,
    done: JoinSlot,
    owner: Option<&'scope Slot>,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    _scope: PhantomData<&'scope mut &'scope ()>,
    _env: PhantomData<&'env mut &'env ()>,
}

/// Runs a scope on the thread that holds `owner`, or in sequence.
pub(super) fn run<'env, R>(
    owner: Option<&Slot>,
    body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
) -> R {
    let scope = Scope {
        tasks: Pending::new(1),
        done: JoinSlot::new(),
        owner,
        panic: Mutex::new(None),
        _scope: PhantomData,
        _env: PhantomData,
    };
    let result = catch_unwind(AssertUnwindSafe(|| body(&scope)));
    if !scope.tasks.finish()
        && let Some(owner) = owner
    {
        worker::help_until(owner, &scope.done);
    }
    match result {
        Err(payload) => resume_unwind(payload),
        Ok(value) => match scope.panic.lock().unwrap_or_else(|broken| broken.into_inner()).take() {
            Some(payload) => resume_unwind(payload),
            None => value,
        },
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Runs `task` before the scope ends, perhaps on another thread; it may spawn more. A panic reaches the caller of `scope`.
    pub fn spawn(&'scope self, task: impl FnOnce(&'scope Scope<'scope, 'env>) + Send + 'scope) {
        self.tasks.add(1);
        let here =
            slot::current().filter(|slot| self.owner.is_some_and(|owner| owner.shares_pool_with(slot)));
        let Some(slot) = here else {
            // In sequence: no pool to share with, or a thread that is not the pool's.
            self.run_task(task);
            return;
        };
        // SAFETY: rule 1: the scope outlives its tasks.
        let job = unsafe { JobRef::boxed_for(move || self.run_task(task)) };
        slot.push(job);
    }

    fn run_task(&'scope self, task: impl FnOnce(&'scope Scope<'scope, 'env>)) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| task(self))) {
            self.panic.lock().unwrap_or_else(|broken| broken.into_inner()).get_or_insert(payload);
        }
        // Rule 2: read before the scope may be gone. The slot itself is the pool's.
        let owner = self.owner;
        if self.tasks.finish()
            && self.done.finish()
            && let Some(owner) = owner
        {
            owner.core().idle.ring(owner.index);
        }
    }
}

impl std::fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scope").field("tasks", &self.tasks).finish_non_exhaustive()
    }
}
