//! The grid of one member: its structures, on its stages.

use crate::list::List;
use crate::queue::Queue;
use crate::settings::{GridSettings, GridSettingsError};
use crate::structures::{Service, Structures};
use filbert_pool::{Clock, Stages};
use std::sync::Arc;
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
}

impl Grid {
    /// An empty grid on `stages`, with default settings.
    pub fn new(stages: &Stages) -> Self {
        Self::with(stages, GridSettings::default())
    }

    /// An empty grid on `stages`; or everything that is wrong with the settings.
    pub fn with_settings(stages: &Stages, settings: GridSettings) -> Result<Self, GridSettingsError> {
        settings.check()?;
        Ok(Self::with(stages, settings))
    }

    fn with(stages: &Stages, settings: GridSettings) -> Self {
        let member = new_id(&stages.clock());
        let structures = Structures::default();
        Self { inner: Arc::new(Inner { stages: stages.clone(), member, structures, settings }) }
    }

    /// What it was started with.
    pub fn settings(&self) -> &GridSettings {
        &self.inner.settings
    }

    /// The list of that name.
    pub fn list(&self, name: &str) -> Arc<List> {
        self.structures().get_or_make(Service::List, name, |name| List::new(self, name))
    }

    /// The queue of that name.
    pub fn queue(&self, name: &str) -> Arc<Queue> {
        self.structures().get_or_make(Service::Queue, name, |name| Queue::new(self, name))
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
