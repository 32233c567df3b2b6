//! The clients that are logged in, by the id that each gives itself.
//!
//! Locks belong to a client, so they go when its last connection does. An id that one user's client has cannot be taken by another's.

use filbert_grid::{Map, MultiMap, Service, Structure};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};
use uuid::Uuid;

/// Bytes that are kept of what a client says of itself.
const MOST_STATISTICS: usize = 16 << 10;

/// All clients of a door.
#[derive(Debug, Default)]
pub(super) struct Clients {
    known: Mutex<BTreeMap<Uuid, Known>>,
}

#[derive(Debug)]
struct Known {
    user: Option<Arc<str>>,
    connections: usize,
    /// What it last said of itself.
    statistics: Option<String>,
    /// What connections which are gone had locked keys of.
    locked: LockedByName,
}

/// Structures whose keys may be locked, by kind and name.
pub(super) type LockedByName = HashMap<(Service, Arc<str>), Locked>;

/// A structure whose keys can be locked.
#[derive(Debug, Clone)]
pub(super) enum Locked {
    Map(Map),
    MultiMap(Arc<MultiMap>),
}

impl Locked {
    pub(super) fn key(&self) -> (Service, Arc<str>) {
        match self {
            Locked::Map(map) => (Service::Map, Arc::clone(map.name())),
            Locked::MultiMap(map) => (Service::MultiMap, Arc::clone(map.name())),
        }
    }

    pub(super) fn is_destroyed(&self) -> bool {
        match self {
            Locked::Map(map) => map.is_destroyed(),
            Locked::MultiMap(map) => map.is_destroyed(),
        }
    }

    /// Gives back what a client has locked there.
    pub(super) fn release(&self, client: Uuid) {
        match self {
            Locked::Map(map) => map.free_keys_of(client),
            Locked::MultiMap(map) => map.free_keys_of(client),
        }
    }
}

impl Clients {
    fn known(&self) -> MutexGuard<'_, BTreeMap<Uuid, Known>> {
        self.known.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// A connection of that client; false when the id belongs to a client of another user.
    pub(super) fn enter(&self, client: Uuid, user: Option<&Arc<str>>) -> bool {
        let mut known = self.known();
        let entry = known.entry(client).or_insert_with(|| Known {
            user: user.cloned(),
            connections: 0,
            statistics: None,
            locked: HashMap::new(),
        });
        let same = entry.user.as_ref() == user;
        if same {
            entry.connections += 1;
        }
        same
    }

    /// A connection of that client is gone, which may have locked keys of these. All that the client may have locked keys of, when it
    /// was the last.
    pub(super) fn leave(&self, client: Uuid, locked: LockedByName) -> Option<LockedByName> {
        let mut known = self.known();
        let entry = known.get_mut(&client)?;
        entry.locked.extend(locked);
        // What was destroyed has no locks any more, and is not kept alive.
        entry.locked.retain(|_, locked| !locked.is_destroyed());
        entry.connections -= 1;
        if entry.connections > 0 {
            return None;
        }
        known.remove(&client).map(|entry| entry.locked)
    }

    /// Keeps what a client says of itself.
    pub(super) fn say(&self, client: Uuid, statistics: &str) {
        if let Some(entry) = self.known().get_mut(&client) {
            let end = statistics.floor_char_boundary(MOST_STATISTICS);
            entry.statistics = Some(statistics[..end].to_owned());
        }
    }

    /// Every client with what it last said of itself.
    pub(super) fn list(&self) -> Vec<(Uuid, Option<String>)> {
        self.known().iter().map(|(client, known)| (*client, known.statistics.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_belongs_to_one_user_while_it_is_used() {
        let (clients, id) = (Clients::default(), Uuid::from_u128(1));
        let (ann, bob): (Arc<str>, Arc<str>) = ("ann".into(), "bob".into());
        assert!(clients.enter(id, Some(&ann)) && clients.enter(id, Some(&ann)));
        assert!(!clients.enter(id, Some(&bob)) && !clients.enter(id, None));
        let leave = || clients.leave(id, HashMap::new()).is_some();
        assert!(!leave() && leave() && !leave());
        assert!(clients.enter(id, Some(&bob)));
        clients.say(id, "os=linux");
        assert_eq!(clients.list(), [(id, Some("os=linux".to_owned()))]);
        clients.say(id, &"ü".repeat(MOST_STATISTICS));
        assert_eq!(clients.list()[0].1.as_ref().map(String::len), Some(MOST_STATISTICS));
    }
}
