//! What can be set per map, by name or by pattern.

use crate::query::{IndexKind, IndexSettings, QueryError};
use filbert_pool::settings_fields::{Field, Shape, is_named};
use filbert_store::PersistenceSettings;
use serde::{Deserialize, Serialize};

/// Which entry goes when a map has no more room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EvictionPolicy {
    /// None: a full map refuses writes, and one without a bound grows.
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

impl MaxSize {
    const FIELDS: &'static [Field] = &[
        Field::new("entries", "So many entries of the map on this member.", Shape::Number(1, MOST)),
        Field::new("entries_per_partition", "So many entries in each partition.", Shape::Number(1, MOST)),
        Field::new(
            "bytes",
            "So many bytes for the map's entries on this member, what the store itself needs for them included.",
            Shape::Number(1, MOST),
        ),
    ];
}

/// The most that a settings file can say.
const MOST: u64 = i64::MAX as u64;

/// The most seconds that are a number of milliseconds.
const MOST_SECONDS: u64 = MOST / 1_000;

filbert_pool::settings_struct! {
    /// The settings of a map.
    pub struct MapSettings {
        /// How long an entry lives after it was written, unless the write says otherwise; 0 is for ever.
        pub ttl_seconds: u64 = 0 => Shape::Number(0, MOST_SECONDS),
        /// How long an entry lives after it was last used, unless the write says otherwise; 0 is for ever.
        pub max_idle_seconds: u64 = 0 => Shape::Number(0, MOST_SECONDS),
        /// Which entry goes when there is no more room: of a sample, the one not used for longest (lru), the one used least often (lfu), or any
        /// (random). None goes with none: a write beyond max_size is refused, or without max_size the map grows.
        pub eviction: EvictionPolicy = EvictionPolicy::None => Shape::Words(&["none", "lru", "lfu", "random"]),
        /// When there is no more room: an entry is evicted, or with eviction none the write is refused. Not set: never.
        pub max_size: Option<MaxSize> = None => Shape::OneOf(MaxSize::FIELDS),
        /// Keeps creation, last update and hits of every entry; 32 bytes each.
        pub per_entry_stats: bool = false => Shape::Flag,
        /// Keeps the last changes of the map for readers that come later. Not set: none are kept.
        pub journal: Option<JournalSettings> = None => Shape::Table(JournalSettings::FIELDS),
        /// The store behind the map, which its entries are written to and loaded from. Not set: there is none.
        pub store: Option<MapStoreSettings> = None => Shape::Table(MapStoreSettings::FIELDS),
        /// Indexes that the map has from the start. Clients may add others; those of a map on disk are kept there.
        pub indexes as "index": Vec<IndexDeclaration> = Vec::new() => Shape::List(IndexDeclaration::FIELDS),
        /// Keeps the map on disk, in grid.data_directory. Not set: in memory only.
        pub persistence: Option<PersistenceSettings> = None => Shape::Table(PersistenceSettings::FIELDS),
    }
}

filbert_pool::settings_struct! {
    /// An index of a map.
    pub struct IndexDeclaration {
        /// How it keeps its keys: in order, for equality and ranges (sorted), by hash, for equality (hash), or as sets of entries, of one
        /// attribute with few values (bitmap).
        pub kind as "type": IndexKind = IndexKind::Sorted => Shape::Words(&["sorted", "hash", "bitmap"]),
        /// The attributes of the values that it is of, or __key; at least one.
        pub attributes: Vec<String> = Vec::new() => Shape::Texts(is_named),
        /// What it is called. Not set: after map, type and attributes.
        pub name: Option<String> = None => Shape::Text(any_text),
    }
}

impl IndexDeclaration {
    /// The index of a map of that name.
    pub(crate) fn of_map(&self, map: &str) -> Result<IndexSettings, QueryError> {
        IndexSettings::new(map, self.kind, self.name.as_deref(), &self.attributes)
    }
}

fn any_text(_: &str) -> Result<(), String> {
    Ok(())
}

filbert_pool::settings_struct! {
    /// The store behind a map: user code that is registered with the member by name.
    pub struct MapStoreSettings {
        /// The name under which it is registered.
        pub name: String = String::new() => Shape::Text(any_text),
        /// How long a change may wait before it is written, in milliseconds; whoever made it does not wait. 0: it is written at once, and
        /// whoever made it waits until it is.
        pub write_delay_ms: u64 = 0 => Shape::Number(0, 86_400_000),
        /// How many changes are written together at most.
        pub batch: usize = 1_000 => Shape::Number(1, 1_000_000),
        /// How many keys may have a change that is not written; further changes are refused.
        pub queue: usize = 100_000 => Shape::Number(1, 1_000_000_000),
        /// With a delay: how long a change that the store refused waits before it is tried again.
        pub retry_ms: u64 = 1_000 => Shape::Number(1, 86_400_000),
    }
}

filbert_pool::settings_struct! {
    /// How much the journal of a map keeps, in all partitions of the map on this member together. When a partition's share is full, its
    /// oldest change goes.
    #[derive(Copy)]
    pub struct JournalSettings {
        /// So many changes; each partition keeps an equal share.
        pub capacity: u64 = 10_000 => Shape::Number(1, MOST),
        /// So many bytes, whatever the number of changes; each partition keeps an equal share, but always its newest change.
        pub max_bytes: u64 = 256 << 20 => Shape::Number(1, MOST),
    }
}

impl MapSettings {
    /// What is wrong with them, if anything is: a policy takes a size.
    pub(crate) fn problem(&self) -> Option<String> {
        for (number, index) in self.indexes.iter().enumerate() {
            if let Err(error) = index.of_map("") {
                return Some(format!("index[{number}]: {error}"));
            }
        }
        self.unusable_bound().map(str::to_owned)
    }

    fn unusable_bound(&self) -> Option<&'static str> {
        use EvictionPolicy::{Lfu, Lru, None as Never, Random};
        if self.store.as_ref().is_some_and(|store| store.name.trim().is_empty()) {
            return Some("store: name says which of the stores that are registered with the member it is");
        }
        match (self.eviction, self.max_size) {
            (Lru, None) => Some("eviction = lru: without max_size nothing ever goes"),
            (Lfu, None) => Some("eviction = lfu: without max_size nothing ever goes"),
            (Random, None) => Some("eviction = random: without max_size nothing ever goes"),
            (Never, _) | (Lru | Lfu | Random, Some(_)) => None,
        }
    }
}
