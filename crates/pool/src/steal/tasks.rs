//! Polled tasks on a work-stealing pool: tasklets and futures take their turns on the same workers as forks and roots.
//!
//! The queues and the fairness between groups are in [`crate::polled`]; here is what the pool adds: where a task is queued,
//! who is woken for it, and how many may live at a time.

use super::WorkStealing;
use super::core::Core;
use super::slot::{self, Slot};
use crate::context;
use crate::error::SubmitError;
use crate::future::TaskFuture;
use crate::polled::{self, Group, Position, Schedule, Task, TaskHandle, Tasklet};
use filbert_sync::idle::News;
use std::future::Future;
use std::sync::Arc;

impl Schedule for Core {
    fn schedule(&self, task: Arc<Task>, position: Position) {
        let workers = self.settings.threads;
        // A guest takes part in one call only and has no queue of its own.
        let here = slot::current().filter(|slot| slot.belongs_to(self) && slot.index < workers);
        // One whose last turn a spare worker gave has no queue to go back to.
        let home = || task.home().filter(|home| *home < workers);
        let worker = here.map(|slot| slot.index).or_else(home);
        let worker = worker.unwrap_or_else(|| self.env.random_below(workers));
        let is_alone = self.polled.push(worker, task, position);
        self.watch();
        if is_alone && here.is_some_and(Slot::owe) {
            // Whoever gives this turn takes the task next: to wake another worker would cost more than most turns.
            polled::owe_news();
            return;
        }
        self.notify(News::Root);
    }

    fn pass_on(&self) {
        if let Some(slot) = slot::current().filter(|slot| slot.belongs_to(self)) {
            self.settle(slot);
        }
    }

    fn freed(&self) {
        if self.gate.is_closed() {
            self.idle.ring_all();
        }
    }
}

impl WorkStealing {
    /// A group of tasks that is served as one: between groups, the least served goes first.
    pub fn group(&self, name: &str) -> Group {
        self.core.polled.groups().group(name)
    }

    /// A group that goes before all normal ones: for short work that someone waits for.
    pub fn priority_group(&self, name: &str) -> Group {
        self.core.polled.groups().priority_group(name)
    }

    /// Gives `tasklet` turns until it is done; it is a group of its own.
    ///
    /// A closure has to name the type of its argument: what is taken is a [`Tasklet`], of which a closure is only one kind, so
    /// the compiler cannot tell from here what the closure is called with.
    ///
    /// ```
    /// use filbert_pool::{Turn, TurnContext, WorkStealing};
    /// let pool = WorkStealing::standalone(2);
    /// let mut left = 3;
    /// let countdown = pool.spawn_tasklet("countdown", move |_: &mut TurnContext<'_>| {
    ///     left -= 1;
    ///     if left == 0 { Turn::Done } else { Turn::Again }
    /// })?;
    /// assert_eq!(countdown.wait(), Ok(()));
    /// # Ok::<(), filbert_pool::SubmitError>(())
    /// ```
    pub fn spawn_tasklet(
        &self,
        name: &'static str,
        tasklet: impl Tasklet,
    ) -> Result<TaskHandle, SubmitError> {
        self.spawn_tasklet_in(&self.group(name), name, tasklet)
    }

    /// Like [`WorkStealing::spawn_tasklet`], as one of a group of this pool.
    ///
    /// # Errors
    /// As for every submit, and [`SubmitError::ForeignGroup`].
    pub fn spawn_tasklet_in(
        &self,
        group: &Group,
        name: &'static str,
        tasklet: impl Tasklet,
    ) -> Result<TaskHandle, SubmitError> {
        self.admit(group, || {
            let core: Arc<dyn Schedule> = self.core.clone();
            polled::spawn_tasklet(&self.core.env, self.core.id(), &core, group, name, tasklet)
        })
    }

    /// Polls `future` until it is done; it is a group of its own.
    ///
    /// ```
    /// let stages = filbert_pool::Stages::start()?;
    /// let answer = stages.fragment().submit("answer", || 6 * 7)?;
    /// let double = async move { answer.await.map(|answer| 2 * answer) };
    /// assert_eq!(stages.fragment().spawn("double", double)?.wait(), Ok(Ok(84)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn spawn<F>(&self, name: &'static str, future: F) -> Result<TaskFuture<F::Output>, SubmitError>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.spawn_in(&self.group(name), name, future)
    }

    /// Like [`WorkStealing::spawn`], as one of a group of this pool.
    ///
    /// # Errors
    /// As for every submit, and [`SubmitError::ForeignGroup`].
    pub fn spawn_in<F>(
        &self,
        group: &Group,
        name: &'static str,
        future: F,
    ) -> Result<TaskFuture<F::Output>, SubmitError>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.admit(group, || {
            let core: Arc<dyn Schedule> = self.core.clone();
            polled::spawn_future(&self.core.env, self.core.id(), &core, group, name, future)
        })
    }

    /// Spawns a task unless the rules, the bound or the end forbid it, or the group is not of this pool: then the one pool
    /// would count the tasks that the other one runs.
    fn admit<T>(&self, group: &Group, spawn: impl FnOnce() -> T) -> Result<T, SubmitError> {
        let core = &*self.core;
        let stage = core.id();
        context::check_submit(stage)?;
        if !group.belongs_to(core.polled.groups()) {
            return Err(SubmitError::ForeignGroup { group: group.name().to_owned(), stage });
        }
        let capacity = core.settings.injector_capacity;
        let refusal = match core.gate.enter() {
            None => SubmitError::ShutDown { stage },
            Some(pass) if core.polled.groups().live() >= capacity => {
                core.leave(pass);
                SubmitError::Overloaded { stage, capacity }
            }
            Some(pass) => {
                let spawned = spawn();
                core.leave(pass);
                return Ok(spawned);
            }
        };
        core.metrics.count_refused();
        Err(refusal)
    }
}
