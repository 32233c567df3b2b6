//! A durable executor: runs registered tasks and keeps their results, for whoever asks later by the task's id.
//!
//! A task belongs to a partition, random or that of a key. Its result is kept on the partition's strand, in a ring of so many as the capacity
//! says, until newer tasks need its place or it is disposed of. The code runs on the threads of the executor of the same name
//! (`executor/<name>`), and its end is mailed to the strand; whoever waits for it is parked there and holds no thread.
//!
//! With one member there are no backups: a result outlives the client that asked for it, not the member.

mod ring;

use crate::code::Code;
use crate::executor::{Ran, Workshop};
use crate::grid::Grid;
use crate::invocation::Invocation;
use crate::keeper::{Keeper, acts, waiting};
use crate::operation::Step;
use crate::structures::{Service, Structure};
use filbert_pool::Clock;
use filbert_wire::{Data, PARTITION_COUNT, PartitionId};
use ring::{Over, Shared, TaskRing};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Which task of a durable executor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DurableTask {
    /// Its partition.
    pub partition: PartitionId,
    /// Its number there.
    pub sequence: i32,
}

impl DurableTask {
    /// Both in one number, as clients write it.
    ///
    /// ```
    /// use filbert_grid::DurableTask;
    ///
    /// let task = DurableTask::from_id(0x0000_0005_0000_0007).unwrap();
    /// assert_eq!((task.partition.number(), task.sequence), (5, 7));
    /// assert_eq!(task.id(), 0x0000_0005_0000_0007);
    /// assert_eq!(DurableTask::from_id(-1), None);
    /// ```
    pub fn id(self) -> i64 {
        i64::from(self.partition.number()) << 32 | i64::from(self.sequence.cast_unsigned())
    }

    /// The task with that id; none when there is no such partition.
    pub fn from_id(id: i64) -> Option<Self> {
        let partition = PartitionId::new(u32::try_from(id >> 32).ok()?)?;
        Some(Self { partition, sequence: (id as u32).cast_signed() })
    }
}

/// A result by the number of its task, or nothing but a wait for it.
macro_rules! result_or_wait {
    ($ring:ident, $sequence:expr) => {
        match $ring.result($sequence) {
            Ok(Some(result)) => result,
            Ok(None) => return Step::Wait { event: Over($sequence), deadline: None },
            Err(stale) => return Step::failed(stale),
        }
    };
}

acts! {
    TaskRing;
    /// Begins a task; its number.
    Execute "durable_executor.submit" Submit { code: Code } -> DurableTask = |self, ring, _turn| {
        let sequence = match ring.next_free() {
            Ok(sequence) => sequence,
            Err(refused) => return Step::failed(refused),
        };
        let back = move |ran| RunOver { sequence, ran: Some(ran) };
        let (shared, partition) = (Arc::clone(&ring.shared), ring.partition);
        match shared.workshop.start(self.code.clone(), (&ring.home, partition), Some(partition), back) {
            Ok(canceller) => {
                ring.begun(sequence, canceller);
                Step::done(DurableTask { partition, sequence })
            }
            Err(refused) => Step::failed(refused),
        }
    };
    /// A task is over.
    #[derive(Clone)]
    Execute "durable_executor.run_over" RunOver {
        sequence: i32,
        /// Runs come back where they were begun, and do not travel.
        #[serde(skip)] ran: Option<Ran>,
    } -> () = |self, ring, turn| {
        if let Some(ran) = self.ran.take() && ring.over(self.sequence, ran.result) {
            turn.happened(Over(self.sequence));
        }
        Step::done(())
    };
    /// The result of a task; waits until it is over.
    Read "durable_executor.result" GetResult { sequence: i32 } -> Option<Data> = |self, ring, _turn| {
        Step::Done(result_or_wait!(ring, self.sequence))
    };
    /// The same, and disposes of it.
    Remove "durable_executor.take_result" TakeResult { sequence: i32 } -> Option<Data> = |self, ring, turn| {
        let result = result_or_wait!(ring, self.sequence);
        if let Err(stale) = ring.dispose(self.sequence) {
            return Step::failed(stale);
        }
        turn.happened(Over(self.sequence));
        Step::Done(result)
    };
    /// Disposes of a result.
    Remove "durable_executor.dispose" Dispose { sequence: i32 } -> () = |self, ring, turn| {
        turn.happened(Over(self.sequence));
        Step::Done(ring.dispose(self.sequence))
    };
}

/// Runs registered tasks and keeps their results; for as long as its [`Grid`] is there.
///
/// ```
/// use filbert_grid::{Code, DurableTask, ExecutorTask, Grid, TaskContext};
/// use filbert_wire::Data;
///
/// struct Count;
///
/// impl ExecutorTask for Count {
///     fn run(&self, _: &TaskContext<'_>) -> Result<Option<Data>, String> {
///         Ok(Some(Data::new(-7, &3_i32.to_be_bytes())))
///     }
/// }
///
/// let stages = filbert_pool::Stages::start()?;
/// let grid = Grid::new(&stages);
/// grid.registry().add_task("count", |_| Ok(Count));
/// let id = grid.durable_executor("reports").submit(Code::named("count", Data::new(0, b""))).wait()?.id();
/// // Later, perhaps another program.
/// let (reports, task) = (grid.durable_executor("reports"), DurableTask::from_id(id).unwrap());
/// assert_eq!(reports.take_result(task).wait()?, Some(Data::new(-7, &3_i32.to_be_bytes())));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DurableExecutor {
    keeper: Keeper<TaskRing>,
    shared: Arc<Shared>,
    clock: Clock,
}

impl DurableExecutor {
    pub(crate) fn new(grid: &Grid, name: &Arc<str>) -> Self {
        let shared = Arc::new(Shared {
            workshop: Workshop::new(grid, name),
            capacity: grid.settings().durable_executors.of(name).capacity.max(1),
        });
        let of_partitions = Arc::clone(&shared);
        let made = move |home: &_, partition| TaskRing::new(&of_partitions, home, partition);
        let keeper = Keeper::partitioned(grid, name, made);
        Self { keeper, shared, clock: grid.stages().clock() }
    }

    /// Runs a task on a random partition.
    pub fn submit(&self, code: Code) -> Invocation<DurableTask> {
        let number = self.clock.random_below(PARTITION_COUNT as usize) as u32;
        self.submit_to_partition(code, PartitionId::new(number).expect("below the number of partitions"))
    }

    /// Runs a task on the partition of a key.
    pub fn submit_to_key_owner(&self, code: Code, key: &Data) -> Invocation<DurableTask> {
        self.submit_to_partition(code, key.partition())
    }

    /// Runs a task on a partition.
    pub fn submit_to_partition(&self, code: Code, partition: PartitionId) -> Invocation<DurableTask> {
        if let Err(refused) = self.shared.workshop.prepare() {
            return Invocation::ready(Err(refused));
        }
        self.keeper.call_on(partition, Submit { code })
    }

    waiting! {
        /// What a task gave; waits until it is over. Nothing when it was disposed of,
        /// [`StaleTaskId`](crate::GridError::StaleTaskId) when newer tasks took its place.
        result, result_to(&self, task: DurableTask) -> Option<Data>
            = task.partition, GetResult { sequence: task.sequence };
        /// The same, and disposes of it.
        take_result, take_result_to(&self, task: DurableTask) -> Option<Data>
            = task.partition, TakeResult { sequence: task.sequence };
    }

    /// Gives a result up. A task that has not begun never does; one that runs can see it
    /// ([`TaskContext::is_cancelled`](crate::TaskContext::is_cancelled)), and its result is lost.
    pub fn dispose(&self, task: DurableTask) -> Invocation<()> {
        self.keeper.call_on(task.partition, Dispose { sequence: task.sequence })
    }

    /// Takes no more tasks; those that it has go on, and results stay.
    pub fn shutdown(&self) -> Invocation<()> {
        self.shared.workshop.close();
        Invocation::ready(Ok(()))
    }

    /// True when it takes no more tasks.
    pub fn is_shutdown(&self) -> Invocation<bool> {
        Invocation::ready(Ok(self.shared.workshop.is_closed()))
    }
}

impl Structure for DurableExecutor {
    fn service(&self) -> Service {
        Service::DurableExecutor
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
