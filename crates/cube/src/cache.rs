//! What was aggregated before: leaves of plans, by what they are made of.
//!
//! Leaves are what costs: they read the table. All else is computed from them in memory. A leaf is found again only by the same version of
//! the table, the same dictionaries, and slices spread in the same way, so a cached cuboid is as good as a fresh one.
//! (Sums of floats may differ in their last bits by what else was read in that pass: rows that no leaf wants are left out before they are cut
//! into ranges.) Its filter has the rights of the user in it: nobody sees what they may not. Weighted by size; what is too much goes by use. Whether a leaf may still be
//! used, [`Kept`](crate::kept::Kept) decides. Housekeeping runs on `maintenance`.
//!
//! What is kept counts here, by its weight, and for no query: the one that made it gives its own count back when it is done with it. It
//! counts in the account of what all cubes keep as well; a leaf that has no room there is not kept.

use crate::cuboid::Cuboid;
use crate::execute::Run;
use crate::filter::Filter;
use crate::memory::{MemoryAccount, Reservation};
use crate::plan::{Leaf, Level, Operation, StepId};
use moka::sync::Cache;
use std::sync::Arc;
use std::time::Duration;

/// A leaf of some plan.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct LeafKey {
    /// None when the table does not tell any.
    version: Option<u64>,
    dictionaries: u64,
    leaf: Leaf,
    level: Level,
    filter: Arc<Filter>,
    shard: Option<Vec<usize>>,
    partitions: usize,
}

impl LeafKey {
    /// The key of a leaf of a plan.
    pub(crate) fn of(run: &Run, version: Option<u64>, step: StepId) -> Option<Self> {
        let step = &run.plan.steps[step.0];
        let Operation::Leaf(leaf) = &step.operation else { return None };
        Some(Self {
            version,
            dictionaries: run.keys.dictionaries.id(),
            leaf: leaf.clone(),
            level: Arc::clone(&step.level),
            filter: Arc::clone(&step.filter),
            shard: run.shard_of(&step.level),
            partitions: run.partitions,
        })
    }

    /// The same leaf, however its slices are spread.
    pub(crate) fn however_spread(self) -> Self {
        Self { shard: None, ..self }
    }
}

/// One pass over a table that tells no version.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    /// Later readings have greater ones.
    pub(crate) number: u64,
    /// When it began, by the clock of the stages.
    pub(crate) began: Duration,
}

/// A leaf with what tells how good it is.
#[derive(Debug, Clone)]
pub(crate) struct KeptLeaf {
    pub(crate) cuboid: Cuboid,
    /// The pass that it was read by; none when its key has a version.
    pub(crate) reading: Option<Reading>,
}

/// A leaf while the cache has it.
#[derive(Debug, Clone)]
struct Counted {
    leaf: KeptLeaf,
    _held: Arc<Reservation>,
}

/// Cuboids of leaves; a handle that is cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct LeafCache {
    cache: Cache<LeafKey, Counted>,
    memory: MemoryAccount,
}

impl LeafCache {
    /// A cache of so many bytes, as far as the account of all caches has room for them.
    pub(crate) fn new(bytes: usize, memory: &MemoryAccount) -> Self {
        // Weights are 32 bits wide: counted in kilobytes, from 1.
        let weight = |_: &LeafKey, kept: &Counted| {
            u32::try_from(kept.leaf.cuboid.size() / 1_024 + 1).unwrap_or(u32::MAX)
        };
        let cache = Cache::builder().max_capacity(bytes as u64 / 1_024).weigher(weight).build();
        Self { cache, memory: memory.clone() }
    }

    pub(crate) fn get(&self, key: &LeafKey) -> Option<KeptLeaf> {
        self.cache.get(key).map(|kept| kept.leaf)
    }

    pub(crate) fn put(&self, key: LeafKey, leaf: KeptLeaf) {
        let reserve = || self.memory.try_reserve(leaf.cuboid.size());
        // What was displaced before counts until the cache has tidied up.
        let held = reserve().or_else(|_| {
            self.tidy();
            reserve()
        });
        if let Ok(held) = held {
            self.cache.insert(key, Counted { leaf, _held: Arc::new(held) });
        }
    }

    /// Forgets everything: the table changed.
    pub(crate) fn clear(&self) {
        self.cache.invalidate_all();
    }

    /// Drops what is too much or forgotten.
    pub(crate) fn tidy(&self) {
        self.cache.run_pending_tasks();
    }

    /// How many leaves it holds.
    pub(crate) fn leaves(&self) -> u64 {
        self.cache.run_pending_tasks();
        self.cache.entry_count()
    }
}

#[cfg(test)]
mod tests {
    use crate::cube::{Cube, Within};
    use crate::forest::{Aggregator, Combinator, Forest};
    use crate::memory::MemoryAccount;
    use crate::query::Query;
    use crate::table::MemoryTable;
    use arrow::array::{Float64Array, Int64Array, RecordBatch};
    use filbert_pool::Stages;
    use std::sync::Arc;

    /// The memory of a leaf was given back with the cache's copy: a composite paid for what its cubes keep.
    #[test]
    fn what_is_kept_does_not_count_for_the_query_that_made_it() {
        let stages = Stages::start().unwrap();
        let batch = RecordBatch::try_from_iter([
            ("trade", Arc::new(Int64Array::from_iter_values(0..1_000)) as _),
            ("value", Arc::new(Float64Array::from(vec![0.5; 1_000])) as _),
        ]);
        let batch = batch.unwrap();
        let table = MemoryTable::new("trades", batch.schema(), vec![batch]).unwrap();
        let forest = Forest::builder()
            .measure("value", Aggregator::sum("value"))
            .measure("count", Aggregator::count())
            .measure("each", Combinator::divide("value", "count"));
        let cube = Cube::builder(&stages, forest.build().unwrap(), table).build().unwrap();
        let asked = || {
            let within = Within::nothing(MemoryAccount::unlimited());
            let query = Query::new(["each"]).by(["trade"]);
            let answer = cube.query_within(query, &within).unwrap().wait().unwrap();
            (answer.to_csv().unwrap(), within.memory)
        };
        let (first, memory) = asked();
        assert_eq!(cube.cached(), 2);
        assert_eq!(memory.held(), 0);
        assert!(memory.peak() > 16_000);
        let (again, memory) = asked();
        assert_eq!((again, memory.held()), (first, 0));
    }
}
