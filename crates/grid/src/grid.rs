//! The grid of one member: its structures, on its stages.

use crate::structures::Structures;
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
}

impl Grid {
    /// An empty grid on `stages`.
    pub fn new(stages: &Stages) -> Self {
        let member = new_id(&stages.clock());
        Self { inner: Arc::new(Inner { stages: stages.clone(), member, structures: Structures::default() }) }
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

fn new_id(clock: &Clock) -> Uuid {
    let random = (u128::from(clock.random()) << 64) | u128::from(clock.random());
    uuid::Builder::from_random_bytes(random.to_be_bytes()).into_uuid()
}
