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
}

/// The settings of a grid.
///
/// ```
/// use filbert_grid::{EvictionPolicy, GridSettings, MapSettings, MaxSize};
///
/// let mut settings = GridSettings::default();
/// let cache = MapSettings { eviction: EvictionPolicy::Lru, max_size: Some(MaxSize::Entries(100_000)), ..Default::default() };
/// settings.maps.push(("cache-*".to_owned(), cache.clone()));
/// assert_eq!(settings.map("cache-pages"), cache);
/// assert_eq!(settings.map("orders"), MapSettings::default());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GridSettings {
    /// Settings of maps by name or pattern, in which one `*` stands for any text. The most exact one counts: a name before a pattern, a
    /// longer pattern before a shorter one, the first of equals.
    pub maps: Vec<(String, MapSettings)>,
    /// How long an operation waits for a key that someone else has locked, unless it says otherwise.
    pub lock_wait_ms: u64,
    /// How many entries a scan looks at before others have their turn.
    pub scan_slice_entries: u32,
    /// How often a partition that has entries with an end looks for those whose time is over.
    pub sweep_interval_ms: u64,
}

impl Default for GridSettings {
    fn default() -> Self {
        Self { maps: Vec::new(), lock_wait_ms: 60_000, scan_slice_entries: 1_000, sweep_interval_ms: 1_000 }
    }
}

impl GridSettings {
    /// The settings of the map `name`.
    pub fn map(&self, name: &str) -> MapSettings {
        let mut best: Option<(usize, &MapSettings)> = None;
        for (pattern, settings) in &self.maps {
            let Some(exactness) = exactness(pattern, name) else { continue };
            if best.is_none_or(|(known, _)| exactness > known) {
                best = Some((exactness, settings));
            }
        }
        best.map(|(_, settings)| settings.clone()).unwrap_or_default()
    }
}

/// How exactly `pattern` says `name`; `None` when it does not.
fn exactness(pattern: &str, name: &str) -> Option<usize> {
    match pattern.split_once('*') {
        None => (pattern == name).then_some(usize::MAX),
        Some((before, after)) => {
            let fits =
                name.len() >= before.len() + after.len() && name.starts_with(before) && name.ends_with(after);
            fits.then_some(before.len() + after.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_exact_pattern_counts() {
        let with = |ttl_seconds| MapSettings { ttl_seconds, ..Default::default() };
        let maps = [("*", 1), ("a*", 2), ("a*z", 3), ("abz", 4), ("a*", 5)];
        let maps = maps.map(|(pattern, ttl)| (pattern.to_owned(), with(ttl))).to_vec();
        let settings = GridSettings { maps, ..Default::default() };
        let ttl = |name| settings.map(name).ttl_seconds;
        assert_eq!([ttl("b"), ttl("ab"), ttl("aaz"), ttl("abz"), ttl("a")], [1, 2, 3, 4, 2]);
    }
}
