//! What can be set per map, by name or by pattern.

use serde::{Deserialize, Serialize};

/// Which entry goes when a map has no more room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EvictionPolicy {
    /// None: the map grows.
    #[default]
    None,
    /// The one that was not used for the longest time, of a sample.
    Lru,
    /// The one that was used least often, of a sample.
    Lfu,
    /// Any.
    Random,
}

/// When a map has no more room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxSize {
    /// So many entries of the map on this member.
    Entries(u64),
    /// So many entries in each partition.
    EntriesPerPartition(u64),
    /// So many bytes for the map's entries on this member, what the store itself needs for them included.
    Bytes(u64),
}

/// The settings of a map.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MapSettings {
    /// How long an entry lives after it was written, unless the write says otherwise; 0 is for ever.
    pub ttl_seconds: u64,
    /// How long an entry lives after it was last used, unless the write says otherwise; 0 is for ever.
    pub max_idle_seconds: u64,
    /// Which entry goes when there is no more room.
    pub eviction: EvictionPolicy,
    /// When there is no more room; `None` is never.
    pub max_size: Option<MaxSize>,
    /// Keeps creation, last update and hits of every entry; 32 bytes each.
    pub per_entry_stats: bool,
    /// Keeps the last changes for readers that come later; `None` keeps none.
    pub journal: Option<JournalSettings>,
}

/// How much the journal of a map keeps, in all partitions of the map on this member together. When a partition's share is full, its
/// oldest change goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JournalSettings {
    /// So many changes; each partition keeps an equal share.
    pub capacity: u64,
    /// So many bytes, whatever the number of changes; each partition keeps an equal share, but always its newest change.
    pub max_bytes: u64,
}

impl Default for JournalSettings {
    fn default() -> Self {
        Self { capacity: 10_000, max_bytes: 256 << 20 }
    }
}

impl MapSettings {
    /// What is wrong with them, if anything is: a bound takes a size and a policy.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        use EvictionPolicy::{Lfu, Lru, None as Never, Random};
        use MaxSize::{Bytes, Entries, EntriesPerPartition};
        if let Some(JournalSettings { capacity: 0, .. } | JournalSettings { max_bytes: 0, .. }) = self.journal
        {
            return Some(
                "journal: capacity and max_bytes must be at least 1; leave the journal out for none",
            );
        }
        match (self.eviction, self.max_size) {
            (_, Some(Entries(0) | EntriesPerPartition(0) | Bytes(0))) => {
                Some("max_size = 0: must be at least 1; leave it out for no bound")
            }
            (Never, Some(_)) => {
                Some("max_size: without eviction = \"lru\", \"lfu\" or \"random\" it means nothing")
            }
            (Lru, None) => Some("eviction = lru: without max_size nothing ever goes"),
            (Lfu, None) => Some("eviction = lfu: without max_size nothing ever goes"),
            (Random, None) => Some("eviction = random: without max_size nothing ever goes"),
            (Never, None) | (Lru | Lfu | Random, Some(_)) => None,
        }
    }
}
