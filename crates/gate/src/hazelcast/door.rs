//! How the door is opened and closed again.

use super::clients::Clients;
use super::counters::DoorCounts;
use super::host::Host;
use super::session::Session;
use super::settings::HazelcastSettings;
use filbert_grid::{Change, Grid, WatcherId};
use filbert_net::{DoorStats, DrainReport, ListenError, Listener};
use filbert_pool::{SubmitError, TaskFuture};
use filbert_sql::Sql;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
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
}

/// A door that Hazelcast clients come through. Dropped, it closes at once.
#[derive(Debug)]
#[must_use = "dropped, it closes at once"]
pub struct OpenDoor {
    door: filbert_net::Door,
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
        let mut listener = Listener::new(self.settings.address).settings(self.settings.connections.clone());
        if let Some(tls) = &self.settings.tls {
            listener = listener.tls(tls.clone());
        }
        let stages = self.grid.stages().clone();
        let host = Arc::new(Host::new(self.grid, self.sql, self.settings));
        let shared = Arc::clone(&host);
        let door = listener.listen(&stages, move |info, _| Session::new(&shared, info))?;
        let watching = Arc::downgrade(&host);
        let watcher = host.grid.structures().watch(move |change, _, _| {
            if let (Change::Destroyed, Some(host)) = (change, watching.upgrade()) {
                host.one_was_destroyed();
            }
        });
        Ok(OpenDoor { door, host, watcher })
    }
}

impl OpenDoor {
    /// Where it listens, with the port that the system chose.
    pub fn local_addr(&self) -> SocketAddr {
        self.door.local_addr()
    }

    /// Lets nobody in any more, answers what is under way, and closes; after `timeout` closes hard. Operations that wait for a lock,
    /// an item or room are given up at once: their clients are told to try again.
    pub fn drain(&self, timeout: Duration) -> Result<TaskFuture<DrainReport>, SubmitError> {
        self.door.drain(timeout)
    }

    /// What its connections have seen.
    pub fn stats(&self) -> DoorStats {
        self.door.stats()
    }

    /// What its sessions have seen.
    pub fn counts(&self) -> DoorCounts {
        self.host.counters.read()
    }

    /// The clients that are logged in, each with what it last said of itself.
    pub fn clients(&self) -> Vec<(Uuid, Option<String>)> {
        Clients::list(&self.host.clients)
    }
}

impl Drop for OpenDoor {
    fn drop(&mut self) {
        self.host.grid.structures().unwatch(self.watcher);
    }
}
