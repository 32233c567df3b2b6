//! The grid of one member: its structures, on its stages.

use crate::code::Registry;
use crate::executor::{ExecutorService, ExecutorStructure};
use crate::list::List;
use crate::map::{Map, MapStructure, Owner};
use crate::query::Catalog;
use crate::queue::Queue;
use crate::settings::GridSettings;
use crate::structures::{Service, Structures};
use crate::topic::Topic;
use filbert_pool::{Clock, Stages};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use uuid::Uuid;

/// The grid of one member; a handle that is cheap to clone.
#[derive(Debug, Clone)]
pub struct Grid {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    stages: Stages,
    member: Uuid,
    structures: Structures,
    settings: GridSettings,
    registry: Registry,
    catalog: Catalog,
    /// Numbers the handles of structures, each an owner of locks.
    handles: AtomicI64,
}

impl Grid {
    /// An empty grid on `stages`, with default settings, that knows no user code yet.
    pub fn new(stages: &Stages) -> Self {
        Self::with(stages, GridSettings::default(), Registry::new())
    }

    /// An empty grid on `stages` that runs the code of `registry`. Settings are [checked](GridSettings::check) before.
    pub fn with(stages: &Stages, settings: GridSettings, registry: Registry) -> Self {
        let member = new_id(&stages.clock());
        let inner = Inner {
            stages: stages.clone(),
            member,
            structures: Structures::default(),
            settings,
            registry,
            catalog: Catalog::default(),
            handles: AtomicI64::new(1),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The map of that name, made when it is first asked for. The handle is a new owner of locks.
    pub fn map(&self, name: &str) -> Map {
        let inner = &self.inner;
        let make = |name: &Arc<str>| {
            MapStructure::new(name, &inner.stages, &inner.settings, &inner.registry, &inner.catalog)
        };
        let structure = inner.structures.get_or_make(Service::Map, name, make);
        let thread = inner.handles.fetch_add(1, Ordering::Relaxed);
        Map::new(structure, Owner { id: inner.member, thread })
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

    /// The executor service of that name.
    pub fn executor(&self, name: &str) -> ExecutorService {
        let structure = self.structures().get_or_make(Service::Executor, name, ExecutorStructure::new);
        ExecutorService::new(structure, self)
    }

    /// The stages that it runs on.
    pub fn stages(&self) -> &Stages {
        &self.inner.stages
    }

    /// This member's id, new with every start.
    pub fn member(&self) -> Uuid {
        self.inner.member
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
