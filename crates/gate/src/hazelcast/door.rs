//! How the door is opened and closed again.

use super::clients::Clients;
use super::counters::DoorCounts;
use super::host::Host;
use super::session::Session;
use super::settings::{HazelcastSettings, User};
use super::sql::Information;
use crate::tables::HAZELCAST_INFORMATION;
use filbert_grid::{Change, Grid, WatcherId};
use filbert_net::ListenError;
use filbert_sql::{Sql, SqlError};
use std::sync::Arc;
use uuid::Uuid;

/// A door for Hazelcast clients that is not open yet: see the [module](super).
#[derive(Debug, Clone)]
#[must_use = "call `open`"]
pub struct Door {
    grid: Grid,
    sql: Option<Sql>,
    settings: HazelcastSettings,
}

/// Why the door stays shut.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DoorError {
    /// The settings do not fit, or would let strangers in.
    #[error("the door for Hazelcast clients stays shut: {}", .problems.join("; "))]
    Settings {
        /// One sentence each: the setting, its value, what to set.
        problems: Vec<String>,
    },
    /// The address cannot be listened on, or the certificate does not work.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The SQL engine does not take the tables that describe it to clients.
    #[error(transparent)]
    Sql(#[from] SqlError),
}

/// A door that Hazelcast clients come through. Dropped, it closes at once.
pub type OpenDoor = crate::OpenDoor<Present>;

/// What an open door keeps.
pub struct Present {
    host: Arc<Host>,
    watcher: WatcherId,
}

impl Door {
    /// To that grid.
    pub fn new(grid: &Grid, settings: HazelcastSettings) -> Self {
        Self { grid: grid.clone(), sql: None, settings }
    }

    /// Serves SQL too; without an engine its messages are answered with an error.
    pub fn sql(mut self, sql: &Sql) -> Self {
        self.sql = Some(sql.clone());
        self
    }

    /// Listens from now on. Refused when others than programs of this machine could come in unknown or unencrypted.
    pub fn open(self) -> Result<OpenDoor, DoorError> {
        let problems = self.settings.problems();
        if !problems.is_empty() {
            return Err(DoorError::Settings { problems });
        }
        if let Some(sql) = &self.sql {
            sql.add_schema(HAZELCAST_INFORMATION, Arc::new(Information))?;
        }
        let listener = self.settings.entrance().listener();
        let stages = self.grid.stages().clone();
        let host = Arc::new(Host::new(self.grid, self.sql, self.settings));
        let shared = Arc::clone(&host);
        let door = listener.listen(&stages, move |info, outlet| Session::new(&shared, info, outlet))?;
        let watching = Arc::downgrade(&host);
        let watcher = host.grid.structures().watch(move |change, _, _| {
            if let (Change::Destroyed, Some(host)) = (change, watching.upgrade()) {
                host.one_was_destroyed();
            }
        });
        Ok(OpenDoor::new(door, Present { host, watcher }))
    }
}

impl OpenDoor {
    /// What its sessions have seen.
    pub fn counts(&self) -> DoorCounts {
        self.kept.host.counters.read()
    }

    /// Lets these users in from now on, and closes the connections of those who were removed or changed. Returns how many were closed.
    pub fn replace_users(&self, users: Vec<User>) -> usize {
        let Some(outdated) = self.kept.host.users.replace(users) else { return 0 };
        self.close_users(&outdated)
    }

    /// The clients that are logged in, each with what it last said of itself.
    pub fn clients(&self) -> Vec<(Uuid, Option<String>)> {
        Clients::list(&self.kept.host.clients)
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        self.host.grid.structures().unwatch(self.watcher);
    }
}
