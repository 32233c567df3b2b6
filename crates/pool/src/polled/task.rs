//! One polled task: its state word, its body, its group, and what a worker does with it.
//!
//! Who holds an `Arc<Task>`: the queue entry, the worker that runs it, wakers, the handle. Who does not: its group (weak), its
//! future (weak, to cancel). The task itself holds its pool weakly, so that queues full of tasks do not keep their own pool alive.
//! When the last of the former goes, nobody can wake the task any more, and it is freed with its state, its future
//! ending as cancelled.

use super::body::{Body, Ending};
use super::group::GroupCore;
use super::handle::TaskWaker;
use super::tasklet::Turn;
use super::turn::{self, TurnContext};
use crate::env::Env;
use crate::metrics::StageMetrics;
use crate::panics::caught;
use filbert_sync::task_state::{Begin, TaskState};
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, TryLockError, Weak};
use std::task::Wake;

/// Where in its group a task is queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    /// Someone has data for it, still warm: next, for the worker that queues it.
    Woken,
    /// It had a turn, or is new: behind the others of its group.
    Again,
    /// It was cancelled while idle: its state should go soon, before all other tasks.
    Urgent,
}

/// What a task calls to be queued; a pool implements it.
pub(crate) trait Schedule: Send + Sync {
    /// Queues the task: at the current worker when called on the pool, else at [`Task::home`], and wakes a worker if all
    /// that are awake are busy. A pool that takes no more turns calls [`Task::discard`] instead.
    ///
    /// In a turn it may keep the news of one task until the turn ends, if it says so by [`owe_news`](super::turn::owe_news).
    fn schedule(&self, task: Arc<Task>, position: Position);

    /// The turn that this thread gives goes on: news that were kept are told.
    fn pass_on(&self) {}

    /// A task was freed without a turn, on any thread: a closed pool may be over now.
    fn freed(&self) {}
}

const NO_WORKER: usize = usize::MAX;

/// A state machine that one worker at a time gives turns.
pub(crate) struct Task {
    state: TaskState,
    /// Locked by whoever is between `begin` and the end of the turn; never contended.
    body: Mutex<Option<Box<dyn Body>>>,
    env: Arc<Env>,
    schedule: Weak<dyn Schedule>,
    group: Arc<GroupCore>,
    home: AtomicUsize,
    id: u64,
    name: &'static str,
}

impl Task {
    /// A task that its maker must [`start`](Task::start).
    pub(super) fn new(
        env: &Arc<Env>,
        schedule: Weak<dyn Schedule>,
        group: &Arc<GroupCore>,
        name: &'static str,
        body: Box<dyn Body>,
    ) -> Arc<Self> {
        let task = Arc::new(Self {
            state: TaskState::new_queued(),
            body: Mutex::new(Some(body)),
            env: Arc::clone(env),
            schedule,
            group: Arc::clone(group),
            home: AtomicUsize::new(NO_WORKER),
            id: group.next_task_id(),
            name,
        });
        group.enter();
        if !group.add_task(task.id, Arc::downgrade(&task)) {
            // Its first turn drops it. Queued tasks are not queued again by a cancel.
            let _ = task.state.cancel();
        }
        task
    }

    /// Queues a new task for its first turn.
    pub(super) fn start(self: Arc<Self>) {
        self.enqueue(Position::Again);
    }

    /// The task's name.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// The worker that gave it its last turn.
    pub(crate) fn home(&self) -> Option<usize> {
        let home = self.home.load(Ordering::Relaxed);
        (home != NO_WORKER).then_some(home)
    }

    pub(super) fn group(&self) -> &Arc<GroupCore> {
        &self.group
    }

    pub(super) fn env(&self) -> &Arc<Env> {
        &self.env
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.state.is_cancelled()
    }

    /// There is something to do.
    pub(super) fn wake(self: &Arc<Self>) {
        if self.state.wake() {
            self.group.enter();
            Arc::clone(self).enqueue(Position::Woken);
        }
    }

    /// The next turn is the last one: it drops the body.
    pub(super) fn cancel(self: &Arc<Self>) {
        if self.state.cancel() {
            self.group.enter();
            Arc::clone(self).enqueue(Position::Urgent);
        }
    }

    /// The turn of this task goes on, and news were kept.
    #[cold]
    pub(super) fn pass_on(&self) {
        if let Some(schedule) = self.schedule.upgrade() {
            schedule.pass_on();
        }
    }

    /// Called with the right to enqueue (rule 1 of the state word).
    fn enqueue(self: Arc<Self>, position: Position) {
        match self.schedule.upgrade() {
            Some(schedule) => schedule.schedule(self, position),
            None => self.discard(),
        }
    }

    /// Gives the task one turn on `worker`, and queues it again as the turn says. Called with a queue entry only.
    pub(crate) fn run(self: Arc<Self>, worker: usize, metrics: &StageMetrics) {
        if self.state.begin() == Begin::Cancelled {
            return self.finish(Ending::Cancelled);
        }
        // Only the worker that gives a turn writes it.
        let before = self.home.load(Ordering::Relaxed);
        if before != worker {
            self.home.store(worker, Ordering::Relaxed);
            if before != NO_WORKER {
                metrics.worker(worker).count_stolen();
            }
        }
        // The worker's own reference is the turn's waker: no counting for a turn that hands none out.
        let waker = TaskWaker::new(self);
        let task = waker.task();
        let began = task.env.now();
        let verdict = metrics.observe_turn(worker, task.name, || task.give_turn(&waker, worker, began));
        task.group.charge(task.env.now().saturating_sub(began));
        // Before its result can be seen. A task that is cancelled did not run to its end.
        match verdict {
            Ok(Turn::Done) => metrics.worker(worker).count_executed(1),
            Err(_) => {
                metrics.worker(worker).count_executed(1);
                metrics.worker(worker).count_panicked();
            }
            Ok(Turn::Again | Turn::Idle) => {}
        }
        waker.into_task().end_turn(verdict);
    }

    /// Does what the turn said.
    fn end_turn(self: Arc<Self>, verdict: Result<Turn, String>) {
        match verdict {
            Err(message) => self.finish(Ending::Panicked(message)),
            Ok(Turn::Done) => self.finish(Ending::Done),
            // A cancel that comes after this look is a wake-up like any other, and the next turn sees it.
            Ok(_) if self.is_cancelled() => self.finish(Ending::Cancelled),
            Ok(Turn::Again) => {
                self.state.end_again();
                self.enqueue(Position::Again);
            }
            Ok(Turn::Idle) => {
                if self.state.end_idle() {
                    self.enqueue(Position::Again);
                } else {
                    // It may be queued, or even run, again by now; its group counts each spell by itself.
                    self.group.leave();
                }
            }
        }
    }

    fn give_turn(self: &Arc<Self>, waker: &TaskWaker, worker: usize, began: u64) -> Result<Turn, String> {
        let mut slot = match self.body.try_lock() {
            Ok(slot) => slot,
            Err(TryLockError::Poisoned(broken)) => broken.into_inner(),
            Err(TryLockError::WouldBlock) => unreachable!("two workers run task {}", self.name),
        };
        let Some(body) = slot.as_deref_mut() else { unreachable!("task {} runs after its end", self.name) };
        let _here = turn::enter(self, began);
        let mut cx = TurnContext::new(waker, worker, began);
        caught(|| body.turn(&mut cx))
    }

    /// Ends the task without a turn. Called with a queue entry, by a pool that gives no more turns.
    pub(crate) fn discard(self: Arc<Self>) {
        let _ = self.state.begin();
        self.finish(Ending::Cancelled);
    }

    /// Called between `begin` and the end of a turn.
    fn finish(&self, ending: Ending) {
        let body = self.body.lock().unwrap_or_else(|broken| broken.into_inner()).take();
        self.state.finish();
        if let Some(body) = body {
            end_body(body, ending);
        }
        self.group.remove_task(self.id);
        self.group.leave();
    }
}

/// Whoever waits for the result may have left a callback or a waker that panics: not the worker's problem.
fn end_body(body: Box<dyn Body>, ending: Ending) {
    let _ = caught(|| body.end(ending));
}

impl Drop for Task {
    fn drop(&mut self) {
        if self.state.is_done() {
            return;
        }
        // Idle, and nobody can wake it any more; or still in queues that are dropped as a whole.
        if let Some(body) = self.body.get_mut().unwrap_or_else(|broken| broken.into_inner()).take() {
            end_body(body, Ending::Cancelled);
        }
        self.group.remove_task(self.id);
        if self.state.is_queued() {
            self.group.leave();
        }
        if let Some(schedule) = self.schedule.upgrade() {
            schedule.freed();
        }
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        Task::wake(&self);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        Task::wake(self);
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").field("name", &self.name).field("state", &self.state).finish_non_exhaustive()
    }
}
