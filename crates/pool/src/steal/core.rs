//! The pool behind the handles: slots, the queue of roots, and the two doors that every kind of work uses: find and notify.
//!
//! This module has unsafe code: it runs jobs that it took out of a queue or deque, which makes it the only one to run them
//! (rule 1 of `job`).

use super::StealSettings;
use super::job::JobRef;
use super::slot::Slot;
use super::spare::Spares;
use super::vigil::Seats;
use crate::context::{self, StageId};
use crate::engine::{Ending, Engine};
use crate::env::Env;
use crate::metrics::{StageMetrics, StageSnapshot};
use crate::panics::{caught, discard};
use crate::polled::{RunQueues, Task};
use filbert_sync::idle::{Idle, News};
use filbert_sync::{Gate, Pass};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

/// Threads from outside that may take part at the same time, beside the workers.
pub(super) const GUESTS: usize = 8;

/// One work-stealing pool.
pub(super) struct Core {
    pub(super) me: Weak<Core>,
    pub(super) env: Arc<Env>,
    pub(super) metrics: StageMetrics,
    pub(super) settings: StealSettings,
    pub(super) slots: Box<[Slot]>,
    pub(super) idle: Idle,
    /// Workers that look for longer.
    pub(super) seats: Seats,
    /// Workers for those that are held up.
    pub(super) spares: Spares,
    pub(super) gate: Gate,
    /// Tasklets and futures; see `tasks`.
    pub(super) polled: RunQueues,
    roots: Mutex<VecDeque<Root>>,
    /// The length of `roots`, for a look without the lock.
    queued: AtomicUsize,
    /// Roots that were taken and have not ended.
    begun: AtomicUsize,
}

/// Work that nobody on the pool waits for.
pub(super) struct Root {
    pub(super) name: &'static str,
    pub(super) queued_at: u64,
    pub(super) body: RootBody,
}

pub(super) enum RootBody {
    /// A task with a future; false when it panicked. Dropped unrun, its future says "cancelled".
    Task(Box<dyn FnOnce() -> bool + Send>),
    /// Part of something begun: always run, whatever the ending.
    Job(JobRef),
}

/// What a worker can find.
pub(super) enum Work {
    Job(JobRef),
    Root(Root),
    Task(Arc<Task>),
}

/// Once in so many picks a worker looks at the roots before its polled tasks, and once at other workers' forks before both: none of
/// the three waits for ever behind the others.
const ROTATION: usize = 8;
/// At which pick of a rotation others' forks go first.
const FORKS_FIRST_AT: usize = ROTATION / 2;

impl Core {
    pub(super) fn new(env: &Arc<Env>, id: StageId, settings: StealSettings) -> Arc<Self> {
        let slots = settings.threads + GUESTS + settings.spares;
        let workers = if env.simulator().is_some() { settings.threads } else { slots };
        let core = Arc::new_cyclic(|me| Self {
            me: me.clone(),
            env: Arc::clone(env),
            metrics: StageMetrics::new(env, id, workers, settings.slow_limit),
            slots: (0..slots).map(Slot::new).collect(),
            idle: Idle::new(slots, settings.threads),
            seats: Seats::default(),
            spares: Spares::default(),
            gate: Gate::new(),
            polled: RunQueues::new(settings.threads),
            roots: Mutex::new(VecDeque::new()),
            queued: AtomicUsize::new(0),
            begun: AtomicUsize::new(0),
            settings,
        });
        for slot in &core.slots {
            slot.bind(Arc::as_ptr(&core));
        }
        core
    }

    pub(super) fn id(&self) -> StageId {
        self.metrics.id
    }

    fn roots(&self) -> MutexGuard<'_, VecDeque<Root>> {
        self.roots.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// Queues a root; gives it back when the queue is full.
    pub(super) fn push_root(&self, root: Root, bounded: bool) -> Result<(), Root> {
        let mut roots = self.roots();
        if bounded && roots.len() >= self.settings.injector_capacity {
            return Err(root);
        }
        roots.push_back(root);
        self.queued.store(roots.len(), Ordering::SeqCst);
        drop(roots);
        self.watch();
        self.notify(News::Root);
        Ok(())
    }

    pub(super) fn pop_root(&self) -> Option<Root> {
        if self.queued.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut roots = self.roots();
        let root = roots.pop_front();
        if root.is_some() {
            self.begun.fetch_add(1, Ordering::SeqCst);
        }
        self.queued.store(roots.len(), Ordering::SeqCst);
        root
    }

    /// There is new work in some queue: wakes someone if that is useful. Any thread may call it, after it queued the work.
    #[inline]
    pub(super) fn notify(&self, news: News) {
        self.idle.notify(news);
    }

    /// Tells others of a task that the holder of `slot` kept for itself, if it is still there.
    #[inline]
    pub(super) fn settle(&self, slot: &Slot) {
        if slot.settle() && self.polled.has_own(slot.index) {
            self.notify(News::Root);
        }
    }

    /// Work for the holder of `slot`, mostly in this order: its own forks (newest first), its polled tasks, roots, other workers'
    /// forks (oldest first) and polled tasks. Behind its own forks the order rotates ([`ROTATION`]).
    pub(super) fn find_work(&self, slot: &Slot) -> Option<Work> {
        if let Some(job) = slot.pop() {
            return Some(Work::Job(job));
        }
        let fork = || self.steal(slot).map(Work::Job);
        let pick = slot.next_pick() % ROTATION;
        // Someone waits for a fork, and whoever could help may always have tasks of its own.
        let first = if pick == FORKS_FIRST_AT { fork() } else { None };
        first
            .or_else(|| self.find_rooted(self.queue_of(slot.index), pick == 0))
            .or_else(fork)
            .or_else(|| self.polled.steal(self.queue_of(slot.index)).map(Work::Task))
    }

    /// A polled task of this worker, or a root; in the order asked for.
    fn find_rooted(&self, worker: usize, root_first: bool) -> Option<Work> {
        let task = || self.polled.pop(worker).map(Work::Task);
        let root = || self.pop_root().map(Work::Root);
        if root_first { root().or_else(task) } else { task().or_else(root) }
    }

    /// A fork of another worker, oldest first; the victims are asked in turn from the neighbour on.
    pub(super) fn steal(&self, slot: &Slot) -> Option<JobRef> {
        let count = self.slots.len();
        let mut victim = slot.index;
        for _ in 1..count {
            victim = if victim + 1 == count { 0 } else { victim + 1 };
            if let Some(job) = self.slots[victim].steal() {
                self.metrics.worker(slot.index).count_stolen();
                return Some(job);
            }
        }
        None
    }

    /// True when there is a fork to take somewhere.
    pub(super) fn has_forks(&self) -> bool {
        self.slots.iter().any(Slot::has_shared)
    }

    /// What a worker that looks now would find.
    pub(super) fn visible(&self) -> Option<News> {
        if self.queued.load(Ordering::SeqCst) > 0 || self.polled.has_work() {
            Some(News::Root)
        } else if self.has_forks() {
            Some(News::Fork)
        } else {
            None
        }
    }

    /// Wakes someone if there is still work to be seen.
    pub(super) fn notify_visible(&self) {
        if let Some(news) = self.visible() {
            self.notify(news);
        }
    }

    /// Runs what [`Core::find_work`] found, as worker `index`.
    pub(super) fn run(&self, index: usize, work: Work) {
        match work {
            // SAFETY: the job was taken out of its deque.
            Work::Job(job) => unsafe { job.run() },
            Work::Task(task) => task.run(index, &self.metrics),
            Work::Root(root) => {
                match root.body {
                    RootBody::Task(body) => {
                        if !self.metrics.observe(index, root.name, || caught(body).unwrap_or(false)) {
                            self.metrics.worker(index).count_panicked();
                        }
                    }
                    // SAFETY: the job was taken out of the queue.
                    RootBody::Job(job) => self.metrics.observe(index, root.name, || unsafe { job.run() }),
                }
                self.begun.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }

    /// Runs a root that found no place in the queue, on the calling thread, which counts as the stage's meanwhile.
    pub(super) fn run_here(&self, root: Root) {
        let _stage = context::enter(self.id());
        match root.body {
            RootBody::Task(body) => {
                body();
            }
            // SAFETY: the job was never queued.
            RootBody::Job(job) => unsafe { job.run() },
        }
    }

    /// Leaves the gate; the last one out of a closed pool wakes the workers so that they end.
    pub(super) fn leave(&self, pass: Pass<'_>) {
        drop(pass);
        if self.gate.is_closed() {
            self.idle.ring_all();
        }
    }

    /// True when the pool is closed and no work can come any more.
    pub(super) fn is_over(&self) -> bool {
        self.gate.is_drained() && self.queued.load(Ordering::SeqCst) == 0 && self.polled.groups().live() == 0
    }
}

impl Engine for Core {
    fn metrics(&self) -> &StageMetrics {
        &self.metrics
    }

    fn has_work(&self, _worker: usize) -> bool {
        self.visible().is_some()
    }

    fn step(&self, worker: usize) -> bool {
        let root_first = self.env.random_below(2) == 0;
        let work = self.find_rooted(worker, root_first).or_else(|| self.polled.steal(worker).map(Work::Task));
        work.map(|work| self.run(worker, work)).is_some()
    }

    fn snapshot(&self) -> StageSnapshot {
        let (depth, oldest) = {
            let roots = self.roots();
            (roots.len(), roots.front().map(|root| root.queued_at))
        };
        let depth = depth + self.polled.depth();
        let oldest = oldest.into_iter().chain(self.polled.oldest()).min();
        let mut snapshot =
            self.metrics.snapshot("work-stealing", Some(self.settings.injector_capacity), depth, oldest);
        snapshot.threads = self.settings.threads;
        snapshot.threads_at_most = self.settings.threads + self.settings.spares;
        snapshot
    }

    fn close(&self, ending: Ending) {
        self.gate.close();
        if ending == Ending::Cancel {
            let mut cancelled = Vec::new();
            {
                let mut roots = self.roots();
                for root in std::mem::take(&mut *roots) {
                    match root.body {
                        RootBody::Task(_) => cancelled.push(root),
                        RootBody::Job(_) => roots.push_back(root),
                    }
                }
                self.queued.store(roots.len(), Ordering::SeqCst);
            }
            // Their futures may call user code: not under the lock.
            cancelled.into_iter().for_each(discard);
            self.polled.groups().cancel_all();
        }
        self.idle.ring_all();
    }

    fn is_drained(&self) -> bool {
        // Without threads only `begun` knows; with them a fork of a completer belongs to no root that is still counted.
        self.is_over() && self.begun.load(Ordering::SeqCst) == 0 && self.idle.is_quiet()
    }
}

impl std::fmt::Debug for Core {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Core")
            .field("stage", &self.id())
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
