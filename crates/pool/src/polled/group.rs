//! A group of tasks that share a turn order: one query, one job. And the table of a pool's groups.
//!
//! Each group has one counter, the run time it was *served*, divided by its weight; queues take from the least-served
//! group. Two rules keep that fair over time:
//! 1. A group that becomes active starts at the *floor*, the smallest served value among active groups, if it is below it. The
//!    floor never falls, so a group that slept has no credit from before, and one that is new does not wait for others to catch up.
//! 2. No group is ahead of the floor by more than [`MAX_LEAD`]. A group that used seven idle workers while another had one
//!    task only is not punished for it when a third one comes.
//!
//! A group is *active* while one of its tasks is queued or runs; counting running ones too keeps a group with a single task
//! from being lifted to the floor between its turns. Priority groups have a floor of their own. A
//! group with a head start is a normal one whose tasks stand in the lane of the priority groups until it is used up.

use super::task::Task;
use crossbeam_utils::CachePadded;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

/// What a turn costs its group at least, in nanoseconds: no one is free, whatever the clock says.
pub(super) const MIN_CHARGE: u64 = 1_000;

/// How far a group may be ahead of the least-served active one, in nanoseconds of weighted run time.
pub(super) const MAX_LEAD: u64 = 50_000_000;

/// Not among the active ones.
const NO_SLOT: usize = usize::MAX;

/// Tasks that share a turn order; one query or one job. Cheap to clone.
///
/// Between groups the least-served goes first, so a group with a thousand tasks leaves one with a single task its turn.
#[derive(Clone)]
pub struct Group {
    core: Arc<GroupCore>,
}

pub(super) struct GroupCore {
    name: Box<str>,
    priority: bool,
    weight: AtomicU32,
    /// Run time, in nanoseconds, for which its tasks still go before those of normal groups.
    head_start: AtomicU64,
    table: Arc<Groups>,
    served: CachePadded<AtomicU64>,
    /// Tasks that are queued or run.
    busy: AtomicUsize,
    /// Where it stands among the active ones; changed under that lock.
    slot: AtomicUsize,
    turns: AtomicU64,
    long_turns: AtomicU64,
    members: Mutex<Members>,
}

/// The tasks of a group that are not done. They hold the group, not the other way.
#[derive(Default)]
struct Members {
    tasks: BTreeMap<u64, Weak<Task>>,
    cancelled: bool,
}

/// The groups of one pool.
pub(crate) struct Groups {
    normal: Mutex<Active>,
    priority: Mutex<Active>,
    all: Mutex<Known>,
    task_ids: AtomicU64,
    live: AtomicUsize,
    /// Tasks that go before all others and wait for a worker.
    urgent: CachePadded<AtomicUsize>,
}

#[derive(Default)]
struct Active {
    groups: Vec<Arc<GroupCore>>,
    floor: u64,
}

#[derive(Default)]
struct Known {
    groups: Vec<Weak<GroupCore>>,
    prune_at: usize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|broken| broken.into_inner())
}

impl Groups {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            normal: Mutex::default(),
            priority: Mutex::default(),
            all: Mutex::default(),
            task_ids: AtomicU64::new(0),
            live: AtomicUsize::new(0),
            urgent: CachePadded::default(),
        })
    }

    /// A new group of normal priority.
    pub(crate) fn group(self: &Arc<Self>, name: &str) -> Group {
        self.add(name, false)
    }

    /// A new group whose tasks go before all normal ones: for short control work.
    pub(crate) fn priority_group(self: &Arc<Self>, name: &str) -> Group {
        self.add(name, true)
    }

    fn add(self: &Arc<Self>, name: &str, priority: bool) -> Group {
        let core = Arc::new(GroupCore {
            name: name.into(),
            priority,
            weight: AtomicU32::new(1),
            head_start: AtomicU64::new(0),
            table: Arc::clone(self),
            served: CachePadded::default(),
            busy: AtomicUsize::new(0),
            slot: AtomicUsize::new(NO_SLOT),
            turns: AtomicU64::new(0),
            long_turns: AtomicU64::new(0),
            members: Mutex::default(),
        });
        let mut known = lock(&self.all);
        if known.groups.len() >= known.prune_at {
            known.groups.retain(|group| group.strong_count() > 0);
            known.prune_at = (known.groups.len() * 2).max(16);
        }
        known.groups.push(Arc::downgrade(&core));
        Group { core }
    }

    /// A task that goes before all others was queued.
    pub(super) fn add_urgent(&self) {
        self.urgent.fetch_add(1, Ordering::Relaxed);
    }

    /// One was taken.
    pub(super) fn remove_urgent(&self) {
        self.urgent.fetch_sub(1, Ordering::Relaxed);
    }

    /// Tasks of all groups that are not done: queued, running and idle.
    pub(crate) fn live(&self) -> usize {
        self.live.load(Ordering::Acquire)
    }

    /// Cancels every group that there is; workers drop the state of their tasks at their next turn.
    pub(crate) fn cancel_all(&self) {
        let groups: Vec<_> = lock(&self.all).groups.iter().filter_map(Weak::upgrade).collect();
        for core in groups {
            Group { core }.cancel();
        }
    }
}

impl Group {
    /// Gives the group `weight` times the share of a group of weight 1.
    ///
    /// # Panics
    /// When the weight is zero: such a group would never have a turn.
    pub fn with_weight(self, weight: u32) -> Self {
        assert!(weight > 0, "group {} cannot have weight 0: it would never have a turn", self.core.name);
        self.core.weight.store(weight, Ordering::Relaxed);
        self
    }

    /// Lets its tasks go before those of normal groups, on any worker, until they have run for that long in all.
    ///
    /// Who is short is known only when it is over; what has used little so far is short more often than not, and whoever
    /// asks for something small does not wait behind those who ask for much.
    #[must_use]
    pub fn with_head_start(self, time: Duration) -> Self {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.core.head_start.store(nanos, Ordering::Relaxed);
        self
    }

    /// True while it has a head start that is not used up.
    pub fn has_head_start(&self) -> bool {
        self.core.head_start.load(Ordering::Relaxed) > 0
    }

    /// The name it was made with.
    pub fn name(&self) -> &str {
        &self.core.name
    }

    /// True when its tasks go before those of all normal groups.
    pub fn is_priority(&self) -> bool {
        self.core.priority
    }

    /// Its tasks that are not done: queued, running and idle.
    pub fn tasks(&self) -> usize {
        lock(&self.core.members).tasks.len()
    }

    /// True while none of its tasks is queued or runs: all wait to be woken, or there are none.
    pub fn is_at_rest(&self) -> bool {
        self.core.busy.load(Ordering::Acquire) == 0
    }

    /// Turns that its tasks had.
    pub fn turns(&self) -> u64 {
        self.core.turns.load(Ordering::Relaxed)
    }

    /// Turns that took longer than [`TURN_BUDGET`](super::TURN_BUDGET).
    pub fn long_turns(&self) -> u64 {
        self.core.long_turns.load(Ordering::Relaxed)
    }

    /// Cancels the group for good: all its tasks, idle ones too, and those that are still being spawned into it.
    ///
    /// Each drops its state on a worker, at its next turn; one that runs ends its turn first. So a query whose fragments start
    /// further fragments is gone after one call, whichever of them got in before it.
    pub fn cancel(&self) {
        // Upgraded under the lock, cancelled and dropped outside of it: a task that is freed takes it again.
        let tasks: Vec<_> = {
            let mut members = lock(&self.core.members);
            members.cancelled = true;
            members.tasks.values().filter_map(Weak::upgrade).collect()
        };
        for task in tasks {
            task.cancel();
        }
    }

    /// True after [`Group::cancel`]: tasks spawned into it end as cancelled without a turn.
    pub fn is_cancelled(&self) -> bool {
        lock(&self.core.members).cancelled
    }

    /// True when it is one of that table's groups.
    pub(crate) fn belongs_to(&self, table: &Arc<Groups>) -> bool {
        Arc::ptr_eq(&self.core.table, table)
    }

    pub(super) fn core(&self) -> &Arc<GroupCore> {
        &self.core
    }
}

impl GroupCore {
    /// Its tasks go before those of normal groups, for now or always.
    pub(super) fn goes_first(&self) -> bool {
        self.priority || self.head_start.load(Ordering::Relaxed) > 0
    }

    /// True when a task that goes first waits, and those of this group do not go first.
    pub(super) fn gives_way(&self) -> bool {
        self.table.urgent.load(Ordering::Relaxed) > 0 && !self.goes_first()
    }

    /// Weighted run time so far, on the scale that only this table's groups share.
    pub(super) fn served(&self) -> u64 {
        self.served.load(Ordering::Relaxed)
    }

    /// A number for a task that is being made.
    pub(super) fn next_task_id(&self) -> u64 {
        self.table.task_ids.fetch_add(1, Ordering::Relaxed)
    }

    /// A task was made; false when the group is cancelled, and so the task is.
    pub(super) fn add_task(&self, id: u64, task: Weak<Task>) -> bool {
        self.table.live.fetch_add(1, Ordering::Relaxed);
        let mut members = lock(&self.members);
        members.tasks.insert(id, task);
        !members.cancelled
    }

    /// A task is done, or freed.
    pub(super) fn remove_task(&self, id: u64) {
        if lock(&self.members).tasks.remove(&id).is_some() {
            self.table.live.fetch_sub(1, Ordering::Release);
        }
    }

    /// One of its tasks is queued now and was idle before.
    pub(super) fn enter(self: &Arc<Self>) {
        if self.busy.fetch_add(1, Ordering::AcqRel) == 0 {
            self.reconcile();
        }
    }

    /// One of its tasks ran or was queued and is idle or done now.
    pub(super) fn leave(self: &Arc<Self>) {
        let before = self.busy.fetch_sub(1, Ordering::AcqRel);
        debug_assert_ne!(before, 0, "group {} is left more often than entered", self.name);
        if before == 1 {
            self.reconcile();
        }
    }

    /// True while it takes part in the turn order.
    #[cfg(test)]
    pub(super) fn is_active(&self) -> bool {
        let active = self.active();
        let listed = self.slot.load(Ordering::Relaxed) != NO_SLOT;
        assert_eq!(listed, active.groups.iter().any(|group| std::ptr::eq(&**group, self)));
        listed
    }

    fn active(&self) -> MutexGuard<'_, Active> {
        lock(if self.priority { &self.table.priority } else { &self.table.normal })
    }

    /// Makes the list of active groups agree with `busy`. Every change between zero and one is followed by a call, and each
    /// call reads `busy` under the lock, so the last one is right whatever their order.
    fn reconcile(self: &Arc<Self>) {
        let mut active = self.active();
        let slot = self.slot.load(Ordering::Relaxed);
        match (self.busy.load(Ordering::Acquire) > 0, slot != NO_SLOT) {
            (true, false) => {
                let floor = active.raise_floor();
                self.served.fetch_max(floor, Ordering::Relaxed);
                self.slot.store(active.groups.len(), Ordering::Relaxed);
                active.groups.push(Arc::clone(self));
            }
            (false, true) => {
                active.raise_floor();
                active.groups.swap_remove(slot);
                if let Some(moved) = active.groups.get(slot) {
                    moved.slot.store(slot, Ordering::Relaxed);
                }
                self.slot.store(NO_SLOT, Ordering::Relaxed);
            }
            _ => {}
        }
    }

    /// One of its tasks had a turn of `used` nanoseconds.
    pub(super) fn charge(&self, used: u64) {
        self.turns.fetch_add(1, Ordering::Relaxed);
        if used > super::TURN_BUDGET.as_nanos() as u64 {
            self.long_turns.fetch_add(1, Ordering::Relaxed);
        }
        let head_start = self.head_start.load(Ordering::Relaxed);
        if head_start > 0 {
            // Two turns at once may count as one: it is a head start, and no account.
            self.head_start.store(head_start.saturating_sub(used.max(MIN_CHARGE)), Ordering::Relaxed);
        }
        let weight = u64::from(self.weight.load(Ordering::Relaxed));
        let cost = (used.max(MIN_CHARGE) / weight).max(1);
        let before = self.served.fetch_add(cost, Ordering::Relaxed);
        // A look at all active groups, but only now and then: a turn that crosses a quarter of the lead.
        let step = MAX_LEAD / 4;
        if before / step != (before + cost) / step {
            self.limit_lead();
        }
    }

    fn limit_lead(&self) {
        let mut active = self.active();
        let limit = active.raise_floor().saturating_add(MAX_LEAD);
        self.served.fetch_min(limit, Ordering::Relaxed);
    }
}

impl Active {
    /// The smallest served value among active groups, now that they have moved on.
    fn raise_floor(&mut self) -> u64 {
        if let Some(least) = self.groups.iter().map(|group| group.served()).min() {
            self.floor = self.floor.max(least);
        }
        self.floor
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group")
            .field("name", &self.core.name)
            .field("priority", &self.core.priority)
            .field("served", &Duration::from_nanos(self.core.served()))
            .finish_non_exhaustive()
    }
}
