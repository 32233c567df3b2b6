//! `scope`: any number of tasks that borrow from around the call.
//!
//! This module has unsafe code: a task's closure is shared although it borrows.
//!
//! Rules:
//! 1. A scope counts its tasks and itself; [`run`] returns, or goes on unwinding, only after the count is zero. So whatever a
//!    task borrows (it outlives `'scope`, and so the call) is there until the task has ended.
//! 2. The thread that brings the count to zero touches the scope no more after `done.finish()`, or after it took its own
//!    handle of the latch that it opens.

use super::core::{Core, Root, RootBody};
use super::job::JobRef;
use super::slot::{self, Slot};
use super::worker;
use crate::context::{self, StageId};
use crate::panics::discard;
use filbert_sync::Latch;
use filbert_sync::join_slot::JoinSlot;
use filbert_sync::pending::Pending;
use std::any::Any;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};

/// The tasks of one [`scope`](super::WorkStealing::scope) call.
pub struct Scope<'scope, 'env: 'scope> {
    tasks: Pending,
    done: JoinSlot,
    home: Home<'scope>,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    _scope: PhantomData<&'scope mut &'scope ()>,
    _env: PhantomData<&'env mut &'env ()>,
}

/// Where the body of a scope runs, and so who waits for its tasks.
#[derive(Clone)]
enum Home<'scope> {
    /// On a worker or guest, which helps until all are done.
    Inside(&'scope Slot),
    /// On a thread outside, which may block in its own time; the tasks are roots.
    Outside(&'scope Core, Arc<Latch>),
    /// On a thread that must not wait for this stage: every task runs where it is spawned.
    Sequence(StageId),
}

/// Runs a scope on the thread that holds `owner`, or in sequence, as if on `stage`.
pub(super) fn run<'env, R>(
    owner: Option<&Slot>,
    stage: StageId,
    body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
) -> R {
    run_at(owner.map_or(Home::Sequence(stage), Home::Inside), body)
}

/// Runs a scope whose body stays outside the pool. The caller may wait for it, and keeps its gate open.
pub(super) fn run_outside<'env, R>(
    core: &Core,
    body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
) -> R {
    run_at(Home::Outside(core, Arc::new(Latch::new())), body)
}

fn run_at<'env, R>(home: Home<'_>, body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R) -> R {
    let scope = Scope {
        tasks: Pending::new(1),
        done: JoinSlot::new(),
        home,
        panic: Mutex::new(None),
        _scope: PhantomData,
        _env: PhantomData,
    };
    let result = catch_unwind(AssertUnwindSafe(|| body(&scope)));
    if !scope.tasks.finish() {
        match &scope.home {
            Home::Inside(owner) => worker::help_until(owner, &scope.done),
            Home::Outside(_, done) => done.wait(),
            Home::Sequence(_) => {}
        }
    }
    let of_a_task = scope.panic.lock().unwrap_or_else(|broken| broken.into_inner()).take();
    // What is not told is dropped before the unwinding begins: a drop that panics then would end the process.
    match (result, of_a_task) {
        (Ok(value), None) => value,
        (Ok(value), Some(payload)) => {
            discard(value);
            resume_unwind(payload)
        }
        (Err(payload), other) => {
            discard(other);
            resume_unwind(payload)
        }
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Runs `task` before the scope ends, perhaps on another thread; it may spawn more. A panic reaches the caller of `scope`.
    pub fn spawn(&'scope self, task: impl FnOnce(&'scope Scope<'scope, 'env>) + Send + 'scope) {
        self.tasks.add(1);
        let here = slot::current();
        let place = match &self.home {
            Home::Sequence(_) => None,
            Home::Inside(owner) => here.filter(|slot| owner.shares_pool_with(slot)).map(Ok),
            Home::Outside(core, _) => Some(here.filter(|slot| slot.belongs_to(*core)).ok_or(*core)),
        };
        let Some(place) = place else {
            // In sequence: no pool to share with, or a thread that is not the pool's. The rules hold as on the pool.
            let _stage = context::enter(self.stage());
            self.run_task(task);
            return;
        };
        // SAFETY: rule 1: the scope outlives its tasks.
        let job = unsafe { JobRef::boxed_for(move || self.run_task(task)) };
        match place {
            Ok(slot) => slot.push(job),
            Err(core) => {
                let root = Root { name: "scope", queued_at: core.env.now(), body: RootBody::Job(job) };
                if let Err(root) = core.push_root(root, true) {
                    core.run_here(root);
                }
            }
        }
    }

    /// The stage that the tasks belong to.
    fn stage(&self) -> StageId {
        match &self.home {
            Home::Inside(owner) => owner.core().id(),
            Home::Outside(core, _) => core.id(),
            Home::Sequence(stage) => *stage,
        }
    }

    /// Keeps the first panic for the caller; gives any other back.
    fn keep_first(&self, payload: Box<dyn Any + Send>) -> Option<Box<dyn Any + Send>> {
        let mut first = self.panic.lock().unwrap_or_else(|broken| broken.into_inner());
        match &*first {
            Some(_) => Some(payload),
            None => first.replace(payload),
        }
    }

    fn run_task(&'scope self, task: impl FnOnce(&'scope Scope<'scope, 'env>)) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| task(self))) {
            // A second payload goes outside the lock; whatever its drop does, the task is counted below.
            discard(self.keep_first(payload));
        }
        // Rule 2: taken before the scope may be gone. The slot itself is the pool's.
        let home = self.home.clone();
        if self.tasks.finish() {
            match home {
                Home::Inside(owner) if self.done.finish() => owner.core().idle.ring(owner.index),
                Home::Outside(_, done) => done.open(),
                Home::Inside(_) | Home::Sequence(_) => {}
            }
        }
    }
}

impl std::fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scope").field("tasks", &self.tasks).finish_non_exhaustive()
    }
}
