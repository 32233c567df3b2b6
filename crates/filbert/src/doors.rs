//! The open doors of a member: which there are, where they listen, and how they close.
//!
//! A further door is a field, a line in each method, and its settings in `config.rs`.

use filbert_gate::hazelcast::{Door, DoorError, HazelcastSettings, OpenDoor};
use filbert_grid::Grid;
use filbert_sql::Sql;
use std::net::SocketAddr;
use std::time::Duration;

/// Dropped, they close at once.
#[derive(Debug)]
pub(crate) struct Doors {
    hazelcast: Option<OpenDoor>,
}

impl Doors {
    /// Whom that door is for.
    pub(crate) const HAZELCAST: &'static str = "Hazelcast clients";

    /// Opens those that have settings, or none.
    pub(crate) fn open(
        grid: &Grid,
        sql: &Sql,
        hazelcast: Option<HazelcastSettings>,
    ) -> Result<Self, DoorError> {
        let hazelcast = hazelcast.map(|settings| Door::new(grid, settings).sql(sql).open()).transpose()?;
        Ok(Self { hazelcast })
    }

    /// Whom each is for, and where it listens.
    pub(crate) fn listening(&self) -> Vec<(&'static str, SocketAddr)> {
        let hazelcast = self.hazelcast.as_ref().map(|door| (Self::HAZELCAST, door.local_addr()));
        hazelcast.into_iter().collect()
    }

    /// Lets nobody in any more, and waits until what is under way is answered; at most so long.
    pub(crate) fn drain(&self, timeout: Duration) {
        // All begin before the first is waited for. Refused only where a shutdown is refused as well, or when the stages are gone already.
        let begun: Vec<_> = self.hazelcast.iter().filter_map(|door| door.drain(timeout).ok()).collect();
        for drained in begun {
            let _ = drained.wait();
        }
    }
}
