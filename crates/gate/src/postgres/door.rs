//! How the door is opened and closed again.

use super::catalog::Catalog;
use super::counters::DoorCounts;
use super::host::Host;
use super::session;
use super::settings::PostgresSettings;
use filbert_net::{DoorStats, DrainReport, ListenError, Listener};
use filbert_pool::{Stages, SubmitError, TaskFuture};
use filbert_sql::{Sql, SqlError};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

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
#[must_use = "dropped, it closes at once"]
pub struct OpenDoor {
    door: filbert_net::Door,
    host: Arc<Host>,
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
        let mut listener = Listener::new(self.settings.address).settings(self.settings.connections.clone());
        if let Some(tls) = &self.settings.tls {
            listener = listener.tls(tls.clone());
        }
        self.sql.add_schema("pg_catalog", Arc::new(Catalog))?;
        let host = Host::new(&self.stages, self.sql, self.settings)
            .map_err(|refused| DoorError::Settings { problems: vec![refused.0.to_owned()] })?;
        let host = Arc::new(host);
        let shared = Arc::clone(&host);
        let door = listener.serve(&self.stages, move |stream| session::serve(Arc::clone(&shared), stream))?;
        Ok(OpenDoor { door, host })
    }
}

impl OpenDoor {
    /// Where it listens, with the port that the system chose.
    pub fn local_addr(&self) -> SocketAddr {
        self.door.local_addr()
    }

    /// Lets nobody in any more, lets statements that run come to their end, and closes; after `timeout` closes hard.
    ///
    /// # Errors
    /// When the stages shut down.
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
}

impl std::fmt::Debug for OpenDoor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenDoor").field("door", &self.door).finish_non_exhaustive()
    }
}
