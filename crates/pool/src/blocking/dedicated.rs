//! The *dedicated* mechanism: one named thread for one long-running blocking thing, counted and joined at shutdown.

use super::simulated_thread::{Baton, Returned};
use crate::context::{self, StageId};
use crate::engine::{Ending, Engine};
use crate::env::Env;
use crate::error::SubmitError;
use crate::future::{TaskFuture, task_future};
use crate::metrics::{StageMetrics, StageSnapshot};
use crate::panics::caught;
use crate::rules::StageKind;
use filbert_sync::Latch;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Waker;
use std::time::Duration;

/// How many simulated threads may be inside a nested wait at a time.
const SIMULATED_WORKERS: usize = 8;

/// How often a cancelled simulation goes on with a thread that does not heed its signal.
const LAST_TURNS: usize = 1_000;

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
#[derive(Clone)]
pub struct StopSignal {
    stop: Arc<Stop>,
    /// Under simulation a wait hands the baton back, and takes virtual time.
    simulated: Option<(Arc<Baton>, Arc<Env>)>,
}

/// The one signal of all dedicated threads.
#[derive(Default)]
struct Stop {
    latch: Latch,
    /// Whom it wakes, by number.
    sleepers: Mutex<BTreeMap<u64, Waker>>,
    numbers: AtomicU64,
}

impl Stop {
    fn sleepers(&self) -> MutexGuard<'_, BTreeMap<u64, Waker>> {
        self.sleepers.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    fn set(&self) {
        self.latch.open();
        let sleepers = std::mem::take(&mut *self.sleepers());
        sleepers.into_values().for_each(Waker::wake);
    }
}

/// Keeps a waker at a [`StopSignal`] until it is dropped.
#[must_use = "dropped, the waker is not woken"]
pub struct WokenByStop {
    stop: Arc<Stop>,
    number: u64,
}

impl std::fmt::Debug for WokenByStop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WokenByStop").finish_non_exhaustive()
    }
}

impl Drop for WokenByStop {
    fn drop(&mut self) {
        let forgotten = self.stop.sleepers().remove(&self.number);
        drop(forgotten);
    }
}

pub(crate) struct DedicatedCore {
    metrics: StageMetrics,
    capacity: usize,
    stop: Arc<Stop>,
    state: Mutex<State>,
}

struct State {
    free: Vec<usize>,
    live: usize,
    closed: bool,
    simulated: Vec<Simulated>,
}

/// A thread of the simulation, begun or not.
#[derive(Clone)]
struct Simulated {
    task: &'static str,
    baton: Arc<Baton>,
}

impl StopSignal {
    /// True when the thread should end.
    pub fn is_set(&self) -> bool {
        self.stop.latch.is_open()
    }

    /// Has `waker` woken when the signal comes, at once if it has come: for a thread that sleeps elsewhere.
    pub fn wakes(&self, waker: Waker) -> WokenByStop {
        let number = self.stop.numbers.fetch_add(1, Ordering::Relaxed);
        self.stop.sleepers().insert(number, waker.clone());
        // Looked at after the waker is there: whoever sets it meanwhile finds it.
        if self.is_set() {
            waker.wake();
        }
        WokenByStop { stop: Arc::clone(&self.stop), number }
    }

    /// Sleeps until the signal comes or the time is over; true when it came.
    pub fn wait_timeout(&self, timeout: Duration) -> bool {
        match &self.simulated {
            None => self.stop.latch.wait_timeout(timeout),
            Some((baton, env)) => {
                if !self.is_set() {
                    baton.pause(env.now().saturating_add(timeout.as_nanos() as u64));
                }
                self.is_set()
            }
        }
    }
}

impl std::fmt::Debug for StopSignal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StopSignal").field("is_set", &self.is_set()).finish_non_exhaustive()
    }
}

impl Dedicated {
    pub(crate) fn start(env: &Arc<Env>, threads: usize) -> Self {
        let simulated = env.simulator().is_some();
        let workers = if simulated { SIMULATED_WORKERS } else { threads };
        let metrics = StageMetrics::new(env, StageId::of(StageKind::Dedicated), workers, None);
        let free = (0..threads).rev().collect();
        let state = State { free, live: 0, closed: false, simulated: Vec::new() };
        let stop = Arc::new(Stop::default());
        Self { core: Arc::new(DedicatedCore { metrics, capacity: threads, stop, state: Mutex::new(state) }) }
    }

    #[cfg(test)]
    pub(crate) fn signal(&self) -> StopSignal {
        StopSignal { stop: Arc::clone(&self.core.stop), simulated: None }
    }

    pub(crate) fn engine(&self) -> Arc<dyn Engine> {
        self.core.clone()
    }

    pub(super) fn is_simulated(&self) -> bool {
        self.core.metrics.env().simulator().is_some()
    }

    /// Gives `body` a thread of its own, named `task`. It should end soon after the signal is set: look at it, or sleep with
    /// [`StopSignal::wait_timeout`], which is also what lets virtual time pass under simulation.
    pub fn submit<T: Send + 'static>(
        &self,
        task: &'static str,
        body: impl FnOnce(&StopSignal) -> T + Send + 'static,
    ) -> Result<TaskFuture<T>, SubmitError> {
        let core = &self.core;
        let env = core.metrics.env();
        let stage = core.metrics.id;
        context::check_submit(stage)?;
        let slot = core.admit().inspect_err(|_| core.metrics.count_refused())?;
        let (resolver, future) = task_future(env, stage, task);
        let signal = Arc::clone(&core.stop);
        if self.is_simulated() {
            let baton = Arc::new(Baton::new());
            let stop = StopSignal { stop: signal, simulated: Some((Arc::clone(&baton), Arc::clone(env))) };
            let runs = Arc::clone(&baton);
            env.threads().spawn(task.to_owned(), move || {
                runs.receive();
                context::adopt(stage);
                let sound = caught(|| resolver.run(|| body(&stop))).unwrap_or(false);
                runs.end(sound);
            });
            core.lock().simulated.push(Simulated { task, baton });
            core.lock().free.push(slot);
            return Ok(future);
        }
        let stop = StopSignal { stop: signal, simulated: None };
        let running = Arc::clone(core);
        env.threads().spawn(task.to_owned(), move || {
            context::adopt(stage);
            let body = || caught(|| resolver.run(|| body(&stop))).unwrap_or(false);
            let sound = running.metrics.observe(slot, task, body);
            if !sound {
                running.metrics.worker(slot).count_panicked();
            }
            let mut state = running.lock();
            state.live -= 1;
            state.free.push(slot);
        });
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
        let overloaded = SubmitError::Overloaded { stage, capacity: self.capacity };
        let slot = if state.live < self.capacity { state.free.pop() } else { None }.ok_or(overloaded)?;
        state.live += 1;
        Ok(slot)
    }

    /// A simulated thread that wants to go on.
    fn ready(&self) -> Option<Simulated> {
        let now = self.metrics.env().now();
        let stopped = self.stop.latch.is_open();
        let due = |thread: &&Simulated| thread.baton.wake_at().is_some_and(|at| stopped || at <= now);
        self.lock().simulated.iter().find(due).cloned()
    }

    /// Lets a simulated thread run until it waits or ends.
    fn give_turn(&self, worker: usize, thread: &Simulated) {
        let returned = self.metrics.observe_turn(worker, thread.task, || thread.baton.give());
        if let Returned::Ended(sound) = returned {
            self.metrics.worker(worker).count_executed(1);
            if !sound {
                self.metrics.worker(worker).count_panicked();
            }
            let mut state = self.lock();
            state.live -= 1;
            state.simulated.retain(|other| !Arc::ptr_eq(&other.baton, &thread.baton));
        }
    }
}

impl Engine for DedicatedCore {
    fn metrics(&self) -> &StageMetrics {
        &self.metrics
    }

    fn has_work(&self, _worker: usize) -> bool {
        self.ready().is_some()
    }

    fn step(&self, worker: usize) -> bool {
        self.ready().map(|thread| self.give_turn(worker, &thread)).is_some()
    }

    fn next_deadline(&self) -> Option<u64> {
        self.lock().simulated.iter().filter_map(|thread| thread.baton.wake_at()).min()
    }

    fn snapshot(&self) -> StageSnapshot {
        let live = self.lock().live;
        let mut snapshot = self.metrics.snapshot("dedicated", Some(self.capacity), 0, None);
        snapshot.threads = live;
        snapshot.threads_at_most = self.capacity;
        snapshot
    }

    fn close(&self, ending: Ending) {
        self.lock().closed = true;
        self.stop.set();
        if ending == Ending::Cancel && self.metrics.env().simulator().is_some() {
            // Nobody may drive the simulator any more; a thread that heeds its signal ends now.
            (0..LAST_TURNS).take_while(|_| self.step(0)).for_each(drop);
        }
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
