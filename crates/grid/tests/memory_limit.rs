//! The memory of all structures has one limit: each kind is offered four times as much, refuses what is too much, and goes on to be read and
//! emptied; then nothing counts any more.

#![allow(clippy::disallowed_methods, reason = "tests have deadlines of their own")]

use filbert_grid::{
    Code, Entry, EntryProcessor, EvictionPolicy, Grid, GridError, GridResult, GridSettings, Interest,
    Lifetime, MapSettings, MapStore, MapStoreSettings, MaxSize, Overflow, Registry, Service,
};
use filbert_pool::{Stages, TopicSnapshot};
use filbert_wire::Data;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What all structures may take.
const LIMIT: u64 = 2 << 20;
/// What one value has.
const VALUE: usize = 10_000;
/// What a strand takes that holds nothing.
const STRAND: u64 = 1_536;
/// Values that are offered: four times as much as there is room for.
const OFFERED: u32 = 4 * (LIMIT as u32) / VALUE as u32;

fn key(number: u32) -> Data {
    Data::new(-7, &number.to_be_bytes())
}

/// A value of its own.
fn value(number: u32) -> Data {
    let mut bytes = vec![7; VALUE];
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    Data::new(-12, &bytes)
}

struct Tested {
    stages: Stages,
    grid: Grid,
}

impl Tested {
    fn with(change: impl FnOnce(&mut GridSettings), registry: Registry) -> Self {
        let stages = Stages::start().unwrap();
        let mut settings = GridSettings { memory_bytes: Some(LIMIT), ..Default::default() };
        change(&mut settings);
        let grid = Grid::with(&stages, settings, registry);
        Self { stages, grid }
    }

    fn new() -> Self {
        Self::with(|_| (), Registry::new())
    }

    /// Offers four times the limit: a part is taken, all else is refused with the error that says why, and no more is held than allowed.
    fn offer(&self, what: &str, put: impl Fn(u32) -> GridResult<()>) -> u32 {
        let mut taken = 0;
        for number in 0..OFFERED {
            match put(number) {
                Ok(()) => taken += 1,
                Err(GridError::OutOfMemory { limit, .. }) => assert_eq!(limit, LIMIT, "{what}"),
                Err(other) => panic!("{what}: {other}"),
            }
        }
        let used = self.grid.memory().used();
        // A write that is judged before it runs may exceed the limit by itself, and a strand keeps a little to itself.
        assert!(used <= LIMIT + LIMIT / 10, "{what}: {used}");
        assert!(used >= LIMIT - LIMIT / 10, "{what}: room is left, {used}");
        assert!(taken > OFFERED / 8 && taken < OFFERED / 3, "{what}: {taken} of {OFFERED}");
        assert!(self.grid.memory().refused() >= u64::from(OFFERED - taken), "{what}");
        taken
    }

    /// All was taken away: nothing counts but the strands themselves, and a write goes again.
    fn is_empty_again(&self, what: &str, put: impl FnOnce() -> GridResult<()>) {
        self.has_strands_only(what);
        put().unwrap_or_else(|error| panic!("{what}: {error}"));
    }

    fn has_strands_only(&self, what: &str) {
        let used = self.grid.memory().used();
        assert!(used.is_multiple_of(STRAND) && used <= 271 * STRAND, "{what}: {used}");
    }

    fn eventually_has(&self, bytes: u64) {
        let begin = Instant::now();
        while self.grid.memory().used() != bytes {
            assert!(begin.elapsed() < Duration::from_secs(60), "{}", self.grid.memory().used());
            std::thread::yield_now();
        }
    }
}

impl Drop for Tested {
    fn drop(&mut self) {
        let _ = self.stages.shutdown(filbert_pool::Shutdown::Cancel);
    }
}

#[test]
fn a_map_refuses_what_there_is_no_memory_for() {
    let tested = Tested::new();
    let map = tested.grid.map("m");
    let taken = tested.offer("map", |number| map.set(key(number), value(number)).wait());
    assert_eq!(map.size().wait().unwrap(), u64::from(taken));
    assert_eq!(map.get(key(0)).wait().unwrap(), Some(value(0)));
    // As much as it had, or less, it may always have.
    map.set(key(0), value(9)).wait().unwrap();
    map.set(key(0), key(1)).wait().unwrap();
    let refused = map.put_all(vec![(key(OFFERED), value(0)), (key(OFFERED + 1), value(1))]).wait();
    assert!(matches!(refused, Err(GridError::OutOfMemory { .. })), "{refused:?}");
    assert!(map.remove(key(1)).wait().unwrap().is_some());
    map.set(key(1), value(1)).wait().unwrap();
    map.clear().wait().unwrap();
    tested.is_empty_again("map", || map.set(key(1), value(1)).wait());
    assert!(tested.grid.structures().destroy(Service::Map, "m"));
    tested.has_strands_only("what a destroyed map held does not count");
    drop(map);
    tested.eventually_has(0);
}

/// A map with a small entry told nothing of it, and its strands were never counted: thousands of maps were for nothing.
#[test]
fn many_maps_with_small_entries_are_refused_too() {
    let tested = Tested::new();
    let map = tested.grid.map("first");
    map.set(key(1), key(1)).wait().unwrap();
    assert!(tested.grid.memory().used() > STRAND, "its strand, and its entry");
    let mut refused = 0;
    for number in 0..2_000 {
        match tested.grid.map(&format!("m{number}")).set(key(1), key(1)).wait() {
            Ok(()) => assert_eq!(refused, 0),
            Err(GridError::OutOfMemory { in_part: false, .. }) => refused += 1,
            Err(other) => panic!("{other}"),
        }
    }
    assert!((300..1_000).contains(&refused), "{refused}");
    assert!(tested.grid.memory().used() <= LIMIT + LIMIT / 100);
    assert_eq!(map.get(key(1)).wait().unwrap(), Some(key(1)));
    for number in 0..2_000 {
        assert!(tested.grid.structures().destroy(Service::Map, &format!("m{number}")));
    }
    map.set(key(2), key(2)).wait().unwrap();
}

/// A lock of a key of 16 MB counted 192 bytes.
#[test]
fn locks_of_large_keys_are_refused() {
    let tested = Tested::new();
    let map = tested.grid.map("m");
    let taken = tested.offer("locks", |number| map.lock(value(number), None).wait());
    map.lock(value(0), None).wait().unwrap();
    assert!(matches!(map.try_lock(value(OFFERED), 0, None).wait(), Err(GridError::OutOfMemory { .. })));
    assert!(!map.is_locked(value(OFFERED)).wait().unwrap());
    map.unlock(value(0)).wait().unwrap();
    for number in 0..taken {
        map.unlock(value(number)).wait().unwrap();
    }
    for number in taken..OFFERED {
        map.force_unlock(value(number)).wait().unwrap();
    }
    tested.is_empty_again("locks", || map.lock(value(1), None).wait());
}

#[test]
fn locks_of_a_multimap_are_refused_too() {
    let tested = Tested::new();
    let (map, owner) = (tested.grid.multi_map("mm"), tested.grid.new_owner());
    let lease = Some(3_600_000);
    let mut taken = 0;
    for number in 0..OFFERED {
        match map.lock(&value(number), owner, 0, lease).wait() {
            Ok(locked) => taken += u32::from(locked),
            Err(error) => assert!(matches!(error, GridError::OutOfMemory { .. }), "{error}"),
        }
    }
    // A lease has a copy of the key.
    assert!((OFFERED / 16..OFFERED / 7).contains(&taken), "{taken}");
    // A lock that is refused may have made its strand.
    assert!(tested.grid.memory().used() <= LIMIT + LIMIT / 10 + 271 * STRAND);
    map.unlock(&value(0), owner).wait().unwrap();
    map.release_locks_of(owner.id).wait().unwrap();
    tested.is_empty_again("locks", || map.lock(&value(1), owner, 0, None).wait().map(drop));
}

/// A store that the test fills.
#[derive(Clone, Default)]
struct Shelf(Arc<Mutex<HashMap<Data, Data>>>);

impl MapStore for Shelf {
    fn load(&self, key: &Data) -> Result<Option<Data>, String> {
        Ok(self.0.lock().unwrap().get(key).cloned())
    }

    fn load_all_keys(&self) -> Result<Vec<Data>, String> {
        Ok(self.0.lock().unwrap().keys().cloned().collect())
    }

    fn store(&self, key: &Data, value: &Data) -> Result<(), String> {
        self.0.lock().unwrap().insert(key.clone(), value.clone());
        Ok(())
    }

    fn delete(&self, key: &Data) -> Result<(), String> {
        self.0.lock().unwrap().remove(key);
        Ok(())
    }
}

/// Reads and removals of keys that had to be loaded were refused while there was no room for their entries.
#[test]
fn a_map_with_a_store_reads_and_removes_without_room() {
    let shelf = Shelf::default();
    for number in 0..100 {
        shelf.0.lock().unwrap().insert(key(number), value(number));
    }
    let behind = shelf.clone();
    let store = Some(MapStoreSettings { name: "shelf".into(), ..Default::default() });
    let of_map = MapSettings { store, ..Default::default() };
    let registry = Registry::new().with_map_store("shelf", move |_| Ok(behind.clone()));
    let tested = Tested::with(|grid| grid.maps.set("m", of_map), registry);
    let (map, list) = (tested.grid.map("m"), tested.grid.list("l"));
    tested.offer("list", |number| list.add(&value(number)).wait().map(drop));
    let used = tested.grid.memory().used();
    for number in 0..50 {
        assert_eq!(map.get(key(number)).wait().unwrap(), Some(value(number)));
        assert!(map.contains_key(key(number)).wait().unwrap());
    }
    assert_eq!(map.get(key(1_000)).wait().unwrap(), None);
    let all = map.get_all((0..200).map(key)).wait().unwrap();
    assert_eq!(all.len(), 100, "all that the store has");
    assert!(all.iter().all(|(key, value)| shelf.0.lock().unwrap().get(key) == Some(value)));
    let room = (LIMIT.saturating_sub(used) as usize) / VALUE;
    assert!(map.size().wait().unwrap() <= room as u64 + 1, "what was read is not kept");

    assert_eq!(map.remove(key(80)).wait().unwrap(), Some(value(80)));
    assert!(map.delete(key(81)).wait().unwrap() && !map.delete(key(1_000)).wait().unwrap());
    assert!(!map.remove_if_same(key(82), value(0)).wait().unwrap());
    assert!(map.remove_if_same(key(82), value(82)).wait().unwrap());
    assert!(map.try_remove(key(83), 0).wait().unwrap());
    assert_eq!(map.get_all((80..85).map(key)).wait().unwrap(), [(key(84), value(84))]);
    assert_eq!(shelf.0.lock().unwrap().len(), 96);

    for refused in [
        map.set(key(2_000), value(1)).wait(),
        map.put(key(90), value(1)).wait().map(drop),
        map.load_all(false).wait(),
    ] {
        assert!(matches!(refused, Err(GridError::OutOfMemory { .. })), "{refused:?}");
    }
    list.clear().wait().unwrap();
    assert_eq!(map.put(key(90), value(1)).wait().unwrap(), Some(value(90)));
    map.load_all(false).wait().unwrap();
    assert_eq!(map.size().wait().unwrap(), 96);
}

/// A part of a large put was done, and the error said that nothing was.
#[test]
fn a_refusal_says_whether_a_part_was_done() {
    let settings = MapSettings {
        eviction: EvictionPolicy::None,
        max_size: Some(MaxSize::Entries(50)),
        ..Default::default()
    };
    let tested = Tested::with(|grid| grid.maps.set("m", settings), Registry::new());
    let map = tested.grid.map("m");
    let entries = |numbers: std::ops::Range<u32>| numbers.map(|number| (key(number), key(number)));
    let part = map.put_all(entries(0..500)).wait().unwrap_err();
    assert!(matches!(part, GridError::MapFull { in_part: true, .. }), "{part}");
    assert!(!part.is_retryable() && part.is_indeterminate());
    assert!(map.size().wait().unwrap() >= 50);
    let nothing = map.put_all(entries(1_000..1_500)).wait().unwrap_err();
    assert!(nothing.is_retryable() && !nothing.is_indeterminate(), "{nothing}");

    // On one partition too.
    map.clear().wait().unwrap();
    let home = key(0).partition();
    let together = (0..u32::MAX).map(key).filter(|key| key.partition() == home).take(60);
    let together: Vec<_> = together.map(|key| (key.clone(), key)).collect();
    let part = map.put_all(together).wait().unwrap_err();
    assert!(matches!(part, GridError::MapFull { in_part: true, .. }), "{part}");
    assert_eq!(map.size().wait().unwrap(), 50);
}

#[test]
fn lifetimes_and_locks_count_and_go() {
    let tested = Tested::new();
    let map = tested.grid.map("m");
    let lifetime = Lifetime { ttl_ms: 3_600_000, max_idle_ms: 0 };
    for number in 0..2_000 {
        map.put_for(key(number), key(number), lifetime).wait().unwrap();
        map.lock(key(number), None).wait().unwrap();
    }
    let used = tested.grid.memory().used();
    assert!(used > 2_000 * 150, "{used}");
    for number in 0..2_000 {
        map.unlock(key(number)).wait().unwrap();
    }
    map.clear().wait().unwrap();
    tested.is_empty_again("map with lifetimes", || Ok(()));
}

#[test]
fn a_replicated_map_refuses_too() {
    let tested = Tested::new();
    let map = tested.grid.replicated_map("r");
    tested.offer("replicated map", |number| map.put(key(number), value(number), None).wait().map(drop));
    assert_eq!(map.get(key(0)).wait().unwrap(), Some(value(0)));
    map.clear().wait().unwrap();
    tested.is_empty_again("replicated map", || map.put(key(1), value(1), None).wait().map(drop));
}

/// What user code makes of an entry is judged as well.
#[test]
fn an_entry_processor_cannot_pass_the_limit() {
    struct Grow;
    impl EntryProcessor for Grow {
        fn process(&self, entry: &mut Entry<'_>) -> Result<Option<Data>, String> {
            entry.set_value(value(0));
            Ok(None)
        }
    }
    let registry = Registry::new().with_processor("grow", |_| Ok(Grow));
    let tested = Tested::with(|_| (), registry);
    let map = tested.grid.map("m");
    tested.offer("processor", |number| {
        map.execute_on_key(key(number), Code::named("grow", key(0))).wait().map(drop)
    });
    map.clear().wait().unwrap();
    tested.is_empty_again("processor", || Ok(()));
}

#[test]
fn a_list_refuses_what_there_is_no_memory_for() {
    let tested = Tested::new();
    let list = tested.grid.list("l");
    let taken = tested.offer("list", |number| list.add(&value(number)).wait().map(drop));
    assert_eq!(list.size().wait().unwrap(), taken as usize);
    assert_eq!(list.get(0).wait().unwrap(), value(0));
    assert!(list.remove_at(0).wait().is_ok());
    list.clear().wait().unwrap();
    tested.is_empty_again("list", || list.add(&value(1)).wait().map(drop));
}

#[test]
fn a_queue_refuses_what_there_is_no_memory_for() {
    let tested = Tested::new();
    let queue = tested.grid.queue("q");
    let taken = tested.offer("queue", |number| queue.put(&value(number)).wait());
    assert_eq!(queue.poll(Duration::ZERO).wait().unwrap(), Some(value(0)));
    for number in 1..taken {
        assert_eq!(queue.take().wait().unwrap(), value(number));
    }
    tested.is_empty_again("queue", || queue.put(&value(1)).wait());
}

#[test]
fn a_set_refuses_what_there_is_no_memory_for() {
    let tested = Tested::new();
    let set = tested.grid.set("s");
    let taken = tested.offer("set", |number| set.add(&value(number)).wait().map(drop));
    assert_eq!(set.size().wait().unwrap(), taken as usize);
    assert!(set.contains(&value(0)).wait().unwrap() && set.remove(&value(0)).wait().unwrap());
    set.clear().wait().unwrap();
    tested.is_empty_again("set", || set.add(&value(1)).wait().map(drop));
}

#[test]
fn a_multimap_refuses_what_there_is_no_memory_for() {
    let tested = Tested::new();
    let (map, owner) = (tested.grid.multi_map("mm"), tested.grid.new_owner());
    tested.offer("multimap", |number| map.put(&key(number % 100), &value(number), owner).wait().map(drop));
    assert!(!map.get(&key(0)).wait().unwrap().is_empty());
    assert!(map.remove_entry(&key(0), &value(0), owner).wait().unwrap());
    assert!(!map.remove(&key(1), owner).wait().unwrap().is_empty());
    map.clear().wait().unwrap();
    tested.is_empty_again("multimap", || map.put(&key(1), &value(1), owner).wait().map(drop));
}

#[test]
fn a_ringbuffer_refuses_what_there_is_no_memory_for() {
    let tested = Tested::new();
    let ring = tested.grid.ringbuffer("r");
    tested.offer("ringbuffer", |number| ring.add(&value(number), Overflow::Overwrite).wait().map(drop));
    assert!(ring.read_one(0).wait().is_ok());
    assert!(tested.grid.structures().destroy(Service::Ringbuffer, "r"));
    tested.is_empty_again("ringbuffer", || Ok(()));
}

#[test]
fn atomic_references_refuse_what_there_is_no_memory_for() {
    let tested = Tested::new();
    let reference = |number: u32| tested.grid.atomic_reference(&format!("a{number}"));
    // Few that grow: a reference itself takes memory too.
    let grown = |number: u32| Data::new(-12, &vec![7; VALUE * (number as usize % 8 + 1)]);
    tested.offer("references", |number| {
        reference(number / 8).get_and_set(Some(&grown(number))).wait().map(drop)
    });
    assert_eq!(reference(0).get().wait().unwrap(), Some(grown(7)));
    for number in 0..=OFFERED / 8 {
        reference(number).get_and_set(None).wait().unwrap();
    }
    tested.is_empty_again("references", || reference(0).get_and_set(Some(&value(1))).wait().map(drop));
}

/// Messages that wait for a listener that is busy are held as well.
#[test]
fn messages_of_a_topic_count_until_they_are_heard() {
    let tested = Tested::new();
    let topic = tested.grid.topic("t");
    let (free, waits) = std::sync::mpsc::channel::<()>();
    let waits = std::sync::Mutex::new(waits);
    topic.add_listener(move |_| {
        let _ = waits.lock().unwrap().recv();
    });
    tested.offer("topic", |number| topic.publish(&value(number)).wait());
    drop(free);
    tested.eventually_has(STRAND);
    topic.publish(&value(1)).wait().unwrap();
}

/// A million events with their values could wait, and none of them counted.
#[test]
fn events_that_wait_have_a_part_of_the_memory_and_are_dropped_beyond_it() {
    let tested = Tested::new();
    let grid = &tested.grid;
    let (map, near, items, pairs) =
        (grid.map("m"), grid.map("near"), grid.list("l"), grid.multi_map("pairs"));
    let owner = grid.new_owner();
    let (go, gone) = std::sync::mpsc::channel::<()>();
    let gone = Arc::new(Mutex::new(gone));
    let heard = Arc::new(AtomicU64::new(0));
    let listener = || {
        let (gone, heard) = (Arc::clone(&gone), Arc::clone(&heard));
        move || {
            // Until the test lets all of them go.
            let _ = gone.lock().unwrap().recv();
            heard.fetch_add(1, Ordering::Relaxed);
        }
    };
    let (first, second, third, fourth) = (listener(), listener(), listener(), listener());
    map.add_listener(grid.new_id(), Interest::ALL, move |_| first());
    near.add_invalidation_listener(grid.new_id(), move |_| second());
    items.add_listener(true, move |_| third());
    pairs.add_listener(grid.new_id(), Interest::ALL, move |_| fourth());
    // Nothing is added to what the structures hold, but what the events do.
    let large_key = Data::new(-12, &[7; VALUE]);
    for number in 0..40 {
        map.set(key(0), value(number)).wait().unwrap();
        near.set(large_key.clone(), key(number)).wait().unwrap();
        items.add(&value(number)).wait().unwrap();
        items.clear().wait().unwrap();
        pairs.put(&key(0), &value(number), owner).wait().unwrap();
        pairs.remove(&key(0), owner).wait().unwrap();
        assert!(grid.memory().waiting_events() <= LIMIT / 16);
    }
    assert!(grid.memory().waiting_events() > LIMIT / 32);
    let topics = tested.stages.event().topics();
    let dropped = |topic: &TopicSnapshot| (topic.name.clone(), topic.dropped > 0);
    let dropped: Vec<_> = topics.iter().map(dropped).collect();
    for source in ["map/m", "near-cache/map/near", "list/l", "multimap/pairs"] {
        let found = dropped.iter().find(|(name, _)| name.eq_ignore_ascii_case(source));
        assert_eq!(found.map(|(_, dropped)| *dropped), Some(true), "{source}: {dropped:?}");
    }
    drop(go);
    let begin = Instant::now();
    while grid.memory().waiting_events() > 0 {
        assert!(begin.elapsed() < Duration::from_secs(60), "{} bytes", grid.memory().waiting_events());
        std::thread::yield_now();
    }
    let delivered: u64 = tested.stages.event().topics().iter().map(|topic| topic.delivered).sum();
    assert_eq!(heard.load(Ordering::Relaxed), delivered);
}

#[test]
fn a_bounded_map_that_evicts_nothing_refuses() {
    let bounds = [MaxSize::Entries(50), MaxSize::Bytes(50 * 100), MaxSize::EntriesPerPartition(1)];
    for bound in bounds {
        let settings =
            MapSettings { eviction: EvictionPolicy::None, max_size: Some(bound), ..Default::default() };
        let tested = Tested::with(|grid| grid.maps.set("m", settings), Registry::new());
        let map = tested.grid.map("m");
        let mut taken = 0;
        for number in 0..2_000 {
            match map.set(key(number), key(number)).wait() {
                Ok(()) => taken += 1,
                Err(error) => {
                    assert!(matches!(&error, GridError::MapFull { .. }) && error.is_retryable(), "{error}");
                    assert!(error.to_string().contains("max_size"), "{error}");
                }
            }
        }
        assert!((20..=271).contains(&taken), "{bound:?}: {taken}");
        let known = map.key_set().wait().unwrap();
        let (first, second) = (known[0].clone(), known[1].clone());
        map.set(first.clone(), key(7)).wait().unwrap();
        assert!(map.remove(first.clone()).wait().unwrap().is_some(), "{bound:?}");
        map.set(first, key(8)).wait().unwrap();
        let larger = map.set(second, value(1)).wait();
        assert_eq!(larger.is_err(), matches!(bound, MaxSize::Bytes(_)), "{bound:?}: {larger:?}");
    }
}
