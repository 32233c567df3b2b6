//! The result of a task that some stage runs: awaited, waited for, or given to a callback.
//!
//! One lock per task, held for a few instructions; a hop to another thread costs a hundred times more. What must be faster
//! than that (caller-runs) returns its value directly and makes no future.

use crate::context::{self, StageId};
use crate::env::Env;
use crate::error::TaskError;
use crate::panics::caught;
use crate::thread::spin_until;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// What a task ends with.
pub type TaskResult<T> = Result<T, TaskError>;

/// Runs user callbacks; the `generic` stage does.
pub(crate) trait Callbacks: Send + Sync {
    /// Runs it soon, and always.
    fn run(&self, callback: Box<dyn FnOnce() + Send>);
}

/// The result of a task, some time.
///
/// Await it, [`wait`](TaskFuture::wait) for it where the rules allow, or leave a
/// [callback](TaskFuture::on_complete). Dropping it lets the task go on unobserved.
#[must_use = "a task's failure is seen only through its future; call `detach` to let it go on unobserved"]
pub struct TaskFuture<T> {
    shared: Arc<Shared<T>>,
}

/// Cancels a task whose [future](TaskFuture) is used elsewhere. Keeps nothing alive.
#[derive(Clone)]
pub struct Canceller {
    task: Weak<dyn Cancel>,
}

trait Cancel: Send + Sync {
    fn cancel(&self);
}

impl<T: Send + 'static> Cancel for Shared<T> {
    fn cancel(&self) {
        let task = self.lock().task.take();
        self.finish(Err(self.cancelled()));
        if let Some(task) = task {
            task.wake();
        }
    }
}

impl Canceller {
    /// Cancels the task, unless it is done. A closure that runs goes on, and its result is lost.
    pub fn cancel(&self) {
        if let Some(task) = self.task.upgrade() {
            task.cancel();
        }
    }
}

impl std::fmt::Debug for Canceller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Canceller").field("is_over", &(self.task.strong_count() == 0)).finish()
    }
}

/// The other end: whoever runs the task puts the result in. Dropped without one, the task counts as cancelled.
pub(crate) struct Resolver<T: Send + 'static> {
    shared: Option<Arc<Shared<T>>>,
}

struct Shared<T> {
    env: Arc<Env>,
    stage: StageId,
    task: &'static str,
    state: Mutex<State<T>>,
    done: Condvar,
    /// Says without the lock that the phase is `Done`; what spins looks here.
    is_done: AtomicBool,
}

type Callback<T> = Box<dyn FnOnce(TaskResult<T>) + Send>;

struct State<T> {
    phase: Phase,
    result: Option<TaskResult<T>>,
    waker: Option<Waker>,
    callback: Option<Callback<T>>,
    /// Wakes the task itself, so that one that sleeps learns of its cancellation.
    task: Option<Waker>,
    /// Threads that sleep until it is done; without one there is nobody to wake, and no system call.
    sleepers: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Queued,
    Running,
    Done,
}

/// A task's two ends.
pub(crate) fn task_future<T: Send + 'static>(
    env: &Arc<Env>,
    stage: StageId,
    task: &'static str,
) -> (Resolver<T>, TaskFuture<T>) {
    let state =
        State { phase: Phase::Queued, result: None, waker: None, callback: None, task: None, sleepers: 0 };
    let shared = Arc::new(Shared {
        env: Arc::clone(env),
        stage,
        task,
        state: Mutex::new(state),
        done: Condvar::new(),
        is_done: AtomicBool::new(false),
    });
    (Resolver { shared: Some(Arc::clone(&shared)) }, TaskFuture { shared })
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    fn cancelled(&self) -> TaskError {
        TaskError::Cancelled { stage: self.stage, task: self.task }
    }
}

impl<T: Send + 'static> Shared<T> {
    fn finish(&self, result: TaskResult<T>) {
        let mut state = self.lock();
        if state.phase == Phase::Done {
            return;
        }
        state.phase = Phase::Done;
        if let Some(callback) = state.callback.take() {
            drop(state);
            self.env.run_callback(Box::new(move || callback(result)));
            return;
        }
        state.result = Some(result);
        let (waker, sleepers) = (state.waker.take(), state.sleepers);
        self.is_done.store(true, Ordering::Release);
        drop(state);
        if sleepers > 0 {
            self.done.notify_all();
        }
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T: Send + 'static> Resolver<T> {
    /// The task begins now; false when it was cancelled while it was queued.
    pub(crate) fn begin(&self) -> bool {
        let Some(shared) = &self.shared else { return false };
        let mut state = shared.lock();
        let begins = state.phase == Phase::Queued;
        if begins {
            state.phase = Phase::Running;
        }
        begins
    }

    /// True when the result is there, or the task was cancelled.
    pub(crate) fn is_done(&self) -> bool {
        self.shared.as_ref().is_none_or(|shared| shared.lock().phase == Phase::Done)
    }

    /// For a task that sleeps between turns: `task` is woken when the task is cancelled. False when it already is.
    pub(crate) fn watch(&self, task: &Waker) -> bool {
        let Some(shared) = &self.shared else { return false };
        let state = shared.lock();
        if state.phase == Phase::Done || is_known(&state.task, task) {
            return state.phase != Phase::Done;
        }
        drop(state);
        // Wakers are foreign code, to clone and to drop: not under the lock.
        let task = task.clone();
        let mut state = shared.lock();
        let watched = state.phase != Phase::Done;
        let unused = if watched { state.task.replace(task) } else { Some(task) };
        drop(state);
        drop(unused);
        watched
    }

    /// Hands the result over.
    pub(crate) fn resolve(mut self, result: TaskResult<T>) {
        if let Some(shared) = self.shared.take() {
            shared.finish(result);
        }
    }

    /// Runs `body`, unless the task was cancelled, and hands its value or its panic over. False when it panicked.
    pub(crate) fn run(self, body: impl FnOnce() -> T) -> bool {
        if !self.begin() {
            return true;
        }
        match caught(body) {
            Ok(value) => {
                self.resolve(Ok(value));
                true
            }
            Err(message) => {
                self.panicked(message);
                false
            }
        }
    }

    /// Hands a panic over.
    pub(crate) fn panicked(self, message: String) {
        if let Some(shared) = &self.shared {
            let error = TaskError::Panicked { stage: shared.stage, task: shared.task, message };
            self.resolve(Err(error));
        }
    }
}

impl<T: Send + 'static> Drop for Resolver<T> {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.take() {
            shared.finish(Err(shared.cancelled()));
        }
    }
}

impl<T> TaskFuture<T> {
    /// Whom [`TaskFuture::cancel`] tells, set by whoever makes the task.
    pub(crate) fn set_on_cancel(&self, task: Waker) {
        self.shared.lock().task = Some(task);
    }
}

impl<T: Send + 'static> TaskFuture<T> {
    /// True when the result is there.
    pub fn is_done(&self) -> bool {
        self.shared.lock().phase == Phase::Done
    }

    /// The result, if it is there; it can be taken once. Allowed everywhere: nobody waits.
    pub fn try_take(&mut self) -> Option<TaskResult<T>> {
        self.shared.lock().result.take()
    }

    /// The stage that runs the task.
    pub fn stage(&self) -> StageId {
        self.shared.stage
    }

    /// Blocks until the task is done. Refused at once on a thread that must not wait for that stage.
    pub fn wait(self) -> TaskResult<T> {
        self.wait_until(None)
    }

    /// Blocks until the task is done or the time is over; after [`TaskError::TimedOut`] the future can be asked again.
    pub fn wait_timeout(&mut self, timeout: Duration) -> TaskResult<T> {
        self.wait_until(Some(timeout))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a real wait has a real deadline; a simulated one returns before it"
    )]
    fn wait_until(&self, timeout: Option<Duration>) -> TaskResult<T> {
        let shared = &*self.shared;
        let timed_out = |waited| Err(TaskError::TimedOut { stage: shared.stage, task: shared.task, waited });
        // Checked even when the result is there: whether a wait is allowed must not depend on timing.
        context::check_wait(shared.stage)?;
        if let Some(simulator) = shared.env.simulator() {
            let deadline = timeout.and_then(|timeout| {
                let nanos = u64::try_from(timeout.as_nanos()).ok()?;
                simulator.now().checked_add(nanos)
            });
            simulator.drive(&shared.env, deadline, &mut || shared.lock().phase == Phase::Done);
            return match shared.lock().result.take() {
                Some(result) => result,
                None => timed_out(timeout.unwrap_or_default()),
            };
        }
        // Later than a clock can tell is never.
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        spin_until(|| shared.is_done.load(Ordering::Acquire));
        let mut state = shared.lock();
        loop {
            if let Some(result) = state.result.take() {
                return result;
            }
            if state.phase == Phase::Done {
                return Err(shared.cancelled());
            }
            state.sleepers += 1;
            state = match deadline {
                None => shared.done.wait(state).unwrap_or_else(|broken| broken.into_inner()),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        state.sleepers -= 1;
                        return timed_out(timeout.unwrap_or_default());
                    }
                    shared.done.wait_timeout(state, left).unwrap_or_else(|broken| broken.into_inner()).0
                }
            };
            state.sleepers -= 1;
        }
    }

    /// Runs `callback` with the result on the `generic` stage, when it is there.
    pub fn on_complete(self, callback: impl FnOnce(TaskResult<T>) + Send + 'static) {
        let mut state = self.shared.lock();
        match state.result.take() {
            Some(result) => {
                drop(state);
                self.shared.env.run_callback(Box::new(move || callback(result)));
            }
            None if state.phase == Phase::Done => {
                // The result was taken out before.
                drop(state);
                let error = self.shared.cancelled();
                self.shared.env.run_callback(Box::new(move || callback(Err(error))));
            }
            None => state.callback = Some(Box::new(callback)),
        }
    }

    /// Cancels the task. True when it had not begun, and so never will. A closure that runs goes on, and its result is
    /// lost; a future or tasklet is dropped before its next turn.
    pub fn cancel(self) -> bool {
        let mut state = self.shared.lock();
        let unbegun = state.phase == Phase::Queued;
        if state.phase != Phase::Done {
            state.phase = Phase::Done;
            state.result = Some(Err(self.shared.cancelled()));
        }
        let task = state.task.take();
        drop(state);
        if let Some(task) = task {
            task.wake();
        }
        unbegun
    }

    /// What cancels the task from elsewhere, also when its result goes to a callback; that one then learns of it.
    pub fn canceller(&self) -> Canceller {
        let shared: Weak<Shared<T>> = Arc::downgrade(&self.shared);
        Canceller { task: shared }
    }

    /// Lets the task go on unobserved.
    pub fn detach(self) {}
}

impl<T: Send + 'static> Future for TaskFuture<T> {
    type Output = TaskResult<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let shared = &*self.shared;
        if let Err(refused) = context::check_await(shared.stage) {
            return Poll::Ready(Err(refused));
        }
        let state = shared.lock();
        if is_known(&state.waker, context.waker()) && state.phase != Phase::Done {
            return Poll::Pending;
        }
        drop(state);
        // Wakers are foreign code, to clone and to drop: not under the lock.
        let waker = context.waker().clone();
        let mut state = shared.lock();
        let (answer, unused) = match state.result.take() {
            Some(result) => (Poll::Ready(result), Some(waker)),
            None if state.phase == Phase::Done => (Poll::Ready(Err(shared.cancelled())), Some(waker)),
            None => (Poll::Pending, state.waker.replace(waker)),
        };
        drop(state);
        drop(unused);
        answer
    }
}

/// True when `known` wakes the same task.
fn is_known(known: &Option<Waker>, waker: &Waker) -> bool {
    known.as_ref().is_some_and(|known| known.will_wake(waker))
}

impl<T> std::fmt::Debug for TaskFuture<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskFuture")
            .field("stage", &self.shared.stage.name)
            .field("task", &self.shared.task)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
