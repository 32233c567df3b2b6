//! What was aggregated before: leaves of plans, kept across queries.
//!
//! Leaves are what costs: they read the table. All else is computed from them in memory. A leaf is found again only by the same version of
//! the table, the same dictionaries, and slices spread in the same way, so a cached cuboid is as good as a fresh one. Its filter has the
//! rights of the user in it: nobody sees what they may not. Weighted by size; what is too much goes by use. A table that does not tell
//! its version is never cached. Housekeeping runs on `maintenance`.
//!
//! What is kept counts here, by its weight, and for no query: the one that made it gives its own count back when it is done with it.

use crate::cuboid::{Cuboid, Dictionaries};
use crate::execute::Run;
use crate::filter::Filter;
use crate::plan::{Leaf, Level, Operation, StepId};
use moka::sync::Cache;
use std::sync::{Arc, Mutex};

/// A leaf of some plan.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct LeafKey {
    version: u64,
    dictionaries: u64,
    leaf: Leaf,
    level: Level,
    filter: Arc<Filter>,
    shard: Option<Vec<usize>>,
    partitions: usize,
}

impl LeafKey {
    /// The key of a leaf of a plan; nothing when the table does not tell its version.
    pub(crate) fn of(run: &Run, version: Option<u64>, step: StepId) -> Option<Self> {
        let step = &run.plan.steps[step.0];
        let Operation::Leaf(leaf) = &step.operation else { return None };
        Some(Self {
            version: version?,
            dictionaries: run.keys.dictionaries.id(),
            leaf: leaf.clone(),
            level: Arc::clone(&step.level),
            filter: Arc::clone(&step.filter),
            shard: run.shard_of(&step.level),
            partitions: run.partitions,
        })
    }
}

/// What a cube keeps from query to query.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) cache: LeafCache,
    /// Those of the version of the table that was seen last.
    dictionaries: Mutex<(Option<u64>, Arc<Dictionaries>)>,
    /// What they may hold before new ones are begun, in bytes.
    dictionary_limit: usize,
}

impl Kept {
    /// Nothing yet; so many bytes of leaves and of dictionaries may come.
    pub(crate) fn new(cache_bytes: usize, dictionary_limit: usize) -> Self {
        Self { cache: LeafCache::new(cache_bytes), dictionaries: Mutex::default(), dictionary_limit }
    }

    /// The dictionaries of this version of the table; new ones when it changed or they became too large.
    pub(crate) fn dictionaries(&self, version: Option<u64>) -> Arc<Dictionaries> {
        let mut known = self.dictionaries.lock().unwrap_or_else(|broken| broken.into_inner());
        if known.0 != version || known.1.bytes() > self.dictionary_limit {
            *known = (version, Arc::default());
            self.cache.clear();
        }
        Arc::clone(&known.1)
    }
}

/// Cuboids of leaves; a handle that is cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct LeafCache {
    cache: Cache<LeafKey, Cuboid>,
}

impl LeafCache {
    /// A cache of so many bytes.
    pub(crate) fn new(bytes: usize) -> Self {
        // Weights are 32 bits wide: counted in kilobytes, from 1.
        let weight =
            |_: &LeafKey, cuboid: &Cuboid| u32::try_from(cuboid.size() / 1_024 + 1).unwrap_or(u32::MAX);
        Self { cache: Cache::builder().max_capacity(bytes as u64 / 1_024).weigher(weight).build() }
    }

    pub(crate) fn get(&self, key: &LeafKey) -> Option<Cuboid> {
        self.cache.get(key)
    }

    pub(crate) fn put(&self, key: LeafKey, cuboid: Cuboid) {
        self.cache.insert(key, cuboid);
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
            let within = Within::nothing(usize::MAX);
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
