//! The `maintenance` stage: cache refresh, eviction, housekeeping. It never holds up a shutdown: what is still running
//! then is left behind.

use super::host::{Host, SharedHost};
use super::periodic::Periodic;
use super::refreshed::Refreshed;
use super::simulated_host::SimulatedHost;
use super::tokio_host::{TokioHost, TokioSettings};
use crate::context::StageId;
use crate::env::Env;
use crate::error::SubmitError;
use crate::future::TaskFuture;
use crate::rules::StageKind;
use std::sync::Arc;
use std::time::Duration;

/// Background work in its own time: refreshes, eviction, housekeeping. Cheap to clone.
///
/// It never holds up a shutdown: what has not begun by then is cancelled, what still runs is left behind.
///
/// ```
/// use std::time::Duration;
///
/// let stages = filbert_pool::Stages::start()?;
/// let rates = stages.maintenance().refreshed("rates", Duration::from_secs(60), 1.0, || "1.1".parse::<f64>());
/// assert_eq!(*rates.get(), 1.0, "not yet older than a minute");
/// let sweeping = stages.maintenance().every("sweep", Duration::from_secs(60), || println!("swept"));
/// drop(sweeping); // no further round
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Maintenance {
    host: SharedHost,
}

pub(crate) fn start(env: &Arc<Env>, threads: usize) -> Arc<dyn Host> {
    if env.simulator().is_some() {
        return SimulatedHost::start(env, StageId::of(StageKind::Maintenance), threads, None);
    }
    // One thread drives the runtime; the closures run on threads that come and go.
    let settings = TokioSettings { threads: 1, blocking_threads: threads, capacity: None, slow_limit: None };
    TokioHost::multi_thread(env, StageId::of(StageKind::Maintenance), &settings)
}

impl Maintenance {
    pub(crate) fn new(host: SharedHost) -> Self {
        Self { host }
    }

    pub(super) fn env(&self) -> &Arc<Env> {
        self.host.metrics().env()
    }

    /// Runs `body` once, soon.
    pub fn submit<T: Send + 'static>(
        &self,
        task: &'static str,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> Result<TaskFuture<T>, SubmitError> {
        self.host.spawn_blocking(task, body)
    }

    /// Runs `body` again and again, `pause` after the last time it ended; it never runs beside itself. The first round comes
    /// after one pause; a pause under 1 ms becomes 1 ms. It stops when the returned handle is dropped, or at shutdown. A panic
    /// is counted and does not stop it.
    pub fn every(
        &self,
        task: &'static str,
        pause: Duration,
        body: impl FnMut() + Send + 'static,
    ) -> Periodic {
        Periodic::start(self, task, pause, body)
    }

    /// A value that is loaded again, in the background, when it is read and older than `after`.
    ///
    /// Readers never wait for a refresh: they get the old value until the new one is there. One that fails keeps the old
    /// value, and the next read tries again.
    pub fn refreshed<T, E>(
        &self,
        task: &'static str,
        after: Duration,
        first: T,
        load: impl Fn() -> Result<T, E> + Send + Sync + 'static,
    ) -> Refreshed<T>
    where
        T: Send + Sync + 'static,
        E: std::fmt::Display,
    {
        let load = move || load().map_err(|error| error.to_string());
        Refreshed::new(self.clone(), task, after, first, Box::new(load))
    }
}

impl std::fmt::Debug for Maintenance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Maintenance")
    }
}
