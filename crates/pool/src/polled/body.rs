//! What a task runs: a tasklet or a future, together with the other end of its result.
//!
//! A body ends once: its state is dropped first, then its result is handed over, so that whoever sees the result also sees
//! that everything the task held is free again.

use super::handle::TaskWaker;
use super::tasklet::{Tasklet, Turn};
use super::turn::TurnContext;
use crate::future::Resolver;
use crate::panics::caught;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// How a task ends.
#[derive(Debug)]
pub(super) enum Ending {
    /// It said so.
    Done,
    /// It, or the drop of its state, panicked with this message.
    Panicked(String),
    /// It was cancelled, or nobody can wake it any more.
    Cancelled,
}

/// The part of a task that only the worker that runs it touches.
pub(super) trait Body: Send {
    /// Gives a turn; may panic.
    fn turn(&mut self, cx: &mut TurnContext<'_>) -> Turn;

    /// Drops the state and hands the result over. Panics only if whoever waits for the result does.
    fn end(self: Box<Self>, ending: Ending);
}

/// Drops a user's state; a panic in it replaces any other ending.
fn drop_state<S>(state: S, ending: Ending) -> Ending {
    match caught(|| drop(state)) {
        Ok(()) => ending,
        Err(message) => Ending::Panicked(message),
    }
}

fn resolve<T: Send + 'static>(resolver: Resolver<T>, value: Option<T>, ending: Ending) {
    match (ending, value) {
        (Ending::Done, Some(value)) => resolver.resolve(Ok(value)),
        (Ending::Panicked(message), _) => resolver.panicked(message),
        // A resolver that is dropped says "cancelled".
        _ => drop(resolver),
    }
}

/// A tasklet.
pub(super) struct TaskletBody<T> {
    pub(super) tasklet: T,
    pub(super) resolver: Resolver<()>,
}

impl<T: Tasklet> Body for TaskletBody<T> {
    fn turn(&mut self, cx: &mut TurnContext<'_>) -> Turn {
        self.resolver.begin();
        self.tasklet.turn(cx)
    }

    fn end(self: Box<Self>, ending: Ending) {
        let Self { tasklet, resolver } = *self;
        let ending = drop_state(tasklet, ending);
        resolve(resolver, Some(()), ending);
    }
}

/// A future: each turn is one poll, with the task's own waker.
///
/// A future that wakes itself while it is polled has more to do, and its task's state word already says so: it is queued
/// again, behind the others.
pub(super) struct FutureBody<F>
where
    F: Future,
    F::Output: Send + 'static,
{
    pub(super) future: Pin<Box<F>>,
    pub(super) output: Option<F::Output>,
    pub(super) resolver: Resolver<F::Output>,
}

impl<F> Body for FutureBody<F>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn turn(&mut self, cx: &mut TurnContext<'_>) -> Turn {
        self.resolver.begin();
        let waker = Waker::from(TaskWaker::clone(cx.waker()));
        match self.future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => {
                self.output = Some(output);
                Turn::Done
            }
            Poll::Pending => Turn::Idle,
        }
    }

    fn end(self: Box<Self>, ending: Ending) {
        let Self { future, output, resolver } = *self;
        let ending = drop_state(future, ending);
        resolve(resolver, output, ending);
    }
}
