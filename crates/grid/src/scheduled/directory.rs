//! Where the tasks of a scheduled executor live, by their names: for whoever knows a task's name and not its place.
//!
//! A client of Java asks the member for each task that it was told of in a list, those on partitions too. Strands write here when tasks come
//! and go, the threads of connections read; it has as many names as there are tasks. Rejected: to ask the member's strand first and a
//! partition then; a task of a key is on neither the member nor the partition of its name.

use super::plan::{ScheduledTask, TaskPlace};
use filbert_wire::partition_of_name;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Debug, Default)]
pub(crate) struct Directory {
    places: Mutex<BTreeMap<String, BTreeSet<TaskPlace>>>,
}

impl Directory {
    fn places(&self) -> MutexGuard<'_, BTreeMap<String, BTreeSet<TaskPlace>>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, task: &ScheduledTask) {
        self.places().entry(task.name.clone()).or_default().insert(task.place);
    }

    pub(super) fn remove(&self, task: &ScheduledTask) {
        let mut all = self.places();
        if let Some(places) = all.get_mut(&task.name) {
            places.remove(&task.place);
            if places.is_empty() {
                all.remove(&task.name);
            }
        }
    }

    /// The task of that name: the member's, or else that of the name's own partition, or else any.
    pub(super) fn find(&self, name: &str) -> Option<ScheduledTask> {
        let all = self.places();
        let places = all.get(name)?;
        let usual = [TaskPlace::Member, TaskPlace::Partition(partition_of_name(name))];
        let place = usual.into_iter().find(|place| places.contains(place)).or(places.first().copied())?;
        Some(ScheduledTask { place, name: name.to_owned() })
    }
}
