//! An invocation whose result is read as a Rust type when it is taken: decoding runs on the thread that wants the value, not on a
//! partition.

use crate::error::GridResult;
use crate::invocation::Invocation;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The result of an operation that gives a `T`, read as an `R`: await it, [`wait`](Reading::wait) where that is allowed, leave a callback,
/// or cancel it, as with an [`Invocation`].
#[must_use = "an operation's failure is seen only here; call `detach` to let it go on unobserved"]
#[derive(Debug)]
pub struct Reading<T, R> {
    state: State<T, R>,
}

#[derive(Debug)]
enum State<T, R> {
    /// It was read in place; `None` once the result was taken out by a poll.
    Ready(Option<GridResult<R>>),
    Comes(Invocation<T>, fn(T) -> GridResult<R>),
}

impl<T: Send + 'static, R: Send + 'static> Reading<T, R> {
    pub(crate) fn new(invocation: Invocation<T>, read: fn(T) -> GridResult<R>) -> Self {
        Self { state: State::Comes(invocation, read) }
    }

    pub(crate) fn ready(result: GridResult<R>) -> Self {
        Self { state: State::Ready(Some(result)) }
    }

    /// Blocks until the result is there; refused at once on a thread that must not wait for a partition.
    pub fn wait(self) -> GridResult<R> {
        match self.state {
            State::Ready(result) => result.expect("taken out only by a poll that was ready"),
            State::Comes(invocation, read) => invocation.wait().and_then(read),
        }
    }

    /// Runs `callback` with the result on the `generic` stage; right here when the result is there already.
    pub fn on_complete(self, callback: impl FnOnce(GridResult<R>) + Send + 'static) {
        match self.state {
            State::Ready(result) => callback(result.expect("taken out only by a poll that was ready")),
            State::Comes(invocation, read) => {
                invocation.on_complete(move |result| callback(result.and_then(read)))
            }
        }
    }

    /// Gives the operation up; true when it had not begun.
    pub fn cancel(self) -> bool {
        match self.state {
            State::Ready(_) => false,
            State::Comes(invocation, _) => invocation.cancel(),
        }
    }

    /// Lets the operation go on unobserved.
    pub fn detach(self) {}
}

impl<T: Send + Unpin + 'static, R: Send + Unpin + 'static> Future for Reading<T, R> {
    type Output = GridResult<R>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.state {
            State::Ready(result) => Poll::Ready(result.take().expect("polled after it was ready")),
            State::Comes(invocation, read) => {
                let read = *read;
                Pin::new(invocation).poll(context).map(|result| result.and_then(read))
            }
        }
    }
}
