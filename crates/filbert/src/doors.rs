//! The open doors of a member: which there are, where they listen, and how they close.
//!
//! A further door is a field, a line in each method, and its settings in `config.rs`.

use crate::member::StartError;
use crate::monitor::Monitor;
use filbert_cube::CubeMemory;
use filbert_flow::FlowMemory;
use filbert_gate::hazelcast::HazelcastSettings;
use filbert_gate::http::HttpSettings;
use filbert_gate::postgres::PostgresSettings;
use filbert_gate::{hazelcast, http, postgres};
use filbert_grid::Grid;
use filbert_net::DoorWatcher;
use filbert_sql::Sql;
use std::time::Duration;

/// Dropped, they close at once.
#[derive(Debug)]
pub(crate) struct Doors {
    pub(crate) hazelcast: Option<hazelcast::OpenDoor>,
    pub(crate) postgres: Option<postgres::OpenDoor>,
    pub(crate) http: Option<(http::OpenDoor, Monitor)>,
    /// What they were opened with, and what a reload has changed of it.
    pub(crate) settings: DoorSettings,
}

/// Which doors a member is to have.
#[derive(Debug, Clone, Default)]
pub(crate) struct DoorSettings {
    pub(crate) hazelcast: Option<HazelcastSettings>,
    pub(crate) postgres: Option<PostgresSettings>,
    pub(crate) http: Option<HttpSettings>,
}

/// A door that listens.
#[derive(Debug, Clone)]
pub(crate) struct Listening {
    /// Whom it is for.
    pub(crate) whom: &'static str,
    /// The same as one word.
    pub(crate) short: &'static str,
    pub(crate) watcher: DoorWatcher,
}

impl DoorSettings {
    /// Returns true when the door for those who watch shows the texts of statements. Those who could ask for them at another door without
    /// a login may read them there, too.
    pub(crate) fn shows_texts(&self) -> bool {
        let others_ask = self.hazelcast.as_ref().is_some_and(|door| !door.users.is_empty())
            || self.postgres.as_ref().is_some_and(|door| !door.users.is_empty());
        !others_ask || self.http.as_ref().is_some_and(|door| !door.users.is_empty())
    }
}

impl Doors {
    /// Whom that door is for.
    pub(crate) const HAZELCAST: &'static str = "Hazelcast clients";
    /// And that one.
    pub(crate) const POSTGRES: &'static str = "PostgreSQL clients";

    /// And who watches.
    pub(crate) const HTTP: &'static str = "metrics and health over HTTP";

    /// Opens those that have settings, or none. Without users of their own, the others have those of the one for Hazelcast clients.
    pub(crate) fn open(
        grid: &Grid,
        sql: &Sql,
        cubes: &CubeMemory,
        jobs: &FlowMemory,
        settings: DoorSettings,
    ) -> Result<Self, StartError> {
        let DoorSettings { hazelcast, postgres, http } = settings;
        // A member that asks who it is at one door does not let everybody in at another.
        let known = hazelcast.clone().unwrap_or_default();
        let postgres = postgres.map(|postgres| postgres.or_users_of(&known));
        let http = http.map(|http| http.or_users_of(&known));
        let settings = DoorSettings { hazelcast, postgres, http };
        let shown = settings.shows_texts();
        let DoorSettings { hazelcast, postgres, http } = settings.clone();
        let door = |settings| hazelcast::Door::new(grid, settings).sql(sql).open();
        let hazelcast = hazelcast.map(door).transpose()?;
        let door = |settings| postgres::Door::new(grid.stages(), sql, settings).open();
        let postgres = postgres.map(door).transpose().map_err(StartError::Postgres)?;
        let mut doors = Self { hazelcast, postgres, http: None, settings };
        if let Some(settings) = http {
            let stuck_after = (settings.stuck_ms > 0).then(|| Duration::from_millis(settings.stuck_ms));
            let listening = doors.listening();
            let monitor = Monitor::new(grid, sql, (cubes, jobs), listening, shown, stuck_after);
            let door = http::Door::new(grid.stages(), monitor.clone(), settings).open();
            doors.http = Some((door.map_err(StartError::Http)?, monitor));
        }
        Ok(doors)
    }

    /// All that are open.
    pub(crate) fn listening(&self) -> Vec<Listening> {
        let hazelcast = self.hazelcast.as_ref().map(|door| (Self::HAZELCAST, "hazelcast", door.watcher()));
        let postgres = self.postgres.as_ref().map(|door| (Self::POSTGRES, "postgres", door.watcher()));
        let http = self.http.as_ref().map(|(door, _)| (Self::HTTP, "http", door.watcher()));
        let open = hazelcast.into_iter().chain(postgres).chain(http);
        open.map(|(whom, short, watcher)| Listening { whom, short, watcher }).collect()
    }

    /// Lets nobody in any more, and waits until what is under way is answered; at most so long.
    pub(crate) fn drain(&self, timeout: Duration) {
        if let Some((_, monitor)) = &self.http {
            monitor.ends();
        }
        // Who watches can look on until the others are done. All begin before the first is waited for. Refused only where a shutdown is refused as well, or when the stages are gone already.
        let hazelcast = self.hazelcast.iter().filter_map(|door| door.drain(timeout).ok());
        let postgres = self.postgres.iter().filter_map(|door| door.drain(timeout).ok());
        let begun: Vec<_> = hazelcast.chain(postgres).collect();
        for drained in begun {
            let _ = drained.wait();
        }
    }
}
