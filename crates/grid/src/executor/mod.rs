//! An executor service: runs registered tasks on threads and a queue of its own.
//!
//! Each is a stage, `executor/<name>`: the one that the stages declare, or one that is added with the grid's settings when the first task
//! comes. So one that is full or slow does not reach another. Its stage stays when the service is destroyed, and serves the
//! next one of that name; how many there may be is bounded, since a client can ask for any name.
//!
//! A task is a [`Code`]: it is registered with the member, and only its name and argument travel. Closures of this process go to
//! `Stages::executor` directly. With one member, the owner of every key and partition is this one.

use crate::code::{Code, TASK, TaskContext};
use crate::error::{GridError, GridResult};
use crate::grid::Grid;
use crate::invocation::Invocation;
use crate::structures::{Service, Structure};
use filbert_pool::{Executor, ExecutorSettings, Promise, StageKind, UnknownExecutor, WhenFull, caught};
use filbert_wire::{Data, PartitionId};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use uuid::Uuid;

/// What a task is called in metrics and errors of its stage.
const NAME: &str = "executor.task";

/// Runs registered tasks; a handle that is cheap to clone. See [`ExecutorTask`](crate::ExecutorTask) for an example.
///
/// An [`Invocation`] that is cancelled before its task began means that it never runs; a task that runs already can see that it was
/// ([`TaskContext::is_cancelled`]). A full queue refuses at once, with the pool's `Overloaded`.
#[derive(Debug, Clone)]
pub struct ExecutorService {
    structure: Arc<ExecutorStructure>,
    grid: Grid,
}

/// What all handles of an executor service share.
#[derive(Debug)]
pub(crate) struct ExecutorStructure {
    name: Arc<str>,
    stage: OnceLock<Executor>,
    state: AtomicU8,
}

/// Takes tasks.
const OPEN: u8 = 0;
/// Takes no more tasks, and runs those that it has.
const SHUT_DOWN: u8 = 1;
/// Begins no task any more.
const DESTROYED: u8 = 2;

impl ExecutorStructure {
    pub(crate) fn new(name: &Arc<str>) -> Self {
        Self { name: Arc::clone(name), stage: OnceLock::new(), state: AtomicU8::new(OPEN) }
    }

    /// The stage of that name; added if it is not there.
    fn stage(&self, grid: &Grid) -> GridResult<&Executor> {
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

    fn check(&self) -> GridResult<()> {
        match self.state.load(Ordering::Acquire) {
            OPEN => Ok(()),
            SHUT_DOWN => Err(GridError::RejectedExecution { executor: self.name.to_string() }),
            _ => Err(self.destroyed()),
        }
    }

    fn destroyed(&self) -> GridError {
        GridError::Destroyed { structure: format!("{} {}", Service::Executor.as_str(), self.name) }
    }

    /// Runs a task, on its stage's thread.
    fn run(
        &self,
        grid: &Grid,
        code: &Code,
        partition: Option<PartitionId>,
        promise: Promise<GridResult<Option<Data>>>,
    ) {
        if !promise.begin() {
            return;
        }
        if self.state.load(Ordering::Acquire) == DESTROYED {
            promise.keep(Err(self.destroyed()));
            return;
        }
        let context = TaskContext::new(grid, partition, &promise);
        let ran = caught(|| match grid.registry().task(code) {
            Ok(task) => task.run(&context).map_err(|message| {
                let name = code.to_string();
                GridError::UserCode { what: TASK, name, message }
            }),
            Err(unknown) => Err(unknown),
        });
        match ran {
            Ok(result) => promise.keep(result),
            Err(message) => promise.panicked(message),
        }
    }
}

impl ExecutorService {
    pub(crate) fn new(structure: Arc<ExecutorStructure>, grid: &Grid) -> Self {
        Self { structure, grid: grid.clone() }
    }

    /// Its name.
    pub fn name(&self) -> &Arc<str> {
        &self.structure.name
    }

    /// Runs a task on any member.
    pub fn submit(&self, task: Code) -> Invocation<Option<Data>> {
        self.send(task, None)
    }

    /// Runs a task on the member that owns a key.
    pub fn submit_to_key_owner(&self, task: Code, key: &Data) -> Invocation<Option<Data>> {
        self.send(task, Some(key.partition()))
    }

    /// Runs a task on the member that owns a partition.
    pub fn submit_to_partition(&self, task: Code, partition: PartitionId) -> Invocation<Option<Data>> {
        self.send(task, Some(partition))
    }

    /// Runs a task on a member.
    pub fn submit_to_member(&self, task: Code, member: Uuid) -> Invocation<Option<Data>> {
        let here = self.grid.member();
        if member != here {
            return Invocation::ready(Err(GridError::NoSuchMember { member, here }));
        }
        self.send(task, None)
    }

    /// Runs a task on every member.
    pub fn submit_to_all(&self, task: Code) -> Vec<(Uuid, Invocation<Option<Data>>)> {
        vec![(self.grid.member(), self.send(task, None))]
    }

    /// Takes no more tasks; those that it has go on.
    pub fn shutdown(&self) -> Invocation<()> {
        let state = &self.structure.state;
        // Not one that is destroyed: it stays so.
        let _ = state.compare_exchange(OPEN, SHUT_DOWN, Ordering::AcqRel, Ordering::Acquire);
        Invocation::ready(Ok(()))
    }

    /// True when it takes no more tasks.
    pub fn is_shutdown(&self) -> Invocation<bool> {
        Invocation::ready(Ok(self.structure.state.load(Ordering::Acquire) != OPEN))
    }

    fn send(&self, task: Code, partition: Option<PartitionId>) -> Invocation<Option<Data>> {
        let stage = match self.structure.check().and_then(|()| self.structure.stage(&self.grid)) {
            Ok(stage) => stage,
            Err(refused) => return Invocation::ready(Err(refused)),
        };
        let (promise, later) = self.grid.stages().promise(StageKind::Executor, NAME);
        let Self { structure, grid } = self.clone();
        match stage.submit(NAME, move || structure.run(&grid, &task, partition, promise)) {
            Ok(runs) => {
                runs.detach();
                Invocation::later(later)
            }
            Err(refused) => Invocation::ready(Err(GridError::Refused(refused))),
        }
    }
}

impl Structure for ExecutorStructure {
    fn service(&self) -> Service {
        Service::Executor
    }

    fn name(&self) -> &Arc<str> {
        &self.name
    }

    fn destroy(&self) {
        self.state.store(DESTROYED, Ordering::Release);
    }
}
