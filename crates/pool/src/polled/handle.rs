//! What others hold of a task: a waker, or the handle of whoever spawned it.

use super::task::Task;
use crate::error::TaskError;
use crate::future::{TaskFuture, TaskResult};
use std::fmt;
use std::future::IntoFuture;
use std::sync::{Arc, Weak};
use std::task::Waker;
use std::time::Duration;

/// Wakes one task; cheap to clone, for any thread.
///
/// A waker keeps its task alive. A tasklet that stores its own waker in its own state therefore keeps itself alive until it
/// is done or cancelled; hand it to the other side instead.
#[derive(Clone)]
pub struct TaskWaker {
    task: Arc<Task>,
}

impl TaskWaker {
    pub(super) fn new(task: Arc<Task>) -> Self {
        Self { task }
    }

    pub(super) fn task(&self) -> &Arc<Task> {
        &self.task
    }

    pub(super) fn into_task(self) -> Arc<Task> {
        self.task
    }

    /// There is something to do: the task will have a turn that begins after this call.
    pub fn wake(&self) {
        self.task.wake();
    }

    /// Wakes the task as long as others keep it alive: for whoever may have something for it, but owes it nothing.
    pub fn weak(&self) -> Waker {
        Waker::from(Arc::new(WeakTaskWaker(Arc::downgrade(&self.task))))
    }

    /// True when both wake the same task.
    pub fn will_wake(&self, other: &TaskWaker) -> bool {
        Arc::ptr_eq(&self.task, &other.task)
    }
}

struct WeakTaskWaker(Weak<Task>);

impl std::task::Wake for WeakTaskWaker {
    fn wake(self: Arc<Self>) {
        if let Some(task) = self.0.upgrade() {
            task.wake();
        }
    }
}

impl From<TaskWaker> for Waker {
    fn from(waker: TaskWaker) -> Waker {
        Waker::from(waker.task)
    }
}

impl fmt::Debug for TaskWaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TaskWaker").field(&self.task.name()).finish()
    }
}

/// A spawned tasklet: wake it, cancel it, await its end.
///
/// Dropping the handle lets the task go on unobserved, as long as someone else can wake it; otherwise it is freed.
#[must_use = "a task's failure is seen only through its handle; call `detach` to let it go on unobserved"]
pub struct TaskHandle {
    waker: TaskWaker,
    future: TaskFuture<()>,
}

impl TaskHandle {
    pub(super) fn new(task: Arc<Task>, future: TaskFuture<()>) -> Self {
        Self { waker: TaskWaker::new(task), future }
    }

    /// Wakes the task; clone it for others.
    pub fn waker(&self) -> &TaskWaker {
        &self.waker
    }

    /// Gives the task a turn, see [`TaskWaker::wake`].
    pub fn wake(&self) {
        self.waker.wake();
    }

    /// Cancels the task: a worker drops its state at its next turn; a turn under way ends first. Its result is
    /// [`TaskError::Cancelled`] unless that turn was its last anyway.
    pub fn cancel(&self) {
        self.waker.task.cancel();
    }

    /// True when the task is done, cancelled or panicked.
    pub fn is_done(&self) -> bool {
        self.future.is_done()
    }

    /// Blocks until the task is done. Refused at once on a thread that must not wait for its stage.
    ///
    /// # Errors
    /// [`TaskError::Panicked`], [`TaskError::Cancelled`], [`TaskError::WaitRefused`].
    pub fn wait(self) -> TaskResult<()> {
        self.into_future().wait()
    }

    /// Blocks until the task is done or the time is over; after [`TaskError::TimedOut`] it can be asked again.
    ///
    /// # Errors
    /// As [`TaskHandle::wait`], and [`TaskError::TimedOut`].
    pub fn wait_timeout(&mut self, timeout: Duration) -> TaskResult<()> {
        self.future.wait_timeout(timeout)
    }

    /// Lets the task go on unobserved.
    pub fn detach(self) {}
}

impl IntoFuture for TaskHandle {
    type Output = Result<(), TaskError>;
    type IntoFuture = TaskFuture<()>;

    /// The task's end; the right to wake it through the handle is given up.
    fn into_future(self) -> TaskFuture<()> {
        self.future
    }
}

impl fmt::Debug for TaskHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskHandle").field("task", &self.waker.task.name()).finish_non_exhaustive()
    }
}
