//! How the door is opened and closed again.

use super::catalog::{Catalog, Shelf};
use super::counters::DoorCounts;
use super::host::Host;
use super::scram::Refused;
use super::session;
use super::settings::PostgresSettings;
use crate::hazelcast::User;
use filbert_net::ListenError;
use filbert_pool::Stages;
use filbert_sql::{Sql, SqlError};
use std::sync::Arc;

/// A door for PostgreSQL clients that is not open yet: see the [module](super).
#[derive(Debug, Clone)]
#[must_use = "call `open`"]
pub struct Door {
    stages: Stages,
    sql: Sql,
    settings: PostgresSettings,
}

/// Why the door stays shut.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DoorError {
    /// The settings do not fit, or would let strangers in.
    #[error("the door for PostgreSQL clients stays shut: {}", .problems.join("; "))]
    Settings {
        /// One sentence each: the setting, its value, what to set.
        problems: Vec<String>,
    },
    /// The address cannot be listened on, or the certificate does not work.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The engine does not take the tables of `pg_catalog`.
    #[error(transparent)]
    Sql(#[from] SqlError),
}

/// A door that PostgreSQL clients come through. Dropped, it closes at once.
pub type OpenDoor = crate::OpenDoor<Present>;

/// What an open door keeps.
pub struct Present(Arc<Host>);

fn refused(Refused(why): Refused) -> DoorError {
    DoorError::Settings { problems: vec![why.to_owned()] }
}

impl Door {
    /// To the tables of that engine.
    pub fn new(stages: &Stages, sql: &Sql, settings: PostgresSettings) -> Self {
        Self { stages: stages.clone(), sql: sql.clone(), settings }
    }

    /// Listens from now on. Refused when others than programs of this machine could come in unknown or unencrypted.
    ///
    /// # Errors
    /// Every problem of the settings at once, or why the address cannot be had.
    pub fn open(self) -> Result<OpenDoor, DoorError> {
        let problems = self.settings.problems();
        if !problems.is_empty() {
            return Err(DoorError::Settings { problems });
        }
        let listener = self.settings.entrance().listener();
        for shelf in [Shelf::Catalog, Shelf::Information] {
            self.sql.add_schema(shelf.schema(), Arc::new(Catalog(shelf)))?;
        }
        let host = Host::new(&self.stages, self.sql, self.settings).map_err(refused)?;
        let host = Arc::new(host);
        let shared = Arc::clone(&host);
        let door = listener.serve(&self.stages, move |stream| session::serve(Arc::clone(&shared), stream))?;
        Ok(OpenDoor::new(door, Present(host)))
    }
}

impl OpenDoor {
    /// Lets these users in from now on, and closes the connections of those who were removed or changed. Returns how many were closed.
    ///
    /// Hashes all passwords, so call it where computing is allowed.
    ///
    /// # Errors
    /// When the system has no random numbers; then nothing has changed.
    pub fn replace_users(&self, users: Vec<User>) -> Result<usize, DoorError> {
        let outdated = self.kept.0.replace_users(users).map_err(refused)?;
        Ok(outdated.map_or(0, |outdated| self.close_users(&outdated)))
    }

    /// What its sessions have seen.
    pub fn counts(&self) -> DoorCounts {
        self.kept.0.counters.read()
    }
}
