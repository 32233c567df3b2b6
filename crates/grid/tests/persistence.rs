//! Maps on disk, through the grid: after a restart a map holds what it held before, whatever was done to it.

#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]

use filbert_grid::{
    Code, Entry, EntryProcessor, EvictionPolicy, Fsync, Grid, GridError, GridSettings, Lifetime, Map,
    MapSettings, MaxSize, PersistenceSettings, Registry, Service, Store, StoreError,
};
use filbert_pool::{Stages, simulate};
use filbert_store::Room;
use filbert_wire::Data;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Barrier};
use std::time::Duration;

fn int(number: u32) -> Data {
    Data::new(-7, &number.to_be_bytes())
}

fn persistent(fsync: Fsync) -> MapSettings {
    let persistence = Some(PersistenceSettings { fsync, fold_bytes: 4_096, ..Default::default() });
    MapSettings { persistence, ..Default::default() }
}

fn settings(folder: &Path, map: MapSettings) -> GridSettings {
    let data_directory = folder.display().to_string();
    let mut settings = GridSettings { scan_slice_entries: 3, data_directory, ..Default::default() };
    settings.maps.set("*", map);
    settings
}

/// Doubles a number; removes what gets too large.
struct Double {
    offloadable: bool,
}

impl EntryProcessor for Double {
    fn process(&self, entry: &mut Entry<'_>) -> Result<Option<Data>, String> {
        let number = entry.value().map_or(1, |value| u32::from_be_bytes(value.payload().try_into().unwrap()));
        if number > 1 << 20 {
            entry.remove();
        } else {
            entry.set_value(int(number * 2));
        }
        Ok(None)
    }

    fn is_offloadable(&self) -> bool {
        self.offloadable
    }
}

fn registry() -> Registry {
    Registry::new()
        .with_processor("double", |_| Ok(Double { offloadable: false }))
        .with_processor("double far away", |_| Ok(Double { offloadable: true }))
}

fn open(stages: &Stages, settings: &GridSettings) -> Grid {
    Grid::open(stages, settings.clone(), registry(), &|_| ()).unwrap()
}

/// What a map holds: each value, and when it ends.
fn content(map: &Map) -> HashMap<Data, (Data, i64)> {
    let entries = map.entry_set().wait().unwrap();
    let end = |key: &Data| map.entry_view(key.clone()).wait().unwrap().map_or(0, |view| view.expiration_time);
    entries.into_iter().map(|(key, value)| (key.clone(), (value, end(&key)))).collect()
}

fn step(map: &Map, stages: &Stages, random: &mut impl FnMut(u32) -> u32) {
    let (key, value) = (int(random(60)), int(random(1_000)));
    let lifetime = Lifetime::ttl_ms(i64::from(random(40)) * 100);
    match random(24) {
        0..8 => drop(map.put(key, value).wait().unwrap()),
        8 | 9 => map.set_for(key, value, lifetime).wait().unwrap(),
        10 => drop(map.put_if_absent(key, value, lifetime).wait().unwrap()),
        11 => drop(map.replace(key, value).wait().unwrap()),
        12 => drop(map.set_ttl(key, i64::from(random(5_000))).wait().unwrap()),
        13 => drop(map.remove(key).wait().unwrap()),
        14 => drop(map.evict(key).wait().unwrap()),
        15 => map.put_all((0..random(30)).map(|key| (int(key * 2), value.clone()))).wait().unwrap(),
        16 => drop(map.execute_on_key(key, Code::named("double", int(0))).wait().unwrap()),
        17 => drop(map.execute_on_key(key, Code::named("double far away", int(0))).wait().unwrap()),
        18 => drop(map.execute_on_entries(&Code::named("double", int(0))).wait().unwrap()),
        19 => {
            map.lock(key.clone(), None).wait().unwrap();
            map.set(key.clone(), value).wait().unwrap();
            if random(2) == 0 {
                map.clear().wait().unwrap();
            }
            map.unlock(key).wait().unwrap();
        }
        20 if random(4) == 0 => map.clear().wait().unwrap(),
        21 if random(4) == 0 => map.evict_all().wait().unwrap(),
        _ => stages.simulation().unwrap().advance(Duration::from_millis(u64::from(random(400)))),
    }
}

/// Few: with `always` each change of each is flushed to a real disk.
const SEEDS: u64 = 3;

fn restarts(name: &'static str, map: &MapSettings) {
    simulate::seeds(name, 0..SEEDS, |seed| {
        let folder = tempfile::tempdir().unwrap();
        let settings = settings(folder.path(), map.clone());
        let stages = Stages::simulated(seed);
        let clock = stages.clock();
        let mut random = |below: u32| clock.random_below(below as usize) as u32;
        let mut before = HashMap::new();
        for _ in 0..4 {
            let grid = open(&stages, &settings);
            let map = grid.map("m");
            assert_eq!(content(&map), before);
            for _ in 0..random(120) {
                step(&map, &stages, &mut random);
            }
            // Without an end of its own, nothing ends between the look and the end of the grid.
            before = content(&map);
            grid.close().unwrap();
        }
    });
}

#[test]
fn what_is_stored_is_what_the_map_holds() {
    restarts("what_is_stored_is_what_the_map_holds", &persistent(Fsync::Always));
}

#[test]
fn an_orderly_end_stores_everything_whatever_is_set() {
    restarts("an_orderly_end_stores_everything_whatever_is_set", &persistent(Fsync::Never));
    restarts("an_orderly_end_stores_everything_whatever_is_set", &persistent(Fsync::Interval));
}

#[test]
fn what_was_evicted_stays_gone() {
    let (eviction, max_size) = (EvictionPolicy::Lru, Some(MaxSize::Entries(20)));
    let bounded = MapSettings { eviction, max_size, ..persistent(Fsync::Always) };
    restarts("what_was_evicted_stays_gone", &bounded);
}

#[test]
fn time_goes_on_while_the_member_is_down() {
    let folder = tempfile::tempdir().unwrap();
    let (settings, stages) = (settings(folder.path(), persistent(Fsync::Always)), Stages::simulated(1));
    let simulation = stages.simulation().unwrap();
    let first = open(&stages, &settings);
    for key in 0..10 {
        let ttl = Lifetime::ttl_ms(i64::from(key) * 1_000 + 500);
        first.map("m").set_for(int(key), int(key), ttl).wait().unwrap();
    }
    let idle = Lifetime { ttl_ms: 0, max_idle_ms: 1_500 };
    first.map("m").set_for(int(99), int(99), idle).wait().unwrap();
    first.close().unwrap();
    drop(first);
    simulation.advance(Duration::from_millis(5_000));
    let second = open(&stages, &settings);
    let map = second.map("m");
    for key in 0..10 {
        assert_eq!(map.get(int(key)).wait().unwrap().is_some(), key >= 5, "key {key}");
    }
    assert!(map.get(int(99)).wait().unwrap().is_some(), "nobody could use it meanwhile");
    simulation.advance(Duration::from_secs(60));
    assert_eq!(map.size().wait(), Ok(0));
    second.close().unwrap();
    drop((second, map));
    assert_eq!(open(&stages, &settings).map("m").size().wait(), Ok(0), "expired entries stay gone");
}

/// No thread waits for the disk: the answer does. Readers see the value before.
#[test]
fn an_answer_comes_when_the_change_is_on_disk() {
    let folder = tempfile::tempdir().unwrap();
    let (settings, stages) = (settings(folder.path(), persistent(Fsync::Always)), Stages::simulated(1));
    let grid = open(&stages, &settings);
    let map = grid.map("m");
    let writes: Vec<_> = (0..10).map(|key| map.set(int(key), int(key))).collect();
    assert!(writes.iter().all(|write| !write.is_done()), "before the commit");
    assert_eq!(map.get(int(3)).now().unwrap(), Ok(Some(int(3))), "readers do not wait");
    stages.simulation().unwrap().settle();
    assert!(writes.iter().all(|write| write.is_done()), "all in one commit");
    assert!(writes.into_iter().all(|write| write.wait().is_ok()));
    assert!(map.set_ttl(int(77), 5).now().is_ok(), "nothing changed, nothing to wait for");
}

#[test]
fn a_full_disk_is_a_typed_error_and_readers_go_on() {
    let (folder, stages) = (tempfile::tempdir().unwrap(), Stages::start().unwrap());
    let mut unlimited = persistent(Fsync::Always);
    unlimited.persistence = Some(PersistenceSettings::default());
    let (settings, room) = (settings(folder.path(), unlimited), Room::of(2_000));
    let store = Store::open_with(&stages, folder.path(), room.clone()).unwrap();
    let grid = Grid::on(&stages, settings.clone(), registry(), store, &|_| ()).unwrap();
    let map = grid.map("m");
    let mut key = 0;
    let error = loop {
        match map.set(int(key), int(key)).wait() {
            Ok(()) => key += 1,
            Err(error) => break error,
        }
    };
    assert!(
        matches!(error, GridError::Store(StoreError::NotStored { .. })) && error.is_indeterminate(),
        "{error}"
    );
    let refused = map.set(int(1_000), int(1)).wait().unwrap_err();
    assert!(matches!(refused, GridError::Store(StoreError::TakesNoChanges { .. })), "{refused}");
    assert!(refused.is_retryable() && map.get(int(1_000)).wait() == Ok(None), "nothing was done");
    assert!(map.clear().wait().is_err() && map.put_all([(int(1), int(1))]).wait().is_err());
    assert_eq!(map.get(int(0)).wait(), Ok(Some(int(0))));
    room.set(1 << 20);
    let begin = std::time::Instant::now();
    while map.set(int(1_000), int(1)).wait().is_err() {
        assert!(begin.elapsed() < Duration::from_secs(60), "there is room");
        std::thread::yield_now();
    }
    let before = content(&map);
    grid.close().unwrap();
    drop((grid, map));
    assert_eq!(content(&open(&stages, &settings).map("m")), before);
}

#[test]
fn a_map_that_was_destroyed_does_not_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let (settings, stages) = (settings(folder.path(), persistent(Fsync::Always)), Stages::simulated(1));
    let grid = open(&stages, &settings);
    for name in ["kept", "gone", "new"] {
        grid.map(name).set(int(1), int(1)).wait().unwrap();
    }
    assert!(
        grid.structures().destroy(Service::Map, "gone") && grid.structures().destroy(Service::Map, "new")
    );
    grid.map("new").set(int(2), int(2)).wait().unwrap();
    grid.close().unwrap();
    drop(grid);
    let again = open(&stages, &settings);
    let names: Vec<_> = again.recovered().iter().map(|map| (&*map.name, map.entries)).collect();
    assert_eq!(names, [("kept", 1), ("new", 1)]);
    assert_eq!(again.map("new").get(int(2)).wait(), Ok(Some(int(2))));
}

/// Tasks that wait for their puts hold every thread of `mixed`: the flush has threads of its own.
#[test]
fn those_who_wait_for_the_disk_do_not_keep_it_from_being_written() {
    const TASKS: usize = 2;
    let folder = tempfile::tempdir().unwrap();
    let stages = Stages::builder().set("mixed.blocking_threads", TASKS as u64).start().unwrap();
    let grid = open(&stages, &settings(folder.path(), persistent(Fsync::Always)));
    let all_there = Arc::new(Barrier::new(TASKS));
    let put = |key: usize| {
        let (map, all_there) = (grid.map("m"), Arc::clone(&all_there));
        let task = move || {
            all_there.wait();
            map.put(int(key as u32), int(1)).wait_timeout(Duration::from_secs(60))
        };
        stages.mixed().submit("put", task).unwrap()
    };
    let puts: Vec<_> = (0..TASKS).map(put).collect();
    puts.into_iter().for_each(|put| assert_eq!(put.wait().unwrap(), Ok(None)));
    grid.close().unwrap();
}

/// What is damaged is counted, and what is not is looked at as ever; a look makes nothing.
#[test]
fn a_damaged_map_can_be_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(folder.path(), persistent(Fsync::Always));
    let stages = Stages::start().unwrap();
    let grid = open(&stages, &settings);
    assert!(grid.find_map("m").is_none() && grid.structures().is_empty());
    (0..40).for_each(|key| grid.map("m").set(int(key), Data::new(-12, b"needle")).wait().unwrap());
    grid.close().unwrap();
    drop(grid);
    let log = folder.path().join("maps/m/log-0000000000000001.seg");
    let mut bytes = std::fs::read(&log).unwrap();
    let value = bytes.windows(6).position(|window| window == b"needle").unwrap();
    bytes[value] ^= 1;
    std::fs::write(&log, bytes).unwrap();
    let grid = open(&stages, &settings);
    let map = grid.find_map("m").unwrap();
    assert_eq!(map.damaged_partitions(), 1);
    let entries = map.stats().wait().unwrap().entries;
    assert!((1..40).contains(&entries), "{entries}");
}
