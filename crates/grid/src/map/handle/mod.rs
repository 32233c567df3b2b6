//! What a program holds to use a map.
//!
//! The methods here take and give [`Data`]; they do nothing but choose partitions and make operations, so that a typed layer above
//! only has to encode and decode.

mod intercepting;
mod journal;
mod listening;
mod locking;
mod many;
mod processing;
mod reading;
mod storing;
mod writing;

use crate::allowance::Allowance;
use crate::code::Registry;
use crate::invocation::Invocation;
use crate::map::context::MapContext;
use crate::map::locks::Owner;
use crate::map::near_cache::NearCaches;
use crate::map::operations::{Destroy, Place};
use crate::map::partition::MapPartition;
use crate::map::settings::MapSettings;
use crate::memory::MemoryAccount;
use crate::operation::Operation;
use crate::query::Catalog;
use crate::settings::GridSettings;
use crate::strands::mail_until_taken;
use crate::strands::{Spread, Strands};
use crate::structures::{Service, Structure};
use filbert_pool::Stages;
use filbert_store::Store;
use filbert_wire::{Data, PartitionId};
use many::TellsCleared;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A map; a handle that is cheap to clone.
///
/// Keys that a handle locks are locked for it and its clones: another handle from [`Grid::map`](crate::Grid::map) is another owner, so
/// that tasks which share threads do not share locks.
///
/// ```
/// use filbert_grid::Grid;
/// use filbert_pool::Stages;
/// use filbert_wire::Data;
///
/// let stages = Stages::start()?;
/// let orders = Grid::new(&stages).map("orders");
/// let (key, value) = (Data::new(-7, &1_i32.to_be_bytes()), Data::new(-12, b"two hazelnuts"));
/// assert_eq!(orders.put(key.clone(), value.clone()).wait()?, None);
/// assert_eq!(orders.get(key).wait()?, Some(value));
/// assert_eq!(orders.size().wait()?, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Map {
    structure: Arc<MapStructure>,
    owner: Owner,
    allowance: Allowance,
}

/// A map itself, as the member's structures hold it.
#[derive(Debug)]
pub(crate) struct MapStructure {
    context: Arc<MapContext>,
    strands: Arc<Strands<MapPartition>>,
}

impl MapStructure {
    pub(crate) fn new(service: Service, name: &Arc<str>, around: &MapSurroundings<'_>) -> Self {
        let context = Arc::new(MapContext::new(service, name, around));
        let of_partitions = Arc::clone(&context);
        let strands =
            Strands::partitioned_with_home(around.stages, around.memory, name, move |home, partition| {
                MapPartition::new(&of_partitions, home.clone(), partition)
            });
        if let Some(behind) = &context.behind {
            behind.set_home(&Arc::downgrade(&strands));
        }
        Self { context, strands }
    }
}

/// What a grid has around its maps.
pub(crate) struct MapSurroundings<'a> {
    pub(crate) stages: &'a Stages,
    pub(crate) settings: &'a GridSettings,
    pub(crate) registry: &'a Registry,
    pub(crate) catalog: &'a Catalog,
    pub(crate) store: Option<&'a Store>,
    pub(crate) near_caches: &'a NearCaches,
    pub(crate) memory: &'a Arc<MemoryAccount>,
}

/// How long a full mailbox is left alone before it is told again that the map is gone.
const DESTROY_AGAIN: Duration = Duration::from_millis(10);

/// The same for near caches that must learn that all entries went.
const CLEARED_AGAIN: Duration = Duration::from_millis(10);

impl Structure for MapStructure {
    fn service(&self) -> Service {
        self.context.service
    }

    fn name(&self) -> &Arc<str> {
        &self.context.name
    }

    fn leave(&self) {
        self.context.set_destroyed();
        self.context.near.leave();
        // Nothing that still happens to it is stored: what is stored from now on is of the next map of that name.
        if let Some(log) = &self.context.log {
            log.reset();
            self.context.catalog.forget_indexes(&self.context.name);
        }
    }

    fn destroy(&self) {
        self.remove_interceptors(|_| true);
        let (home, clock) = (Arc::downgrade(&self.strands), self.context.stages.clock());
        for partition in self.strands.used_partitions() {
            // Whoever waits there must learn of it, also when the mailbox is full.
            if self.strands.call(partition, Destroy).now().is_ok_and(|done| done.is_err()) {
                mail_until_taken(&home, partition, &clock, Destroy, DESTROY_AGAIN);
            }
        }
        // Nobody asked for its end as the user of a near cache: all of them forget what they have.
        drop(TellsCleared {
            strands: Arc::clone(&self.strands),
            near: Arc::clone(&self.context.near),
            source: None,
        });
    }
}

impl Map {
    pub(crate) fn new(structure: Arc<MapStructure>, owner: Owner) -> Self {
        Self { structure, owner, allowance: Allowance::default() }
    }

    /// Its name.
    pub fn name(&self) -> &Arc<str> {
        &self.structure.context.name
    }

    /// Its settings.
    pub fn settings(&self) -> &MapSettings {
        &self.structure.context.settings
    }

    /// Whose locks this handle takes, and does not wait for.
    pub fn owner(&self) -> Owner {
        self.owner
    }

    /// The same map for another owner: a thread of a client.
    #[must_use]
    pub fn as_owner(&self, owner: Owner) -> Self {
        Self { owner, ..self.clone() }
    }

    /// The same map for a request whose result may take so much memory: of many keys, of all, or of those that match.
    #[must_use]
    pub fn within(&self, allowance: &Allowance) -> Self {
        Self { allowance: allowance.clone(), ..self.clone() }
    }

    /// What a result may take.
    pub(crate) fn allowance(&self) -> &Allowance {
        &self.allowance
    }

    /// True when it was destroyed: then [`Grid::map`](crate::Grid::map) gives a new one of the same name.
    pub fn is_destroyed(&self) -> bool {
        self.structure.context.is_destroyed()
    }

    /// Its partitions, for operations of one's own.
    pub fn strands(&self) -> &Arc<Strands<MapPartition>> {
        &self.structure.strands
    }

    /// What of it could not be read from disk; said once, before anyone uses it.
    pub(crate) fn set_damage(&self, damage: Vec<filbert_store::Damage>) {
        self.structure.context.set_damage(damage);
    }

    fn is_damaged(&self, partition: PartitionId) -> bool {
        self.structure.context.damage_of(partition).is_some()
    }

    /// True when it is kept on disk.
    pub(crate) fn is_on_disk(&self) -> bool {
        self.structure.context.log.is_some()
    }

    /// What its queries look up.
    pub(crate) fn catalog(&self) -> &Catalog {
        &self.structure.context.catalog
    }

    fn place(&self, key: Data) -> Place {
        Place::new(key, self.owner)
    }

    /// Runs an operation on the partition of a key.
    #[inline]
    fn call<O>(&self, partition: PartitionId, operation: O) -> Invocation<O::Output>
    where
        O: Operation<Target = MapPartition>,
    {
        self.strands().call(partition, operation)
    }

    /// Runs an operation on all partitions: a short one right here.
    pub(crate) fn everywhere<O, R>(
        &self,
        operation: impl Fn() -> O,
        combine: impl FnOnce(Vec<O::Output>) -> R + Send + 'static,
    ) -> Invocation<R>
    where
        O: Operation<Target = MapPartition>,
        R: Send + 'static,
    {
        let operations = self.partitions_for::<O>().into_iter().map(|partition| (partition, operation()));
        let spread = if O::SHORT { Spread::Here } else { Spread::Beside };
        self.strands().call_all(spread, operations, combine)
    }

    /// The partitions that an operation on all of them runs on.
    fn partitions_for<O: Operation<Target = MapPartition>>(&self) -> Vec<PartitionId> {
        // One that cannot be read from disk says so, also when nobody has used it.
        if O::SKIPS_UNUSED && self.damaged_partitions() == 0 {
            self.strands().used_partitions()
        } else {
            self.strands().partitions().collect()
        }
    }

    /// Runs an operation on the partitions of some keys: for a few keys right here, since waking other threads would take longer.
    fn by_key<I, O, R>(
        &self,
        items: impl IntoIterator<Item = I>,
        key: impl Fn(&I) -> &Data,
        operation: impl Fn(Vec<I>) -> O,
        combine: impl FnOnce(Vec<O::Output>) -> R + Send + 'static,
    ) -> Invocation<R>
    where
        O: Operation<Target = MapPartition>,
        R: Send + 'static,
    {
        let mut parts: BTreeMap<PartitionId, Vec<I>> = BTreeMap::new();
        let mut count = 0;
        for item in items {
            parts.entry(key(&item).partition()).or_default().push(item);
            count += 1;
        }
        let spread = if count <= FEW { Spread::Here } else { Spread::Beside };
        let operations = parts.into_iter().map(|(partition, items)| (partition, operation(items)));
        self.strands().call_all(spread, operations, combine)
    }
}

/// Keys whose work is not worth waking other threads.
const FEW: usize = 500;
