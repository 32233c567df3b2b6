//! The forwarding patterns: which consumer gets an item.
//!
//! | Pattern | Consumer |
//! |---|---|
//! | [`UnicastLink`](super::unicast::UnicastLink) | any one that has room |
//! | [`Broadcast`] | every one |
//! | [`Hashed`] | the one that the hash of the item's key points to |
//! | [`Numbered`] | the one that owns the item's partition |
//! | [`ToOne`] | the same one for all items |

use super::link::{Lane, Router};
use std::hash::{BuildHasher, Hash};

/// The same for all edges of all jobs, so that edges with equal keys bring them to the same processor.
const HASH_SEED: u64 = 0x5eed_f11b;

/// Every consumer gets every item.
pub(crate) struct Broadcast;

impl<T: Clone> Router<T> for Broadcast {
    fn route(&mut self, items: &mut Vec<T>, lanes: &mut [Lane<T>]) {
        let Some((last, others)) = lanes.split_last_mut() else { return items.clear() };
        for lane in others.iter_mut().filter(|lane| lane.is_open()) {
            lane.put_all(items.iter().cloned());
        }
        last.put_all(items.drain(..));
    }
}

/// The consumer that the hash of the key points to.
pub(crate) struct Hashed<F> {
    key: F,
    hasher: foldhash::fast::FixedState,
}

impl<F> Hashed<F> {
    pub(crate) fn new(key: F) -> Self {
        Self { key, hasher: foldhash::fast::FixedState::with_seed(HASH_SEED) }
    }
}

/// Calls a user's function with a key that may be borrowed from the item.
pub(crate) trait HashItem<T>: Send + Sync + 'static {
    /// The hash of the item's key.
    fn hash(&self, hasher: &foldhash::fast::FixedState, item: &T) -> u64;
}

/// The item is its own key.
#[derive(Clone, Copy)]
pub(crate) struct WholeItem;

impl<T: Hash> HashItem<T> for WholeItem {
    #[inline]
    fn hash(&self, hasher: &foldhash::fast::FixedState, item: &T) -> u64 {
        hasher.hash_one(item)
    }
}

/// A key of its own.
pub(crate) struct ByKey<F>(pub(crate) F);

impl<T, K: Hash, F: Fn(&T) -> K + Send + Sync + 'static> HashItem<T> for ByKey<F> {
    #[inline]
    fn hash(&self, hasher: &foldhash::fast::FixedState, item: &T) -> u64 {
        hasher.hash_one((self.0)(item))
    }
}

/// A key that is a part of the item.
pub(crate) struct ByPart<F>(pub(crate) F);

impl<T, K: Hash + ?Sized, F: Fn(&T) -> &K + Send + Sync + 'static> HashItem<T> for ByPart<F> {
    #[inline]
    fn hash(&self, hasher: &foldhash::fast::FixedState, item: &T) -> u64 {
        hasher.hash_one((self.0)(item))
    }
}

impl<T, F: HashItem<T>> Router<T> for Hashed<std::sync::Arc<F>> {
    fn route(&mut self, items: &mut Vec<T>, lanes: &mut [Lane<T>]) {
        let consumers = lanes.len() as u64;
        for item in items.drain(..) {
            let hash = self.key.hash(&self.hasher, &item);
            lanes[share(hash, consumers)].put(item);
        }
    }
}

/// The consumer of a hash: its upper bits, scaled; a division would cost more than the hash.
#[inline]
fn share(hash: u64, consumers: u64) -> usize {
    (((hash >> 32) * consumers) >> 32) as usize
}

/// The consumer that owns the partition of the item.
pub(crate) struct Numbered<F> {
    partition: F,
}

impl<F> Numbered<F> {
    pub(crate) fn new(partition: F) -> Self {
        Self { partition }
    }
}

impl<T, F: Fn(&T) -> u32 + Send + Sync> Router<T> for Numbered<std::sync::Arc<F>> {
    fn route(&mut self, items: &mut Vec<T>, lanes: &mut [Lane<T>]) {
        let consumers = lanes.len();
        for item in items.drain(..) {
            let partition = (self.partition)(&item) as usize;
            lanes[partition % consumers].put(item);
        }
    }
}

/// All items to one consumer.
pub(crate) struct ToOne {
    pub(crate) consumer: usize,
}

impl<T> Router<T> for ToOne {
    fn route(&mut self, items: &mut Vec<T>, lanes: &mut [Lane<T>]) {
        let consumer = self.consumer % lanes.len();
        lanes[consumer].put_all(items.drain(..));
    }
}
