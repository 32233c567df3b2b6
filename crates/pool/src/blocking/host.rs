//! Something that runs futures and closures for a stage: tokio, or the simulator.

use crate::context;
use crate::engine::Engine;
use crate::error::SubmitError;
use crate::future::{Resolver, TaskFuture, task_future};
use crate::panics::caught;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A future without its type: it resolves its `TaskFuture` itself; true when it did not panic.
pub(super) type BoxedFuture = Pin<Box<dyn Future<Output = bool> + Send>>;

/// A closure without its type: it resolves its `TaskFuture` itself; true when it did not panic.
pub(super) type BoxedClosure = Box<dyn FnOnce() -> bool + Send>;

/// Runs futures and closures on the threads of one stage.
pub(crate) trait Host: Engine {
    /// Polls `future` until it is done, on the loop of that number where the stage has several.
    fn host_future(&self, on: usize, name: &'static str, future: BoxedFuture) -> Result<(), SubmitError>;

    /// Runs `closure` on a thread that may block.
    fn host_closure(&self, name: &'static str, closure: BoxedClosure) -> Result<(), SubmitError>;
}

impl dyn Host {
    /// Hands a future over.
    pub(super) fn spawn<F>(
        &self,
        on: usize,
        name: &'static str,
        future: F,
    ) -> Result<TaskFuture<F::Output>, SubmitError>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let stage = self.metrics().id;
        context::check_submit(stage)?;
        let (resolver, result) = task_future(self.metrics().env(), stage, name);
        self.host_future(on, name, Box::pin(Hosted { future: Box::pin(future), resolver: Some(resolver) }))?;
        Ok(result)
    }

    /// Hands a blocking closure over.
    pub(super) fn spawn_blocking<T: Send + 'static>(
        &self,
        name: &'static str,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> Result<TaskFuture<T>, SubmitError> {
        let stage = self.metrics().id;
        context::check_submit(stage)?;
        let (resolver, result) = task_future(self.metrics().env(), stage, name);
        self.host_closure(name, Box::new(move || resolver.run(body)))?;
        Ok(result)
    }
}

/// A future that hands its value, its panic or its cancellation to its `TaskFuture`.
struct Hosted<F>
where
    F: Future,
    F::Output: Send + 'static,
{
    future: Pin<Box<F>>,
    resolver: Option<Resolver<F::Output>>,
}

impl<F> Future for Hosted<F>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    type Output = bool;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<bool> {
        let this = &mut *self;
        let Some(resolver) = &this.resolver else { return Poll::Ready(true) };
        resolver.begin();
        if !resolver.watch(context.waker()) {
            return Poll::Ready(true);
        }
        match caught(|| this.future.as_mut().poll(context)) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(value)) => {
                if let Some(resolver) = this.resolver.take() {
                    resolver.resolve(Ok(value));
                }
                Poll::Ready(true)
            }
            Err(message) => {
                if let Some(resolver) = this.resolver.take() {
                    resolver.panicked(message);
                }
                Poll::Ready(false)
            }
        }
    }
}

/// A host that can be shared.
pub(super) type SharedHost = Arc<dyn Host>;
