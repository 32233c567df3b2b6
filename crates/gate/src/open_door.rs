//! A door that listens, whatever is spoken there.

use crate::users::OutdatedUsers;
use filbert_net::{Certificates, DoorStats, DoorWatcher, DrainReport};
use filbert_pool::{SubmitError, TaskFuture};
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

/// A door that clients come through. Dropped, it closes at once.
#[must_use = "dropped, it closes at once"]
pub struct OpenDoor<H> {
    door: filbert_net::Door,
    /// What its sessions share; dropped after the door.
    pub(crate) kept: H,
}

impl<H> OpenDoor<H> {
    pub(crate) fn new(door: filbert_net::Door, kept: H) -> Self {
        Self { door, kept }
    }

    /// Where it listens, with the port that the system chose.
    pub fn local_addr(&self) -> SocketAddr {
        self.door.local_addr()
    }

    /// Lets nobody in any more, answers what is under way, and closes; after `timeout` closes hard.
    ///
    /// Operations of Hazelcast clients that wait for a lock, an item or room are given up at once: their clients are told to try again.
    /// Statements of PostgreSQL clients come to their end.
    ///
    /// # Errors
    /// When the stages shut down.
    pub fn drain(&self, timeout: Duration) -> Result<TaskFuture<DrainReport>, SubmitError> {
        self.door.drain(timeout)
    }

    /// Shows these certificates to connections that come from now on; those that are open stay. Returns false when the door was opened
    /// without encryption, which it keeps.
    pub fn renew(&self, certificates: Certificates) -> bool {
        self.door.renew(certificates)
    }

    /// Closes the connections of users that are not the same any more.
    pub(crate) fn close_users(&self, outdated: &OutdatedUsers) -> usize {
        self.door.close_users(|connection| outdated.includes(connection.user.as_deref()))
    }

    /// A handle that reads what its connections see, and keeps nothing open.
    pub fn watcher(&self) -> DoorWatcher {
        self.door.watcher()
    }

    /// What its connections have seen.
    pub fn stats(&self) -> DoorStats {
        self.door.stats()
    }
}

impl<H> fmt::Debug for OpenDoor<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenDoor").field("door", &self.door).finish_non_exhaustive()
    }
}
