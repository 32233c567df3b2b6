//! An operation on its way, seen by its caller.

use crate::error::{GridError, GridResult};
use filbert_pool::{Canceller, TaskFuture, TaskResult};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// The result of an operation, at once or later: await it, [`wait`](Invocation::wait) where that is allowed, leave a callback, or
/// cancel it.
#[must_use = "an operation's failure is seen only here; call `detach` to let it go on unobserved"]
#[derive(Debug)]
pub struct Invocation<T> {
    state: State<T>,
}

#[derive(Debug)]
enum State<T> {
    /// It ran on the calling thread; `None` once the result was taken out by a poll.
    Ready(Option<GridResult<T>>),
    Later(TaskFuture<GridResult<T>>),
}

fn flat<T>(result: TaskResult<GridResult<T>>) -> GridResult<T> {
    result.unwrap_or_else(|lost| Err(GridError::Task(lost)))
}

impl<T: Send + 'static> Invocation<T> {
    /// One that is done already.
    pub fn ready(result: GridResult<T>) -> Self {
        Self { state: State::Ready(Some(result)) }
    }

    /// One whose result comes with `future`.
    pub fn later(future: TaskFuture<GridResult<T>>) -> Self {
        Self { state: State::Later(future) }
    }

    /// True when the result is there.
    pub fn is_done(&self) -> bool {
        match &self.state {
            State::Ready(_) => true,
            State::Later(future) => future.is_done(),
        }
    }

    /// The result, if it ran on the calling thread; otherwise the invocation again, whose result comes or came later.
    pub fn now(self) -> Result<GridResult<T>, Self> {
        match self.state {
            State::Ready(result) => Ok(result.expect("taken out only by a poll that was ready")),
            later @ State::Later(_) => Err(Self { state: later }),
        }
    }

    /// Blocks until the result is there; refused at once on a thread that must not wait for a partition.
    pub fn wait(self) -> GridResult<T> {
        match self.state {
            State::Ready(result) => result.expect("taken out only by a poll that was ready"),
            State::Later(future) => flat(future.wait()),
        }
    }

    /// Blocks until the result is there or the time is over; then it may be asked again, or [cancelled](Invocation::cancel).
    pub fn wait_timeout(&mut self, timeout: Duration) -> GridResult<T> {
        match &mut self.state {
            State::Ready(result) => result.take().expect("a result is taken out once"),
            State::Later(future) => flat(future.wait_timeout(timeout)),
        }
    }

    /// Runs `callback` with the result on the `generic` stage; right here when the result is there already.
    pub fn on_complete(self, callback: impl FnOnce(GridResult<T>) + Send + 'static) {
        match self.state {
            State::Ready(result) => callback(result.expect("taken out only by a poll that was ready")),
            State::Later(future) => future.on_complete(|result| callback(flat(result))),
        }
    }

    /// Gives the operation up; true when it had not begun. One that is parked leaves its waiting room.
    pub fn cancel(self) -> bool {
        match self.state {
            State::Ready(_) => false,
            State::Later(future) => future.cancel(),
        }
    }

    /// What gives the operation up from elsewhere, also when its result goes to a callback; `None` when it is done.
    pub fn canceller(&self) -> Option<Canceller> {
        match &self.state {
            State::Ready(_) => None,
            State::Later(future) => Some(future.canceller()),
        }
    }

    /// Lets the operation go on unobserved.
    pub fn detach(self) {}
}

impl<T: Send + Unpin + 'static> Future for Invocation<T> {
    type Output = GridResult<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.state {
            State::Ready(result) => Poll::Ready(result.take().expect("polled after it was ready")),
            State::Later(future) => Pin::new(future).poll(context).map(flat),
        }
    }
}
