//! The tasks of one partition, with those of the member where the executor's name lives, and when they are due. Lives on a strand; one timer
//! is set for the next that is due, and holds no thread.

use super::directory::Directory;
use super::plan::{ScheduledTask, TaskPlace, TaskPlan};
use super::task::{Outcome, Task, TaskId};
use crate::error::{GridError, GridResult};
use crate::executor::{Ran, Workshop};
use crate::keeper::{Home, State, mail};
use crate::scheduled::acts::{Due, RunOver};
use crate::strands::{Alarms, FARTHEST};
use crate::structures::Service;
use filbert_pool::{Clock, SubmitError};
use filbert_wire::{Data, PartitionId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// When a task that its threads had no room for is tried again.
const BEGIN_AGAIN: Duration = Duration::from_millis(10);

/// What all parts of a scheduled executor share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(super) workshop: Workshop,
    /// The most tasks of this member; 0 for no bound.
    pub(super) capacity: usize,
    pub(super) taken: AtomicUsize,
    pub(super) directory: Directory,
}

impl Shared {
    fn name(&self) -> String {
        self.workshop.name().to_string()
    }

    /// Room for that task.
    fn take(&self, task: &ScheduledTask) -> GridResult<()> {
        let fits = |taken: usize| (self.capacity == 0 || taken < self.capacity).then_some(taken + 1);
        let taken = self.taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, fits);
        taken.map(|_| self.directory.add(task)).map_err(|_| GridError::TooManyTasks {
            executor: self.name(),
            limit: self.capacity,
            advice: "dispose of those that are not needed, or raise the setting grid.scheduled_executor.<name>.capacity",
        })
    }

    fn give_back(&self, task: &ScheduledTask) {
        self.directory.remove(task);
        self.taken.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The tasks of one partition.
#[derive(Debug)]
pub(crate) struct Timetable {
    shared: Arc<Shared>,
    home: Home<Self>,
    partition: PartitionId,
    tasks: BTreeMap<Arc<ScheduledTask>, Task>,
    /// Those that are due some time, by when.
    due: BTreeSet<(Duration, Arc<ScheduledTask>)>,
    alarms: Alarms,
    next_id: u64,
}

impl State for Timetable {
    const SERVICE: Service = Service::ScheduledExecutor;
    type Event = TaskId;

    fn end(&mut self) -> Vec<TaskId> {
        self.due = BTreeSet::new();
        let tasks = std::mem::take(&mut self.tasks);
        tasks
            .into_iter()
            .map(|(key, mut task)| {
                self.shared.give_back(&key);
                task.cancel();
                task.id
            })
            .collect()
    }
}

impl Timetable {
    pub(super) fn new(shared: &Arc<Shared>, home: &Home<Self>, partition: PartitionId) -> Self {
        Self {
            shared: Arc::clone(shared),
            home: home.clone(),
            partition,
            tasks: BTreeMap::new(),
            due: BTreeSet::new(),
            alarms: Alarms::default(),
            next_id: 0,
        }
    }

    /// Takes a task in.
    pub(super) fn schedule(
        &mut self,
        task: &ScheduledTask,
        plan: TaskPlan,
        clock: &Clock,
    ) -> GridResult<ScheduledTask> {
        self.shared.workshop.check_open()?;
        if self.tasks.contains_key(task) {
            return Err(GridError::DuplicateTask { executor: self.shared.name(), task: task.name.clone() });
        }
        self.shared.take(task)?;
        let (key, id) = (Arc::new(task.clone()), TaskId(self.next_id));
        self.next_id += 1;
        let new = Task::new(id, plan, clock.now());
        self.due.extend(new.due().map(|due| (due, Arc::clone(&key))));
        self.tasks.insert(key, new);
        self.arm(clock);
        Ok(task.clone())
    }

    /// Sees to it that a timer is set for the next task that is due.
    fn arm(&mut self, clock: &Clock) {
        let Some((next, _)) = self.due.first() else { return };
        let now = clock.now();
        let next = (*next).min(now.saturating_add(FARTHEST));
        if let Some(at) = self.alarms.set_about(next, now) {
            let (home, partition, mails) = (self.home.clone(), self.partition, clock.clone());
            clock.after(at.saturating_sub(now), move || mail(&home, partition, &mails, Due { at }));
        }
    }

    /// The timer for `at` came: begins what is due. Those that ended by that.
    pub(super) fn begin_due(&mut self, at: Duration, clock: &Clock) -> Vec<TaskId> {
        self.alarms.came(at);
        let (now, mut ended) = (clock.now(), Vec::new());
        while let Some((due, _)) = self.due.first()
            && *due <= now
            && let Some((_, key)) = self.due.pop_first()
        {
            ended.extend(self.begin(&key, now));
        }
        self.arm(clock);
        ended
    }

    fn begin(&mut self, key: &Arc<ScheduledTask>, now: Duration) -> Option<TaskId> {
        let task = self.tasks.get_mut(key)?;
        let id = task.id;
        if task.may_begin() {
            let back = {
                let task = ScheduledTask::clone(key);
                move |ran| RunOver { task, id, ran: Some(ran) }
            };
            let sent_to = match key.place {
                TaskPlace::Partition(partition) => Some(partition),
                TaskPlace::Member => None,
            };
            match self.shared.workshop.start(task.code.clone(), (&self.home, self.partition), sent_to, back) {
                Ok(canceller) => task.begun(canceller),
                // No room in the queue of its threads: for one that is repeated as if the run before were still under way.
                Err(GridError::Refused(SubmitError::Overloaded { .. } | SubmitError::Late { .. })) => {
                    if !task.is_repeated() {
                        task.put_off(now.saturating_add(BEGIN_AGAIN));
                    }
                }
                Err(error) => {
                    task.fail(Err(error));
                    self.settle(key, id);
                    return Some(id);
                }
            }
        }
        task.passed(now);
        self.due.extend(task.due().map(|due| (due, Arc::clone(key))));
        None
    }

    /// A task is done: it goes, if nobody asks for its result.
    fn settle(&mut self, key: &ScheduledTask, id: TaskId) {
        if self.tasks.get(key).is_some_and(|task| task.id == id && task.auto_dispose) {
            self.tasks.remove(key);
            self.shared.give_back(key);
        }
    }

    /// A run is over; the task when it is done by that.
    pub(super) fn run_over(&mut self, key: &ScheduledTask, id: TaskId, ran: Ran) -> Option<TaskId> {
        let task = self.tasks.get_mut(key).filter(|task| task.id == id)?;
        let due = task.due();
        if !task.ran(ran) {
            return None;
        }
        self.not_due(key, due);
        self.settle(key, id);
        Some(id)
    }

    fn not_due(&mut self, key: &ScheduledTask, due: Option<Duration>) {
        if let Some(due) = due {
            self.due.remove(&(due, Arc::new(key.clone())));
        }
    }

    pub(super) fn find(&self, key: &ScheduledTask) -> GridResult<&Task> {
        self.tasks.get(key).ok_or_else(|| self.stale(key))
    }

    pub(super) fn stale(&self, key: &ScheduledTask) -> GridError {
        GridError::StaleTask { executor: self.shared.name(), task: key.name.clone() }
    }

    /// Cancels a task; none when it is done already.
    pub(super) fn cancel(&mut self, key: &ScheduledTask) -> GridResult<Option<TaskId>> {
        let stale = self.stale(key);
        let task = self.tasks.get_mut(key).ok_or(stale)?;
        let (due, id) = (task.due(), task.id);
        if !task.cancel() {
            return Ok(None);
        }
        self.not_due(key, due);
        Ok(Some(id))
    }

    /// Forgets a task; one that runs is told.
    pub(super) fn dispose(&mut self, key: &ScheduledTask) -> GridResult<TaskId> {
        let mut task = self.tasks.remove(key).ok_or_else(|| self.stale(key))?;
        self.not_due(key, task.due());
        task.cancel();
        self.shared.give_back(key);
        Ok(task.id)
    }

    /// What became of a task that is done.
    pub(super) fn result(&self, key: &ScheduledTask, outcome: &Outcome) -> GridResult<Option<Data>> {
        match outcome {
            Outcome::Result(result) => result.clone(),
            Outcome::Cancelled => {
                Err(GridError::TaskCancelled { executor: self.shared.name(), task: key.name.clone() })
            }
        }
    }

    pub(super) fn list(&self) -> Vec<ScheduledTask> {
        self.tasks.keys().map(|key| ScheduledTask::clone(key)).collect()
    }
}
