//! Tests of polled tasks, with a small pool of their own: stepped by hand, by the simulator, or by real threads.

mod fairness;
mod queues;
mod simulated;
mod tasks;
mod threads;

use super::*;
use crate::context::{self, StageId};
use crate::engine::{Ending, Engine};
use crate::env::Env;
use crate::eventually::eventually;
use crate::future::TaskFuture;
use crate::metrics::{StageMetrics, StageSnapshot};
use crate::rules::StageKind;
use std::cell::Cell;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

thread_local! {
    static WORKER: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The least that a pool of polled tasks can be.
struct TestPool {
    metrics: StageMetrics,
    queues: RunQueues,
    group: Group,
    closed: AtomicBool,
    sleep: Mutex<()>,
    work: Condvar,
}

impl TestPool {
    fn new(env: &Arc<Env>, workers: usize) -> Arc<Self> {
        let queues = RunQueues::new(workers);
        let group = queues.groups().group("default");
        Arc::new(Self {
            metrics: StageMetrics::new(env, StageId::of(StageKind::Flow), workers, None),
            queues,
            group,
            closed: AtomicBool::new(false),
            sleep: Mutex::new(()),
            work: Condvar::new(),
        })
    }

    /// Stepped by the test itself; its clock stands still, so each turn costs the least there is.
    fn by_hand(workers: usize) -> Arc<Self> {
        Self::new(&Env::simulated(1), workers)
    }

    fn simulated(seed: u64, workers: usize) -> Arc<Self> {
        let env = Env::simulated(seed);
        let pool = Self::new(&env, workers);
        let engine: Arc<dyn Engine> = pool.clone();
        env.simulator().unwrap().add(Arc::downgrade(&engine));
        pool
    }

    fn threaded(workers: usize) -> Arc<Self> {
        let pool = Self::new(&Env::real(), workers);
        for worker in 0..workers {
            let worked = Arc::clone(&pool);
            pool.env().threads().spawn(format!("flow-{worker}"), move || worked.work(worker));
        }
        pool
    }

    fn env(&self) -> &Arc<Env> {
        self.metrics.env()
    }

    fn group(&self, name: &str) -> Group {
        self.queues.groups().group(name)
    }

    fn schedule(self: &Arc<Self>) -> Arc<dyn Schedule> {
        self.clone()
    }

    fn spawn(self: &Arc<Self>, group: &Group, tasklet: impl Tasklet) -> TaskHandle {
        spawn_tasklet(self.env(), self.metrics.id, &self.schedule(), group, "test", tasklet)
    }

    fn spawn_future<F>(self: &Arc<Self>, future: F) -> TaskFuture<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        spawn_future(self.env(), self.metrics.id, &self.schedule(), &self.group, "future", future)
    }

    /// Steps worker 0 until nothing is queued.
    fn settle(&self) {
        while self.step(0) {}
    }

    fn work(&self, worker: usize) {
        let _entered = context::enter(self.metrics.id);
        while !self.is_drained() {
            if self.step(worker) {
                continue;
            }
            let guard = self.sleep.lock().unwrap();
            if !self.has_work(worker) && !self.is_drained() {
                drop(self.work.wait(guard).unwrap());
            }
        }
        self.work.notify_all();
    }

    fn wake_all(&self) {
        drop(self.sleep.lock().unwrap());
        self.work.notify_all();
    }

    /// Cancels what is left and joins the threads.
    fn end(&self) {
        self.close(Ending::Cancel);
        let deadline = Instant::now() + Duration::from_secs(60);
        while !self.is_drained() {
            assert!(Instant::now() < deadline, "{} tasks are left", self.queues.groups().live());
            std::thread::yield_now();
        }
        self.wake_all();
        assert_eq!(self.env().threads().join(Duration::from_secs(60)), Vec::<String>::new());
        assert_eq!(self.queues.depth(), 0);
    }
}

impl Schedule for TestPool {
    fn schedule(&self, task: Arc<Task>, position: Position) {
        let workers = self.metrics.workers();
        let worker = WORKER.get().or(task.home()).unwrap_or_else(|| self.env().random_below(workers));
        self.queues.push(worker % workers, task, position);
        drop(self.sleep.lock().unwrap());
        self.work.notify_one();
    }
}

impl Engine for TestPool {
    fn metrics(&self) -> &StageMetrics {
        &self.metrics
    }

    fn has_work(&self, _worker: usize) -> bool {
        self.queues.has_work()
    }

    fn step(&self, worker: usize) -> bool {
        let Some(task) = self.queues.pop(worker).or_else(|| self.queues.steal(worker)) else { return false };
        let before = WORKER.replace(Some(worker));
        task.run(worker, &self.metrics);
        WORKER.set(before);
        true
    }

    fn snapshot(&self) -> StageSnapshot {
        self.metrics.snapshot("work-stealing", None, self.queues.depth(), self.queues.oldest())
    }

    fn close(&self, ending: Ending) {
        self.closed.store(true, Ordering::Release);
        if ending == Ending::Cancel {
            self.queues.groups().cancel_all();
        }
        self.wake_all();
    }

    fn is_drained(&self) -> bool {
        self.closed.load(Ordering::Acquire) && self.queues.groups().live() == 0
    }
}
