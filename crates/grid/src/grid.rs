//! The grid of one member: its structures, on its stages.

use crate::code::Registry;
use crate::cp::{AtomicLong, AtomicReference, CountDownLatch, FencedLock, Semaphore, Sessions};
use crate::durable::DurableExecutor;
use crate::error::GridResult;
use crate::executor::{ExecutorService, ExecutorStructure};
use crate::flake_id::FlakeIdGenerator;
use crate::list::List;
use crate::map::{Map, MapStructure, MapSurroundings, NearCaches, Owner, TypedMap};
use crate::memory::{MemoryAccount, default_grid_bytes};
use crate::multi_map::MultiMap;
use crate::pn_counter::PnCounter;
use crate::query::Catalog;
use crate::queue::Queue;
use crate::recovery::{self, RecoveredMap, RecoveryProgress};
use crate::reliable_topic::ReliableTopic;
use crate::replicated_map::ReplicatedMap;
use crate::ringbuffer::Ringbuffer;
use crate::scheduled::ScheduledExecutor;
use crate::set::Set;
use crate::settings::GridSettings;
use crate::structures::{Service, Structures};
use crate::topic::Topic;
use filbert_pool::{Clock, Stages};
use filbert_store::{Damage, Store, StoreError};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;
use uuid::Uuid;

/// The grid of one member; a handle that is cheap to clone.
#[derive(Debug, Clone)]
pub struct Grid {
    inner: Arc<Inner>,
}

/// A grid for what it holds itself.
#[derive(Debug)]
pub(crate) struct WeakGrid(Weak<Inner>);

impl WeakGrid {
    pub(crate) fn upgrade(&self) -> Option<Grid> {
        self.0.upgrade().map(|inner| Grid { inner })
    }
}

#[derive(Debug)]
struct Inner {
    stages: Stages,
    member: Uuid,
    structures: Structures,
    settings: GridSettings,
    memory: Arc<MemoryAccount>,
    registry: Registry,
    catalog: Catalog,
    sessions: Sessions,
    near_caches: NearCaches,
    /// Numbers the handles of structures, each an owner of locks.
    handles: AtomicI64,
    /// Where maps are kept that are kept on disk.
    store: Option<Store>,
    recovered: OnceLock<Vec<RecoveredMap>>,
    /// What of schemas and indexes could not be read from disk.
    damaged_definitions: OnceLock<Vec<Damage>>,
    damaged_directory: OnceLock<Damage>,
}

fn not_loaded(map: &str) {
    tracing::warn!(
        map,
        "a map is on disk and not set to be: it is left there and not loaded; set [map.\"{map}\".persistence] to have it back"
    );
}

impl Grid {
    /// An empty grid on `stages`, with default settings, that knows no user code yet.
    pub fn new(stages: &Stages) -> Self {
        Self::with(stages, GridSettings::default(), Registry::new())
    }

    /// An empty grid on `stages` that runs the code of `registry`. Settings are [checked](GridSettings::check) before. It is in memory
    /// only, whatever they say: [`Grid::open`] has maps on disk.
    pub fn with(stages: &Stages, settings: GridSettings, registry: Registry) -> Self {
        Self::over(stages, settings, registry, None)
    }

    /// A grid whose maps with [`MapSettings::persistence`](crate::MapSettings) are kept in the folder
    /// [`GridSettings::data_directory`], with all that is there already. Without such maps it is [`Grid::with`]. Call it from a thread that
    /// may wait; end it with [`Grid::close`].
    ///
    /// ```
    /// use filbert_grid::{Grid, GridSettings, MapSettings, PersistenceSettings, Registry};
    /// use filbert_wire::Data;
    ///
    /// let (stages, folder) = (filbert_pool::Stages::start()?, tempfile::tempdir()?);
    /// let mut settings = GridSettings::default();
    /// settings.data_directory = folder.path().display().to_string();
    /// let persistence = Some(PersistenceSettings::default());
    /// settings.maps.set("orders", MapSettings { persistence, ..Default::default() });
    ///
    /// let key = Data::new(-7, &1_i32.to_be_bytes());
    /// let grid = Grid::open(&stages, settings.clone(), Registry::new(), &|_| ())?;
    /// grid.map("orders").set(key.clone(), Data::new(-12, b"two hazelnuts")).wait()?;
    /// grid.close()?;
    /// drop(grid);
    ///
    /// let again = Grid::open(&stages, settings, Registry::new(), &|_| ())?;
    /// assert!(again.map("orders").get(key).wait()?.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(
        stages: &Stages,
        settings: GridSettings,
        registry: Registry,
        progress: &dyn Fn(&RecoveryProgress),
    ) -> Result<Self, StoreError> {
        if settings.maps.entries().all(|(_, map)| map.persistence.is_none()) {
            Store::maps_in(&settings.data_directory).iter().for_each(|name| not_loaded(name));
            return Ok(Self::with(stages, settings, registry));
        }
        let store = Store::open(stages, &settings.data_directory)?;
        Self::on(stages, settings, registry, store, progress)
    }

    /// The same on a store that is open already.
    pub fn on(
        stages: &Stages,
        settings: GridSettings,
        registry: Registry,
        store: Store,
        progress: &dyn Fn(&RecoveryProgress),
    ) -> Result<Self, StoreError> {
        let grid = Self::over(stages, settings, registry, Some(store.clone()));
        let damage = grid.catalog().open(stages, &store)?;
        for damage in &damage {
            tracing::error!(%damage, "Compact schemas or indexes on disk cannot be read; values that need them cannot be either");
        }
        let _ = grid.inner.damaged_definitions.set(damage);
        if let Some(damage) = store.damage() {
            tracing::error!(file = damage.file, "{}", damage.problem);
            let _ = grid.inner.damaged_directory.set(damage);
        }
        let mut recovered = Vec::new();
        for name in store.maps()? {
            let Some(settings) = grid.settings().maps.of(&name).persistence else {
                not_loaded(&name);
                continue;
            };
            let Some(on_disk) = store.recover(&name, &settings)? else { continue };
            let (map, mut damage) = (grid.map(&name), on_disk.damage.clone());
            let restored = recovery::restore(stages, &map, &damage, on_disk.into_shelves(), progress);
            let mut restored = restored.map_err(|error| recovery::as_store_error(&name, error))?;
            damage.append(&mut restored.damage);
            if !damage.is_empty() {
                for damage in &damage {
                    tracing::error!(
                        map = name,
                        %damage,
                        "a part of a map cannot be read from disk; the partitions that had data there are not served"
                    );
                }
                store.has_damage(&name, &settings);
                map.set_damage(damage.clone());
            }
            recovered.push(RecoveredMap { damage, ..restored });
        }
        store.list_folders();
        for map in grid.catalog().indexed_maps() {
            if grid.settings().maps.of(&map).persistence.is_some() {
                grid.map(&map);
            }
        }
        let _ = grid.inner.recovered.set(recovered);
        Ok(grid)
    }

    /// The maps that came back from disk when it was opened.
    pub fn recovered(&self) -> &[RecoveredMap] {
        self.inner.recovered.get().map_or(&[], Vec::as_slice)
    }

    /// The places on disk where Compact schemas and indexes could not be read.
    pub fn damaged_definitions(&self) -> &[Damage] {
        self.inner.damaged_definitions.get().map_or(&[], Vec::as_slice)
    }

    /// The damage of the data directory as a whole: nobody knows whether all its maps are there.
    pub fn damaged_directory(&self) -> Option<&Damage> {
        self.inner.damaged_directory.get()
    }

    /// How many partitions of a map are not served, because what they held could not be read from disk.
    pub fn damaged_partitions(&self, map: &str) -> usize {
        self.find_map(map).map_or(0, |map| map.damaged_partitions())
    }

    /// Writes and flushes what maps on disk still have to write; a change from now on is not stored, and told so. Blocks.
    pub fn close(&self) -> Result<(), StoreError> {
        self.inner.store.as_ref().map_or(Ok(()), Store::close)
    }

    /// Closes the maps on disk as [`Grid::close`] does, and returns every failure: changes of these maps may be lost.
    pub fn close_all(&self) -> Vec<StoreError> {
        self.inner.store.as_ref().map_or_else(Vec::new, Store::close_all)
    }

    fn over(stages: &Stages, settings: GridSettings, registry: Registry, store: Option<Store>) -> Self {
        let member = new_id(&stages.clock());
        let sessions = Sessions::new(stages.clock(), settings.sessions.clone());
        let memory = MemoryAccount::new(settings.memory_bytes.unwrap_or_else(default_grid_bytes));
        let inner = Inner {
            stages: stages.clone(),
            member,
            structures: Structures::default(),
            settings,
            registry,
            catalog: Catalog::default(),
            sessions,
            near_caches: NearCaches::new(stages.event(), &memory, member),
            memory,
            handles: AtomicI64::new(1),
            store,
            recovered: OnceLock::new(),
            damaged_definitions: OnceLock::new(),
            damaged_directory: OnceLock::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The map of that name, made when it is first asked for. The handle is a new owner of locks.
    pub fn map(&self, name: &str) -> Map {
        self.map_of(Service::Map, name)
    }

    /// The map of that name, if there is one: to look at what is there, which must not make what was just destroyed anew.
    pub fn find_map(&self, name: &str) -> Option<Map> {
        let known = self.inner.structures.find(Service::Map, name)?;
        Some(Map::new(known, self.new_owner()))
    }

    fn map_of(&self, service: Service, name: &str) -> Map {
        let inner = &self.inner;
        let make = |name: &Arc<str>| {
            let around = MapSurroundings {
                stages: &inner.stages,
                settings: &inner.settings,
                registry: &inner.registry,
                catalog: &inner.catalog,
                store: inner.store.as_ref(),
                near_caches: &inner.near_caches,
                memory: &inner.memory,
            };
            MapStructure::new(service, name, &around)
        };
        Map::new(inner.structures.get_or_make(service, name, make), self.new_owner())
    }

    /// The numbers of the last changes of a map, by partition, for near caches: see [`Map::add_invalidation_listener`]. From now on they
    /// are kept for it. Nothing when there is no such map, and there was none whose entries anyone could still have.
    pub fn invalidation_numbers(&self, map: &str) -> Option<Vec<i64>> {
        self.inner.near_caches.numbers(map)
    }

    /// Writes what waits for the stores behind maps, and waits until it is written or the time is over; call it from a thread that may
    /// wait. All maps are tried, and the first failure is told.
    pub fn flush_stores(&self, within: Duration) -> GridResult<()> {
        let maps = self.structures().list().into_iter().filter(|(service, _)| *service == Service::Map);
        let flushes: Vec<_> =
            maps.filter_map(|(_, name)| Some((self.find_map(&name)?.flush(), name))).collect();
        let until = self.inner.stages.clock().now().saturating_add(within);
        let mut told = Ok(());
        for (mut flush, map) in flushes {
            let left = until.saturating_sub(self.inner.stages.clock().now());
            let flushed = flush.wait_timeout(left);
            if let Err(error) = &flushed {
                tracing::warn!(%map, %error, "changes that waited for the store behind a map were not written");
            }
            told = told.and(flushed);
        }
        told
    }

    /// A new owner of locks.
    pub fn new_owner(&self) -> Owner {
        Owner { id: self.inner.member, thread: self.inner.handles.fetch_add(1, Ordering::Relaxed) }
    }

    /// The map of that name with the types of its keys and values.
    pub fn typed_map<K, V>(&self, name: &str) -> TypedMap<K, V> {
        TypedMap::new(self.map(name))
    }

    /// Its settings.
    pub fn settings(&self) -> &GridSettings {
        &self.inner.settings
    }

    /// The Compact schemas and comparators that its queries know; more can be added at any time.
    pub fn catalog(&self) -> &Catalog {
        &self.inner.catalog
    }

    /// The user code that it knows; more can be added at any time.
    pub fn registry(&self) -> &Registry {
        &self.inner.registry
    }

    /// The list of that name.
    pub fn list(&self, name: &str) -> Arc<List> {
        self.structures().get_or_make(Service::List, name, |name| List::new(self, name))
    }

    /// The queue of that name.
    pub fn queue(&self, name: &str) -> Arc<Queue> {
        self.structures().get_or_make(Service::Queue, name, |name| Queue::new(self, name))
    }

    /// The topic of that name.
    pub fn topic(&self, name: &str) -> Arc<Topic> {
        self.structures().get_or_make(Service::Topic, name, |name| Topic::new(self, name))
    }

    /// The set of that name.
    pub fn set(&self, name: &str) -> Arc<Set> {
        self.structures().get_or_make(Service::Set, name, |name| Set::new(self, name))
    }

    /// The multimap of that name.
    pub fn multi_map(&self, name: &str) -> Arc<MultiMap> {
        self.structures().get_or_make(Service::MultiMap, name, |name| MultiMap::new(self, name))
    }

    /// The replicated map of that name.
    pub fn replicated_map(&self, name: &str) -> ReplicatedMap {
        ReplicatedMap::new(self.map_of(Service::ReplicatedMap, name))
    }

    /// The ringbuffer of that name.
    pub fn ringbuffer(&self, name: &str) -> Arc<Ringbuffer> {
        self.structures().get_or_make(Service::Ringbuffer, name, |name| Ringbuffer::new(self, name))
    }

    /// The reliable topic of that name.
    pub fn reliable_topic(&self, name: &str) -> Arc<ReliableTopic> {
        // Before: the topic is made while no other structure can be.
        let ringbuffer = ReliableTopic::ringbuffer_of(self, name);
        let make = |name: &Arc<str>| ReliableTopic::new(self, name, ringbuffer);
        self.structures().get_or_make(Service::ReliableTopic, name, make)
    }

    /// The generator of ids of that name.
    pub fn flake_id_generator(&self, name: &str) -> Arc<FlakeIdGenerator> {
        let make = |name: &Arc<str>| FlakeIdGenerator::new(self, name);
        self.structures().get_or_make(Service::FlakeIdGenerator, name, make)
    }

    /// The counter of that name.
    pub fn pn_counter(&self, name: &str) -> Arc<PnCounter> {
        self.structures().get_or_make(Service::PnCounter, name, |name| PnCounter::new(self, name))
    }

    /// The atomic number of that name.
    pub fn atomic_long(&self, name: &str) -> Arc<AtomicLong> {
        self.structures().get_or_make(Service::AtomicLong, name, |name| AtomicLong::new(self, name))
    }

    /// The atomic reference of that name.
    pub fn atomic_reference(&self, name: &str) -> Arc<AtomicReference> {
        let make = |name: &Arc<str>| AtomicReference::new(self, name);
        self.structures().get_or_make(Service::AtomicReference, name, make)
    }

    /// The latch of that name.
    pub fn count_down_latch(&self, name: &str) -> Arc<CountDownLatch> {
        self.structures().get_or_make(Service::CountDownLatch, name, |name| CountDownLatch::new(self, name))
    }

    /// The semaphore of that name.
    pub fn semaphore(&self, name: &str) -> Arc<Semaphore> {
        let make = |name: &Arc<str>| Semaphore::new(self, self.sessions(), name);
        self.structures().get_or_make(Service::Semaphore, name, make)
    }

    /// The lock of that name.
    pub fn fenced_lock(&self, name: &str) -> Arc<FencedLock> {
        let make = |name: &Arc<str>| FencedLock::new(self, self.sessions(), name);
        self.structures().get_or_make(Service::FencedLock, name, make)
    }

    /// The sessions that locks and permits belong to.
    pub fn sessions(&self) -> &Sessions {
        &self.inner.sessions
    }

    /// The executor service of that name.
    pub fn executor(&self, name: &str) -> ExecutorService {
        let structure = self.structures().get_or_make(Service::Executor, name, ExecutorStructure::new);
        ExecutorService::new(structure, self)
    }

    /// The scheduled executor of that name.
    pub fn scheduled_executor(&self, name: &str) -> Arc<ScheduledExecutor> {
        let make = |name: &Arc<str>| ScheduledExecutor::new(self, name);
        self.structures().get_or_make(Service::ScheduledExecutor, name, make)
    }

    /// The durable executor of that name.
    pub fn durable_executor(&self, name: &str) -> Arc<DurableExecutor> {
        let make = |name: &Arc<str>| DurableExecutor::new(self, name);
        self.structures().get_or_make(Service::DurableExecutor, name, make)
    }

    pub(crate) fn downgrade(&self) -> WeakGrid {
        WeakGrid(Arc::downgrade(&self.inner))
    }

    /// The stages that it runs on.
    pub fn stages(&self) -> &Stages {
        &self.inner.stages
    }

    /// This member's id, new with every start.
    pub fn member(&self) -> Uuid {
        self.inner.member
    }

    /// The memory that its data takes, and may take.
    pub fn memory(&self) -> &Arc<MemoryAccount> {
        &self.inner.memory
    }

    /// Its structures.
    pub fn structures(&self) -> &Structures {
        &self.inner.structures
    }

    /// A new random id: from the seed under simulation.
    pub fn new_id(&self) -> Uuid {
        new_id(&self.stages().clock())
    }
}

pub(crate) fn new_id(clock: &Clock) -> Uuid {
    let random = (u128::from(clock.random()) << 64) | u128::from(clock.random());
    uuid::Builder::from_random_bytes(random.to_be_bytes()).into_uuid()
}
