//! The locks of one partition's keys: who holds which, how often, and until when. A key need not have an entry to be locked.

use filbert_wire::Data;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
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
    /// When the lease ends, and its place among all leases.
    lease: Option<(Duration, u64)>,
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

/// What a lock takes with its place in the table, beside the bytes of its key.
const LOCK_BYTES: usize = 192;

/// What a lease takes, beside the bytes of its copy of the key.
const LEASE_BYTES: usize = 128;

/// The locks of a partition.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    locks: HashMap<Data, Lock>,
    /// The keys by the end of their lease; as many as locks that have one, so that leases cost nothing once the lock is given back.
    leases: BTreeMap<(Duration, u64), Data>,
    next_lease: u64,
    /// The bytes of all keys, here and there: a key may be of any length.
    key_bytes: usize,
}

impl Locks {
    pub(crate) fn is_empty(&self) -> bool {
        self.locks.is_empty()
    }

    /// What they take, roughly.
    pub(crate) fn bytes(&self) -> usize {
        LOCK_BYTES * self.locks.len() + LEASE_BYTES * self.leases.len() + self.key_bytes
    }

    /// What they would take more if `key` were locked, perhaps with a lease; nothing when it is locked already.
    pub(crate) fn growth(&self, key: &Data, leased: bool) -> usize {
        let length = key.as_bytes().len();
        match self.locks.contains_key(key) {
            true => 0,
            false => LOCK_BYTES + length + if leased { LEASE_BYTES + length } else { 0 },
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.locks.len()
    }

    /// Locks `key` for `owner`, once more if it has it already; false when someone else has it.
    pub(crate) fn lock(&mut self, key: &Data, owner: Owner, until: Option<Duration>) -> bool {
        let lease = until.map(|until| (until, self.next_lease));
        let before = match self.locks.get_mut(key) {
            None => {
                self.locks.insert(key.detached(), Lock { owner, count: 1, lease, system: false });
                self.key_bytes += key.as_bytes().len();
                None
            }
            Some(lock) if lock.owner == owner && !lock.system => {
                lock.count = lock.count.saturating_add(1);
                std::mem::replace(&mut lock.lease, lease)
            }
            Some(_) => return false,
        };
        self.end(before);
        if let Some(lease) = lease {
            self.next_lease += 1;
            self.leases.insert(lease, key.detached());
            self.key_bytes += key.as_bytes().len();
        }
        true
    }

    /// A lease is no more.
    fn end(&mut self, lease: Option<(Duration, u64)>) {
        if let Some(lease) = lease
            && let Some(key) = self.leases.remove(&lease)
        {
            self.key_bytes -= key.as_bytes().len();
        }
    }

    /// Nobody holds `key` any more; false when nobody did.
    fn remove(&mut self, key: &Data) -> bool {
        let Some((key, lock)) = self.locks.remove_entry(key) else { return false };
        self.key_bytes -= key.as_bytes().len();
        self.end(lock.lease);
        true
    }

    /// When the next lease ends.
    pub(crate) fn next_end(&self) -> Option<Duration> {
        self.leases.first_key_value().map(|((until, _), _)| *until)
    }

    /// A key whose lease is over by `now`: each is told once.
    pub(crate) fn next_over(&mut self, now: Duration) -> Option<Data> {
        let first = self.leases.first_entry().filter(|first| first.key().0 <= now)?;
        let key = first.remove();
        self.key_bytes -= key.as_bytes().len();
        Some(key)
    }

    /// Locks `key` for the member itself, over the lock that the caller may hold; the latter is given back by [`Locks::unlock_system`].
    pub(crate) fn lock_system(&mut self, key: &Data, owner: Owner) {
        let key_bytes = &mut self.key_bytes;
        let lock = self.locks.entry(key.detached()).or_insert_with(|| {
            *key_bytes += key.as_bytes().len();
            Lock { owner, count: 0, lease: None, system: true }
        });
        lock.system = true;
    }

    /// Ends what [`Locks::lock_system`] began; true when nobody holds the key now.
    pub(crate) fn unlock_system(&mut self, key: &Data) -> bool {
        let Some(lock) = self.locks.get_mut(key) else { return true };
        lock.system = false;
        let free = lock.count == 0;
        if free {
            self.remove(key);
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
                self.remove(key);
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
            Some(_) => self.remove(key),
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
        self.locks.get(key).and_then(|lock| lock.lease).map(|(until, _)| until)
    }

    /// Gives back the lock of `key` if its lease is over; true when it did.
    pub(crate) fn end_lease(&mut self, key: &Data, now: Duration) -> bool {
        let over = |lock: &Lock| !lock.system && lock.lease.is_some_and(|(until, _)| until <= now);
        self.locks.get(key).is_some_and(over) && self.remove(key)
    }

    /// Gives back all locks of the owners that `condition` says, but those of the member itself; the keys.
    pub(crate) fn release(&mut self, condition: impl Fn(&Owner) -> bool) -> Vec<Data> {
        let mut keys = Vec::new();
        let (leases, key_bytes) = (&mut self.leases, &mut self.key_bytes);
        self.locks.retain(|key, lock| {
            if !condition(&lock.owner) {
                return true;
            }
            if let Some(lease) = lock.lease.take()
                && let Some(copy) = leases.remove(&lease)
            {
                *key_bytes -= copy.as_bytes().len();
            }
            if lock.system {
                lock.count = 0;
                return true;
            }
            *key_bytes -= key.as_bytes().len();
            keys.push(key.clone());
            false
        });
        keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A lease of an hour that is given back at once was kept for the hour, by a timer of its own.
    #[test]
    fn a_lease_goes_with_its_lock() {
        let owner = Owner { id: Uuid::from_u128(1), thread: 1 };
        let key = |number: u32| Data::new(-7, &number.to_be_bytes());
        let (mut locks, hour) = (Locks::default(), Duration::from_secs(3_600));
        for number in 0..1_000 {
            assert!(locks.lock(&key(number % 3), owner, Some(hour)));
            assert_eq!(locks.unlock(&key(number % 3), owner), Unlocked::Free);
            assert!(locks.lock(&key(4), owner, Some(hour)), "and once more");
        }
        assert_eq!((locks.len(), locks.leases.len()), (1, 1));
        assert!(locks.lock(&key(5), owner, Some(hour / 2)) && locks.lock(&key(6), owner, None));
        assert_eq!(locks.next_end(), Some(hour / 2));
        assert_eq!(locks.next_over(hour / 3), None);
        assert_eq!(locks.next_over(hour / 2), Some(key(5)));
        assert!(locks.end_lease(&key(5), hour / 2));
        assert_eq!(locks.release(|_| true).len(), 2);
        assert_eq!((locks.len(), locks.leases.len()), (0, 0));
    }

    /// A lock of a key of 16 MB counted 192 bytes.
    #[test]
    fn a_lock_counts_its_key_and_gives_all_of_it_back() {
        let owner = Owner { id: Uuid::from_u128(1), thread: 1 };
        let other = Owner { id: Uuid::from_u128(2), thread: 1 };
        let key = |number: u8| Data::new(-12, &vec![number; 100_000]);
        let (mut locks, hour) = (Locks::default(), Duration::from_secs(3_600));
        let growth = locks.growth(&key(1), false);
        assert!(locks.lock(&key(1), owner, None));
        assert_eq!(locks.bytes(), growth);
        assert!(growth > 100_000 && locks.growth(&key(1), true) == 0, "{growth}");
        let growth = locks.growth(&key(2), true);
        assert!(locks.lock(&key(2), owner, Some(hour)) && growth > 200_000);
        assert!(locks.bytes() > 300_000);
        // Each way that a lock can end.
        assert!(locks.lock(&key(2), owner, Some(hour / 2)), "a new lease in the place of the old one");
        assert_eq!(locks.next_over(hour), Some(key(2)));
        assert!(locks.end_lease(&key(2), hour));
        locks.lock_system(&key(1), owner);
        locks.lock_system(&key(3), other);
        assert!(!locks.unlock_system(&key(1)) && locks.unlock_system(&key(3)));
        assert_eq!(locks.unlock(&key(1), owner), Unlocked::Free);
        assert_eq!(locks.bytes(), 0);
        assert!(locks.lock(&key(4), owner, Some(hour)) && locks.lock(&key(5), other, None));
        assert!(locks.force_unlock(&key(5)));
        assert_eq!(locks.release(|_| true).len(), 1);
        assert_eq!((locks.bytes(), locks.key_bytes), (0, 0));
    }
}
