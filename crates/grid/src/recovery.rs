//! Maps come back from disk: shelf by shelf, side by side on stage `mixed`, each entry put back on its partition's strand.

use crate::error::{GridError, GridResult};
use crate::map::Map;
use crate::map::operations::{Restore, Restored};
use filbert_pool::{Stages, TaskFuture};
use filbert_store::{Damage, Entry, Reach, ShelfState, StoreError};
use filbert_wire::PartitionId;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Entries that are put back in one operation.
const TOGETHER: usize = 500;

/// Where the start of a member stands that has maps on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveryProgress {
    /// The map.
    pub map: String,
    /// Its entries so far.
    pub entries: u64,
    /// Its shelves that are read.
    pub shelves: usize,
    /// Its shelves in all.
    pub of: usize,
}

/// A map that came back from disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecoveredMap {
    /// Its name.
    pub name: String,
    /// Its entries, those whose time is over included.
    pub entries: u64,
    /// What could not be read; the partitions that had data there are not served.
    pub damage: Vec<Damage>,
}

/// Puts the entries of shelves back; what could not be read. Blocks.
pub(crate) fn restore(
    stages: &Stages,
    map: &Map,
    shelves: Vec<ShelfState>,
    progress: &dyn Fn(&RecoveryProgress),
) -> GridResult<(u64, Vec<Damage>)> {
    let (of, entries) = (shelves.len(), Arc::new(AtomicU64::new(0)));
    let read: Vec<TaskFuture<GridResult<Vec<Damage>>>> = shelves
        .into_iter()
        .map(|shelf| {
            let (map, entries) = (map.clone(), Arc::clone(&entries));
            stages.mixed().submit("store.recover", move || restore_shelf(&map, shelf, &entries))
        })
        .collect::<Result<_, _>>()?;
    let mut damage = Vec::new();
    for (done, shelf) in read.into_iter().enumerate() {
        damage.extend(shelf.wait()??);
        let (map, entries) = (map.name().to_string(), entries.load(Ordering::Relaxed));
        progress(&RecoveryProgress { map, entries, shelves: done + 1, of });
    }
    Ok((entries.load(Ordering::Relaxed), damage))
}

/// Entries of one partition that are gathered.
struct Gathered<'a> {
    map: &'a Map,
    partition: u16,
    entries: Vec<Restored>,
    error: Option<GridError>,
}

impl Gathered<'_> {
    fn put_back(&mut self) {
        let entries = std::mem::take(&mut self.entries);
        let Some(partition) = PartitionId::new(u32::from(self.partition)) else { return };
        if !entries.is_empty() && self.error.is_none() {
            self.error = self.map.strands().call(partition, Restore { entries }).wait().err();
        }
    }
}

fn restore_shelf(map: &Map, shelf: ShelfState, count: &AtomicU64) -> GridResult<Vec<Damage>> {
    let mut gathered = Gathered { map, partition: 0, entries: Vec::new(), error: None };
    let mut cannot_be = Vec::new();
    let mut damage = shelf.read(|entry: Entry| {
        let (partition, length) = (entry.partition, entry.bytes() as u64);
        let Some(entry) = Restored::new(entry) else {
            let (file, problem) = ("the map".to_owned(), "an entry that cannot be".to_owned());
            cannot_be.push(Damage { file, at: 0, length, problem, reach: Reach::Partition(partition) });
            return;
        };
        if partition != gathered.partition || gathered.entries.len() == TOGETHER {
            gathered.put_back();
            gathered.partition = partition;
        }
        gathered.entries.push(entry);
        count.fetch_add(1, Ordering::Relaxed);
    })?;
    gathered.put_back();
    damage.extend(cannot_be);
    match gathered.error {
        Some(error) => Err(error),
        None => Ok(damage),
    }
}

/// What keeps a member from starting: only the disk can.
pub(crate) fn as_store_error(map: &str, error: GridError) -> StoreError {
    match error {
        GridError::Store(error) => error,
        other => StoreError::NotStored { map: map.to_owned(), problem: other.to_string() },
    }
}
