//! The `mixed` stage: anything that may block. Databases, files, Arrow batches, HTTP.
//!
//! Tasks are unbounded by design, as virtual threads are: a future that waits costs its own memory and no thread. The
//! threads for blocking closures are capped and settable.

use super::host::{Host, SharedHost};
use super::simulated_host::SimulatedHost;
use super::tokio_host::{TokioHost, TokioSettings};
use crate::context::StageId;
use crate::env::Env;
use crate::error::SubmitError;
use crate::future::TaskFuture;
use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

/// The right to start work that may block, on the stage `mixed`: databases, files, HTTP.
///
/// [`spawn`](Mixed::spawn) polls a future inside a tokio runtime; [`submit`](Mixed::submit) runs a closure on a thread that may
/// block. Tasks are unbounded by design: a future that waits costs its own memory and no thread. The threads for closures are
/// capped by `mixed.blocking_threads`. In simulated stages there is no tokio: its timers and sockets do not work there.
///
/// ```
/// let stages = filbert_pool::Stages::start()?;
/// let inner = stages.clone();
/// let length = stages.mixed().spawn("length", async move {
///     let text = inner.mixed().submit("read", || "as if from a file".to_owned());
///     text.unwrap().await.unwrap().len()
/// })?;
/// assert_eq!(length.wait(), Ok(17));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// It can neither be sent to another thread nor shared with one, so a closure for the `cpu` stage cannot capture it:
/// pure computation that starts blocking work does not compile.
///
/// ```compile_fail,E0277
/// let stages = filbert_pool::Stages::start()?;
/// let mixed = stages.mixed();
/// // error: `*const ()` cannot be shared between threads safely
/// stages.cpu().join(|| mixed.submit("read a file", || ()), || ());
/// # Ok::<(), filbert_pool::SettingsError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Mixed<'a> {
    host: &'a SharedHost,
    _this_thread: PhantomData<*const ()>,
}

pub(crate) fn start(env: &Arc<Env>, id: StageId, threads: usize, blocking_threads: usize) -> Arc<dyn Host> {
    if env.simulator().is_some() {
        return SimulatedHost::start(env, id, threads, None);
    }
    let settings = TokioSettings { threads, blocking_threads, capacity: None, slow_limit: None };
    TokioHost::multi_thread(env, id, &settings)
}

impl<'a> Mixed<'a> {
    pub(crate) fn new(host: &'a SharedHost) -> Self {
        Self { host, _this_thread: PhantomData }
    }

    /// Polls `future` until it is done; it may wait for as long as it likes.
    pub fn spawn<F>(self, task: &'static str, future: F) -> Result<TaskFuture<F::Output>, SubmitError>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.host.spawn(0, task, future)
    }

    /// Runs a closure that may block its thread.
    pub fn submit<T: Send + 'static>(
        self,
        task: &'static str,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> Result<TaskFuture<T>, SubmitError> {
        self.host.spawn_blocking(task, body)
    }
}

impl std::fmt::Debug for Mixed<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Mixed")
    }
}
