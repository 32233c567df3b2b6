//! What a stage counts and what it says of itself: per worker, without a lock on the way of the work.
//!
//! Each worker has its own padded counters and is their only writer, so counting is a load and a store. Times come from
//! the stage's clock, so that simulated stages report virtual time.

use crate::context::StageId;
use crate::env::Env;
use crate::origin::{Origin, OriginName};
use crossbeam_utils::CachePadded;
use filbert_sync::Running;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How many slow tasks a stage remembers.
const SLOW_KEPT: usize = 32;

/// The counters of one stage.
#[derive(Debug)]
pub(crate) struct StageMetrics {
    pub(crate) id: StageId,
    env: Arc<Env>,
    slow_limit: Option<Duration>,
    workers: Box<[CachePadded<WorkerMetrics>]>,
    refused: AtomicU64,
    dropped: AtomicU64,
    slow_count: AtomicU64,
    slow: Mutex<VecDeque<SlowTask>>,
}

/// The counters of one worker, written by that worker alone.
#[derive(Debug, Default)]
pub(crate) struct WorkerMetrics {
    executed: AtomicU64,
    stolen: AtomicU64,
    parked: AtomicU64,
    panicked: AtomicU64,
    busy: AtomicU64,
    running: Running,
}

/// A task that took longer than the stage's slow limit.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct SlowTask {
    /// The task's name.
    pub task: &'static str,
    /// The structure, source of events or statement that it was about, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The address of the client that it was done for, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The user that this client had logged in as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The worker that ran it; the number of workers when a caller ran it.
    pub worker: usize,
    /// How long it took.
    pub took_ms: u64,
}

/// A task that is running right now.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct RunningNow {
    /// The task's name.
    pub task: &'static str,
    /// The worker that runs it.
    pub worker: usize,
    /// For how long so far.
    pub for_ms: u64,
}

/// What a stage says of itself at one moment.
#[derive(Debug, Clone, serde::Serialize)]
pub struct StageSnapshot {
    /// The stage's name.
    pub stage: &'static str,
    /// The mechanism that runs it.
    pub mechanism: &'static str,
    /// Its threads; where they come and go, those that always exist.
    pub threads: usize,
    /// The most threads it makes.
    pub threads_at_most: usize,
    /// How much it may hold; `None` where tasks are unbounded by design.
    pub capacity: Option<usize>,
    /// Queued, not yet begun.
    pub depth: usize,
    /// Futures that have begun and wait for something, such as bytes from a socket; zero on stages without futures.
    pub suspended: usize,
    /// How long the oldest queued task has waited.
    pub oldest_ms: Option<u64>,
    /// What runs right now.
    pub running: Vec<RunningNow>,
    /// Tasks that ran to their end, panicked ones included; a task of many turns is one.
    pub executed: u64,
    /// Tasks that another worker than their first one ran.
    pub stolen: u64,
    /// How often a worker went to sleep.
    pub parked: u64,
    /// Tasks that panicked.
    pub panicked: u64,
    /// Submits refused because the stage was full or shutting down.
    pub refused: u64,
    /// Events dropped because the stage was full.
    pub dropped: u64,
    /// Tasks over the slow limit.
    pub slow: u64,
    /// The latest of them.
    pub slow_tasks: Vec<SlowTask>,
}

impl StageMetrics {
    pub(crate) fn new(env: &Arc<Env>, id: StageId, workers: usize, slow_limit: Option<Duration>) -> Self {
        Self {
            id,
            env: Arc::clone(env),
            slow_limit,
            workers: (0..workers).map(|_| CachePadded::default()).collect(),
            refused: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            slow_count: AtomicU64::new(0),
            slow: Mutex::new(VecDeque::new()),
        }
    }

    /// The surroundings of the stage.
    pub(crate) fn env(&self) -> &Arc<Env> {
        &self.env
    }

    /// How many workers are counted.
    pub(crate) fn workers(&self) -> usize {
        self.workers.len()
    }

    /// One worker's counters.
    #[inline]
    pub(crate) fn worker(&self, worker: usize) -> &WorkerMetrics {
        &self.workers[worker]
    }

    /// Runs a task on `worker`: says what runs, counts it, times it, reports it when it was slow.
    #[inline]
    pub(crate) fn observe<R>(&self, worker: usize, task: &'static str, body: impl FnOnce() -> R) -> R {
        let result = self.observe_turn(worker, task, body);
        self.worker(worker).count_executed(1);
        result
    }

    /// Like [`StageMetrics::observe`] for a part of a task: one poll of a future, one turn of a tasklet.
    #[inline]
    pub(crate) fn observe_turn<R>(&self, worker: usize, task: &'static str, body: impl FnOnce() -> R) -> R {
        let counters = self.worker(worker);
        let began = self.env.now();
        counters.running.begin(task, began);
        Origin::forget_last();
        let result = body();
        counters.running.end();
        let took = self.env.now().saturating_sub(began);
        bump(&counters.busy, took);
        if self.slow_limit.is_some_and(|limit| took > limit.as_nanos() as u64) {
            self.report_slow(worker, task, None, took, Origin::of_report());
        }
        result
    }

    /// Times tasks that follow one another on `worker`: the end of one is the beginning of the next. Reports say what they are about.
    #[inline]
    pub(crate) fn batch<'a>(&'a self, worker: usize, about: Option<&'a str>) -> Batch<'a> {
        Batch { metrics: self, worker, about, began: self.env.now() }
    }

    /// Runs a task that a caller runs on its own thread: times it, and reports it when it was slow, as of a worker
    /// beyond the last one. Counting it is up to the mechanism.
    #[inline]
    pub(crate) fn observe_caller<R>(
        &self,
        task: &'static str,
        about: Option<&str>,
        body: impl FnOnce() -> R,
    ) -> R {
        let Some(limit) = self.slow_limit else { return body() };
        let began = self.env.now();
        let result = body();
        let took = self.env.now().saturating_sub(began);
        if took > limit.as_nanos() as u64 {
            self.report_slow(self.workers.len(), task, about, took, Origin::current());
        }
        result
    }

    #[cold]
    fn report_slow(&self, worker: usize, task: &'static str, about: Option<&str>, took: u64, origin: Origin) {
        self.slow_count.fetch_add(1, Ordering::Relaxed);
        let (client, user) = match self.env.origins().name(origin) {
            Some(OriginName { client, user }) => (Some(client), user),
            None => (None, None),
        };
        let took_ms = took / 1_000_000;
        tracing::warn!(
            stage = self.id.name,
            task,
            about,
            client = client.as_deref(),
            user = user.as_deref(),
            worker,
            took_ms,
            "slow task"
        );
        let report = SlowTask { task, about: about.map(str::to_owned), client, user, worker, took_ms };
        let mut slow = self.slow.lock().unwrap_or_else(|broken| broken.into_inner());
        if slow.len() == SLOW_KEPT {
            slow.pop_front();
        }
        slow.push_back(report);
    }

    /// A submit was refused.
    pub(crate) fn count_refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Events were dropped.
    pub(crate) fn count_dropped(&self, events: u64) {
        self.dropped.fetch_add(events, Ordering::Relaxed);
    }

    /// The counters as a snapshot; the engine adds what it knows of its queues.
    pub(crate) fn snapshot(
        &self,
        mechanism: &'static str,
        capacity: Option<usize>,
        depth: usize,
        oldest: Option<u64>,
    ) -> StageSnapshot {
        let now = self.env.now();
        let sum = |counter: fn(&WorkerMetrics) -> &AtomicU64| {
            self.workers.iter().map(|worker| counter(worker).load(Ordering::Relaxed)).sum()
        };
        let running = self.workers.iter().enumerate().filter_map(|(worker, counters)| {
            let task = counters.running.read()?;
            Some(RunningNow { task: task.name, worker, for_ms: now.saturating_sub(task.since) / 1_000_000 })
        });
        StageSnapshot {
            stage: self.id.name,
            mechanism,
            threads: self.workers.len(),
            threads_at_most: self.workers.len(),
            capacity,
            depth,
            suspended: 0,
            oldest_ms: oldest.map(|queued| now.saturating_sub(queued) / 1_000_000),
            running: running.collect(),
            executed: sum(|worker| &worker.executed),
            stolen: sum(|worker| &worker.stolen),
            parked: sum(|worker| &worker.parked),
            panicked: sum(|worker| &worker.panicked),
            refused: self.refused.load(Ordering::Relaxed),
            dropped: self.dropped.load(Ordering::Relaxed),
            slow: self.slow_count.load(Ordering::Relaxed),
            slow_tasks: self
                .slow
                .lock()
                .unwrap_or_else(|broken| broken.into_inner())
                .iter()
                .cloned()
                .collect(),
        }
    }
}

/// Tasks that follow one another on one worker; each costs one look at the clock.
pub(crate) struct Batch<'a> {
    metrics: &'a StageMetrics,
    worker: usize,
    about: Option<&'a str>,
    began: u64,
}

impl Batch<'_> {
    /// When the last task ended, or the batch began.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        self.began
    }

    /// Like [`StageMetrics::observe`], for the next task of the batch.
    #[inline]
    pub(crate) fn observe<R>(&mut self, task: &'static str, body: impl FnOnce() -> R) -> R {
        let counters = self.metrics.worker(self.worker);
        counters.running.begin(task, self.began);
        let result = body();
        bump(&counters.executed, 1);
        let now = self.metrics.env.now();
        let took = now.saturating_sub(std::mem::replace(&mut self.began, now));
        bump(&counters.busy, took);
        if self.metrics.slow_limit.is_some_and(|limit| took > limit.as_nanos() as u64) {
            self.metrics.report_slow(self.worker, task, self.about, took, Origin::of_report());
        }
        result
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.metrics.worker(self.worker).running.end();
    }
}

impl WorkerMetrics {
    /// Counts tasks that ran without [`StageMetrics::observe`].
    pub(crate) fn count_executed(&self, tasks: u64) {
        bump(&self.executed, tasks);
    }

    /// The worker took a task from another one.
    pub(crate) fn count_stolen(&self) {
        bump(&self.stolen, 1);
    }

    /// The worker goes to sleep.
    pub(crate) fn count_parked(&self) {
        bump(&self.parked, 1);
    }

    /// How often the worker went to sleep.
    #[cfg(test)]
    pub(crate) fn parked(&self) -> u64 {
        self.parked.load(Ordering::Relaxed)
    }

    /// A task panicked.
    pub(crate) fn count_panicked(&self) {
        bump(&self.panicked, 1);
    }

    /// What the worker runs, and since when.
    pub(crate) fn running(&self) -> Option<filbert_sync::RunningTask> {
        self.running.read()
    }
}

/// Adds to a counter that only this thread writes.
#[inline]
fn bump(counter: &AtomicU64, by: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(by), Ordering::Relaxed);
}
