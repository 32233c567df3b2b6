//! Pools beside `mixed`: blocking closures on threads that no other task can fill.
//!
//! Waiting goes down only, and a put on a map is work of `partition`; so any task of `mixed` may wait for one. When the answer of that put
//! is held back until the disk or a database has it, the thread that writes must not be one of those that wait: a user's tasks may hold all
//! threads of `mixed`. Rejected: a stage of its own kind and rank (the same mechanism with the same right to block), and a priority queue
//! (no thread comes free to look at it).

use super::host::SharedHost;
use super::mixed;
use crate::context::StageId;
use crate::engine::{Ending, Engine};
use crate::env::Env;
use crate::error::SubmitError;
use crate::future::TaskFuture;
use std::sync::Arc;

/// Threads for blocking closures that other tasks of `mixed` cannot fill, on the stage `mixed/<name>`. Cheap to clone; made by
/// [`Stages::mixed_pool`](crate::Stages::mixed_pool).
#[derive(Clone)]
pub struct MixedPool {
    host: SharedHost,
}

impl MixedPool {
    pub(crate) fn start(env: &Arc<Env>, id: StageId, blocking_threads: usize) -> Self {
        // One thread drives the runtime; the closures run on threads that come and go. In simulation one may wait while another runs.
        let threads = if env.simulator().is_some() { 2 } else { 1 };
        Self { host: mixed::start(env, id, threads, blocking_threads) }
    }

    pub(crate) fn engine(&self) -> Arc<dyn Engine> {
        self.host.clone()
    }

    pub(crate) fn end(&self) {
        self.host.close(Ending::Cancel);
    }

    /// Runs a closure that may block its thread. Nothing here may wait for `mixed`, nor for more of the same pool.
    pub fn submit<T: Send + 'static>(
        &self,
        task: &'static str,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> Result<TaskFuture<T>, SubmitError> {
        self.host.spawn_blocking(task, body)
    }
}

impl std::fmt::Debug for MixedPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MixedPool({})", self.host.metrics().id)
    }
}
