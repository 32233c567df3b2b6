//! Reads.

use super::Map;
use crate::invocation::Invocation;
use crate::map::operations::{
    ContainsKey, ContainsValue, FetchEntries, Get, GetEntryView, Page, Size, Stats,
};
use crate::map::partition::{EntryView, LocalMapStats, MapPartition};
use crate::operation::Turn;
use crate::strands::Spread;
use filbert_store::StoreError;
use filbert_wire::{Data, PartitionId};

impl Map {
    /// The value of `key`.
    #[inline]
    pub fn get(&self, key: Data) -> Invocation<Option<Data>> {
        self.call(key.partition(), Get::new(key))
    }

    /// Gives the bytes of the value of `key` to `read` without a copy, if the partition is idle and the map has no interceptors;
    /// `None` otherwise, and also when a store behind the map has to be asked: then [`Map::get`]. For whoever writes them into a message at
    /// once.
    #[inline]
    pub fn try_read<R>(&self, key: &Data, read: impl FnOnce(Option<&[u8]>) -> R) -> Option<R> {
        if self.structure.context.interceptors.any() {
            return None;
        }
        let may_be_elsewhere = self.structure.context.behind.is_some();
        let look = |map: &mut MapPartition, turn: &mut Turn<'_, MapPartition>| {
            let found = if may_be_elsewhere && map.find(turn, key).is_none() {
                return None;
            } else {
                map.get(turn, key)
            };
            Some(read(found))
        };
        self.strands().try_look(key.partition(), "map.read", look).flatten()
    }

    /// Whether `key` is there.
    pub fn contains_key(&self, key: Data) -> Invocation<bool> {
        self.call(key.partition(), ContainsKey::new(key))
    }

    /// Whether any key has this value. Looks at all entries.
    pub fn contains_value(&self, value: &Data) -> Invocation<bool> {
        self.everywhere(|| ContainsValue::new(value.clone()), |found| found.into_iter().any(|found| found))
    }

    /// All that is known of the entry of `key`.
    pub fn entry_view(&self, key: Data) -> Invocation<Option<EntryView>> {
        self.call(key.partition(), GetEntryView { key })
    }

    /// How many entries there are. Those whose time is over count until someone looks for them or the sweep comes by.
    pub fn size(&self) -> Invocation<u64> {
        self.everywhere(|| Size, |sizes| sizes.into_iter().sum())
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> Invocation<bool> {
        self.everywhere(|| Size, |sizes| sizes.into_iter().all(|size| size == 0))
    }

    /// What the map counted on this member, in the partitions that are served.
    pub fn stats(&self) -> Invocation<LocalMapStats> {
        let used = self.strands().used_partitions().into_iter();
        let operations =
            used.filter(|partition| !self.is_damaged(*partition)).map(|partition| (partition, Stats));
        let sum =
            |parts: Vec<LocalMapStats>| parts.into_iter().fold(LocalMapStats::default(), LocalMapStats::plus);
        self.strands().call_all(Spread::Here, operations, sum)
    }

    /// Returns how many writes were refused because they could not be kept on disk, since the map was made.
    pub fn refused_writes(&self) -> u64 {
        self.structure.context.refused()
    }

    /// Says why writes are refused now: the disk is full, or cannot be written. `None` when they are taken.
    pub fn why_writes_are_refused(&self) -> Option<StoreError> {
        self.structure.context.why_refuses()
    }

    /// How many of its partitions are not served, because what they held could not be read from disk.
    pub fn damaged_partitions(&self) -> usize {
        self.structure.context.damaged_partitions()
    }

    /// Some entries of a partition from `cursor` on, which is 0 at first and then what the last page said. An entry that is there from the
    /// first page to the last is on exactly one of them.
    pub fn fetch_entries(&self, partition: PartitionId, cursor: u32, batch: u32) -> Invocation<Page> {
        self.call(partition, FetchEntries { cursor, batch })
    }
}

#[cfg(test)]
mod tests {
    use crate::grid::Grid;
    use filbert_pool::Stages;
    use filbert_wire::Data;
    use std::time::Duration;

    /// The figures of a map that had too much to do were refused: it was gone from `/metrics`, and each look counted as one that was turned away.
    #[test]
    fn a_map_says_what_it_holds_while_new_work_is_refused() {
        let stages = Stages::builder().set("partition.overload_ms", 1_000_u64).simulated(1).unwrap();
        let (map, simulation) = (Grid::new(&stages).map("m"), stages.simulation().unwrap());
        let (key, value) = (Data::new(-7, &[0, 0, 0, 1]), Data::new(-7, &[0, 0, 0, 2]));
        map.set(key.clone(), value.clone()).wait().unwrap();
        let partition = map.strands().used_partitions()[0];
        let held = map.strands().try_look(partition, "hold", |_, _| {
            let waits = map.set(key.clone(), value.clone());
            simulation.advance(Duration::from_millis(1_001));
            assert!(map.set(key, value).now().unwrap().is_err(), "it is late");
            (waits, map.stats())
        });
        let (waits, stats) = held.unwrap();
        simulation.settle();
        assert_eq!(waits.wait(), Ok(()));
        assert_eq!(stats.wait().unwrap().entries, 1);
        assert_eq!(stages.partition().snapshot().refused, 1, "the write alone");
    }
}
