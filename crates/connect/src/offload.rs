//! Work that blocks, handed from a cooperative processor to the stage `mixed`, and its answer brought back by the waker.

use filbert_flow::Failure;
use filbert_pool::{TaskFuture, WeakStages};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// What a processor needs to hand work over: kept from `init`.
#[derive(Debug, Clone)]
pub(crate) struct Offload {
    stages: WeakStages,
    waker: Waker,
}

impl Offload {
    pub(crate) fn new(context: &filbert_flow::ProcessorContext<'_>) -> Self {
        Self { stages: context.stages().clone(), waker: context.waker().clone() }
    }

    /// Runs `body` on a thread that may block.
    pub(crate) fn submit<T: Send + 'static>(
        &self,
        task: &'static str,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> Result<TaskFuture<T>, Failure> {
        let stages = self.stages.upgrade().ok_or("the stages have ended")?;
        Ok(stages.mixed().submit(task, body)?)
    }

    /// The answer, or none yet: then the processor is woken when it is there.
    pub(crate) fn poll<F: Future + Unpin>(&self, future: &mut F) -> Poll<F::Output> {
        Pin::new(future).poll(&mut Context::from_waker(&self.waker))
    }
}
