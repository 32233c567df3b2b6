//! How a grouping is run.

use super::keys::CodeHashes;
use super::spill::SpillSpace;
use crate::memory::MemoryAccount;
use crate::observed::Observed;
use filbert_pool::WorkStealing;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How the rows of a range are brought together with their groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// A table for each range of rows, merged later in the order of the ranges: few keys.
    Local,
    /// Rows are moved to partitions by their hash first, and every partition is aggregated alone: many keys.
    Radix,
}

/// From which sizes on the work is done in another way. Constants, but for tests, which take all ways with little data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    /// The rows of the first ranges; after two of a size comes twice the size.
    pub(crate) first_range: usize,
    /// The rows of the largest ranges.
    pub(crate) last_range: usize,
    /// About how many rows are moved together: what is written stays in the second-level cache.
    pub(crate) unit: usize,
    /// Rows are moved from about so many keys on.
    pub(crate) many: usize,
    /// Up to so many groups of all parts together are merged in one table.
    pub(crate) few: usize,
    /// Few groups are put on disk before they must be when they hold so many bytes: sets of values, say, or sketches.
    pub(crate) worth_saving: usize,
}

impl Default for Sizes {
    fn default() -> Self {
        Self {
            first_range: 1 << 14,
            last_range: 1 << 21,
            unit: 1 << 16,
            many: 1 << 16,
            few: 1 << 14,
            worth_saving: 1 << 20,
        }
    }
}

/// How a grouping is run: where, on how many threads, into how many partitions, with how much memory.
#[derive(Debug, Clone)]
pub struct GroupingOptions {
    /// The stage that computes.
    pub cpu: WorkStealing,
    /// At most so many tasks at a time; 1 is all in sequence on the calling thread. The result is the same for any.
    pub parallelism: usize,
    /// Into how many partitions the groups come out, at least 1. Which one a group is in depends on its key alone.
    pub partitions: usize,
    /// The key columns that decide the partition; all of them when there are none. Groupings that have these columns in common, in the same
    /// order, put what belongs together into the same partition.
    pub shard: Option<Vec<usize>>,
    /// For each key column that has codes the hashes of their texts, which then decide the partition; none at all when no column has.
    pub(crate) codes: Vec<Option<Arc<CodeHashes>>>,
    /// What it may hold.
    pub memory: MemoryAccount,
    /// Where it puts what has no room in memory; without, that is an error. Not used on threads that must not wait for a disk.
    pub spill: Option<Arc<SpillSpace>>,
    /// Set from anywhere, it ends the grouping at its next block with [`CubeError::Cancelled`](crate::CubeError::Cancelled).
    pub cancelled: Arc<AtomicBool>,
    /// Always this one, instead of what a sample of the keys of every range suggests.
    pub strategy: Option<Strategy>,
    pub(crate) sizes: Sizes,
    /// Where its parts were made.
    pub(crate) observed: Observed,
}

impl GroupingOptions {
    /// All workers of `cpu`, one partition, no limit of memory.
    pub fn new(cpu: WorkStealing) -> Self {
        Self {
            parallelism: cpu.threads(),
            cpu,
            partitions: 1,
            shard: None,
            codes: Vec::new(),
            memory: MemoryAccount::unlimited(),
            spill: None,
            cancelled: Arc::default(),
            strategy: None,
            sizes: Sizes::default(),
            observed: Observed::default(),
        }
    }
}
