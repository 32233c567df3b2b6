//! The forwarding patterns: which consumer gets an item.
//!
//! | Pattern | Consumer |
//! |---|---|
//! | [`UnicastLink`](super::unicast::UnicastLink) | any one that has room |
//! | [`Broadcast`] | every one |
//! | [`Hashed`] | the one that the hash of the item's key points to |
//! | [`Numbered`] | the one that owns the item's partition |
//! | [`ToOne`] | the same one for all items |

use super::link::{Lanes, Router};
use filbert_sync::deal;
use std::hash::{BuildHasher, Hash};

/// The same for all edges of all jobs, so that edges with equal keys bring them to the same processor.
const HASH_SEED: u64 = 0x5eed_f11b;

/// Every consumer gets every item.
pub(crate) struct Broadcast;

impl<T: Clone> Router<T> for Broadcast {
    fn route(&mut self, items: &mut Vec<T>, lanes: &mut Lanes<T>) {
        let last = lanes.count() - 1;
        for consumer in (0..last).filter(|consumer| lanes.is_open(*consumer)).collect::<Vec<_>>() {
            lanes.held[consumer].extend_from_slice(items);
        }
        lanes.held[last].append(items);
    }
}

/// The consumer that the hash of the key points to.
///
/// First all hashes of a slice, then all moves: user code that panics has moved nothing, and the processor works on many items at once
/// instead of waiting for the hash of each before it can move it.
pub(crate) struct Hashed<F> {
    key: F,
    hasher: foldhash::fast::FixedState,
    /// The consumer of every item of a slice.
    chosen: Vec<u32>,
}

impl<F> Hashed<F> {
    pub(crate) fn new(key: F) -> Self {
        Self { key, hasher: foldhash::fast::FixedState::with_seed(HASH_SEED), chosen: Vec::new() }
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
    fn route(&mut self, items: &mut Vec<T>, lanes: &mut Lanes<T>) {
        let Self { key, hasher, chosen } = self;
        chosen.clear();
        match lanes.count() as u64 {
            1 => return lanes.held[0].append(items),
            // The same as below, in one step less.
            2 => chosen.extend(items.iter().map(|item| (key.hash(hasher, item) >> 63) as u32)),
            consumers => chosen.extend(items.iter().map(|item| share(key.hash(hasher, item), consumers))),
        }
        deal(items, chosen, &mut lanes.held);
    }
}

/// The consumer of a hash: its upper bits, scaled; a division would cost more than the hash.
#[inline]
pub(super) fn share(hash: u64, consumers: u64) -> u32 {
    (((hash >> 32) * consumers) >> 32) as u32
}

/// The consumer that owns the partition of the item.
pub(crate) struct Numbered<F> {
    partition: F,
    chosen: Vec<u32>,
}

impl<F> Numbered<F> {
    pub(crate) fn new(partition: F) -> Self {
        Self { partition, chosen: Vec::new() }
    }
}

impl<T, F: Fn(&T) -> u32 + Send + Sync> Router<T> for Numbered<std::sync::Arc<F>> {
    fn route(&mut self, items: &mut Vec<T>, lanes: &mut Lanes<T>) {
        let Self { partition, chosen } = self;
        let consumers = lanes.count() as u32;
        chosen.clear();
        chosen.extend(items.iter().map(|item| partition(item) % consumers));
        deal(items, chosen, &mut lanes.held);
    }
}

/// All items to one consumer.
pub(crate) struct ToOne {
    pub(crate) consumer: usize,
}

impl<T> Router<T> for ToOne {
    fn route(&mut self, items: &mut Vec<T>, lanes: &mut Lanes<T>) {
        lanes.held[self.consumer].append(items);
    }
}
