//! A reactor: a dedicated thread that waits for files, sockets and timers of tokio on behalf of tasks that run elsewhere.
//!
//! A query's fragments read files through libraries that expect a tokio runtime around them. Fragments run on our own workers, so each
//! turn *enters* the reactor: what the library starts is driven here, what it computes stays on the worker. The runtime is one of a
//! single thread on purpose: given a runtime of many threads, such libraries move the computing there as well.

use super::dedicated::{Dedicated, StopSignal, WokenByStop};
use super::runtime;
use crate::context::StageId;
use crate::error::{SubmitError, TaskError};
use crate::panics::caught;
use crate::rules::StageKind;
use std::future::{Future, poll_fn};
use std::task::Poll;
use tokio::runtime::{Builder, EnterGuard, Handle};

/// The way to a reactor, see [`Dedicated::reactor`]. Cheap to clone; the thread ends at shutdown.
#[derive(Debug, Clone)]
pub struct Reactor {
    /// `None` under simulation, where there is no time but the virtual one and nothing to wait for.
    handle: Option<Handle>,
}

impl Reactor {
    /// What this thread starts of tokio until the result is dropped is driven by the reactor.
    pub fn enter(&self) -> Option<EnterGuard<'_>> {
        self.handle.as_ref().map(Handle::enter)
    }

    /// Runs something that blocks, such as a read of a file, on one of the reactor's threads for that; whoever awaits it keeps no thread.
    /// It begins now, not when it is first polled. Under simulation it is done at once, by the caller.
    ///
    /// The result is an error when the closure panics, and when the reactor ends first.
    pub fn submit<R, F>(
        &self,
        task: &'static str,
        body: F,
    ) -> impl Future<Output = Result<R, TaskError>> + Send + use<R, F>
    where
        R: Send + 'static,
        F: FnOnce() -> R + Send + 'static,
    {
        let stage = StageId::of(StageKind::Dedicated);
        let under_way = match &self.handle {
            Some(handle) => Ok(handle.spawn_blocking(move || caught(body))),
            None => Err(caught(body)),
        };
        async move {
            let done = match under_way {
                Ok(under_way) => under_way.await.map_err(|_| TaskError::Cancelled { stage, task })?,
                Err(done) => done,
            };
            done.map_err(|message| TaskError::Panicked { stage, task, message })
        }
    }
}

impl Dedicated {
    /// Starts a reactor on a thread of its own, named `task`. Blocking calls that libraries hand to it (reading a file) run on up to
    /// `blocking_threads` more, made when needed. When the stages end, `at_end` is called before the reactor stops: whoever waits for it
    /// can then be told. (Not under simulation, where nobody waits.)
    ///
    /// # Errors
    /// As for every submit.
    ///
    /// # Panics
    /// When the operating system gives it no event queue, as at the start of every stage that waits for sockets.
    pub fn reactor(
        &self,
        task: &'static str,
        blocking_threads: usize,
        at_end: impl FnOnce() + Send + 'static,
    ) -> Result<Reactor, SubmitError> {
        if self.is_simulated() {
            return Ok(Reactor { handle: None });
        }
        let runtime = Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(blocking_threads.max(1))
            .thread_name(task)
            .build()
            .expect("an event queue of the operating system");
        let handle = runtime.handle().clone();
        self.submit(task, move |stop| {
            runtime.block_on(stopped(stop));
            at_end();
            // A blocking call under way must not hold up the shutdown.
            runtime::end(runtime, StageId::of(StageKind::Dedicated));
        })?
        .detach();
        Ok(Reactor { handle: Some(handle) })
    }
}

/// Ends when the signal is set.
async fn stopped(stop: &StopSignal) {
    let mut woken: Option<WokenByStop> = None;
    poll_fn(|context| {
        if stop.is_set() {
            return Poll::Ready(());
        }
        woken = Some(stop.wakes(context.waker().clone()));
        Poll::Pending
    })
    .await;
}
