//! The peers: each holds the same encoded keys and values, in the form that suits it best.

use super::entries::{Entries, decode, encode};
use dashmap::DashMap;
use filbert_wire::Data;
use foldhash::fast::RandomState;
use std::sync::Arc;

/// DashMap with 256 shards and a fast hash.
pub(super) type Dash = DashMap<Data, Data, RandomState>;

/// An empty one.
pub(super) fn dash() -> Dash {
    DashMap::with_capacity_and_hasher_and_shard_amount(0, RandomState::default(), 256)
}

impl Entries for Dash {
    #[inline]
    fn get(&self, key: &str) -> Option<Vec<u8>> {
        DashMap::get(self, &encode(key)).map(|value| decode(value.as_bytes()))
    }

    #[inline]
    fn set(&self, key: &str, value: &[u8]) {
        self.insert(encode(key), encode(value));
    }
}

/// moka's cache without a bound and without expiry. It clones what it gives, so values are counted references.
pub(super) struct Moka(moka::sync::Cache<Data, Arc<[u8]>, RandomState>);

impl Moka {
    pub(super) fn new() -> Self {
        Self(moka::sync::Cache::builder().build_with_hasher(RandomState::default()))
    }
}

impl Entries for Moka {
    #[inline]
    fn get(&self, key: &str) -> Option<Vec<u8>> {
        self.0.get(&encode(key)).map(|value| decode(&value))
    }

    #[inline]
    fn set(&self, key: &str, value: &[u8]) {
        self.0.insert(encode(key), Arc::from(encode(value).as_bytes()));
    }
}
