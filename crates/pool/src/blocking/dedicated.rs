//! The *dedicated* mechanism: one named thread for one long-running blocking thing, counted and joined at shutdown.

use crate::context::{self, StageId};
use crate::engine::{Ending, Engine};
use crate::env::Env;
use crate::error::SubmitError;
use crate::future::{TaskFuture, task_future};
use crate::metrics::{StageMetrics, StageSnapshot};
use crate::panics::{caught, discard};
use crate::rules::StageKind;
use filbert_sync::Latch;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// Makes dedicated threads: one named thread for one long-running blocking thing (a consumer of a foreign queue, a watcher of a
/// folder), counted up to `dedicated.threads` and joined at shutdown. Cheap to clone.
///
/// The body gets a [`StopSignal`], which is set at shutdown; it should then end soon.
///
/// ```
/// use filbert_pool::{Shutdown, Stages};
/// use std::time::Duration;
///
/// let stages = Stages::start()?;
/// let rounds = stages.dedicated().submit("watcher", |stop| {
///     let mut rounds = 0;
///     while !stop.wait_timeout(Duration::from_millis(1)) {
///         rounds += 1;
///     }
///     rounds
/// })?;
/// stages.shutdown(Shutdown::Drain)?;
/// println!("looked {} times", rounds.wait()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Dedicated {
    core: Arc<DedicatedCore>,
}

/// Tells a dedicated thread that it is time to end.
#[derive(Debug, Clone)]
pub struct StopSignal {
    latch: Arc<Latch>,
}

pub(crate) struct DedicatedCore {
    metrics: StageMetrics,
    stop: StopSignal,
    state: Mutex<State>,
}

struct State {
    free: Vec<usize>,
    live: usize,
    closed: bool,
    /// Under simulation there are no threads: bodies wait here for their turn.
    simulated: VecDeque<Body>,
}

struct Body {
    task: &'static str,
    run: Box<dyn FnOnce() -> bool + Send>,
}

impl StopSignal {
    /// True when the thread should end.
    pub fn is_set(&self) -> bool {
        self.latch.is_open()
    }

    /// Sleeps until the signal comes or the time is over; true when it came.
    pub fn wait_timeout(&self, timeout: Duration) -> bool {
        self.latch.wait_timeout(timeout)
    }
}

impl Dedicated {
    pub(crate) fn start(env: &Arc<Env>, threads: usize) -> Self {
        let metrics = StageMetrics::new(env, StageId::of(StageKind::Dedicated), threads, None);
        let state =
            State { free: (0..threads).rev().collect(), live: 0, closed: false, simulated: VecDeque::new() };
        let stop = StopSignal { latch: Arc::new(Latch::new()) };
        Self { core: Arc::new(DedicatedCore { metrics, stop, state: Mutex::new(state) }) }
    }

    pub(crate) fn engine(&self) -> Arc<dyn Engine> {
        self.core.clone()
    }

    /// Gives `body` a thread of its own, named `task`. It should end soon after the signal is set.
    pub fn submit<T: Send + 'static>(
        &self,
        task: &'static str,
        body: impl FnOnce(&StopSignal) -> T + Send + 'static,
    ) -> Result<TaskFuture<T>, SubmitError> {
        let core = &self.core;
        let stage = core.metrics.id;
        context::check_submit(stage)?;
        let (resolver, future) = task_future(core.metrics.env(), stage, task);
        let stop = core.stop.clone();
        let body = Body { task, run: Box::new(move || resolver.run(|| body(&stop))) };
        match core.admit() {
            Ok(slot) if core.metrics.env().simulator().is_some() => {
                let mut state = core.lock();
                state.free.push(slot);
                state.simulated.push_back(body);
            }
            Ok(slot) => {
                let running = Arc::clone(core);
                let run = move || {
                    running.run(slot, body);
                    running.lock().free.push(slot);
                };
                core.metrics.env().threads().spawn(task.to_owned(), run);
            }
            Err(refusal) => {
                core.metrics.count_refused();
                return Err(refusal);
            }
        }
        Ok(future)
    }
}

impl DedicatedCore {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// A number for one more thread.
    fn admit(&self) -> Result<usize, SubmitError> {
        let stage = self.metrics.id;
        let mut state = self.lock();
        if state.closed {
            return Err(SubmitError::ShutDown { stage });
        }
        let slot =
            state.free.pop().ok_or(SubmitError::Overloaded { stage, capacity: self.metrics.workers() })?;
        state.live += 1;
        Ok(slot)
    }

    fn run(&self, slot: usize, body: Body) {
        let _entered = context::enter(self.metrics.id);
        if !self.metrics.observe(slot, body.task, || caught(body.run).unwrap_or(false)) {
            self.metrics.worker(slot).count_panicked();
        }
        self.lock().live -= 1;
    }
}

impl Engine for DedicatedCore {
    fn metrics(&self) -> &StageMetrics {
        &self.metrics
    }

    fn has_work(&self, _worker: usize) -> bool {
        !self.lock().simulated.is_empty()
    }

    fn step(&self, worker: usize) -> bool {
        let body = self.lock().simulated.pop_front();
        body.map(|body| self.run(worker, body)).is_some()
    }

    fn snapshot(&self) -> StageSnapshot {
        let (depth, live) = {
            let state = self.lock();
            (state.simulated.len(), state.live)
        };
        let mut snapshot = self.metrics.snapshot("dedicated", Some(self.metrics.workers()), depth, None);
        snapshot.threads = live;
        snapshot
    }

    fn close(&self, ending: Ending) {
        let dropped = {
            let mut state = self.lock();
            state.closed = true;
            if ending == Ending::Cancel { std::mem::take(&mut state.simulated) } else { VecDeque::new() }
        };
        self.lock().live -= dropped.len();
        self.stop.latch.open();
        dropped.into_iter().for_each(discard);
    }

    fn is_drained(&self) -> bool {
        let state = self.lock();
        state.closed && state.live == 0
    }
}

impl std::fmt::Debug for Dedicated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Dedicated")
    }
}
