//! Code that an executor service runs.

use super::registry::make;
use super::{Code, Registry};
use crate::error::GridResult;
use crate::grid::Grid;
use filbert_pool::Promise;
use filbert_wire::{Data, PartitionId};
use std::fmt;

/// A task of an executor service. It runs on a thread of its executor: it may take long, block, and use the grid.
///
/// ```
/// use filbert_grid::{Code, ExecutorTask, Grid, Registry, TaskContext};
/// use filbert_wire::Data;
///
/// /// Adds its argument to a list, and gives the list's size.
/// struct Append(Data);
///
/// impl ExecutorTask for Append {
///     fn run(&self, context: &TaskContext<'_>) -> Result<Option<Data>, String> {
///         let list = context.grid().list("log");
///         list.add(&self.0).wait().map_err(|error| error.to_string())?;
///         let size = list.size().wait().map_err(|error| error.to_string())?;
///         Ok(Some(Data::new(-8, &(size as i64).to_be_bytes())))
///     }
/// }
///
/// let stages = filbert_pool::Stages::start()?;
/// let grid = Grid::new(&stages);
/// grid.registry().add_task("append", |argument| Ok(Append(argument.clone())));
/// let reports = grid.executor("reports");
/// let size = reports.submit(Code::named("append", Data::new(-3, b"x"))).wait()?;
/// assert_eq!(size, Some(Data::new(-8, &1_i64.to_be_bytes())));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ExecutorTask: Send + Sync {
    /// Does it. What it gives goes to the caller.
    fn run(&self, context: &TaskContext<'_>) -> Result<Option<Data>, String>;
}

/// What a task has around it while it runs.
pub struct TaskContext<'a> {
    grid: &'a Grid,
    partition: Option<PartitionId>,
    promise: &'a Promise<GridResult<Option<Data>>>,
}

impl<'a> TaskContext<'a> {
    pub(crate) fn new(
        grid: &'a Grid,
        partition: Option<PartitionId>,
        promise: &'a Promise<GridResult<Option<Data>>>,
    ) -> Self {
        Self { grid, partition, promise }
    }

    /// The grid of the member where it runs. Waiting for its results is allowed; only not for those of an executor.
    pub fn grid(&self) -> &'a Grid {
        self.grid
    }

    /// The partition that it was sent to, directly or by a key.
    pub fn partition(&self) -> Option<PartitionId> {
        self.partition
    }

    /// True when nobody wants the result any more. A task that takes long looks here now and then, and ends.
    pub fn is_cancelled(&self) -> bool {
        self.promise.is_cancelled()
    }
}

impl fmt::Debug for TaskContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskContext").field("partition", &self.partition).finish_non_exhaustive()
    }
}

/// What errors call a task.
pub(crate) const TASK: &str = "task";

impl Registry {
    /// The same, with a task that `make` makes from the caller's argument.
    #[must_use]
    pub fn with_task<T: ExecutorTask + 'static>(
        self,
        name: &str,
        make: impl Fn(&Data) -> Result<T, String> + Send + Sync + 'static,
    ) -> Self {
        self.add_task(name, make);
        self
    }

    /// The same, with a task that clients send as an `IdentifiedDataSerializable` of that factory and class; `make` reads its fields.
    #[must_use]
    pub fn with_task_class<T: ExecutorTask + 'static>(
        self,
        factory: i32,
        class: i32,
        make: impl Fn(&[u8]) -> Result<T, String> + Send + Sync + 'static,
    ) -> Self {
        self.add_task_class(factory, class, make);
        self
    }

    /// Adds a task, in place of one of the same name.
    pub fn add_task<T: ExecutorTask + 'static>(
        &self,
        name: &str,
        make: impl Fn(&Data) -> Result<T, String> + Send + Sync + 'static,
    ) {
        let make = move |argument: &Data| Ok(Box::new(make(argument)?) as Box<dyn ExecutorTask>);
        let mut shelf = self.tasks.write().unwrap_or_else(|broken| broken.into_inner());
        shelf.named.insert(name.to_owned(), std::sync::Arc::new(make));
    }

    /// Adds a task by the ids of its class, in place of one with the same ids.
    pub fn add_task_class<T: ExecutorTask + 'static>(
        &self,
        factory: i32,
        class: i32,
        make: impl Fn(&[u8]) -> Result<T, String> + Send + Sync + 'static,
    ) {
        let make = move |fields: &[u8]| Ok(Box::new(make(fields)?) as Box<dyn ExecutorTask>);
        let mut shelf = self.tasks.write().unwrap_or_else(|broken| broken.into_inner());
        shelf.classes.insert((factory, class), std::sync::Arc::new(make));
    }

    /// The task that `code` says.
    pub(crate) fn task(&self, code: &Code) -> GridResult<Box<dyn ExecutorTask>> {
        make(&self.tasks, TASK, code)
    }
}
