//! A host on tokio: one multi-thread runtime, or one current-thread runtime per event loop.

use super::host::{BoxedClosure, BoxedFuture, Host};
use super::runtime;
use super::slots::{self, Slots};
use crate::context::{self, StageId};
use crate::engine::{Ending, Engine};
use crate::env::Env;
use crate::error::SubmitError;
use crate::metrics::{StageMetrics, StageSnapshot};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::watch;

/// The numbers of a runtime.
#[derive(Debug, Clone)]
pub(super) struct TokioSettings {
    /// Threads that poll futures; for loops, one runtime each.
    pub(super) threads: usize,
    /// Threads for blocking closures, made when needed.
    pub(super) blocking_threads: usize,
    /// Tasks accepted and not done; `None` where they are unbounded by design.
    pub(super) capacity: Option<usize>,
    /// What counts as slow.
    pub(super) slow_limit: Option<Duration>,
}

/// A stage on tokio.
pub(super) struct TokioHost {
    shared: Arc<Shared>,
    handles: Vec<Handle>,
    /// The multi-thread runtime; loops own theirs on their threads.
    runtime: Mutex<Option<Runtime>>,
    stop: watch::Sender<Stop>,
}

/// What the tasks of a host share with it.
struct Shared {
    metrics: StageMetrics,
    slots: Slots,
    threads: usize,
    capacity: Option<usize>,
    /// Tasks that were accepted and are not done.
    live: AtomicUsize,
    /// Tasks of those that have not begun.
    queued: AtomicUsize,
    closed: AtomicBool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    No,
    WhenIdle,
    Now,
}

impl TokioHost {
    /// One runtime whose threads share all futures.
    pub(super) fn multi_thread(env: &Arc<Env>, id: StageId, settings: &TokioSettings) -> Arc<Self> {
        let shared = Shared::new(env, id, settings);
        let runtime = shared.builder(Builder::new_multi_thread().worker_threads(settings.threads), settings);
        let handles = vec![runtime.handle().clone()];
        Arc::new(Self {
            shared,
            handles,
            runtime: Mutex::new(Some(runtime)),
            stop: watch::channel(Stop::No).0,
        })
    }

    /// One loop per thread; a future stays on the loop it was given to.
    pub(super) fn loops(env: &Arc<Env>, id: StageId, settings: &TokioSettings) -> Arc<Self> {
        let shared = Shared::new(env, id, settings);
        let (stop, _) = watch::channel(Stop::No);
        let mut handles = Vec::new();
        for number in 0..settings.threads {
            let runtime = shared.builder(&mut Builder::new_current_thread(), settings);
            handles.push(runtime.handle().clone());
            let (shared, mut stop) = (Arc::clone(&shared), stop.subscribe());
            env.threads().spawn(format!("{id}-{number}"), move || {
                context::adopt(id);
                shared.slots.take();
                runtime.block_on(async {
                    // An error means that the host is gone: nothing can be submitted any more.
                    let _ = stop.wait_for(|stop| *stop != Stop::No).await;
                    while *stop.borrow() == Stop::WhenIdle && shared.live.load(Ordering::Acquire) > 0 {
                        // Looks again only while it ends; the tasks that are left run on this loop meanwhile.
                        let _ = tokio::time::timeout(Duration::from_millis(1), stop.changed()).await;
                    }
                });
                // Waits for what still blocks, as whoever joins this thread does.
                drop(runtime);
                shared.slots.give();
            });
        }
        Arc::new(Self { shared, handles, runtime: Mutex::new(None), stop })
    }
}

impl Shared {
    fn new(env: &Arc<Env>, id: StageId, settings: &TokioSettings) -> Arc<Self> {
        let slots = settings.threads + settings.blocking_threads;
        Arc::new(Self {
            metrics: StageMetrics::new(env, id, slots, settings.slow_limit),
            slots: Slots::new(slots),
            threads: settings.threads,
            capacity: settings.capacity,
            live: AtomicUsize::new(0),
            queued: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
        })
    }

    fn builder(self: &Arc<Self>, builder: &mut Builder, settings: &TokioSettings) -> Runtime {
        let (starts, stops) = (Arc::clone(self), Arc::clone(self));
        let id = self.metrics.id;
        builder
            .max_blocking_threads(settings.blocking_threads.max(1))
            .thread_name(id.name)
            .on_thread_start(move || {
                context::adopt(id);
                starts.slots.take();
            })
            .on_thread_stop(move || stops.slots.give())
            .enable_all()
            .build()
            .unwrap_or_else(|error| panic!("stage {id}: the system refuses to start its runtime: {error}"))
    }

    fn admit(self: &Arc<Self>) -> Result<Live, SubmitError> {
        let stage = self.metrics.id;
        // SeqCst here and in `is_drained`: either this sees "closed" or the other sees this task.
        let live = self.live.fetch_add(1, Ordering::SeqCst);
        self.queued.fetch_add(1, Ordering::Relaxed);
        let admitted = Live { shared: Arc::clone(self), has_begun: false };
        let refusal = if self.closed.load(Ordering::SeqCst) {
            SubmitError::ShutDown { stage }
        } else {
            match self.capacity {
                Some(capacity) if live >= capacity => SubmitError::Overloaded { stage, capacity },
                _ => return Ok(admitted),
            }
        };
        self.metrics.count_refused();
        Err(refusal)
    }

    /// Runs a part of a task, observed where its thread has counters.
    fn observe<R>(&self, name: &'static str, body: impl FnOnce() -> R) -> R {
        match slots::current() {
            Some(slot) => self.metrics.observe_turn(slot, name, body),
            None => body(),
        }
    }

    fn done(&self, sound: bool) {
        if let Some(slot) = slots::current() {
            let counters = self.metrics.worker(slot);
            counters.count_executed(1);
            if !sound {
                counters.count_panicked();
            }
        }
    }
}

/// One accepted task; whatever happens to it, it is counted out when this is dropped.
struct Live {
    shared: Arc<Shared>,
    has_begun: bool,
}

impl Live {
    /// Counts the task out of the queue, once.
    fn begin(&mut self) {
        if !std::mem::replace(&mut self.has_begun, true) {
            self.shared.queued.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.begin();
        self.shared.live.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A hosted future whose every poll is observed.
struct Observed {
    name: &'static str,
    future: BoxedFuture,
    live: Live,
}

impl Future for Observed {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        this.live.begin();
        let shared = &this.live.shared;
        let polled = shared.observe(this.name, || this.future.as_mut().poll(context));
        polled.map(|sound| shared.done(sound))
    }
}

impl Host for TokioHost {
    fn host_future(&self, on: usize, name: &'static str, future: BoxedFuture) -> Result<(), SubmitError> {
        let live = self.shared.admit()?;
        self.handles[on % self.handles.len()].spawn(Observed { name, future, live });
        Ok(())
    }

    fn host_closure(&self, name: &'static str, closure: BoxedClosure) -> Result<(), SubmitError> {
        let mut live = self.shared.admit()?;
        self.handles[0].spawn_blocking(move || {
            live.begin();
            let shared = &live.shared;
            let sound = shared.observe(name, closure);
            shared.done(sound);
        });
        Ok(())
    }
}

impl Engine for TokioHost {
    fn metrics(&self) -> &StageMetrics {
        &self.shared.metrics
    }

    fn has_work(&self, _worker: usize) -> bool {
        false
    }

    fn step(&self, _worker: usize) -> bool {
        false
    }

    fn snapshot(&self) -> StageSnapshot {
        let live = self.shared.live.load(Ordering::Relaxed);
        let depth = self.shared.queued.load(Ordering::Relaxed);
        let mut snapshot = self.shared.metrics.snapshot("tokio", self.shared.capacity, depth, None);
        snapshot.threads = self.shared.threads;
        snapshot.suspended = live.saturating_sub(depth).saturating_sub(snapshot.running.len());
        snapshot
    }

    fn close(&self, ending: Ending) {
        self.shared.closed.store(true, Ordering::SeqCst);
        let stop = if ending == Ending::Cancel { Stop::Now } else { Stop::WhenIdle };
        self.stop.send_modify(|now| *now = if *now == Stop::Now { Stop::Now } else { stop });
        if ending == Ending::Cancel {
            // Drops every future at its next pause and waits for no closure that still blocks.
            let runtime = self.runtime.lock().unwrap_or_else(|broken| broken.into_inner()).take();
            if let Some(runtime) = runtime {
                runtime::end(runtime, self.shared.metrics.id);
            }
        }
    }

    fn leave_behind(&self, within: Duration) -> usize {
        if self.runtime.lock().unwrap_or_else(|broken| broken.into_inner()).is_some() {
            // Still open: nothing was asked to end.
            return 0;
        }
        self.shared.slots.wait_until_left(within)
    }

    fn is_drained(&self) -> bool {
        self.shared.closed.load(Ordering::SeqCst) && self.shared.live.load(Ordering::SeqCst) == 0
    }
}

impl Drop for TokioHost {
    fn drop(&mut self) {
        self.close(Ending::Cancel);
    }
}
