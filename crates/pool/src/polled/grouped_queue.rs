//! The tasks in one queue, held by group. Not shared: the lock is around it.
//!
//! ```text
//!   urgent    [c1 c2]                         cancelled tasks, in order, before all others
//!   group A   woken [w1 w2 w3]  again [a1]    served 120 us
//!   group B   woken [w4]        again [a2]    served  80 us   <- least served: next
//! ```
//!
//! In a group the owner takes the newest woken task, whose data is warm, but after [`LIFO_RUN`] such picks the oldest of
//! both lists; thieves always take the oldest. A task that said *again* is behind all woken ones. Every entry has a number
//! in the order of arrival, so "oldest" is exact, and a task waits for [`LIFO_RUN`] + 1 picks per older task of its group at most.
//!
//! Groups are counted over all workers, so a task here can belong to a group that is served elsewhere, ahead of everyone in
//! this queue for as long as its sibling runs there. Hence every [`OLDEST_EVERY`] picks the oldest task of all has its turn,
//! whatever its group: three turns in a hundred that are not by share, for none that waits for ever.
//!
//! Rejected: one deque per group with *again* at the front. The task that said so last would be the "oldest" there, again and again.
//! A heap over the groups: their served values change on other workers while they are in it.

use super::group::GroupCore;
use super::task::{Position, Task};
use std::collections::VecDeque;
use std::sync::Arc;

/// How many woken tasks of a group are taken newest first before the oldest has its turn.
pub(super) const LIFO_RUN: u32 = 4;

/// After how many picks the oldest task of the whole queue has its turn.
pub(super) const OLDEST_EVERY: u32 = 32;

/// How many empty lists are kept for the next group.
const SPARE_LISTS: usize = 4;

/// Which task of the least-served group is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pick {
    /// For the owner: mostly the newest woken one.
    Warm,
    /// For thieves and the priority lane.
    Oldest,
}

#[derive(Default)]
pub(super) struct GroupedQueue {
    urgent: VecDeque<Entry>,
    /// Those that have tasks here; the order means nothing.
    groups: Vec<GroupTasks>,
    /// Lists of groups that have no task here any more: a task that idles and wakes should not allocate each time.
    spare: Vec<[VecDeque<Entry>; 2]>,
    arrivals: u64,
    picks: u32,
}

struct GroupTasks {
    group: Arc<GroupCore>,
    woken: VecDeque<Entry>,
    again: VecDeque<Entry>,
    lifo_run: u32,
}

struct Entry {
    arrival: u64,
    since: u64,
    task: Arc<Task>,
}

impl GroupedQueue {
    pub(super) fn push(&mut self, task: Arc<Task>, position: Position, now: u64) {
        self.arrivals += 1;
        let entry = Entry { arrival: self.arrivals, since: now, task };
        if position == Position::Urgent {
            self.urgent.push_back(entry);
            return;
        }
        let group = entry.task.group();
        let known = self.groups.iter().position(|tasks| Arc::ptr_eq(&tasks.group, group));
        let index = known.unwrap_or_else(|| {
            let [woken, again] = self.spare.pop().unwrap_or_default();
            self.groups.push(GroupTasks { group: Arc::clone(group), woken, again, lifo_run: 0 });
            self.groups.len() - 1
        });
        let tasks = &mut self.groups[index];
        let list = if position == Position::Woken { &mut tasks.woken } else { &mut tasks.again };
        list.push_back(entry);
    }

    /// Takes a task of the least-served group.
    pub(super) fn take(&mut self, pick: Pick) -> Option<Arc<Task>> {
        if let Some(entry) = self.urgent.pop_front() {
            return Some(entry.task);
        }
        self.picks = self.picks.wrapping_add(1);
        let oldest_of_all = self.picks.is_multiple_of(OLDEST_EVERY);
        let index = (0..self.groups.len()).min_by_key(|&index| {
            let tasks = &self.groups[index];
            if oldest_of_all { tasks.oldest_arrival() } else { tasks.group.served() }
        })?;
        let tasks = &mut self.groups[index];
        let entry = if oldest_of_all { tasks.take_oldest() } else { tasks.take(pick) };
        if tasks.is_empty() {
            let empty = self.groups.swap_remove(index);
            if self.spare.len() < SPARE_LISTS {
                self.spare.push([empty.woken, empty.again]);
            }
        }
        entry.map(|entry| entry.task)
    }

    /// When the task that waits longest was queued.
    pub(super) fn oldest(&self) -> Option<u64> {
        let fronts = self.groups.iter().flat_map(|tasks| [tasks.woken.front(), tasks.again.front()]);
        fronts.chain([self.urgent.front()]).flatten().map(|entry| entry.since).min()
    }

    /// Takes everything, for tests that look at what is queued.
    #[cfg(test)]
    pub(super) fn take_all(&mut self) -> Vec<Arc<Task>> {
        let groups =
            std::mem::take(&mut self.groups).into_iter().flat_map(|tasks| [tasks.woken, tasks.again]);
        let lists = [std::mem::take(&mut self.urgent)].into_iter().chain(groups);
        lists.flatten().map(|entry| entry.task).collect()
    }
}

impl GroupTasks {
    fn is_empty(&self) -> bool {
        self.woken.is_empty() && self.again.is_empty()
    }

    fn take(&mut self, pick: Pick) -> Option<Entry> {
        if pick == Pick::Warm && self.lifo_run < LIFO_RUN && !self.woken.is_empty() {
            self.lifo_run += 1;
            return self.woken.pop_back();
        }
        // The owner's turn-taking is its own: a thief's pick does not count as the oldest's turn.
        if pick == Pick::Warm {
            self.lifo_run = 0;
        }
        self.take_oldest()
    }

    fn take_oldest(&mut self) -> Option<Entry> {
        if arrival(&self.woken) < arrival(&self.again) {
            self.woken.pop_front()
        } else {
            self.again.pop_front()
        }
    }

    fn oldest_arrival(&self) -> u64 {
        arrival(&self.woken).min(arrival(&self.again))
    }
}

/// The number of the first entry; behind all others if there is none.
fn arrival(list: &VecDeque<Entry>) -> u64 {
    list.front().map_or(u64::MAX, |entry| entry.arrival)
}
