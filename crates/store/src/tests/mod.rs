//! Tests of the whole store: what is written is found, whatever happens in between.

mod disk_fails;
mod disk_full;
mod flips;
mod logs;
mod restarts;
mod trials;
mod versions;

use crate::{Change, Entry, Fsync, MapLog, PersistenceSettings, Store, StoreError};
use filbert_pool::{Shutdown, Stages};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::mpsc;

pub(super) const MAP: &str = "orders";

/// By partition and key.
pub(super) type Content = BTreeMap<(u16, Vec<u8>), Entry>;

pub(super) fn settings(fold_bytes: u64) -> PersistenceSettings {
    PersistenceSettings { fsync: Fsync::Always, fold_bytes, ..Default::default() }
}

pub(super) fn put(partition: u16, key: u32, value: &str) -> Entry {
    let key = key.to_be_bytes().to_vec();
    Entry { partition, key, value: value.as_bytes().to_vec(), life: None }
}

/// Appends a change, and what became of it.
pub(super) fn append(
    log: &MapLog,
    partition: u16,
    change: &Change<'_>,
) -> mpsc::Receiver<Result<(), StoreError>> {
    let (told, wait) = mpsc::channel();
    match log.append(partition, change) {
        Some(pending) => pending.then(move |result| drop(told.send(result))),
        None => drop(told.send(Ok(()))),
    }
    wait
}

pub(super) fn store(log: &MapLog, partition: u16, change: &Change<'_>) -> Result<(), StoreError> {
    append(log, partition, change).recv().expect("everyone who waits is told")
}

/// What a start finds of the map: its entries, and the partitions that it must not serve.
pub(super) fn recovered(store: &Store, settings: &PersistenceSettings) -> (Content, Vec<crate::Damage>) {
    let Some(recovery) = store.recover(MAP, settings).unwrap() else { return (Content::new(), Vec::new()) };
    let (mut content, mut damage) = (Content::new(), recovery.damage.clone());
    for shelf in recovery.into_shelves() {
        let more = shelf.read(|entry| {
            assert!(content.insert((entry.partition, entry.key.clone()), entry).is_none(), "given twice");
        });
        damage.extend(more.unwrap());
    }
    (content, damage)
}

/// Waits for a condition.
#[expect(clippy::disallowed_methods, reason = "a deadline for a test that would hang")]
pub(super) fn eventually(what: &str, condition: impl Fn() -> bool) {
    let begin = std::time::Instant::now();
    while !condition() {
        assert!(begin.elapsed() < std::time::Duration::from_secs(60), "{what}");
        std::thread::yield_now();
    }
}

/// Opens a data directory to read from it.
pub(super) fn reading<R>(directory: &Path, run: impl FnOnce(&Store) -> R) -> R {
    run(&Store::open(&Stages::simulated(1), directory).unwrap())
}

/// Opens a data directory with stages of its own; both end with the test's closure.
pub(super) fn with_store<R>(directory: &Path, run: impl FnOnce(&Store) -> R) -> R {
    let stages = Stages::builder().set("mixed.threads", 1).start().unwrap();
    let store = Store::open(&stages, directory).unwrap();
    let result = run(&store);
    store.close().unwrap();
    drop(store);
    stages.shutdown(Shutdown::Drain).unwrap();
    result
}
