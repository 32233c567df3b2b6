//! The threads of a named executor, and how registered code gets there: what all kinds of executors share.
//!
//! The threads are the stage `executor/<name>`: the one that the stages declare, or one that is added with the grid's settings when the
//! first task comes. How many there may be is bounded, since a client can ask for any name. An executor service, a scheduled and a durable
//! executor of one name share it.

use super::NAME;
use crate::code::{Code, TASK, TaskContext};
use crate::error::{GridError, GridResult};
use crate::grid::{Grid, WeakGrid};
use crate::keeper::{Act, Home, mail};
use filbert_pool::{
    Canceller, Executor, ExecutorSettings, Promise, StageKind, UnknownExecutor, WhenFull, caught,
};
use filbert_wire::{Data, PartitionId};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The threads of a named executor.
#[derive(Debug)]
pub(crate) struct Threads {
    name: Arc<str>,
    stage: OnceLock<Executor>,
}

impl Threads {
    pub(crate) fn new(name: &Arc<str>) -> Self {
        Self { name: Arc::clone(name), stage: OnceLock::new() }
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The stage of that name; added if it is not there.
    pub(crate) fn stage(&self, grid: &Grid) -> GridResult<&Executor> {
        if let Some(stage) = self.stage.get() {
            return Ok(stage);
        }
        let stage = match grid.stages().executor(&self.name) {
            Ok(declared) => declared,
            Err(UnknownExecutor { declared, .. }) => self.add_stage(grid, declared.len())?,
        };
        Ok(self.stage.get_or_init(|| stage))
    }

    fn add_stage(&self, grid: &Grid, there: usize) -> GridResult<Executor> {
        let refused = |problem| GridError::BadArgument { operation: NAME, problem };
        let most = grid.settings().max_executors;
        if there >= most {
            let name = &self.name;
            return Err(refused(format!(
                "there are {there} executors already, so {name:?} gets no threads; use one of them, or raise the setting grid.max_executors"
            )));
        }
        let settings = grid.settings().executors.of(&self.name);
        let settings = ExecutorSettings {
            threads: settings.threads,
            capacity: settings.capacity,
            when_full: WhenFull::Refuse,
        };
        match grid.stages().add_executor(&self.name, &settings) {
            Ok(added) => Ok(added),
            // Another handle was quicker, or the name cannot be that of a stage.
            Err(problem) => {
                grid.stages().executor(&self.name).map_err(|_| refused(problem.problems.join("; ")))
            }
        }
    }
}

/// Runs registered code on the thread that calls; what it panicked with, if it did.
pub(super) fn run_code(
    grid: &Grid,
    code: &Code,
    partition: Option<PartitionId>,
    promise: &Promise<GridResult<Option<Data>>>,
) -> Result<GridResult<Option<Data>>, String> {
    let context = TaskContext::new(grid, partition, promise);
    caught(|| {
        let given = grid.registry().task(code)?.run(&context).map_err(|message| failed(code, message))?;
        Ok(given.filter(|_| !matches!(code, Code::Runnable(_))))
    })
}

fn failed(code: &Code, message: String) -> GridError {
    GridError::UserCode { what: TASK, name: code.to_string(), message }
}

/// The threads of an executor whose tasks belong to a state: it starts them, and is told by mail what came of them.
#[derive(Debug)]
pub(crate) struct Workshop {
    threads: Threads,
    grid: WeakGrid,
    closed: AtomicBool,
}

/// What came of one run of a task.
#[derive(Debug, Clone)]
pub(crate) struct Ran {
    pub(crate) result: GridResult<Option<Data>>,
    pub(crate) began: Duration,
    pub(crate) ended: Duration,
}

impl Workshop {
    pub(crate) fn new(grid: &Grid, name: &Arc<str>) -> Self {
        Self { threads: Threads::new(name), grid: grid.downgrade(), closed: AtomicBool::new(false) }
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        self.threads.name()
    }

    /// Takes no more tasks; those that it has go on.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// True when it takes no more tasks.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Refuses a task when it takes no more.
    pub(crate) fn check_open(&self) -> GridResult<()> {
        if self.is_closed() {
            return Err(GridError::RejectedExecution { executor: self.name().to_string() });
        }
        Ok(())
    }

    fn grid(&self) -> GridResult<Grid> {
        self.grid
            .upgrade()
            .ok_or_else(|| GridError::Destroyed { structure: format!("executor {}", self.name()) })
    }

    /// Sees to it that there are threads.
    pub(crate) fn prepare(&self) -> GridResult<()> {
        self.threads.stage(&self.grid()?).map(drop)
    }

    /// Begins a run. When it is over, the act that `back` makes of it is mailed to the state that lives at `home`; not when it was
    /// cancelled before it began.
    pub(crate) fn start<A: Act + Clone>(
        &self,
        code: Code,
        (home, partition): (&Home<A::State>, PartitionId),
        sent_to: Option<PartitionId>,
        back: impl FnOnce(Ran) -> A + Send + 'static,
    ) -> GridResult<Canceller> {
        let grid = self.grid()?;
        let stage = self.threads.stage(&grid)?;
        let (promise, later) = grid.stages().promise(StageKind::Executor, NAME);
        let (canceller, clock, home) = (later.canceller(), grid.stages().clock(), home.clone());
        let run = move || {
            if !promise.begin() {
                return;
            }
            let began = clock.now();
            let result = run_code(&grid, &code, sent_to, &promise);
            let result = result.unwrap_or_else(|panic| Err(failed(&code, format!("it panicked: {panic}"))));
            let ran = Ran { result, began, ended: clock.now() };
            mail(&home, partition, &clock, back(ran));
        };
        stage.submit(NAME, run).map_err(GridError::Refused)?.detach();
        Ok(canceller)
    }
}
