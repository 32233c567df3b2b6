//! Interceptors: what is read, put and removed goes through the chain, and what is stored, heard and found agrees.

use crate::dice::Dice;
use crate::many::Multiples;
use crate::processors::registry as processors;
use crate::{int, number, settings};
use filbert_grid::query::{IndexKind, IndexSettings, Predicate};
use filbert_grid::{
    Code, Grid, GridError, Interceptor, InterceptorId, Interest, Lifetime, Map, MapEvent, MapSettings,
    Registry, Service,
};
use filbert_pool::{Stages, simulate};
use filbert_wire::Data;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// What a twist was told after an operation: which twist, of what, with which value.
type Told = (u32, &'static str, Option<u32>);
type Log = Arc<Mutex<Vec<Told>>>;

/// Makes another number of most numbers, each twist in its own way, so that the order of a chain matters.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Twist(u32);

impl Twist {
    /// Even ones see something where there is nothing.
    fn get(self, value: Option<u32>) -> Option<u32> {
        match value {
            None => self.0.is_multiple_of(2).then_some(self.0),
            Some(value) if value % 3 == self.0 % 3 => None,
            Some(value) => Some(value * 2 + self.0),
        }
        .map(small)
    }

    fn put(self, old: Option<u32>, new: u32) -> Option<u32> {
        (new % 4 != self.0 % 4).then(|| small(new * 3 + self.0 + old.unwrap_or(7)))
    }

    fn remove(self, removed: u32) -> Option<u32> {
        (removed % 5 != self.0 % 5).then(|| small(removed * 5 + self.0))
    }
}

/// Few enough numbers that equal ones meet.
fn small(number: u32) -> u32 {
    number % 100
}

struct Twisting(Twist, Log);

impl Twisting {
    fn told(&self, what: &'static str, value: Option<&Data>) {
        self.1.lock().unwrap().push((self.0.0, what, value.map(number)));
    }
}

impl Interceptor for Twisting {
    fn intercept_get(&self, value: Option<&Data>) -> Result<Option<Data>, String> {
        Ok(self.0.get(value.map(number)).map(int))
    }

    fn after_get(&self, value: Option<&Data>) {
        self.told("get", value);
    }

    fn intercept_put(&self, old: Option<&Data>, new: &Data) -> Result<Option<Data>, String> {
        Ok(self.0.put(old.map(number), number(new)).map(int))
    }

    fn after_put(&self, value: &Data) {
        self.told("put", Some(value));
    }

    fn intercept_remove(&self, removed: &Data) -> Result<Option<Data>, String> {
        Ok(self.0.remove(number(removed)).map(int))
    }

    fn after_remove(&self, value: &Data) {
        self.told("remove", Some(value));
    }
}

/// What the map must be like.
#[derive(Default)]
struct Oracle {
    stored: BTreeMap<u32, u32>,
    chain: Vec<(InterceptorId, Twist)>,
    told: Vec<Told>,
    /// Kind of change, key, old and new value as listeners are told.
    heard: Vec<(u32, Option<u32>, Option<u32>)>,
}

impl Oracle {
    fn tell(&mut self, what: &'static str, value: Option<u32>) {
        self.told.extend(self.chain.iter().map(|(_, twist)| (twist.0, what, value)));
    }

    fn seen(&self, key: u32) -> Option<u32> {
        let stored = self.stored.get(&key).copied();
        self.chain.iter().fold(stored, |value, (_, twist)| twist.get(value).or(value))
    }

    fn get(&mut self, key: u32) -> Option<u32> {
        let seen = self.seen(key);
        self.tell("get", seen);
        seen
    }

    fn put(&mut self, key: u32, value: u32) -> Option<u32> {
        let old = self.stored.get(&key).copied();
        let value = self.chain.iter().fold(value, |new, (_, twist)| twist.put(old, new).unwrap_or(new));
        self.stored.insert(key, value);
        self.heard.push((key, old, Some(value)));
        self.tell("put", Some(value));
        old
    }

    fn remove(&mut self, key: u32) -> Option<u32> {
        let old = self.stored.remove(&key)?;
        let given = self.chain.iter().fold(old, |value, (_, twist)| twist.remove(value).unwrap_or(value));
        self.heard.push((key, Some(old), None));
        self.tell("remove", Some(given));
        Some(given)
    }

    /// An entry processor that adds to what it sees.
    fn add(&mut self, key: u32, amount: u32) -> u32 {
        let sum = self.seen(key).unwrap_or(0) + amount;
        self.put(key, sum);
        sum
    }
}

fn twisting(seed: u64) -> (Stages, Grid, Log) {
    let (stages, log) = (Stages::simulated(seed), Log::default());
    let sink = Arc::clone(&log);
    let registry = processors()
        .with_interceptor("twist", move |argument| Ok(Twisting(Twist(number(argument)), Arc::clone(&sink))));
    let grid = Grid::with(&stages, settings(MapSettings::default()), registry);
    (stages, grid, log)
}

fn sorted<T: Ord>(mut items: Vec<T>) -> Vec<T> {
    items.sort();
    items
}

/// One random operation; true when it was on several keys, whose order nobody knows.
fn step(dice: &mut Dice, oracle: &mut Oracle, map: &Map) -> bool {
    let (key, value) = (dice.below(8), dice.below(100));
    let data = int(key);
    let there = oracle.stored.get(&key).copied();
    // Sometimes what is stored, so that it is the same.
    let expected = if dice.below(2) == 0 { there.unwrap_or(value) } else { value };
    let keys = [key, (key + 3) % 8, (key + 5) % 8];
    match dice.below(20) {
        0 => assert_eq!(map.get(data).wait().unwrap(), oracle.get(key).map(int)),
        1 => assert_eq!(map.put(data, int(value)).wait().unwrap(), oracle.put(key, value).map(int)),
        2 => {
            map.set(data, int(value)).wait().unwrap();
            oracle.put(key, value);
        }
        3 => {
            assert_eq!(map.try_put(data, int(value), 0).wait(), Ok(true));
            oracle.put(key, value);
        }
        4 => {
            let found = map.put_if_absent(data, int(value), Lifetime::DEFAULT).wait().unwrap();
            assert_eq!(found, there.map(int));
            if there.is_none() {
                oracle.put(key, value);
            }
        }
        5 => {
            assert_eq!(map.replace(data, int(value)).wait().unwrap(), there.map(int));
            there.map(|_| oracle.put(key, value));
        }
        6 => {
            let same = there == Some(expected);
            assert_eq!(map.replace_if_same(data, int(expected), int(value)).wait(), Ok(same));
            same.then(|| oracle.put(key, value));
        }
        7 => assert_eq!(map.remove(data).wait().unwrap(), oracle.remove(key).map(int)),
        8 => assert_eq!(map.delete(data).wait(), Ok(oracle.remove(key).is_some())),
        9 => assert_eq!(map.try_remove(data, 0).wait(), Ok(oracle.remove(key).is_some())),
        10 => assert_eq!(map.evict(data).wait(), Ok(oracle.remove(key).is_some())),
        11 => {
            let same = there == Some(expected);
            assert_eq!(map.remove_if_same(data, int(expected)).wait(), Ok(same));
            same.then(|| oracle.remove(key));
        }
        12 => {
            let name = ["add", "add far away"][dice.below(2) as usize];
            let sum = map.execute_on_key(data, Code::named(name, int(value))).wait().unwrap().unwrap();
            assert_eq!(number(&sum), oracle.add(key, value));
        }
        13 => {
            let there: Vec<_> = keys.into_iter().filter(|key| oracle.stored.contains_key(key)).collect();
            let expected = there.iter().map(|key| (*key, oracle.seen(*key).unwrap())).collect();
            let found = map.get_all(keys.map(int)).wait().unwrap();
            assert_eq!(sorted(numbers(found)), sorted(expected));
        }
        14 => {
            map.put_all(keys.map(|key| (int(key), int(value)))).wait().unwrap();
            keys.into_iter().for_each(|key| _ = oracle.put(key, value));
            return true;
        }
        15 => {
            let given = map.execute_on_entries(&Code::named("add", int(value))).wait().unwrap();
            let there: Vec<_> = oracle.stored.keys().copied().collect();
            let expected = there.into_iter().map(|key| (key, oracle.add(key, value))).collect();
            assert_eq!(sorted(numbers(given)), sorted(expected));
            return true;
        }
        16 => {
            let gone = [0, 4].map(|key| oracle.remove(key)).into_iter().flatten().count();
            assert_eq!(map.remove_all(Multiples(4)).wait(), Ok(gone as u64));
            return true;
        }
        17 => {
            let same: Vec<_> = oracle.stored.iter().filter(|(_, known)| **known == expected).collect();
            let same: Vec<_> = same.into_iter().map(|(key, _)| *key).collect();
            let where_same = Predicate::sql(format!("this = {expected}")).unwrap();
            assert_eq!(map.remove_where(&where_same).wait(), Ok(same.len() as u64));
            same.into_iter().for_each(|key| _ = oracle.remove(key));
            return true;
        }
        18 => {
            let twist = Twist(dice.below(5));
            let id = map.add_interceptor(&Code::named("twist", int(twist.0))).wait().unwrap();
            match oracle.chain.iter().find(|(_, known)| *known == twist) {
                Some((known, _)) => assert_eq!(id, *known),
                None => oracle.chain.push((id, twist)),
            }
        }
        _ if oracle.chain.is_empty() => {}
        _ => {
            let (id, _) = oracle.chain.remove(dice.below(oracle.chain.len() as u32) as usize);
            assert!(map.remove_interceptor(&id) && !map.remove_interceptor(&id));
        }
    }
    false
}

fn numbers(entries: Vec<(Data, Data)>) -> Vec<(u32, u32)> {
    entries.iter().map(|(key, value)| (number(key), number(value))).collect()
}

fn heard(event: &MapEvent) -> (u32, Option<u32>, Option<u32>) {
    let key = event.key.as_ref().map(number).unwrap();
    (key, event.old_value.as_ref().map(number), event.value.as_ref().map(number))
}

#[test]
fn a_chain_is_what_its_parts_say_one_after_the_other() {
    simulate::seeds("a_chain_is_what_its_parts_say_one_after_the_other", 0..20, |seed| {
        let (stages, grid, log) = twisting(seed);
        let (map, mut dice, mut oracle) = (grid.map("m"), Dice::new(seed), Oracle::default());
        map.add_index(IndexSettings::new("m", IndexKind::Sorted, None, ["this"]).unwrap()).wait().unwrap();
        let events = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&events);
        map.add_listener(grid.new_id(), Interest::ALL, move |event| sink.lock().unwrap().push(heard(event)));
        for round in 0..200 {
            let several = step(&mut dice, &mut oracle, &map);
            stages.simulation().unwrap().settle();
            let told = (std::mem::take(&mut *log.lock().unwrap()), std::mem::take(&mut oracle.told));
            let heard = (std::mem::take(&mut *events.lock().unwrap()), std::mem::take(&mut oracle.heard));
            if several {
                assert_eq!(sorted(told.0), sorted(told.1));
                assert_eq!(sorted(heard.0), sorted(heard.1));
            } else {
                assert_eq!((told.0, heard.0), (told.1, heard.1));
            }
            if round % 10 != 0 {
                continue;
            }
            let value = oracle.stored.values().next().copied().unwrap_or(0);
            let found =
                map.key_set_where(&Predicate::sql(format!("this = {value}")).unwrap()).wait().unwrap();
            let stored = oracle.stored.iter().filter(|(_, known)| **known == value);
            let stored: Vec<u32> = stored.map(|(key, _)| *key).collect();
            assert_eq!(sorted(found.iter().map(number).collect()), stored, "the index has what is stored");
        }
        let entries = sorted(numbers(map.entry_set().wait().unwrap()));
        assert!(entries.into_iter().eq(oracle.stored));
    });
}

/// Fails for 13, panics for 14, and afterwards panics for 15.
struct Fussy;

fn fuss(value: &Data) -> Result<Option<Data>, String> {
    match number(value) {
        13 => Err("thirteen".to_owned()),
        14 => panic!("fourteen"),
        _ => Ok(None),
    }
}

impl Interceptor for Fussy {
    fn intercept_get(&self, value: Option<&Data>) -> Result<Option<Data>, String> {
        value.map_or(Ok(None), fuss)
    }

    fn intercept_put(&self, _: Option<&Data>, new: &Data) -> Result<Option<Data>, String> {
        fuss(new)
    }

    fn after_put(&self, value: &Data) {
        assert_ne!(number(value), 15);
    }

    fn intercept_remove(&self, removed: &Data) -> Result<Option<Data>, String> {
        fuss(removed)
    }
}

fn fussy() -> (Stages, Grid) {
    let registry = processors()
        .with_interceptor("fussy", |_| Ok(Fussy))
        .with_interceptor("unmade", |_| -> Result<Fussy, String> { Err("it cannot be".to_owned()) });
    let stages = Stages::simulated(1);
    let grid = Grid::with(&stages, settings(MapSettings::default()), registry);
    (stages, grid)
}

fn code(name: &str) -> Code {
    Code::named(name, int(0))
}

#[test]
fn an_interceptor_that_fails_or_panics_fails_the_operation_and_nothing_changes() {
    let (_stages, grid) = fussy();
    let map = grid.map("m");
    map.put_all([(int(1), int(13)), (int(2), int(14)), (int(3), int(3))]).wait().unwrap();
    let before = sorted(numbers(map.entry_set().wait().unwrap()));
    map.add_interceptor(&code("fussy")).wait().unwrap();
    for (key, says) in [(1, "interceptor fussy failed: thirteen"), (2, "it panicked: fourteen")] {
        let value = if key == 1 { int(13) } else { int(14) };
        let add =
            |name| map.execute_on_key(int(3), Code::named(name, int(number(&value) - 3))).wait().map(drop);
        let results = [
            map.get(int(key)).wait().map(drop),
            map.get_all([int(key)]).wait().map(drop),
            map.put(int(3), value.clone()).wait().map(drop),
            map.set(int(4), value.clone()).wait(),
            map.put_all([(int(5), value.clone())]).wait(),
            map.remove(int(key)).wait().map(drop),
            map.delete(int(key)).wait().map(drop),
            map.evict(int(key)).wait().map(drop),
            map.execute_on_key(int(key), Code::named("add", int(1))).wait().map(drop),
            add("add"),
            add("add far away"),
        ];
        for (place, result) in results.into_iter().enumerate() {
            let said = result.unwrap_err();
            assert!(said.to_string().contains(says), "{place}: {said}");
        }
    }
    assert_eq!(sorted(numbers(map.entry_set().wait().unwrap())), before);
    assert_eq!(map.is_locked(int(3)).wait(), Ok(false), "an entry whose change was refused is back");
    map.set(int(3), int(15)).wait().unwrap();
    assert_eq!(map.get(int(3)).wait(), Ok(Some(int(15))), "what is done is done");
}

#[test]
fn only_known_code_that_can_be_made_is_added() {
    let (_stages, grid) = fussy();
    let map = grid.map("m");
    let unknown = map.add_interceptor(&code("nobody")).wait().unwrap_err();
    assert!(matches!(unknown, GridError::NotRegistered { what: "interceptor", .. }), "{unknown}");
    let unmade = map.add_interceptor(&code("unmade")).wait().unwrap_err();
    assert!(unmade.to_string().contains("it cannot be"), "{unmade}");
    assert!(!map.remove_interceptor(&InterceptorId::new("nobody")));
    map.set(int(1), int(13)).wait().unwrap();
}

#[test]
fn they_go_with_their_map_and_stay_with_it_alone() {
    let (_stages, grid) = fussy();
    let (map, other) = (grid.map("m"), grid.map("n"));
    let id = map.add_interceptor(&code("fussy")).wait().unwrap();
    other.set(int(1), int(13)).wait().unwrap();
    assert!(grid.map("m").set(int(1), int(13)).wait().is_err(), "any handle meets it");
    assert!(grid.structures().destroy(Service::Map, "m"));
    let late = map.add_interceptor(&code("fussy")).wait().unwrap_err();
    assert!(matches!(late, GridError::Destroyed { .. }), "{late}");
    let again = grid.map("m");
    assert!(!again.remove_interceptor(&id));
    again.set(int(1), int(13)).wait().unwrap();
    assert_eq!(again.get(int(1)).wait(), Ok(Some(int(13))));
}

/// A read without a copy shows what is stored: there is none while someone may make something else of it.
#[test]
fn no_reader_gets_past_it() {
    let stages = Stages::start().unwrap();
    let registry = Registry::new().with_interceptor("fussy", |_| Ok(Fussy));
    let map = Grid::with(&stages, Default::default(), registry).map("m");
    map.set(int(1), int(13)).wait().unwrap();
    assert_eq!(map.try_read(&int(1), |value| value.is_some()), Some(true));
    let id = map.add_interceptor(&code("fussy")).wait().unwrap();
    assert_eq!(map.try_read(&int(1), |_| ()), None);
    assert!(map.get(int(1)).wait().is_err());
    assert!(map.remove_interceptor(&id));
    assert_eq!(map.try_read(&int(1), |value| value.is_some()), Some(true));
}
