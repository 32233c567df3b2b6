//! What the partitions of one map share.

use crate::code::Registry;
use crate::map::behind::Behind;
use crate::map::events::MapListeners;
use crate::map::handle::MapSurroundings;
use crate::map::interceptors::Interceptors;
use crate::map::near_cache::NearCache;
use crate::map::settings::{EvictionPolicy, MapSettings, MaxSize};
use crate::memory::MemoryAccount;
use crate::query::{Catalog, IndexSettings};
use crate::structures::Service;
use filbert_pool::Stages;
use filbert_store::{Damage, MapLog, StoreError};
use filbert_wire::PartitionId;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// What the partitions of one map share; read by all, written where it says so.
#[derive(Debug)]
pub(crate) struct MapContext {
    pub(crate) service: Service,
    pub(crate) name: Arc<str>,
    pub(crate) settings: MapSettings,
    pub(crate) listeners: MapListeners,
    /// What copies of its entries that clients keep are told.
    pub(crate) near: Arc<NearCache>,
    pub(crate) interceptors: Interceptors,
    /// The memory that all data of the member takes.
    pub(crate) memory: Arc<MemoryAccount>,
    /// The store behind the map, if it has one.
    pub(crate) behind: Option<Arc<Behind>>,
    pub(crate) registry: Registry,
    pub(crate) catalog: Catalog,
    pub(crate) stages: Stages,
    pub(crate) lock_wait: Duration,
    pub(crate) slice_entries: u32,
    pub(crate) sweep_interval: Duration,
    /// Seeds the stores' hash.
    pub(crate) seed: u64,
    /// Where its changes go, when it is kept on disk.
    pub(crate) log: Option<MapLog>,
    /// Those that it has from the start: of the settings, and of the disk.
    pub(crate) indexes: Vec<Arc<IndexSettings>>,
    /// What of it could not be read from disk; known before anyone uses the map.
    damage: OnceLock<Vec<Damage>>,
    /// Writes that were refused because they could not be kept on disk.
    refused: AtomicU64,
    destroyed: AtomicBool,
    /// Entries or bytes in all partitions, kept only when the map's bound is over all of them.
    used: AtomicI64,
}

impl MapContext {
    pub(crate) fn new(
        service: Service,
        name: &Arc<str>,
        MapSurroundings { stages, settings, registry, catalog, store, near_caches, memory }: &MapSurroundings<
            '_,
        >,
    ) -> Self {
        // Only a map is set by its name.
        let of_map = if service == Service::Map { settings.maps.of(name) } else { MapSettings::default() };
        let log = of_map.persistence.as_ref().zip(*store).map(|(settings, store)| store.log(name, settings));
        let behind = |store| Arc::new(Behind::new(name, store, registry, stages, log.as_ref()));
        let behind = of_map.store.as_ref().map(behind);
        let mut indexes = if log.is_some() { catalog.indexes_of(name) } else { Vec::new() };
        for index in of_map.indexes.iter().filter_map(|declared| declared.of_map(name).ok()) {
            if indexes.iter().all(|known| known.name() != index.name()) {
                indexes.push(index.into());
            }
        }
        Self {
            indexes,
            service,
            name: Arc::clone(name),
            settings: of_map,
            memory: Arc::clone(memory),
            behind,
            log,
            damage: OnceLock::new(),
            listeners: MapListeners::new(stages.event(), memory, service, name),
            near: near_caches.of(service, name),
            interceptors: Interceptors::new(),
            registry: (*registry).clone(),
            catalog: (*catalog).clone(),
            stages: (*stages).clone(),
            lock_wait: Duration::from_millis(settings.lock_wait_ms),
            slice_entries: settings.scan_slice_entries.max(1),
            sweep_interval: Duration::from_millis(settings.sweep_interval_ms.max(1)),
            seed: stages.clock().random(),
            refused: AtomicU64::new(0),
            destroyed: AtomicBool::new(false),
            used: AtomicI64::new(0),
        }
    }

    /// When the map takes no more, because nothing is evicted from it.
    #[inline]
    pub(crate) fn refusing_bound(&self) -> Option<MaxSize> {
        if self.settings.eviction == EvictionPolicy::None { self.settings.max_size } else { None }
    }

    /// Entries or bytes in all partitions, of which there is a bound.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed).max(0) as u64
    }

    /// When entries are evicted; `None` when none ever is.
    pub(crate) fn bound(&self) -> Option<MaxSize> {
        if self.settings.eviction == EvictionPolicy::None { None } else { self.settings.max_size }
    }

    pub(crate) fn is_destroyed(&self) -> bool {
        self.destroyed.load(Ordering::Acquire)
    }

    pub(crate) fn set_destroyed(&self) {
        self.destroyed.store(true, Ordering::Release);
    }

    /// These places could not be read: the partitions that had data there are not served.
    pub(crate) fn set_damage(&self, damage: Vec<Damage>) {
        let _ = self.damage.set(damage);
    }

    /// Why a partition is not served.
    #[inline]
    pub(crate) fn damage_of(&self, partition: PartitionId) -> Option<StoreError> {
        let damage = self.damage.get()?.iter().find(|damage| damage.reaches(partition.number() as u16))?;
        Some(StoreError::Damaged { map: self.name.to_string(), damage: damage.clone() })
    }

    /// Counts a write that is refused because it could not be kept on disk.
    #[cold]
    pub(crate) fn count_refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the count of writes that were refused because they could not be kept on disk.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Why writes are refused now; `None` when they are taken.
    pub(crate) fn why_refuses(&self) -> Option<StoreError> {
        self.log.as_ref()?.refuses()
    }

    /// How many partitions are not served.
    pub(crate) fn damaged_partitions(&self) -> usize {
        match self.damage.get().map(Vec::as_slice) {
            None | Some([]) => 0,
            Some(_) => PartitionId::all().filter(|partition| self.damage_of(*partition).is_some()).count(),
        }
    }

    /// A partition's share of the map changed by so many entries and bytes.
    pub(crate) fn changed(&self, entries: i64, bytes: i64) {
        let change = match self.settings.max_size {
            Some(MaxSize::Entries(_)) => entries,
            Some(MaxSize::Bytes(_)) => bytes,
            _ => return,
        };
        if change != 0 {
            self.used.fetch_add(change, Ordering::Relaxed);
        }
    }

    /// By how much the map is over its bound, a partition of which has `entries`.
    pub(crate) fn excess(&self, entries: usize) -> u64 {
        let used = self.used();
        match self.bound() {
            None => 0,
            Some(MaxSize::Entries(most) | MaxSize::Bytes(most)) => used.saturating_sub(most),
            Some(MaxSize::EntriesPerPartition(most)) => (entries as u64).saturating_sub(most),
        }
    }
}
