//! The locks of one partition's keys: who holds which, how often, and until when. A key need not have an entry to be locked.

use filbert_wire::Data;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::time::Duration;
use uuid::Uuid;

/// Who holds locks: a thread of a client, or a handle of this member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Owner {
    /// The client or member.
    pub id: Uuid,
    /// Which of its threads or handles.
    pub thread: i64,
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} thread {}", self.id, self.thread)
    }
}

#[derive(Debug)]
struct Lock {
    owner: Owner,
    count: u32,
    /// When the lease ends.
    until: Option<Duration>,
    /// Held by the member itself while an entry is away for processing: no lease, and nobody else may break it.
    system: bool,
}

/// What came of giving a lock back.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unlocked {
    /// Nobody holds it any more.
    Free,
    /// Its owner took it more often.
    StillHeld,
    /// Someone else holds it.
    By(Owner),
    /// Nobody held it.
    WasFree,
}

/// The locks of a partition.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    locks: HashMap<Data, Lock>,
}

impl Locks {
    pub(crate) fn is_empty(&self) -> bool {
        self.locks.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.locks.len()
    }

    /// Locks `key` for `owner`, once more if it has it already; false when someone else has it.
    pub(crate) fn lock(&mut self, key: &Data, owner: Owner, until: Option<Duration>) -> bool {
        match self.locks.get_mut(key) {
            None => {
                self.locks.insert(key.detached(), Lock { owner, count: 1, until, system: false });
                true
            }
            Some(lock) if lock.owner == owner && !lock.system => {
                lock.count += 1;
                lock.until = until;
                true
            }
            Some(_) => false,
        }
    }

    /// Locks `key` for the member itself, over the lock that the caller may hold; the latter is given back by [`Locks::unlock_system`].
    pub(crate) fn lock_system(&mut self, key: &Data, owner: Owner) {
        let lock =
            self.locks.entry(key.detached()).or_insert(Lock { owner, count: 0, until: None, system: true });
        lock.system = true;
    }

    /// Ends what [`Locks::lock_system`] began; true when nobody holds the key now.
    pub(crate) fn unlock_system(&mut self, key: &Data) -> bool {
        let Some(lock) = self.locks.get_mut(key) else { return true };
        lock.system = false;
        let free = lock.count == 0;
        if free {
            self.locks.remove(key);
        }
        free
    }

    pub(crate) fn unlock(&mut self, key: &Data, owner: Owner) -> Unlocked {
        match self.locks.get_mut(key) {
            None => Unlocked::WasFree,
            Some(lock) if lock.count == 0 || lock.owner != owner => Unlocked::By(lock.owner),
            Some(lock) => {
                lock.count -= 1;
                if lock.count > 0 || lock.system {
                    return Unlocked::StillHeld;
                }
                self.locks.remove(key);
                Unlocked::Free
            }
        }
    }

    /// Frees `key` whoever holds it, unless the member does; true when it is free then and was not before.
    pub(crate) fn force_unlock(&mut self, key: &Data) -> bool {
        match self.locks.get_mut(key) {
            Some(lock) if lock.system => {
                lock.count = 0;
                false
            }
            Some(_) => self.locks.remove(key).is_some(),
            None => false,
        }
    }

    /// The owner of the lock of `key`.
    pub(crate) fn owner(&self, key: &Data) -> Option<Owner> {
        self.locks.get(key).map(|lock| lock.owner)
    }

    /// True when the member itself holds `key`.
    pub(crate) fn is_system(&self, key: &Data) -> bool {
        self.locks.get(key).is_some_and(|lock| lock.system)
    }

    /// True when `owner` may change `key`: nobody holds it, or the owner itself.
    pub(crate) fn may_change(&self, key: &Data, owner: Owner) -> bool {
        self.locks.get(key).is_none_or(|lock| !lock.system && lock.owner == owner)
    }

    /// When the lease of `key` ends.
    pub(crate) fn until(&self, key: &Data) -> Option<Duration> {
        self.locks.get(key).and_then(|lock| lock.until)
    }

    /// Gives back the lock of `key` if its lease is over; true when it did.
    pub(crate) fn end_lease(&mut self, key: &Data, now: Duration) -> bool {
        let over = |lock: &Lock| !lock.system && lock.until.is_some_and(|until| until <= now);
        self.locks.get(key).is_some_and(over) && self.locks.remove(key).is_some()
    }

    /// Gives back all locks of the owners that `condition` says, but those of the member itself; the keys.
    pub(crate) fn release(&mut self, condition: impl Fn(&Owner) -> bool) -> Vec<Data> {
        let mut keys = Vec::new();
        self.locks.retain(|key, lock| {
            if !condition(&lock.owner) {
                return true;
            }
            if lock.system {
                lock.count = 0;
                lock.until = None;
                return true;
            }
            keys.push(key.clone());
            false
        });
        keys
    }
}
