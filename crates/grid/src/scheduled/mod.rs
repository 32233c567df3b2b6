//! A scheduled executor: runs registered tasks later, once or again and again.
//!
//! A task lives on the strand of a partition: that of its name, of a key, or a given one; one of the member's own where the executor's name
//! lives. There one timer is set for the next task that is due; no thread waits. When it comes, the task is given to the threads of the executor of the same name
//! (`executor/<name>`, as those of an [`ExecutorService`](crate::ExecutorService)), and its end is mailed back to the strand.
//!
//! ```text
//! schedule -> strand: timetable -- timer --> Due -> threads run the code -- mail --> RunOver -> result, waiters
//! ```
//!
//! A task stays, with its result, until it is disposed of: so many may be there at once as the capacity says. Rejected: a timer for each
//! task; it cannot be taken back, and a task that is cancelled would be held until then.

mod acts;
mod directory;
mod plan;
mod task;
mod timetable;

pub use plan::{ScheduledTask, TaskList, TaskPlace, TaskPlan, TaskStatistics};

use crate::error::GridError;
use crate::executor::Workshop;
use crate::grid::{Grid, new_id};
use crate::invocation::Invocation;
use crate::keeper::{Act, Keeper};
use crate::strands::{Answer, Invoked};
use crate::structures::{Service, Structure};
use acts::{Cancel, Delay, Dispose, GetResult, IsCancelled, IsDone, List, Schedule, Statistics};
use directory::Directory;
use filbert_pool::Clock;
use filbert_wire::{Data, PartitionId, partition_of_name};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use timetable::{Shared, Timetable};
use uuid::Uuid;

/// Runs registered tasks later; for as long as its [`Grid`] is there.
///
/// ```
/// use filbert_grid::{Code, ExecutorTask, Grid, TaskContext, TaskPlan};
/// use filbert_wire::Data;
/// use std::time::Duration;
///
/// struct Greet;
///
/// impl ExecutorTask for Greet {
///     fn run(&self, _: &TaskContext<'_>) -> Result<Option<Data>, String> {
///         Ok(Some(Data::new(-3, b"h")))
///     }
/// }
///
/// let stages = filbert_pool::Stages::start()?;
/// let grid = Grid::new(&stages);
/// grid.registry().add_task("greet", |_| Ok(Greet));
/// let alarms = grid.scheduled_executor("alarms");
/// let plan = TaskPlan::once(Code::named("greet", Data::new(0, b"")), Duration::from_millis(1)).named("morning");
/// let task = alarms.schedule(plan).wait()?;
/// assert_eq!(alarms.result(&task).wait()?, Some(Data::new(-3, b"h")));
/// alarms.dispose(&task).wait()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ScheduledExecutor {
    keeper: Keeper<Timetable>,
    shared: Arc<Shared>,
    here: Uuid,
    clock: Clock,
}

impl ScheduledExecutor {
    pub(crate) fn new(grid: &Grid, name: &Arc<str>) -> Self {
        let shared = Arc::new(Shared {
            workshop: Workshop::new(grid, name),
            capacity: grid.settings().scheduled_executors.of(name).capacity,
            taken: AtomicUsize::new(0),
            directory: Directory::default(),
        });
        let of_partitions = Arc::clone(&shared);
        let made = move |home: &_, partition| Timetable::new(&of_partitions, home, partition);
        let keeper = Keeper::partitioned(grid, name, made);
        Self { keeper, shared, here: grid.member(), clock: grid.stages().clock() }
    }

    /// Schedules a task on the partition of its name.
    pub fn schedule(&self, plan: TaskPlan) -> Invocation<ScheduledTask> {
        self.schedule_at(|name| TaskPlace::Partition(partition_of_name(name)), plan)
    }

    /// Schedules a task on the member that owns a key.
    pub fn schedule_on_key_owner(&self, plan: TaskPlan, key: &Data) -> Invocation<ScheduledTask> {
        self.schedule_on_partition(plan, key.partition())
    }

    /// Schedules a task on the member that owns a partition.
    pub fn schedule_on_partition(&self, plan: TaskPlan, partition: PartitionId) -> Invocation<ScheduledTask> {
        self.schedule_at(|_| TaskPlace::Partition(partition), plan)
    }

    /// Schedules a task on a member.
    pub fn schedule_on_member(&self, plan: TaskPlan, member: Uuid) -> Invocation<ScheduledTask> {
        if member != self.here {
            return Invocation::ready(Err(GridError::NoSuchMember { member, here: self.here }));
        }
        self.schedule_at(|_| TaskPlace::Member, plan)
    }

    fn schedule_at(
        &self,
        place: impl FnOnce(&str) -> TaskPlace,
        mut plan: TaskPlan,
    ) -> Invocation<ScheduledTask> {
        if let Err(refused) = plan.check().and_then(|()| self.shared.workshop.prepare()) {
            return Invocation::ready(Err(refused));
        }
        let name = plan.name.take().unwrap_or_else(|| new_id(&self.clock).to_string());
        let task = ScheduledTask { place: place(&name), name };
        self.call(&task, Schedule { task: task.clone(), plan })
    }

    /// Those of the member live where the executor's name does.
    fn partition(&self, task: &ScheduledTask) -> PartitionId {
        match task.place {
            TaskPlace::Partition(partition) => partition,
            TaskPlace::Member => self.keeper.partition(),
        }
    }

    fn call<A: Act<State = Timetable>>(&self, task: &ScheduledTask, act: A) -> Invocation<A::Output> {
        self.keeper.call_on(self.partition(task), act)
    }

    /// How long until the next run; zero when it is due or done.
    pub fn delay(&self, task: &ScheduledTask) -> Invocation<Duration> {
        self.call(task, Delay { task: task.clone() })
    }

    /// What is known of its runs.
    pub fn statistics(&self, task: &ScheduledTask) -> Invocation<TaskStatistics> {
        self.call(task, Statistics { task: task.clone() })
    }

    /// Whether there will be no run any more: it ran for the only time, failed, or was cancelled.
    pub fn is_done(&self, task: &ScheduledTask) -> Invocation<bool> {
        self.call(task, IsDone { task: task.clone() })
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self, task: &ScheduledTask) -> Invocation<bool> {
        self.call(task, IsCancelled { task: task.clone() })
    }

    /// Cancels it; false when it is done already. A run that is under way can see it
    /// ([`TaskContext::is_cancelled`](crate::TaskContext::is_cancelled)), and its result is lost.
    pub fn cancel(&self, task: &ScheduledTask) -> Invocation<bool> {
        self.call(task, Cancel { task: task.clone() })
    }

    /// Forgets it, with its result; one that is not done is cancelled.
    pub fn dispose(&self, task: &ScheduledTask) -> Invocation<()> {
        self.call(task, Dispose { task: task.clone() })
    }

    /// What it gave; waits until it is done. A task at a fixed rate has a result only when it failed or was cancelled.
    pub fn result(&self, task: &ScheduledTask) -> Invocation<Option<Data>> {
        self.call(task, GetResult { task: task.clone(), waits_for: None })
    }

    /// As [`Self::result`], for an answer: for whoever may be gone before it comes.
    pub fn result_to<A: Answer<Option<Data>>>(
        &self,
        task: &ScheduledTask,
        answer: impl FnOnce() -> A,
    ) -> Invoked<Option<Data>> {
        self.keeper.invoke_on(self.partition(task), GetResult { task: task.clone(), waits_for: None }, answer)
    }

    /// All tasks, those that are done too.
    pub fn tasks(&self) -> Invocation<Vec<ScheduledTask>> {
        self.keeper.everywhere(|| List {}, |parts| parts.into_iter().flatten().collect())
    }

    /// The same with the executor's name.
    pub fn task_list(&self) -> Invocation<TaskList> {
        let executor = Arc::clone(self.keeper.name());
        let list = |parts: Vec<Vec<ScheduledTask>>| parts.into_iter().flatten().collect();
        self.keeper.everywhere(|| List {}, move |parts| TaskList { executor, tasks: list(parts) })
    }

    /// The task of that name, wherever it lives: the member's, or else that of the name's own partition, or else any.
    pub fn find(&self, name: &str) -> Option<ScheduledTask> {
        self.shared.directory.find(name)
    }

    /// Takes no more tasks; those that it has go on.
    pub fn shutdown(&self) -> Invocation<()> {
        self.shared.workshop.close();
        Invocation::ready(Ok(()))
    }

    /// True when it takes no more tasks.
    pub fn is_shutdown(&self) -> bool {
        self.shared.workshop.is_closed()
    }

    /// How many tasks there are, of all places.
    pub fn len(&self) -> usize {
        self.shared.taken.load(Ordering::Acquire)
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Structure for ScheduledExecutor {
    fn service(&self) -> Service {
        Service::ScheduledExecutor
    }

    fn name(&self) -> &Arc<str> {
        self.keeper.name()
    }

    fn leave(&self) {
        self.shared.workshop.close();
    }

    fn destroy(&self) {
        self.keeper.end();
    }
}
