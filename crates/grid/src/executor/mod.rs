//! An executor service: runs registered tasks on threads and a queue of its own.
//!
//! Each has a stage, `executor/<name>` ([`workshop`]). So one that is full or slow does not reach another. Its stage stays when the service
//! is destroyed, and serves the next one of that name.
//!
//! A task is a [`Code`]: it is registered with the member, and only its name and argument travel. Closures of this process go to
//! `Stages::executor` directly. With one member, the owner of every key and partition is this one.

mod workshop;

pub(crate) use workshop::{Ran, Workshop};

use crate::code::Code;
use crate::error::{GridError, GridResult};
use crate::grid::Grid;
use crate::invocation::Invocation;
use crate::structures::{Service, Structure};
use filbert_pool::{Promise, StageKind};
use filbert_wire::{Data, PartitionId};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use uuid::Uuid;
use workshop::{Threads, run_code};

/// What a task is called in metrics and errors of its stage.
const NAME: &str = "executor.task";

/// Runs registered tasks; a handle that is cheap to clone. See [`ExecutorTask`](crate::ExecutorTask) for an example.
///
/// An [`Invocation`] that is cancelled before its task began means that it never runs; a task that runs already can see that it was
/// ([`TaskContext::is_cancelled`](crate::TaskContext::is_cancelled)). A full queue refuses at once, with the pool's `Overloaded`.
#[derive(Debug, Clone)]
pub struct ExecutorService {
    structure: Arc<ExecutorStructure>,
    grid: Grid,
}

/// What all handles of an executor service share.
#[derive(Debug)]
pub(crate) struct ExecutorStructure {
    threads: Threads,
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
        Self { threads: Threads::new(name), state: AtomicU8::new(OPEN) }
    }

    fn check(&self) -> GridResult<()> {
        match self.state.load(Ordering::Acquire) {
            OPEN => Ok(()),
            SHUT_DOWN => Err(GridError::RejectedExecution { executor: self.threads.name().to_string() }),
            _ => Err(self.destroyed()),
        }
    }

    fn destroyed(&self) -> GridError {
        GridError::Destroyed { structure: format!("{} {}", Service::Executor.as_str(), self.threads.name()) }
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
        match run_code(grid, code, partition, &promise) {
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
        self.structure.threads.name()
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
        let stage = match self.structure.check().and_then(|()| self.structure.threads.stage(&self.grid)) {
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
        self.threads.name()
    }

    fn destroy(&self) {
        self.state.store(DESTROYED, Ordering::Release);
    }
}
