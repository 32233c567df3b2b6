//! Changes of one key. Each waits while another owner has locked the key.

use super::Map;
use crate::invocation::Invocation;
use crate::map::expiry::Lifetime;
use crate::map::operations::{
    Delete, Evict, Put, PutIfAbsent, PutTransient, Remove, RemoveIfSame, Replace, ReplaceIfSame, Set, SetTtl,
    TryPut, TryRemove,
};
use filbert_wire::Data;

impl Map {
    /// Gives `key` a value; the one before.
    pub fn put(&self, key: Data, value: Data) -> Invocation<Option<Data>> {
        self.put_for(key, value, Lifetime::DEFAULT)
    }

    /// The same, with a lifetime.
    pub fn put_for(&self, key: Data, value: Data, lifetime: Lifetime) -> Invocation<Option<Data>> {
        self.call(key.partition(), Put { place: self.place(key), value, lifetime })
    }

    /// Gives `key` a value.
    #[inline]
    pub fn set(&self, key: Data, value: Data) -> Invocation<()> {
        self.set_for(key, value, Lifetime::DEFAULT)
    }

    /// The same, with a lifetime.
    #[inline]
    pub fn set_for(&self, key: Data, value: Data, lifetime: Lifetime) -> Invocation<()> {
        self.call(key.partition(), Set { place: self.place(key), value, lifetime })
    }

    /// Gives `key` a value that the store behind the map is not to have; the one before, if it is here.
    pub fn put_transient(&self, key: Data, value: Data, lifetime: Lifetime) -> Invocation<Option<Data>> {
        self.call(key.partition(), PutTransient { place: self.place(key), value, lifetime })
    }

    /// Gives `key` a value if it has none; the one it has.
    pub fn put_if_absent(&self, key: Data, value: Data, lifetime: Lifetime) -> Invocation<Option<Data>> {
        self.call(key.partition(), PutIfAbsent { place: self.place(key), value, lifetime })
    }

    /// Gives `key` a value unless it stays locked for so long; whether it did.
    pub fn try_put(&self, key: Data, value: Data, timeout_ms: u64) -> Invocation<bool> {
        self.call(key.partition(), TryPut { place: self.place(key).within_ms(timeout_ms), value })
    }

    /// Gives `key` another value if it has one; the one before.
    pub fn replace(&self, key: Data, value: Data) -> Invocation<Option<Data>> {
        self.call(key.partition(), Replace { place: self.place(key), value })
    }

    /// Gives `key` another value if it has exactly `expected`; whether it had.
    pub fn replace_if_same(&self, key: Data, expected: Data, value: Data) -> Invocation<bool> {
        self.call(key.partition(), ReplaceIfSame { place: self.place(key), expected, value })
    }

    /// Says anew how long the entry of `key` lives, from now on: 0 for ever, negative as the settings say. Whether there is one.
    pub fn set_ttl(&self, key: Data, ttl_ms: i64) -> Invocation<bool> {
        self.call(key.partition(), SetTtl { place: self.place(key), ttl_ms })
    }

    /// Removes `key`; the value it had.
    pub fn remove(&self, key: Data) -> Invocation<Option<Data>> {
        self.call(key.partition(), Remove { place: self.place(key) })
    }

    /// Removes `key`; whether it was there.
    pub fn delete(&self, key: Data) -> Invocation<bool> {
        self.call(key.partition(), Delete { place: self.place(key) })
    }

    /// Removes `key` if it has exactly `expected`; whether it had.
    pub fn remove_if_same(&self, key: Data, expected: Data) -> Invocation<bool> {
        self.call(key.partition(), RemoveIfSame { place: self.place(key), expected })
    }

    /// Removes `key` unless it stays locked for so long; whether it was there and went.
    pub fn try_remove(&self, key: Data, timeout_ms: u64) -> Invocation<bool> {
        self.call(key.partition(), TryRemove { place: self.place(key).within_ms(timeout_ms) })
    }

    /// Evicts `key`; whether it was there. Listeners hear that it was evicted, not removed.
    pub fn evict(&self, key: Data) -> Invocation<bool> {
        self.call(key.partition(), Evict { place: self.place(key) })
    }
}
