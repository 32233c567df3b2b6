//! Makes tasks: from a tasklet, with a handle; from a future, with the future of its output.
//!
//! Generic over the scheduler: a pool, a test, the simulator. The caller has checked the rules and its own bounds already.

use super::body::{Body, FutureBody, TaskletBody};
use super::group::Group;
use super::handle::TaskHandle;
use super::task::{Schedule, Task};
use super::tasklet::Tasklet;
use crate::context::StageId;
use crate::env::Env;
use crate::future::{TaskFuture, task_future};
use std::future::Future;
use std::sync::{Arc, Weak};
use std::task::{Wake, Waker};

/// Spawns a tasklet and queues it for its first turn.
///
/// The task holds `schedule` weakly: the pool owns its queues and is kept alive by whoever uses it.
pub(crate) fn spawn_tasklet(
    env: &Arc<Env>,
    stage: StageId,
    schedule: &Arc<dyn Schedule>,
    group: &Group,
    name: &'static str,
    tasklet: impl Tasklet,
) -> TaskHandle {
    let (resolver, future) = task_future(env, stage, name);
    let body = Box::new(TaskletBody { tasklet, resolver });
    let task = spawn_body(env, schedule, group, name, body, &future);
    TaskHandle::new(task, future)
}

/// Spawns a future and queues it for its first poll. Dropping the result lets it go on; cancelling the result drops it.
pub(crate) fn spawn_future<F>(
    env: &Arc<Env>,
    stage: StageId,
    schedule: &Arc<dyn Schedule>,
    group: &Group,
    name: &'static str,
    future: F,
) -> TaskFuture<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let (resolver, result) = task_future(env, stage, name);
    let body = Box::new(FutureBody { future: Box::pin(future), output: None, resolver });
    drop(spawn_body(env, schedule, group, name, body, &result));
    result
}

fn spawn_body<T>(
    env: &Arc<Env>,
    schedule: &Arc<dyn Schedule>,
    group: &Group,
    name: &'static str,
    body: Box<dyn Body>,
    result: &TaskFuture<T>,
) -> Arc<Task> {
    let task = Task::new(env, Arc::downgrade(schedule), group.core(), name, body);
    result.set_on_cancel(Waker::from(Arc::new(Canceller(Arc::downgrade(&task)))));
    Arc::clone(&task).start();
    task
}

/// Cancels the task when woken: what the holder of its future does. Weak, since the future must not keep an idle task.
struct Canceller(Weak<Task>);

impl Wake for Canceller {
    fn wake(self: Arc<Self>) {
        if let Some(task) = self.0.upgrade() {
            task.cancel();
        }
    }
}
