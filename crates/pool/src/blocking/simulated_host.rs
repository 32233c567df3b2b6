//! A host without threads: futures and closures are polled tasks that take their turns on the simulator's thread.

use super::host::{BoxedClosure, BoxedFuture, Host};
use crate::context::StageId;
use crate::engine::{Ending, Engine};
use crate::env::Env;
use crate::error::SubmitError;
use crate::metrics::{StageMetrics, StageSnapshot};
use crate::polled::{self, Group, Position, RunQueues, Schedule, Task};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

/// A simulated stage of futures and closures.
pub(super) struct SimulatedHost {
    this: Weak<SimulatedHost>,
    metrics: StageMetrics,
    capacity: Option<usize>,
    queues: RunQueues,
    group: Group,
    closed: AtomicBool,
}

impl SimulatedHost {
    /// A host with that many simulated threads.
    pub(super) fn start(env: &Arc<Env>, id: StageId, threads: usize, capacity: Option<usize>) -> Arc<Self> {
        let queues = RunQueues::new(threads);
        let group = queues.groups().group(id.name);
        Arc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            metrics: StageMetrics::new(env, id, threads, None),
            capacity,
            queues,
            group,
            closed: AtomicBool::new(false),
        })
    }

    fn host(&self, name: &'static str, future: BoxedFuture) -> Result<(), SubmitError> {
        let stage = self.metrics.id;
        let refusal = match (self.this.upgrade(), self.capacity) {
            (Some(this), capacity) if !self.closed.load(Ordering::Relaxed) => match capacity {
                Some(capacity) if self.group.tasks() >= capacity => {
                    SubmitError::Overloaded { stage, capacity }
                }
                _ => {
                    let counts = Weak::clone(&self.this);
                    let future = async move {
                        // It resolved its own future already; only the counter is left, and one thread counts for all.
                        if !future.await
                            && let Some(host) = counts.upgrade()
                        {
                            host.metrics.worker(0).count_panicked();
                        }
                    };
                    let schedule: Arc<dyn Schedule> = this;
                    polled::spawn_future(self.metrics.env(), stage, &schedule, &self.group, name, future)
                        .detach();
                    return Ok(());
                }
            },
            _ => SubmitError::ShutDown { stage },
        };
        self.metrics.count_refused();
        Err(refusal)
    }
}

impl Schedule for SimulatedHost {
    fn schedule(&self, task: Arc<Task>, position: Position) {
        self.queues.push(task.home().unwrap_or(0), task, position);
    }
}

impl Host for SimulatedHost {
    fn host_future(&self, _on: usize, name: &'static str, future: BoxedFuture) -> Result<(), SubmitError> {
        self.host(name, future)
    }

    fn host_closure(&self, name: &'static str, closure: BoxedClosure) -> Result<(), SubmitError> {
        self.host(name, Box::pin(async move { closure() }))
    }
}

impl Engine for SimulatedHost {
    fn metrics(&self) -> &StageMetrics {
        &self.metrics
    }

    fn has_work(&self, _worker: usize) -> bool {
        self.queues.has_work()
    }

    fn step(&self, worker: usize) -> bool {
        let task = self.queues.pop(worker).or_else(|| self.queues.steal(worker));
        task.map(|task| task.run(worker, &self.metrics)).is_some()
    }

    fn snapshot(&self) -> StageSnapshot {
        self.metrics.snapshot("simulated", self.capacity, self.queues.depth(), self.queues.oldest())
    }

    fn close(&self, ending: Ending) {
        self.closed.store(true, Ordering::Relaxed);
        if ending == Ending::Cancel {
            self.queues.groups().cancel_all();
        }
    }

    fn is_drained(&self) -> bool {
        self.closed.load(Ordering::Relaxed) && self.group.tasks() == 0
    }
}
