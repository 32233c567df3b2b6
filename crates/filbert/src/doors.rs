//! The open doors of a member: which there are, where they listen, and how they close.
//!
//! A further door is a field, a line in each method, and its settings in `config.rs`.

use crate::member::StartError;
use filbert_gate::hazelcast::HazelcastSettings;
use filbert_gate::postgres::PostgresSettings;
use filbert_gate::{hazelcast, postgres};
use filbert_grid::Grid;
use filbert_sql::Sql;
use std::net::SocketAddr;
use std::time::Duration;

/// Dropped, they close at once.
#[derive(Debug)]
pub(crate) struct Doors {
    hazelcast: Option<hazelcast::OpenDoor>,
    postgres: Option<postgres::OpenDoor>,
}

impl Doors {
    /// Whom that door is for.
    pub(crate) const HAZELCAST: &'static str = "Hazelcast clients";
    /// And that one.
    pub(crate) const POSTGRES: &'static str = "PostgreSQL clients";

    /// Opens those that have settings, or none. Without users of its own, the one for PostgreSQL clients has those of the other.
    pub(crate) fn open(
        grid: &Grid,
        sql: &Sql,
        hazelcast: Option<HazelcastSettings>,
        postgres: Option<PostgresSettings>,
    ) -> Result<Self, StartError> {
        // A member that asks who it is at one door does not let everybody in at the other.
        let postgres = match (&hazelcast, postgres) {
            (Some(hazelcast), Some(postgres)) => Some(postgres.or_users_of(hazelcast)),
            (_, postgres) => postgres,
        };
        let door = |settings| hazelcast::Door::new(grid, settings).sql(sql).open();
        let hazelcast = hazelcast.map(door).transpose()?;
        let door = |settings| postgres::Door::new(grid.stages(), sql, settings).open();
        let postgres = postgres.map(door).transpose().map_err(StartError::Postgres)?;
        Ok(Self { hazelcast, postgres })
    }

    /// Whom each is for, and where it listens.
    pub(crate) fn listening(&self) -> Vec<(&'static str, SocketAddr)> {
        let hazelcast = self.hazelcast.as_ref().map(|door| (Self::HAZELCAST, door.local_addr()));
        let postgres = self.postgres.as_ref().map(|door| (Self::POSTGRES, door.local_addr()));
        hazelcast.into_iter().chain(postgres).collect()
    }

    /// Lets nobody in any more, and waits until what is under way is answered; at most so long.
    pub(crate) fn drain(&self, timeout: Duration) {
        // All begin before the first is waited for. Refused only where a shutdown is refused as well, or when the stages are gone already.
        let hazelcast = self.hazelcast.iter().filter_map(|door| door.drain(timeout).ok());
        let postgres = self.postgres.iter().filter_map(|door| door.drain(timeout).ok());
        let begun: Vec<_> = hazelcast.chain(postgres).collect();
        for drained in begun {
            let _ = drained.wait();
        }
    }
}
