//! Locks of keys, for this handle's owner.

use super::Map;
use crate::invocation::Invocation;
use crate::map::operations::{ForceUnlock, IsLocked, Lock, ReleaseLocksOf, TryLock, Unlock};
use crate::strands::mail_until_taken;
use filbert_wire::Data;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// How long a full mailbox is left alone before it is asked again to free the keys of someone who is gone.
const FREE_AGAIN: Duration = Duration::from_millis(10);

impl Map {
    /// Locks `key`, waiting for whoever has it as long as it takes; cancel the invocation to give up. With a lease it is free again
    /// after that time, whatever its owner does.
    pub fn lock(&self, key: Data, lease_ms: Option<u64>) -> Invocation<()> {
        self.call(key.partition(), Lock { place: self.place(key).within_ms(u64::MAX), lease_ms })
    }

    /// Locks `key` unless it stays locked for so long; whether it did.
    pub fn try_lock(&self, key: Data, timeout_ms: u64, lease_ms: Option<u64>) -> Invocation<bool> {
        self.call(key.partition(), TryLock { place: self.place(key).within_ms(timeout_ms), lease_ms })
    }

    /// Whether anyone has locked `key`.
    pub fn is_locked(&self, key: Data) -> Invocation<bool> {
        self.call(key.partition(), IsLocked { key })
    }

    /// Gives the lock of `key` back; as often as it was taken, then it is free.
    pub fn unlock(&self, key: Data) -> Invocation<()> {
        self.call(key.partition(), Unlock { key, owner: self.owner })
    }

    /// Frees `key`, whoever has locked it.
    pub fn force_unlock(&self, key: Data) -> Invocation<()> {
        self.call(key.partition(), ForceUnlock { key })
    }

    /// Frees all keys that a client or member which is gone had locked; how many.
    pub fn release_locks_of(&self, id: Uuid) -> Invocation<u64> {
        self.everywhere(|| ReleaseLocksOf { id }, |released| released.into_iter().sum())
    }

    /// Frees all keys that a client or member which is gone had locked: at once, or, where a mailbox is full, as soon as it is not. Nobody
    /// else would ever free them. A partition that nobody has used has no locks, and is not made for this: a lock under way has made its own.
    pub fn free_keys_of(&self, id: Uuid) {
        let strands = self.strands();
        let (home, clock) = (Arc::downgrade(strands), strands.stages().clock());
        for partition in strands.used_partitions() {
            let release = ReleaseLocksOf { id };
            if strands.call(partition, release).now().is_ok_and(|freed| freed.is_err()) {
                mail_until_taken(&home, partition, &clock, release, FREE_AGAIN);
            }
        }
    }
}
