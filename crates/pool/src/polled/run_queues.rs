//! All queues of a pool of polled tasks: one per worker, and a lane for what goes first.
//!
//! A worker takes in this order: the lane (priority groups, groups with a head start, cancelled tasks; never more than [`LANE_RUN`] times in a row while
//! it has other work), its own queue, and when that is empty it steals. Every [`BALANCE_EVERY`] picks it looks at the
//! longest queue before its own, so that neither a short queue is a privilege nor a worker stuck in a long turn holds
//! its queue up.
//!
//! Locks are taken one at a time and never while a task is dropped or run. Lengths are kept beside the locks, so that looking
//! for work costs loads only. They change under the lock; a pool that lets workers sleep needs its own fence between "pushed"
//! and "is anyone asleep", and between "asleep" and [`RunQueues::has_work`], as every park protocol does.

use super::group::Groups;
use super::grouped_queue::{GroupedQueue, Pick};
use super::task::{Position, Task};
use crossbeam_utils::CachePadded;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// How many lane tasks a worker takes in a row before one from its own queue.
pub(super) const LANE_RUN: u32 = 32;

/// After how many picks a worker compares its queue with the longest one.
pub(super) const BALANCE_EVERY: u32 = 16;

/// By how many tasks the longest queue must be longer for a busy worker to take one.
const BALANCE_GAP: usize = 2;

/// The queues of one pool.
pub(crate) struct RunQueues {
    groups: Arc<Groups>,
    lane: Shard,
    workers: Box<[CachePadded<Worker>]>,
}

/// One queue behind its lock.
#[derive(Default)]
struct Shard {
    queue: Mutex<GroupedQueue>,
    len: AtomicUsize,
}

#[derive(Default)]
struct Worker {
    shard: Shard,
    /// Lane tasks taken in a row; the worker's own, or that of the spare one which takes its place: a count that is lost does no harm.
    lane_run: AtomicU32,
    /// Picks so far; the same.
    picks: AtomicU32,
}

impl RunQueues {
    /// Empty queues for this many workers.
    pub(crate) fn new(workers: usize) -> Self {
        let workers = (0..workers).map(|_| CachePadded::default()).collect();
        Self { groups: Groups::new(), lane: Shard::default(), workers }
    }

    /// The groups whose tasks are queued here.
    pub(crate) fn groups(&self) -> &Arc<Groups> {
        &self.groups
    }

    /// Queues a task at `worker`, or in the lane if it goes before others. True when it is the only one in the queue of `worker`.
    pub(crate) fn push(&self, worker: usize, task: Arc<Task>, position: Position) -> bool {
        let is_urgent = position == Position::Urgent || task.group().goes_first();
        let shard = if is_urgent { &self.lane } else { &self.workers[worker].shard };
        let now = task.env().now();
        if is_urgent {
            // Before it is queued: whoever takes it counts it out.
            self.groups.add_urgent();
        }
        shard.push(task, position, now) == 1 && !is_urgent
    }

    /// True when the queue of `worker` has a task.
    pub(crate) fn has_own(&self, worker: usize) -> bool {
        self.workers.get(worker).is_some_and(|worker| !worker.shard.is_empty())
    }

    /// The next task for `worker`, mostly from its own queue; `None`: try [`RunQueues::steal`].
    pub(crate) fn pop(&self, worker: usize) -> Option<Arc<Task>> {
        let own = &*self.workers[worker];
        if !self.lane.is_empty() {
            let run = own.lane_run.load(Ordering::Relaxed);
            if (run < LANE_RUN || own.shard.is_empty())
                && let Some(task) = self.take_urgent()
            {
                own.lane_run.store(run.saturating_add(1), Ordering::Relaxed);
                return Some(task);
            }
        }
        own.lane_run.store(0, Ordering::Relaxed);
        let picks = own.picks.load(Ordering::Relaxed).wrapping_add(1);
        own.picks.store(picks, Ordering::Relaxed);
        if picks.is_multiple_of(BALANCE_EVERY)
            && let Some(task) = self.take_from_longest(worker, own.shard.len() + BALANCE_GAP)
        {
            return Some(task);
        }
        own.shard.take(Pick::Warm)
    }

    /// A task for a worker that has none: from the lane, or the oldest of the least-served group of the longest queue.
    pub(crate) fn steal(&self, thief: usize) -> Option<Arc<Task>> {
        if let Some(task) = self.take_urgent() {
            return Some(task);
        }
        // Others take from the same queue meanwhile: look again until every length says empty.
        while self.workers.iter().any(|worker| !worker.shard.is_empty()) {
            if let Some(task) = self.take_from_longest(thief, 1) {
                return Some(task);
            }
            if let Some(task) = self.workers[thief].shard.take(Pick::Warm) {
                return Some(task);
            }
        }
        None
    }

    fn take_urgent(&self) -> Option<Arc<Task>> {
        let task = self.lane.take(Pick::Oldest)?;
        self.groups.remove_urgent();
        Some(task)
    }

    fn take_from_longest(&self, thief: usize, at_least: usize) -> Option<Arc<Task>> {
        let count = self.workers.len();
        // From the neighbour on, so that thieves facing queues of equal length do not all choose the same one.
        let others = (1..count).map(|step| &self.workers[(thief + step) % count].shard);
        // `max_by_key` gives the last of equals; reversed, the nearest.
        let longest = others.rev().max_by_key(|shard| shard.len())?;
        if longest.len() < at_least { None } else { longest.take(Pick::Oldest) }
    }

    /// True when some queue has a task; any worker can take it.
    pub(crate) fn has_work(&self) -> bool {
        self.shards().any(|shard| !shard.is_empty())
    }

    /// How many tasks are queued.
    pub(crate) fn depth(&self) -> usize {
        self.shards().map(Shard::len).sum()
    }

    /// When the task that waits longest was queued.
    pub(crate) fn oldest(&self) -> Option<u64> {
        self.shards().filter_map(|shard| shard.lock().oldest()).min()
    }

    /// Takes out everything; [`Task::discard`] each of them. For tests that look at what is queued.
    #[cfg(test)]
    #[must_use = "a queued task that is neither run nor discarded keeps its group active"]
    pub(crate) fn drain(&self) -> Vec<Arc<Task>> {
        let mut all = Vec::new();
        while let Some(task) = self.take_urgent() {
            all.push(task);
        }
        for shard in self.shards() {
            let mut queue = shard.lock();
            all.append(&mut queue.take_all());
            shard.len.store(0, Ordering::Release);
        }
        all
    }

    fn shards(&self) -> impl Iterator<Item = &Shard> {
        std::iter::once(&self.lane).chain(self.workers.iter().map(|worker| &worker.shard))
    }
}

impl Shard {
    fn lock(&self) -> MutexGuard<'_, GroupedQueue> {
        self.queue.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the new length.
    fn push(&self, task: Arc<Task>, position: Position, now: u64) -> usize {
        let mut queue = self.lock();
        queue.push(task, position, now);
        // Under the lock, which alone orders the changes of the length.
        let len = self.len.load(Ordering::Relaxed) + 1;
        self.len.store(len, Ordering::Release);
        len
    }

    fn take(&self, pick: Pick) -> Option<Arc<Task>> {
        if self.is_empty() {
            return None;
        }
        let mut queue = self.lock();
        let task = queue.take(pick)?;
        self.len.store(self.len.load(Ordering::Relaxed) - 1, Ordering::Release);
        Some(task)
    }
}
