//! All stages of a member: declared once, started together, looked at together, ended together.

mod builder;
mod engagement;
mod shutdown;
mod simulation;
mod start;

pub use builder::{ExecutorSettings, StagesBuilder};
pub use engagement::Engagement;
pub use shutdown::{Shutdown, ShutdownRefused, ShutdownReport};
pub use simulation::Simulation;

use crate::blocking::{Dedicated, Host, Io, Maintenance, Mixed, MixedPool};
use crate::clock::Clock;
use crate::context::StageId;
use crate::engine::Engine;
use crate::env::Env;
use crate::error::SubmitError;
use crate::event::EventStage;
use crate::future::TaskFuture;
use crate::metrics::StageSnapshot;
use crate::origin::OriginNames;
use crate::promise::Promise;
use crate::rules::StageKind;
use crate::settings::{Settings, SettingsError};
use crate::shared::Executor;
use crate::steal::{StealSettings, WorkStealing};
use crate::striped::Striped;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, RwLock, Weak};

/// All stages of a member; a handle that is cheap to clone. The stages end when the last handle is dropped.
///
/// ```
/// use filbert_pool::{Shutdown, Stages};
///
/// let stages = Stages::builder().executor("reports").set("executor.reports.threads", 2).start()?;
/// let sum: u64 = stages.cpu().range(0..1_000_000).map(|i| i as u64).sum();
/// let report = stages.executor("reports").unwrap().submit("write", move || format!("sum {sum}")).unwrap();
/// assert_eq!(report.wait().unwrap(), "sum 499999500000");
/// stages.shutdown(Shutdown::Drain).unwrap();
/// # Ok::<(), filbert_pool::SettingsError>(())
/// ```
#[derive(Clone)]
pub struct Stages {
    inner: Arc<Inner>,
}

struct Inner {
    env: Arc<Env>,
    settings: Settings,
    io: Io,
    partition: Striped,
    query: Striped,
    event: EventStage,
    generic: Executor,
    fragment: WorkStealing,
    flow: WorkStealing,
    cpu: WorkStealing,
    mixed: Arc<dyn Host>,
    maintenance: Maintenance,
    dedicated: Dedicated,
    executors: RwLock<BTreeMap<String, Executor>>,
    mixed_pools: Mutex<BTreeMap<String, MixedPool>>,
    engines: Mutex<Vec<Arc<dyn Engine>>>,
    engagements: Arc<engagement::Engagements>,
    ending: shutdown::Progress,
}

/// All stages of a member, for work that must not keep them alive: what runs on a stage itself. Cheap to clone.
#[derive(Clone)]
pub struct WeakStages {
    inner: Weak<Inner>,
}

impl WeakStages {
    /// The stages, if there is still a handle to them.
    pub fn upgrade(&self) -> Option<Stages> {
        Some(Stages { inner: self.inner.upgrade()? })
    }
}

impl std::fmt::Debug for WeakStages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WeakStages")
    }
}

/// There is no executor of that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no executor {name:?}; declared are: {}", if .declared.is_empty() { "none".to_owned() } else { .declared.join(", ") })]
pub struct UnknownExecutor {
    /// The name that was asked for.
    pub name: String,
    /// The names that exist.
    pub declared: Vec<String>,
}

impl Stages {
    /// Settings first, then [`StagesBuilder::start`].
    pub fn builder() -> StagesBuilder {
        StagesBuilder::default()
    }

    /// All stages with their defaults.
    pub fn start() -> Result<Self, SettingsError> {
        Self::builder().start()
    }

    /// All stages on the calling thread, with virtual time, every choice from `seed`.
    ///
    /// # Panics
    /// Never: the defaults are sound.
    pub fn simulated(seed: u64) -> Self {
        Self::builder().simulated(seed).expect("the default settings are sound")
    }

    /// Asks `names` whom work was done for when a slow task is reported, for as long as the directory exists.
    pub fn name_origins(&self, names: Weak<dyn OriginNames>) {
        self.inner.env.origins().add(names);
    }

    /// Operations on partitions.
    pub fn partition(&self) -> &Striped {
        &self.inner.partition
    }

    /// Control messages of queries.
    pub fn query(&self) -> &Striped {
        &self.inner.query
    }

    /// Listeners and topics.
    pub fn event(&self) -> &EventStage {
        &self.inner.event
    }

    /// Operations without a partition; user callbacks run here too.
    pub fn generic(&self) -> &Executor {
        &self.inner.generic
    }

    /// Query fragments.
    pub fn fragment(&self) -> &WorkStealing {
        &self.inner.fragment
    }

    /// Tasklets of dataflow jobs.
    pub fn flow(&self) -> &WorkStealing {
        &self.inner.flow
    }

    /// Pure computation.
    pub fn cpu(&self) -> &WorkStealing {
        &self.inner.cpu
    }

    /// Anything that may block. The returned right stays on this thread.
    pub fn mixed(&self) -> Mixed<'_> {
        Mixed::new(&self.inner.mixed)
    }

    /// Refreshes and housekeeping.
    pub fn maintenance(&self) -> &Maintenance {
        &self.inner.maintenance
    }

    /// Threads of their own for long-running blocking work.
    pub fn dedicated(&self) -> &Dedicated {
        &self.inner.dedicated
    }

    /// Event loops.
    pub fn io(&self) -> &Io {
        &self.inner.io
    }

    /// A named executor.
    pub fn executor(&self, name: &str) -> Result<Executor, UnknownExecutor> {
        let executors = self.inner.executors.read().unwrap_or_else(|broken| broken.into_inner());
        executors.get(name).cloned().ok_or_else(|| UnknownExecutor {
            name: name.to_owned(),
            declared: executors.keys().cloned().collect(),
        })
    }

    /// Adds an executor to stages that run already.
    pub fn add_executor(&self, name: &str, settings: &ExecutorSettings) -> Result<Executor, SettingsError> {
        let inner = &self.inner;
        settings.check(name)?;
        let mut executors = inner.executors.write().unwrap_or_else(|broken| broken.into_inner());
        if executors.contains_key(name) {
            let problem =
                format!("executor.{name}: there are two executors of that name; each needs its own");
            return Err(SettingsError { problems: vec![problem] });
        }
        let id = StageId::named(StageKind::Executor, name);
        let executor = Executor::start(&inner.env, id, &settings.shared());
        inner.add_engine(executor.engine());
        executors.insert(name.to_owned(), executor.clone());
        Ok(executor)
    }

    /// Adds workers of their own for some fragments: the stage `fragment/<name>`, with the settings of `fragment` but its threads. It ends
    /// with all others.
    ///
    /// ```
    /// let stages = filbert_pool::Stages::start()?;
    /// let reports = stages.add_fragment_pool("reports", 1)?;
    /// assert_eq!(reports.submit("sum", || (1..=10).sum::<u32>())?.wait(), Ok(55));
    /// assert!(stages.snapshot().iter().any(|stage| stage.stage == "fragment/reports"));
    /// assert!(stages.add_fragment_pool("reports", 1).is_err(), "there is one already");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// When there is one of that name, or no thread is asked for.
    pub fn add_fragment_pool(&self, name: &str, threads: usize) -> Result<WorkStealing, SettingsError> {
        let inner = &self.inner;
        let id = StageId::named(StageKind::Fragment, name);
        let problem = if threads == 0 {
            Some("a pool without threads would run nothing")
        } else if inner.engines().iter().any(|engine| engine.metrics().id == id) {
            Some("there are two pools of that name; each needs its own")
        } else {
            None
        };
        if let Some(problem) = problem {
            return Err(SettingsError { problems: vec![format!("{id}: {problem}")] });
        }
        let settings = StealSettings { threads, ..start::steal(&inner.settings, StageKind::Fragment) };
        let pool = WorkStealing::start(&inner.env, id, settings);
        inner.add_engine(pool.engine());
        Ok(pool)
    }

    /// Threads for blocking work that no task of `mixed` can fill: the stage `mixed/<name>`, with the blocking threads of `mixed` once more,
    /// made when it is first asked for. For what answers of lower stages are held back for, such as a change that is being written to
    /// disk: tasks that wait for it may hold all threads of `mixed`.
    ///
    /// ```
    /// let stages = filbert_pool::Stages::builder().set("mixed.blocking_threads", 1).start()?;
    /// let disk = stages.mixed_pool("disk");
    /// let (written, wait) = std::sync::mpsc::channel();
    /// let waits = stages.mixed().submit("wait", move || wait.recv())?;
    /// disk.submit("write", move || written.send("written"))?.detach();
    /// assert_eq!(waits.wait()?, Ok("written"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mixed_pool(&self, name: &str) -> MixedPool {
        let inner = &self.inner;
        let mut pools = inner.mixed_pools.lock().unwrap_or_else(|broken| broken.into_inner());
        if let Some(known) = pools.get(name) {
            return known.clone();
        }
        let id = StageId::named(StageKind::Mixed, name);
        let pool = MixedPool::start(&inner.env, id, inner.settings.size("mixed.blocking_threads"));
        inner.add_engine(pool.engine());
        pools.insert(name.to_owned(), pool.clone());
        if !inner.ending.is_open() {
            pool.end();
        }
        pool
    }

    /// Time, timers and randomness; virtual under simulation.
    pub fn clock(&self) -> Clock {
        Clock::new(&self.inner.env)
    }

    /// A result that arises in several steps, on a stage of that kind: whoever holds the promise owes it to the future. Who may wait
    /// for it follows from the stage.
    pub fn promise<T: Send + 'static>(
        &self,
        kind: StageKind,
        task: &'static str,
    ) -> (Promise<T>, TaskFuture<T>) {
        Promise::new(&self.inner.env, StageId::of(kind), task)
    }

    /// Begins something of that stage that has parts on others too, such as a job: a draining shutdown waits until the engagement is
    /// dropped before it ends any stage, for as long as `shutdown.within_ms` allows. Once such a shutdown has begun, a thread of the
    /// application is refused; tasks that were accepted before may still begin something until the last engagement is over.
    ///
    /// ```
    /// use filbert_pool::{Shutdown, StageKind, Stages};
    ///
    /// let stages = Stages::start()?;
    /// let engaged = stages.engage(StageKind::Flow)?;
    /// let inner = stages.clone();
    /// let late = stages.generic().submit("last part", move || {
    ///     let part = inner.mixed().submit("write", || "written");
    ///     drop(engaged);
    ///     part
    /// })?;
    /// stages.shutdown(Shutdown::Drain)?;
    /// assert_eq!(late.wait()??.wait()?, "written");
    /// assert!(stages.engage(StageKind::Flow).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn engage(&self, kind: StageKind) -> Result<Engagement, SubmitError> {
        engagement::engage(&self.inner, kind)
    }

    /// A handle that does not keep the stages alive.
    ///
    /// ```
    /// let stages = filbert_pool::Stages::simulated(1);
    /// let weak = stages.downgrade();
    /// assert!(weak.upgrade().is_some());
    /// drop(stages);
    /// assert!(weak.upgrade().is_none());
    /// ```
    pub fn downgrade(&self) -> WeakStages {
        WeakStages { inner: Arc::downgrade(&self.inner) }
    }

    /// The settings that the stages were started with.
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// What every stage says of itself right now, in the order of the stage table.
    pub fn snapshot(&self) -> Vec<StageSnapshot> {
        let mut engines = self.inner.engines();
        engines.sort_by_key(|engine| (engine.metrics().id.kind, engine.metrics().id.name));
        engines.iter().map(|engine| engine.snapshot()).collect()
    }

    /// Ends all stages; does nothing the second time but give the same report.
    ///
    /// Refused on a thread of a stage: it would wait for itself.
    pub fn shutdown(&self, how: Shutdown) -> Result<ShutdownReport, ShutdownRefused> {
        shutdown::run(&self.inner, how)
    }

    /// The controls of a simulated set of stages; `None` for a real one.
    pub fn simulation(&self) -> Option<Simulation<'_>> {
        Simulation::of(&self.inner.env)
    }
}

impl Inner {
    fn engines(&self) -> Vec<Arc<dyn Engine>> {
        self.engines.lock().unwrap_or_else(|broken| broken.into_inner()).clone()
    }

    fn add_engine(&self, engine: Arc<dyn Engine>) {
        if let Some(simulator) = self.env.simulator() {
            simulator.add(Arc::downgrade(&engine));
        }
        self.engines.lock().unwrap_or_else(|broken| broken.into_inner()).push(engine);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        shutdown::abandon(self);
    }
}

impl std::fmt::Debug for Stages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stages").field("env", &self.inner.env).finish_non_exhaustive()
    }
}
