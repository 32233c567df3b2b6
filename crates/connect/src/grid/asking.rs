//! An operation of the grid that a processor waits for by its waker.

use filbert_flow::{Failure, ProcessorContext};
use filbert_grid::{GridResult, Invocation};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// One operation at a time.
#[derive(Debug)]
pub(super) struct Asking<T> {
    waker: Waker,
    asked: Option<Invocation<T>>,
}

impl<T: Send + Unpin + 'static> Asking<T> {
    /// Nothing is asked yet, and nobody is woken before [`Asking::init`].
    pub(super) fn new() -> Self {
        Self { waker: Waker::noop().clone(), asked: None }
    }

    pub(super) fn init(&mut self, context: &ProcessorContext<'_>) {
        self.waker = context.waker().clone();
    }

    /// True while an answer is owed.
    pub(super) fn is_busy(&self) -> bool {
        self.asked.is_some()
    }

    pub(super) fn ask(&mut self, invocation: Invocation<T>) {
        self.asked = Some(invocation);
    }

    /// The answer; nothing was asked: pending for ever.
    pub(super) fn poll_raw(&mut self) -> Poll<GridResult<T>> {
        let Some(asked) = &mut self.asked else { return Poll::Pending };
        let answer = Pin::new(asked).poll(&mut Context::from_waker(&self.waker));
        if answer.is_ready() {
            self.asked = None;
        }
        answer
    }

    /// The answer, with the structure's name in what went wrong.
    pub(super) fn poll(&mut self, structure: &str) -> Poll<Result<T, Failure>> {
        self.poll_raw().map_err(|error| format!("{structure}: {error}").into())
    }

    /// Gives the operation up.
    pub(super) fn cancel(&mut self) {
        if let Some(asked) = self.asked.take() {
            asked.cancel();
        }
    }
}
