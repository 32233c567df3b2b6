//! What these operations need of a stage: a place to put tasks, and to know when all are done.
//!
//! The operations must end whatever the stage does with the tasks: at once on the calling thread, one after the other at the
//! end, or on many threads. The tests run all of these.

use crate::steal::{Scope, WorkStealing};

/// A task that may put further tasks.
pub type Task<'env> = Box<dyn FnOnce(&dyn Spawn<'env>) + Send + 'env>;

/// Where tasks are put.
pub trait Spawn<'env> {
    /// Runs `task` some time before the scope ends. It never waits for another task.
    fn spawn(&self, task: Task<'env>);
}

/// A stage that runs tasks which borrow from their caller. Tasks given here catch the panics of user code themselves.
pub trait Parallel: Sync {
    /// Runs `body` on the calling thread, where it may block, and returns when it and every task put meanwhile have ended.
    fn scope_from_here<'env>(&self, body: &mut dyn FnMut(&dyn Spawn<'env>));

    /// Runs `body`, which only puts tasks, and returns when all of them have ended. The calling thread may do its share of them.
    fn scope<'env>(&self, body: &mut (dyn FnMut(&dyn Spawn<'env>) + Send)) {
        self.scope_from_here(body);
    }

    /// Runs `body` on the calling thread as a task of the stage: for what is not worth sharing. What a task may not do is refused there too.
    fn as_task(&self, body: &mut dyn FnMut()) {
        body();
    }
}

impl Parallel for WorkStealing {
    fn scope_from_here<'env>(&self, body: &mut dyn FnMut(&dyn Spawn<'env>)) {
        self.scope_from_here(|scope| body(&InScope(scope)));
    }

    /// The caller begins at once instead of waiting for workers that may be asleep.
    fn scope<'env>(&self, body: &mut (dyn FnMut(&dyn Spawn<'env>) + Send)) {
        self.scope(|scope| body(&InScope(scope)));
    }

    fn as_task(&self, body: &mut dyn FnMut()) {
        let _stage = self.count_as_worker();
        body();
    }
}

/// The tasks of one scope of a work-stealing pool.
struct InScope<'scope, 'env>(&'scope Scope<'scope, 'env>);

impl<'env> Spawn<'env> for InScope<'_, 'env> {
    fn spawn(&self, task: Task<'env>) {
        self.0.spawn(move |scope| task(&InScope(scope)));
    }
}
