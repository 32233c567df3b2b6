//! What a partition counts, and what is known of one entry.

use super::{MapPartition, MapTurn, Tells};
use crate::map::expiry::{Expiry, Lifetime, millis};
use crate::map::settings::EvictionPolicy;
use crate::map::store::{Slot, copied};
use filbert_store::Life;
use filbert_wire::Data;
use serde::{Deserialize, Serialize};

/// What one entry is known for, in a map that keeps it. Times are milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EntryStats {
    created: u64,
    used: u64,
    updated: u64,
    hits: u32,
    version: u32,
}

impl EntryStats {
    pub(super) fn new(now: u64) -> Self {
        Self { created: now, used: 0, updated: 0, hits: 0, version: 0 }
    }

    /// As another map had it; what that did not keep stays as it is.
    fn adopt(&mut self, view: &EntryView) {
        let times = [
            (view.creation_time, &mut self.created),
            (view.last_access_time, &mut self.used),
            (view.last_update_time, &mut self.updated),
        ];
        for (known, time) in times {
            *time = u64::try_from(known).unwrap_or(*time);
        }
        for (known, count) in [(view.hits, &mut self.hits), (view.version, &mut self.version)] {
            *count = u64::try_from(known).map_or(*count, |known| known.try_into().unwrap_or(u32::MAX));
        }
    }

    pub(super) fn used(&mut self, now: u64) {
        self.used = now;
        self.hits = self.hits.saturating_add(1);
    }

    pub(super) fn updated(&mut self, now: u64) {
        self.updated = now;
        self.version = self.version.saturating_add(1);
    }
}

/// All that is known of one entry. Times are milliseconds since 1970; -1 where the map does not keep it, `i64::MAX` for never.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryView {
    /// Its key.
    pub key: Data,
    /// Its value.
    pub value: Data,
    /// What it takes, in bytes.
    pub cost: i64,
    /// When it came.
    pub creation_time: i64,
    /// When it will go.
    pub expiration_time: i64,
    /// How often it was used.
    pub hits: i64,
    /// When it was last used.
    pub last_access_time: i64,
    /// When it was last written to a store outside; never.
    pub last_stored_time: i64,
    /// When it was last changed.
    pub last_update_time: i64,
    /// How often it was changed.
    pub version: i64,
    /// How long it lives from its last write on.
    pub ttl_ms: i64,
    /// How long it lives from its last use on.
    pub max_idle_ms: i64,
}

impl EntryView {
    /// How long it lives where it is put.
    pub(crate) fn lifetime(&self) -> Lifetime {
        let asked = |ms: i64| if ms == i64::MAX { 0 } else { ms };
        Lifetime { ttl_ms: asked(self.ttl_ms), max_idle_ms: asked(self.max_idle_ms) }
    }

    /// When its time to live is over, if that is known: what it says of its end may be that of its idle time.
    fn ends_unix_ms(&self) -> Option<u64> {
        let is_set = |ms: i64| ms > 0 && ms < i64::MAX;
        let written = self.last_update_time.max(self.creation_time);
        let ends = if !is_set(self.ttl_ms) {
            return None;
        } else if !is_set(self.max_idle_ms) && is_set(self.expiration_time) {
            self.expiration_time
        } else if is_set(written) {
            written.saturating_add(self.ttl_ms)
        } else {
            return None;
        };
        u64::try_from(ends).ok()
    }
}

/// What a map counts on this member, since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LocalMapStats {
    /// Entries that are there.
    pub entries: u64,
    /// What they take.
    pub bytes: u64,
    /// Keys that are locked.
    pub locked: u64,
    /// Reads.
    pub gets: u64,
    /// Reads that found something.
    pub hits: u64,
    /// Writes.
    pub puts: u64,
    /// Removals that someone asked for.
    pub removes: u64,
    /// Locks that were taken.
    pub locks: u64,
    /// Entries that went because there was no room.
    pub evictions: u64,
    /// Entries whose time was over.
    pub expirations: u64,
}

impl LocalMapStats {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            entries: self.entries + other.entries,
            bytes: self.bytes + other.bytes,
            locked: self.locked + other.locked,
            gets: self.gets + other.gets,
            hits: self.hits + other.hits,
            puts: self.puts + other.puts,
            removes: self.removes + other.removes,
            locks: self.locks + other.locks,
            evictions: self.evictions + other.evictions,
            expirations: self.expirations + other.expirations,
        }
    }
}

impl MapPartition {
    pub(crate) fn count_put(&mut self) {
        self.stats.puts += 1;
    }

    pub(crate) fn count_remove(&mut self) {
        self.stats.removes += 1;
    }

    pub(crate) fn local_stats(&self) -> LocalMapStats {
        LocalMapStats {
            entries: self.store.len() as u64,
            bytes: self.store.bytes() as u64,
            locked: self.locks.len() as u64,
            ..self.stats
        }
    }

    /// An entry that was just put has the past that another map knew of it.
    pub(crate) fn adopt(&mut self, turn: &mut MapTurn<'_>, view: &EntryView) {
        let Some(slot) = self.store.find(view.key.as_bytes()) else { return };
        if let Some(stats) = &mut self.entry_stats
            && let Some(stats) = stats.get_mut(slot)
        {
            stats.adopt(view);
        } else if let (EvictionPolicy::None | EvictionPolicy::Random, Ok(version)) =
            (self.context.settings.eviction, u64::try_from(view.version))
        {
            *self.store.note_mut(slot) = version.try_into().unwrap_or(u32::MAX);
        }
        if let Some(ends_unix_ms) = view.ends_unix_ms()
            && let Some(expiry) = self.expiry.get_mut(slot)
        {
            let life = Life { ends_unix_ms, ..expiry.life(turn.now(), turn.unix_ms()) };
            *expiry = Expiry::restored(&life, turn.now(), turn.unix_ms());
            let due = expiry.due_ms();
            self.sweep_by(turn, due);
            self.store_entry(turn, slot, Tells::Nobody);
        }
    }

    pub(crate) fn view(&self, turn: &MapTurn<'_>, slot: Slot) -> EntryView {
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let (expiration_time, ttl_ms, max_idle_ms) = match self.expiry(slot) {
            None => (i64::MAX, i64::MAX, i64::MAX),
            Some(expiry) => {
                let left = expiry.due_ms().saturating_sub(millis(turn.now()));
                let due = turn.unix_ms().saturating_add(left);
                (signed(due), signed(expiry.ttl_ms), signed(expiry.max_idle_ms))
            }
        };
        let stats = self.entry_stats.as_ref().and_then(|stats| stats.get(slot));
        let kept = |value: fn(&EntryStats) -> u64| stats.map_or(-1, |stats| signed(value(stats)));
        let noted = i64::from(self.store.note(slot));
        let (hits, version) = match (stats, self.context.settings.eviction) {
            (Some(stats), _) => (i64::from(stats.hits), i64::from(stats.version)),
            (None, EvictionPolicy::Lfu) => (noted, -1),
            (None, EvictionPolicy::Lru) => (-1, -1),
            (None, EvictionPolicy::None | EvictionPolicy::Random) => (-1, noted),
        };
        EntryView {
            key: copied(self.store.key(slot)),
            value: copied(self.store.value(slot)),
            cost: self.store.cost(slot) as i64,
            creation_time: kept(|stats| stats.created),
            expiration_time,
            hits,
            last_access_time: kept(|stats| stats.used),
            last_stored_time: -1,
            last_update_time: kept(|stats| stats.updated),
            version,
            ttl_ms,
            max_idle_ms,
        }
    }
}
