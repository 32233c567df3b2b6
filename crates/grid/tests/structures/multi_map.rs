//! A multimap does what a map of sets, or of lists, does; locked keys are waited for; listeners hear of each value.

use crate::long;
use filbert_grid::{
    Grid, GridError, GridSettings, Interest, MapEventKind, MultiMap, MultiMapSettings, Registry, Service,
    ValueCollection,
};
use filbert_pool::{Stages, simulate};
use filbert_wire::Data;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn multi_map(stages: &Stages, collection: ValueCollection) -> (Grid, Arc<MultiMap>) {
    let mut settings = GridSettings { lock_wait_ms: 1_000, ..Default::default() };
    settings.multi_maps.set("*", MultiMapSettings { collection });
    let grid = Grid::with(stages, settings, Registry::new());
    let map = grid.multi_map("m");
    (grid, map)
}

fn sorted(mut values: Vec<Data>) -> Vec<Vec<u8>> {
    values.sort_by(|one, other| one.payload().cmp(other.payload()));
    values.into_iter().map(|value| value.payload().to_vec()).collect()
}

type Model = BTreeMap<usize, Vec<usize>>;

fn one_step(
    map: &MultiMap,
    grid: &Grid,
    model: &mut Model,
    is_set: bool,
    mut random: impl FnMut(usize) -> usize,
) {
    let (key, value) = (random(6), random(4));
    let (key_data, value_data, owner) = (long(key), long(value), grid.new_owner());
    let has = model.get(&key).is_some_and(|values| values.contains(&value));
    match random(12) {
        0..4 => {
            let added = !(is_set && has);
            assert_eq!(map.put(&key_data, &value_data, owner).wait(), Ok(added));
            if added {
                model.entry(key).or_default().push(value);
            }
        }
        4 => {
            let values = model.remove(&key).unwrap_or_default();
            let expected = sorted(values.into_iter().map(long).collect());
            assert_eq!(sorted(map.remove(&key_data, owner).wait().unwrap()), expected);
        }
        5 | 6 => {
            assert_eq!(map.remove_entry(&key_data, &value_data, owner).wait(), Ok(has));
            if has {
                let values = model.get_mut(&key).unwrap();
                let at = values.iter().position(|known| *known == value).unwrap();
                values.remove(at);
                model.retain(|_, values| !values.is_empty());
            }
        }
        7 => {
            map.delete(&key_data, owner).wait().unwrap();
            model.remove(&key);
        }
        8 => {
            let entries = vec![(key_data, vec![value_data.clone(), value_data]), (long(7), vec![long(1)])];
            map.put_all(entries, owner).wait().unwrap();
            for (key, value) in [(key, value), (key, value), (7, 1)] {
                let values = model.entry(key).or_default();
                if !is_set || !values.contains(&value) {
                    values.push(value);
                }
            }
        }
        9 if random(10) == 0 => {
            map.clear().wait().unwrap();
            model.clear();
        }
        _ => {
            let values = model.get(&key).cloned().unwrap_or_default();
            assert_eq!(map.value_count(&key_data).wait(), Ok(values.len()));
            assert_eq!(map.contains_key(&key_data).wait(), Ok(!values.is_empty()));
            assert_eq!(map.contains_entry(&key_data, &value_data).wait(), Ok(has));
            let any = model.values().any(|values| values.contains(&value));
            assert_eq!(map.contains_value(&value_data).wait(), Ok(any));
            assert_eq!(
                sorted(map.get(&key_data).wait().unwrap()),
                sorted(values.into_iter().map(long).collect())
            );
            let all: Vec<Data> = model.values().flatten().copied().map(long).collect();
            assert_eq!(map.size().wait(), Ok(all.len()));
            assert_eq!(sorted(map.values().wait().unwrap()), sorted(all.clone()));
            assert_eq!(map.entry_set().wait().unwrap().len(), all.len());
            assert_eq!(
                sorted(map.key_set().wait().unwrap()),
                sorted(model.keys().copied().map(long).collect())
            );
        }
    }
}

#[test]
fn a_multimap_is_a_map_of_collections() {
    simulate::seeds("a_multimap_is_a_map_of_collections", 0..60, |seed| {
        let stages = Stages::simulated(seed);
        let clock = stages.clock();
        let collection = if seed % 2 == 0 { ValueCollection::Set } else { ValueCollection::List };
        let (grid, map) = multi_map(&stages, collection);
        let balance = Arc::new(Mutex::new(0_i64));
        let hears = Arc::clone(&balance);
        map.add_listener(grid.new_id(), Interest::ALL, move |event| {
            let mut balance = hears.lock().unwrap();
            match event.kind {
                MapEventKind::Added => *balance += i64::from(event.value.is_some()),
                MapEventKind::Removed => *balance -= i64::from(event.old_value.is_some()),
                _ => *balance = 0,
            }
        });
        let mut model = Model::new();
        for _ in 0..150 {
            one_step(&map, &grid, &mut model, collection == ValueCollection::Set, |bound| {
                clock.random_below(bound)
            });
            // So that a clear is heard before what comes after it, and not beside.
            stages.simulation().unwrap().settle();
        }
        assert_eq!(*balance.lock().unwrap(), model.values().map(|values| values.len() as i64).sum::<i64>());
    });
}

#[test]
fn a_locked_key_is_waited_for() {
    let stages = Stages::simulated(4);
    let (grid, map) = multi_map(&stages, ValueCollection::Set);
    let (key, value, ann, bob) = (long(1), long(2), grid.new_owner(), grid.new_owner());
    assert!(map.lock(&key, ann, 0, None).wait().unwrap());
    assert!(map.is_locked(&key).wait().unwrap());
    assert!(map.put(&key, &value, ann).wait().unwrap(), "the owner itself does not wait");
    let waits = map.put(&key, &long(3), bob);
    assert!(!waits.is_done() && !map.lock(&key, bob, 0, None).wait().unwrap());
    assert!(matches!(map.unlock(&key, bob).wait(), Err(GridError::NotLockOwner { .. })));
    map.unlock(&key, ann).wait().unwrap();
    assert!(waits.wait().unwrap());
    assert_eq!(map.value_count(&key).wait(), Ok(2));

    assert!(map.lock(&key, ann, 0, None).wait().unwrap());
    assert!(matches!(map.remove(&key, bob).wait(), Err(GridError::TimedOut { .. })), "until the time-out");
    let all =
        map.put_all(vec![(long(2), vec![value.clone()]), (key.clone(), vec![value.clone()])], bob).wait();
    assert!(matches!(all, Err(GridError::TimedOutInPart { .. })), "{all:?}");
    map.clear().wait().unwrap();
    assert_eq!(map.key_set().wait(), Ok(vec![key.clone()]), "a locked key stays");
    assert_eq!(map.release_locks_of(ann.id).wait(), Ok(1));
    assert!(!map.is_locked(&key).wait().unwrap());
}

#[test]
fn a_lease_ends_by_itself_and_wakes_who_waits() {
    let stages = Stages::simulated(4);
    let (grid, map) = multi_map(&stages, ValueCollection::Set);
    let (key, ann, bob) = (long(1), grid.new_owner(), grid.new_owner());
    assert!(map.lock(&key, ann, 0, Some(300)).wait().unwrap());
    let begin = stages.clock().now();
    assert!(map.lock(&key, bob, 60_000, None).wait().unwrap());
    assert!(stages.clock().now() - begin >= Duration::from_millis(300));
    map.force_unlock(&key).wait().unwrap();
    assert!(!map.is_locked(&key).wait().unwrap());
}

#[test]
fn who_waits_for_a_lock_is_told_when_it_is_destroyed() {
    let stages = Stages::simulated(4);
    let (grid, map) = multi_map(&stages, ValueCollection::Set);
    let (key, ann, bob) = (long(1), grid.new_owner(), grid.new_owner());
    assert!(map.lock(&key, ann, 0, None).wait().unwrap());
    let waits = map.put(&key, &long(3), bob);
    assert!(grid.structures().destroy(Service::MultiMap, "m") && map.is_destroyed());
    assert!(matches!(waits.wait(), Err(GridError::Destroyed { .. })));
    assert_eq!(grid.multi_map("m").size().wait(), Ok(0), "another one is made");
}
