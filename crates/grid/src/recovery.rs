//! Maps come back from disk: shelf by shelf, side by side on stage `mixed`, each entry put back on its partition's strand.

use crate::error::{GridError, GridResult};
use crate::map::Map;
use crate::map::operations::{Restore, Restored};
use filbert_pool::{Stages, TaskFuture};
use filbert_store::{Damage, Entry, Reach, ShelfState, StoreError, Untold};
use filbert_wire::{Data, PartitionId};
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
    /// The changes that the store behind it had not been told of, and is told of now.
    pub untold: u64,
    /// What could not be read; the partitions that had data there are not served.
    pub damage: Vec<Damage>,
}

/// Puts the entries of shelves back, and hands what is untold to the store behind the map. Blocks.
///
/// `known` is the damage that was found before. What a damaged partition has to tell may be older than what its store has heard, so it stays on
/// disk.
pub(crate) fn restore(
    stages: &Stages,
    map: &Map,
    known: &[Damage],
    shelves: Vec<ShelfState>,
    progress: &dyn Fn(&RecoveryProgress),
) -> GridResult<RecoveredMap> {
    let (of, entries) = (shelves.len(), Arc::new(AtomicU64::new(0)));
    let read: Vec<TaskFuture<GridResult<FromShelf>>> = shelves
        .into_iter()
        .map(|shelf| {
            let (map, entries) = (map.clone(), Arc::clone(&entries));
            stages.mixed().submit("store.recover", move || restore_shelf(&map, shelf, &entries))
        })
        .collect::<Result<_, _>>()?;
    let (mut damage, mut untold) = (Vec::new(), Vec::new());
    for (done, shelf) in read.into_iter().enumerate() {
        let shelf = shelf.wait()??;
        damage.extend(shelf.damage);
        untold.extend(shelf.untold);
        let (map, entries) = (map.name().to_string(), entries.load(Ordering::Relaxed));
        progress(&RecoveryProgress { map, entries, shelves: done + 1, of });
    }
    let (name, entries) = (map.name().to_string(), entries.load(Ordering::Relaxed));
    let recovered = RecoveredMap { name, entries, untold: untold.len() as u64, damage };
    let is_sound = |key: &Data| {
        let partition = key.partition().number() as u16;
        !known.iter().chain(&recovered.damage).any(|damage| damage.reaches(partition))
    };
    let found = untold.len();
    untold.retain(|(key, _)| is_sound(key));
    if untold.len() < found {
        let held_back = found - untold.len();
        tracing::warn!(
            map = recovered.name,
            held_back,
            "changes of damaged partitions are not written to the store behind the map"
        );
    }
    // Now that all entries are there: what the store refuses is taken out of the map again.
    map.take_up(untold);
    Ok(recovered)
}

/// What a shelf has beside entries.
#[derive(Default)]
struct FromShelf {
    damage: Vec<Damage>,
    untold: Vec<(Data, Option<Data>)>,
}

/// Returns the change as the store is told of it; `None` when it cannot be one of its partition.
fn as_told(untold: Untold) -> Option<(Data, Option<Data>)> {
    let key = Data::from_bytes(untold.key).ok()?;
    let value = untold.value.map(Data::from_bytes).transpose().ok()?;
    (key.partition().number() == u32::from(untold.partition)).then_some((key, value))
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

fn restore_shelf(map: &Map, shelf: ShelfState, count: &AtomicU64) -> GridResult<FromShelf> {
    let mut gathered = Gathered { map, partition: 0, entries: Vec::new(), error: None };
    let (mut cannot_be, mut found) = (Vec::new(), FromShelf::default());
    found.damage = shelf.read(|entry: Entry| {
        let length = entry.bytes() as u64;
        let mut damaged = |partition| {
            let (file, problem) = ("the map".to_owned(), "an entry that cannot be".to_owned());
            cannot_be.push(Damage { file, at: 0, length, problem, reach: Reach::Partition(partition) });
        };
        let entry = match entry.into_untold() {
            Err(entry) => entry,
            Ok(untold) => {
                let partition = untold.partition;
                return match as_told(untold) {
                    Some(told) => found.untold.push(told),
                    None => damaged(partition),
                };
            }
        };
        let partition = entry.partition;
        let Some(entry) = Restored::new(entry) else { return damaged(partition) };
        if partition != gathered.partition || gathered.entries.len() == TOGETHER {
            gathered.put_back();
            gathered.partition = partition;
        }
        gathered.entries.push(entry);
        count.fetch_add(1, Ordering::Relaxed);
    })?;
    gathered.put_back();
    found.damage.extend(cannot_be);
    match gathered.error {
        Some(error) => Err(error),
        None => Ok(found),
    }
}

/// What keeps a member from starting: only the disk can.
pub(crate) fn as_store_error(map: &str, error: GridError) -> StoreError {
    match error {
        GridError::Store(error) => error,
        other => StoreError::NotStored { map: map.to_owned(), problem: other.to_string() },
    }
}
