//! The `io` stage: event loops. A connection lives on one loop for all its life; nothing else runs there.

use super::host::{Host, SharedHost};
use super::simulated_host::SimulatedHost;
use super::tokio_host::{TokioHost, TokioSettings};
use crate::context::StageId;
use crate::env::Env;
use crate::error::SubmitError;
use crate::future::TaskFuture;
use crate::rules::StageKind;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The event loops of a member, for sockets and framing and nothing else: tokio runtimes of one thread each.
///
/// A future lives on one loop for all its life, so what belongs to one connection needs no lock. It must not block and should
/// not compute: hand that to another stage. In simulated stages there is no tokio: its timers and sockets do not work there.
///
/// ```
/// let stages = filbert_pool::Stages::start()?;
/// let doubled = stages.partition().submit_any("compute", || 2 * 21)?;
/// let answer = stages.io().spawn("answer", async move { doubled.await })?;
/// assert_eq!(answer.wait()?, Ok(42));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Io {
    host: SharedHost,
    loops: usize,
    next: AtomicUsize,
}

pub(crate) fn start(
    env: &Arc<Env>,
    threads: usize,
    capacity: usize,
    slow: Option<Duration>,
) -> Arc<dyn Host> {
    let capacity = Some(capacity.saturating_mul(threads));
    if env.simulator().is_some() {
        return SimulatedHost::start(env, StageId::of(StageKind::Io), threads, capacity);
    }
    let settings = TokioSettings { threads, blocking_threads: 0, capacity, slow_limit: slow };
    TokioHost::loops(env, StageId::of(StageKind::Io), &settings)
}

impl Io {
    pub(crate) fn new(host: SharedHost, loops: usize) -> Self {
        Self { host, loops, next: AtomicUsize::new(0) }
    }

    /// How many loops there are.
    pub fn loops(&self) -> usize {
        self.loops
    }

    /// Runs `future` on the next loop in turn.
    pub fn spawn<F>(&self, task: &'static str, future: F) -> Result<TaskFuture<F::Output>, SubmitError>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.spawn_on(self.next.fetch_add(1, Ordering::Relaxed), task, future)
    }

    /// Runs `future` on the loop of that number (modulo their count), where it stays.
    pub fn spawn_on<F>(
        &self,
        number: usize,
        task: &'static str,
        future: F,
    ) -> Result<TaskFuture<F::Output>, SubmitError>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.host.spawn(number, task, future)
    }
}

impl std::fmt::Debug for Io {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Io").field("loops", &self.loops).finish_non_exhaustive()
    }
}
