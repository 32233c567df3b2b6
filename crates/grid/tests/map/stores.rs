//! A store behind a map: what it is told, what is asked of it, and what becomes of what it refuses.

use filbert_grid::{
    Code, Entry, EntryProcessor, Grid, GridError, GridSettings, Interest, Lifetime, Map, MapEventKind,
    MapSettings, MapStore, MapStoreSettings, Registry,
};
use filbert_pool::{Stages, TaskError};
use filbert_wire::Data;
use std::collections::BTreeMap;
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::time::{Duration, Instant};
use uuid::Uuid;

/// What a store holds and was asked; shared with the test.
#[derive(Default)]
struct Shelf {
    entries: Mutex<BTreeMap<Vec<u8>, Data>>,
    calls: Mutex<Vec<String>>,
    /// Why it refuses to write.
    refuses: Mutex<Option<String>>,
    /// No call ends while it is closed.
    closed: Mutex<bool>,
    opened: Condvar,
}

impl Shelf {
    fn note(&self, call: String) {
        self.calls.lock().unwrap().push(call);
        let closed = self.closed.lock().unwrap();
        let waited = self.opened.wait_timeout_while(closed, Duration::from_secs(60), |closed| *closed);
        assert!(!waited.unwrap().1.timed_out());
    }

    fn set_closed(&self, closed: bool) {
        *self.closed.lock().unwrap() = closed;
        self.opened.notify_all();
    }

    fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }

    fn get(&self, key: &Data) -> Option<Data> {
        self.entries.lock().unwrap().get(key.as_bytes()).cloned()
    }
}

struct Behind(Arc<Shelf>);

impl MapStore for Behind {
    fn load(&self, key: &Data) -> Result<Option<Data>, String> {
        self.0.note(format!("load {}", number(key)));
        if number(key) == 913 {
            panic!("no thirteens");
        }
        Ok(self.0.get(key))
    }

    fn load_all(&self, keys: &[Data]) -> Result<Vec<(Data, Data)>, String> {
        self.0.note(format!("load {} keys", keys.len()));
        let mut found: Vec<_> = keys.iter().filter_map(|key| Some((key.clone(), self.0.get(key)?))).collect();
        // What nobody asked for must not get into the map.
        found.push((int(-1), int(-1)));
        Ok(found)
    }

    fn load_all_keys(&self) -> Result<Vec<Data>, String> {
        let entries = self.0.entries.lock().unwrap();
        Ok(entries.keys().map(|key| Data::from_bytes(key.clone()).unwrap()).collect())
    }

    fn store(&self, key: &Data, value: &Data) -> Result<(), String> {
        self.0.note(format!("store {} {}", number(key), number(value)));
        if let Some(why) = self.0.refuses.lock().unwrap().clone() {
            return Err(why);
        }
        if number(value) == 66 {
            return Err("no sixty-sixes".to_owned());
        }
        self.0.entries.lock().unwrap().insert(key.as_bytes().to_vec(), value.clone());
        Ok(())
    }

    fn store_all(&self, entries: &[(Data, Data)]) -> Result<(), String> {
        if entries.iter().any(|(_, value)| number(value) == 66) {
            return Err("one of them is bad".to_owned());
        }
        entries.iter().try_for_each(|(key, value)| self.store(key, value))
    }

    fn delete(&self, key: &Data) -> Result<(), String> {
        self.0.note(format!("delete {}", number(key)));
        self.0.entries.lock().unwrap().remove(key.as_bytes());
        Ok(())
    }
}

fn int(number: i32) -> Data {
    Data::new(-7, &number.to_be_bytes())
}

fn number(data: &Data) -> i32 {
    i32::from_be_bytes(data.payload().try_into().unwrap())
}

struct Add;

impl EntryProcessor for Add {
    fn process(&self, entry: &mut Entry<'_>) -> Result<Option<Data>, String> {
        let value = entry.value().map_or(0, |value| number(&value));
        entry.set_value(int(value + 1));
        Ok(None)
    }
}

struct Place {
    stages: Stages,
    map: Map,
    shelf: Arc<Shelf>,
}

fn place(settings: MapStoreSettings) -> Place {
    place_with(MapSettings {
        store: Some(MapStoreSettings { name: "shelf".into(), ..settings }),
        ..MapSettings::default()
    })
}

fn place_with(of_map: MapSettings) -> Place {
    place_on(Stages::start().unwrap(), of_map)
}

fn place_on(stages: Stages, of_map: MapSettings) -> Place {
    let shelf = Arc::new(Shelf::default());
    let mut settings = GridSettings::default();
    settings.maps.set("m", of_map);
    assert_eq!(settings.check(), Ok(()));
    let behind = Arc::clone(&shelf);
    let registry = Registry::new()
        .with_map_store("shelf", move |map| {
            assert_eq!(map, "m");
            Ok(Behind(Arc::clone(&behind)))
        })
        .with_processor("add", |_| Ok(Add));
    let map = Grid::with(&stages, settings, registry).map("m");
    Place { stages, map, shelf }
}

fn eventually(what: &str, condition: impl Fn() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
        // sleeps because the condition is in another thread that tells nobody
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Without a delay whoever has an answer has it written.
#[test]
fn changes_are_written_before_they_are_answered() {
    let Place { map, shelf, .. } = place(MapStoreSettings::default());
    assert_eq!(map.put(int(1), int(10)).wait(), Ok(None));
    assert_eq!(shelf.calls(), ["load 1", "store 1 10"]);
    assert_eq!(map.put(int(1), int(11)).wait(), Ok(Some(int(10))));
    map.set(int(2), int(20)).wait().unwrap();
    assert_eq!(shelf.calls(), ["store 1 11", "store 2 20"], "a set does not ask for what it does not give");
    assert_eq!(map.put_if_absent(int(3), int(30), Lifetime::DEFAULT).wait(), Ok(None));
    assert_eq!(map.replace(int(4), int(40)).wait(), Ok(None));
    assert_eq!(map.replace_if_same(int(3), int(30), int(31)).wait(), Ok(true));
    assert_eq!(map.delete(int(3)).wait(), Ok(true));
    assert_eq!(map.remove(int(9)).wait(), Ok(None));
    let seen = ["load 3", "store 3 30", "load 4", "store 3 31", "delete 3", "load 9"];
    assert_eq!(shelf.calls(), seen);
    map.put_transient(int(5), int(50), Lifetime::DEFAULT).wait().unwrap();
    map.evict(int(1)).wait().unwrap();
    assert_eq!(shelf.calls(), [""; 0]);
    assert_eq!((shelf.get(&int(1)), shelf.get(&int(5))), (Some(int(11)), None));
    map.execute_on_key(int(1), Code::named("add", int(0))).wait().unwrap();
    assert_eq!(shelf.calls(), ["load 1", "store 1 12"], "a processor sees what the store has");
    map.put_all((100..110).map(|key| (int(key), int(-key)))).wait().unwrap();
    assert_eq!(shelf.get(&int(109)), Some(int(-109)));
    map.clear().wait().unwrap();
    assert!(shelf.entries.lock().unwrap().is_empty(), "what was removed is removed there too");
}

#[test]
fn what_is_not_here_is_loaded() {
    let Place { map, .. } = place(MapStoreSettings::default());
    map.put_all((0..100).map(|key| (int(key), int(key + 200)))).wait().unwrap();
    map.evict_all().wait().unwrap();
    assert_eq!(map.size().wait(), Ok(0));
    let heard = Arc::new(Mutex::new(Vec::new()));
    let events = Arc::clone(&heard);
    map.add_listener(Uuid::from_u128(1), Interest::ALL, move |event| {
        events.lock().unwrap().push((event.kind, event.value.as_ref().map(number)));
    });
    assert_eq!(map.get(int(5)).wait(), Ok(Some(int(205))));
    eventually("it is told", || *heard.lock().unwrap() == [(MapEventKind::Loaded, Some(205))]);
    assert_eq!(map.get(int(200)).wait(), Ok(None));
    assert_eq!(map.contains_key(int(7)).wait(), Ok(true));
    assert_eq!(map.size().wait(), Ok(2));
    let mut all: Vec<_> =
        map.get_all((0..150).map(int)).wait().unwrap().iter().map(|(key, _)| number(key)).collect();
    all.sort_unstable();
    assert_eq!(all, (0..100).collect::<Vec<_>>());
    assert_eq!(map.get(int(-1)).wait(), Ok(None), "what nobody asked for");
    assert!(matches!(map.get(int(913)).wait(), Err(GridError::UserCode { .. })), "it panics");
    assert_eq!(map.get(int(12)).wait(), Ok(Some(int(212))), "and that is all");
}

#[test]
fn loading_replaces_what_is_here_only_when_asked() {
    let Place { map, shelf, .. } = place(MapStoreSettings::default());
    map.put_all((0..50).map(|key| (int(key), int(key)))).wait().unwrap();
    let all_are = |sign: i32| {
        (0..50).all(|key| map.get(int(key)).wait().unwrap().map(|value| number(&value)) == Some(sign * key))
    };
    for key in 0..50 {
        map.put_transient(int(key), int(-key), Lifetime::DEFAULT).wait().unwrap();
    }
    map.load_all(false).wait().unwrap();
    map.load_keys((0..50).map(int), false).wait().unwrap();
    assert!(all_are(-1));
    map.load_keys((0..50).map(int), true).wait().unwrap();
    assert!(all_are(1));
    map.evict_all().wait().unwrap();
    map.load_all(false).wait().unwrap();
    assert_eq!(map.size().wait(), Ok(50));
    shelf.calls();
    assert!(all_are(1));
    assert_eq!(shelf.calls(), [""; 0], "all are here");
}

/// The one who wrote it is told, and no reader is left with it.
#[test]
fn what_the_store_refuses_is_not_kept() {
    let Place { map, shelf, .. } = place(MapStoreSettings::default());
    map.set(int(1), int(10)).wait().unwrap();
    let refused = map.set(int(1), int(66)).wait().unwrap_err();
    assert!(refused.to_string().contains("no sixty-sixes"), "{refused}");
    assert_eq!(map.get(int(1)).wait(), Ok(Some(int(10))));
    // A batch of which one is bad: the others are written.
    shelf.set_closed(true);
    let first = map.set(int(2), int(20));
    eventually("it is being written", || shelf.calls.lock().unwrap().contains(&"store 2 20".to_owned()));
    let rest: Vec<_> = (3..9).map(|key| map.set(int(key), int(if key == 5 { 66 } else { key }))).collect();
    shelf.set_closed(false);
    first.wait().unwrap();
    let failed: Vec<_> = rest.into_iter().map(|write| write.wait().is_err()).collect();
    assert_eq!(failed, [false, false, true, false, false, false]);
    assert_eq!(map.get(int(5)).wait(), Ok(None));
    assert_eq!(shelf.get(&int(8)), Some(int(8)));
}

/// With a delay nobody waits for the store; readers see what is not written, also when it was evicted.
#[test]
fn changes_that_wait_are_written_once_and_are_seen_meanwhile() {
    let Place { map, shelf, .. } =
        place(MapStoreSettings { write_delay_ms: 3_600_000, ..MapStoreSettings::default() });
    for value in 0..100 {
        map.set(int(1), int(value)).wait().unwrap();
    }
    map.set(int(2), int(20)).wait().unwrap();
    map.remove(int(2)).wait().unwrap();
    map.evict_all().wait().unwrap();
    assert_eq!(map.get(int(1)).wait(), Ok(Some(int(99))));
    assert_eq!(map.get(int(2)).wait(), Ok(None));
    assert_eq!(shelf.calls(), [""; 0]);
    map.flush().wait().unwrap();
    assert_eq!(shelf.calls(), ["store 1 99", "delete 2"]);
    map.flush().wait().unwrap();
    assert_eq!(shelf.calls(), [""; 0]);
}

#[test]
fn a_store_that_is_away_is_tried_again_and_the_queue_has_an_end() {
    let Place { map, shelf, .. } =
        place(MapStoreSettings { write_delay_ms: 1, retry_ms: 5, queue: 10, ..MapStoreSettings::default() });
    *shelf.refuses.lock().unwrap() = Some("away".to_owned());
    for key in 0..10 {
        map.set(int(key), int(key)).wait().unwrap();
    }
    let refused = map.set(int(10), int(10)).wait().unwrap_err();
    assert!(refused.is_retryable(), "{refused}");
    assert_eq!(map.get(int(10)).wait(), Ok(None), "it was not done");
    assert!(map.flush().wait().is_err());
    *shelf.refuses.lock().unwrap() = None;
    eventually("all is written", || shelf.entries.lock().unwrap().len() == 10);
    eventually("there is room", || map.set(int(10), int(10)).wait().is_ok());
}

/// A load that was under way when the key changed must not bring the old value back.
#[test]
fn a_change_goes_before_what_is_being_loaded() {
    let Place { map, shelf, .. } = place(MapStoreSettings::default());
    map.set(int(1), int(10)).wait().unwrap();
    map.evict(int(1)).wait().unwrap();
    shelf.set_closed(true);
    let readers: Vec<_> = (0..20).map(|_| map.get(int(1))).collect();
    eventually("it is being loaded", || shelf.calls.lock().unwrap().contains(&"load 1".to_owned()));
    let write = map.set(int(1), int(11));
    let stays = map.get(int(1)).wait();
    shelf.set_closed(false);
    write.wait().unwrap();
    assert_eq!(stays, Ok(Some(int(11))));
    for reader in readers {
        assert_eq!(reader.wait(), Ok(Some(int(11))));
    }
    assert_eq!(shelf.calls().iter().filter(|call| *call == "load 1").count(), 1, "one load for all readers");
    assert_eq!(shelf.get(&int(1)), Some(int(11)));
}

#[test]
fn a_store_that_is_not_registered_is_named() {
    let settings = MapStoreSettings { name: "nothing".into(), ..MapStoreSettings::default() };
    let place = place_with(MapSettings { store: Some(settings), ..MapSettings::default() });
    let said = place.map.get(int(1)).wait().unwrap_err().to_string();
    assert!(said.contains("nothing") && said.contains("not registered"), "{said}");
    assert!(place.map.set(int(1), int(1)).wait().is_err());
    assert!(place.map.load_all(true).wait().is_err());
    let without = Grid::new(&place.stages).map("m");
    assert!(matches!(without.load_all(true).wait(), Err(GridError::BadArgument { .. })));
    assert_eq!(without.flush().wait(), Ok(()));
}

/// Nothing hangs when the member ends while changes wait.
#[test]
fn the_end_of_the_member_ends_waiting() {
    let Place { stages, map, shelf } = place(MapStoreSettings::default());
    shelf.set_closed(true);
    let write = map.set(int(1), int(1));
    eventually("it is being written", || !shelf.calls.lock().unwrap().is_empty());
    let second = map.set(int(2), int(2));
    let (opens, ending) = (Arc::clone(&shelf), stages.clone());
    let opener = std::thread::spawn(move || {
        eventually("the shutdown has begun", || ending.maintenance().submit("late", || ()).is_err());
        opens.set_closed(false);
    });
    let report = stages.shutdown(filbert_pool::Shutdown::Drain).unwrap();
    opener.join().unwrap();
    assert!(report.left_behind.is_empty(), "{report:?}");
    for mut write in [write, second] {
        let told = write.wait_timeout(Duration::from_secs(60));
        assert!(
            !matches!(told, Err(GridError::Task(TaskError::TimedOut { .. }))),
            "each is told how it ended: {told:?}"
        );
    }
}

/// Tasks that wait for their puts hold every thread of `mixed`: the store is called on others.
#[test]
fn those_who_wait_for_the_store_do_not_keep_it_from_being_called() {
    const TASKS: usize = 2;
    let stages = Stages::builder().set("mixed.blocking_threads", TASKS as u64).start().unwrap();
    let store = Some(MapStoreSettings { name: "shelf".into(), ..MapStoreSettings::default() });
    let Place { map, stages, .. } = place_on(stages, MapSettings { store, ..MapSettings::default() });
    let all_there = Arc::new(Barrier::new(TASKS));
    let put = |key: usize| {
        let (map, all_there) = (map.clone(), Arc::clone(&all_there));
        let task = move || {
            all_there.wait();
            map.put(int(key as i32), int(1)).wait_timeout(Duration::from_secs(60))
        };
        stages.mixed().submit("put", task).unwrap()
    };
    let puts: Vec<_> = (0..TASKS).map(put).collect();
    puts.into_iter().for_each(|put| assert_eq!(put.wait().unwrap(), Ok(None)));
}

/// One key that is refused keeps neither its own batch nor the next ones from being written.
#[test]
fn a_flush_writes_all_but_what_is_refused() {
    let (write_delay_ms, retry_ms) = (3_600_000, 3_600_000);
    let settings = MapStoreSettings { write_delay_ms, retry_ms, batch: 4, ..MapStoreSettings::default() };
    let Place { map, shelf, .. } = place(settings);
    map.set(int(0), int(66)).wait().unwrap();
    (1..30).for_each(|key| map.set(int(key), int(key + 100)).wait().unwrap());
    let refused = map.flush().wait().unwrap_err();
    assert!(refused.to_string().contains("no sixty-sixes"), "{refused}");
    assert_eq!(shelf.entries.lock().unwrap().len(), 29);
    map.set(int(40), int(140)).wait().unwrap();
    assert!(map.flush().wait().is_err(), "it is tried again");
    assert_eq!(shelf.get(&int(40)), Some(int(140)));
    map.set(int(0), int(100)).wait().unwrap();
    map.flush().wait().unwrap();
    assert_eq!(shelf.entries.lock().unwrap().len(), 31);
}

/// What is due is written while a key that was refused waits for its next time.
#[test]
fn a_key_that_is_refused_does_not_hold_up_others() {
    let (write_delay_ms, retry_ms) = (1, 3_600_000);
    let Place { map, shelf, .. } =
        place(MapStoreSettings { write_delay_ms, retry_ms, ..MapStoreSettings::default() });
    map.set(int(0), int(66)).wait().unwrap();
    eventually("it is refused", || shelf.calls().contains(&"store 0 66".to_owned()));
    map.set(int(1), int(10)).wait().unwrap();
    eventually("the other is written", || shelf.get(&int(1)) == Some(int(10)));
}
