//! Running a plan.
//!
//! ```text
//!   mixed: opens the table, takes batch after batch, waits for what follows
//!     └─► cpu: filters, groupings, then task after task, partition by partition
//! ```
//!
//! One future on `mixed` leads a query and never blocks. What computes is a closure on a thread of `mixed` that may wait, and hands all
//! of its work to `cpu`. Between batches, tasks and partitions everybody looks whether the query is still wanted.

mod cancel;
mod combine;
mod cumulate;
mod custom;
mod dispatch;
mod group;
mod group_scan;
mod lanes;
mod program;
mod rank;
mod read;
mod roll_up;
mod scan;
mod shift;
mod skew;
mod tasks;
mod trace;

pub(crate) use cancel::CancelToken;
pub(crate) use read::{RowReader, pieces};
pub(crate) use scan::Scan;
pub(crate) use tasks::{Made, Results, run_tasks};
pub(crate) use trace::{StepTrace, SubTrace, Trace};

use crate::aggregate::SpillSpace;
use crate::cuboid::KeySpace;
use crate::forest::Forest;
use crate::memory::MemoryAccount;
use crate::observed::Observed;
use crate::plan::{Level, Plan};
use arrow::datatypes::DataType;
use filbert_pool::{Clock, Vigil, WorkStealing};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What all tasks of a query share; cheap to clone.
#[derive(Clone)]
pub(crate) struct Run {
    pub(crate) plan: Arc<Plan>,
    pub(crate) forest: Forest,
    pub(crate) keys: KeySpace,
    pub(crate) cpu: WorkStealing,
    pub(crate) clock: Clock,
    pub(crate) memory: MemoryAccount,
    /// Where groups go that have no room in memory.
    pub(crate) spill: Option<Arc<SpillSpace>>,
    pub(crate) parallelism: usize,
    pub(crate) partitions: usize,
    /// Fewer rows than this are not worth a second thread.
    pub(crate) parallel_from_rows: usize,
    /// The columns that slices are spread by, where a level has them all; by all of its columns elsewhere.
    pub(crate) shard: BTreeSet<Arc<str>>,
    pub(crate) errors_are_values: bool,
    /// What steps come to is shown.
    pub(crate) debug: bool,
    pub(crate) cancel: Arc<CancelToken>,
    /// Where the step runs that is made now; steps that are made side by side have one each.
    pub(crate) observed: Observed,
}

impl Run {
    /// Which columns of a level decide the partition of a slice; all when it has none of its own.
    pub(crate) fn shard_of(&self, level: &Level) -> Option<Vec<usize>> {
        if self.shard.is_empty() || !self.shard.iter().all(|column| level.contains(column)) {
            return None;
        }
        Some(
            level
                .iter()
                .enumerate()
                .filter(|(_, column)| self.shard.contains(*column))
                .map(|(position, _)| position)
                .collect(),
        )
    }

    /// True when the column at this position of a level has a say in the partition of a slice.
    pub(crate) fn decides_partition(&self, level: &Level, position: usize) -> bool {
        self.shard_of(level).is_none_or(|shard| shard.contains(&position))
    }

    /// True when slices of one level lie in the same partition as the slices of the other that they are part of.
    pub(crate) fn is_local(&self, one: &Level, other: &Level) -> bool {
        one == other || (self.shard_of(one).is_some() && self.shard_of(other).is_some())
    }

    /// Keeps the other workers up while this is computed, which has so many rows; nothing where one does it alone.
    pub(crate) fn vigil(&self, rows: usize) -> Option<Vigil> {
        let is_shared = self.parallelism > 1 && rows >= self.parallel_from_rows;
        is_shared.then(|| self.cpu.vigil(self.parallelism - 1))
    }

    /// The types of the key columns of a level.
    pub(crate) fn key_types(&self, level: &Level) -> Vec<DataType> {
        level.iter().map(|column| self.keys.physical(column)).collect()
    }
}
