//! Locks of keys, for this handle's owner.

use super::Map;
use crate::invocation::Invocation;
use crate::map::operations::{ForceUnlock, IsLocked, Lock, ReleaseLocksOf, TryLock, Unlock};
use filbert_wire::Data;
use uuid::Uuid;

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
}
