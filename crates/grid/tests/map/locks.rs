//! Locks: in the order of arrival, until the lease ends, until the owner is gone; and no thread is held.

use crate::{int, simulated};
use filbert_grid::{Grid, GridError, MapSettings, Owner};
use filbert_pool::{Stages, simulate};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[test]
fn who_waits_first_is_served_first() {
    simulate::seeds("who_waits_first_is_served_first", 0..100, |seed| {
        let (stages, grid) = simulated(seed, MapSettings::default());
        let simulation = stages.simulation().unwrap();
        let first = grid.map("m");
        first.lock(int(1), None).wait().unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        for number in 0..20 {
            let (map, order) = (grid.map("m"), Arc::clone(&order));
            map.lock(int(1), None).on_complete(move |locked| {
                locked.unwrap();
                order.lock().unwrap().push(number);
                map.unlock(int(1)).detach();
            });
        }
        simulation.settle();
        assert!(order.lock().unwrap().is_empty());
        first.unlock(int(1)).wait().unwrap();
        simulation.settle();
        assert_eq!(*order.lock().unwrap(), (0..20).collect::<Vec<_>>());
        assert!(!first.is_locked(int(1)).wait().unwrap());
    });
}

#[test]
fn a_write_waits_for_the_lock_and_a_read_does_not() {
    let (stages, grid) = simulated(1, MapSettings::default());
    let (mine, yours) = (grid.map("m"), grid.map("m"));
    mine.put(int(1), int(10)).wait().unwrap();
    mine.lock(int(1), None).wait().unwrap();
    mine.lock(int(1), None).wait().unwrap();
    mine.set(int(1), int(11)).wait().unwrap();
    assert_eq!(yours.get(int(1)).wait(), Ok(Some(int(11))));
    assert_eq!(yours.try_put(int(1), int(12), 0).wait(), Ok(false));
    assert_eq!(yours.try_put(int(1), int(12), 1_000).wait(), Ok(false));
    assert!(matches!(yours.unlock(int(1)).wait(), Err(GridError::NotLockOwner { .. })));
    let waits = yours.put(int(1), int(13));
    let all = yours.put_all([(int(1), int(14)), (int(2), int(2))]);
    mine.unlock(int(1)).wait().unwrap();
    stages.simulation().unwrap().settle();
    assert!(!waits.is_done() && !all.is_done(), "it was locked twice");
    mine.unlock(int(1)).wait().unwrap();
    assert_eq!(waits.wait(), Ok(Some(int(11))));
    all.wait().unwrap();
    assert_eq!(mine.get(int(1)).wait(), Ok(Some(int(14))));
}

#[test]
fn a_write_gives_up_after_its_time() {
    let (stages, grid) = simulated(2, MapSettings::default());
    let (mine, yours) = (grid.map("m"), grid.map("m"));
    mine.lock(int(1), None).wait().unwrap();
    let waits = yours.set(int(1), int(1));
    stages.simulation().unwrap().advance(Duration::from_secs(59));
    assert!(!waits.is_done());
    assert_eq!(waits.wait(), Err(GridError::TimedOut { operation: "map.set" }));
    assert_eq!(yours.get(int(1)).wait(), Ok(None));
    // One that did a part does not say that nothing was done.
    let all = yours.put_all([(int(1), int(1)), (int(2), int(2))]).wait();
    assert_eq!(all, Err(GridError::TimedOutInPart { operation: "map.put_all" }));
    assert_eq!(yours.get(int(2)).wait(), Ok(Some(int(2))));
}

#[test]
fn a_lease_ends_by_itself() {
    let (stages, grid) = simulated(3, MapSettings::default());
    let (mine, yours) = (grid.map("m"), grid.map("m"));
    mine.lock(int(1), Some(5_000)).wait().unwrap();
    let waits = yours.lock(int(1), None);
    stages.simulation().unwrap().advance(Duration::from_millis(4_900));
    assert!(!waits.is_done());
    stages.simulation().unwrap().advance(Duration::from_millis(200));
    assert!(waits.is_done());
    waits.wait().unwrap();
    assert!(matches!(mine.unlock(int(1)).wait(), Err(GridError::NotLockOwner { .. })));
}

/// Each short lease beside a long one set the timer of the long one again.
#[test]
fn the_timer_of_a_lease_is_set_once() {
    let (stages, grid) = simulated(3, MapSettings::default());
    let (map, simulation) = (grid.map("m"), stages.simulation().unwrap());
    let beside = (1..).map(int).find(|key| key.partition() == int(0).partition()).unwrap();
    map.lock(int(0), Some(1_000_000)).wait().unwrap();
    for _ in 0..100 {
        map.lock(beside.clone(), Some(1_000)).wait().unwrap();
        simulation.advance(Duration::from_secs(2));
        assert!(!map.is_locked(beside.clone()).wait().unwrap());
    }
    simulation.advance(Duration::from_secs(700));
    let before = stages.partition().snapshot().executed;
    simulation.advance(Duration::from_secs(200));
    let timers = stages.partition().snapshot().executed - before;
    assert!(!map.is_locked(int(0)).wait().unwrap());
    assert_eq!(timers, 1);
}

#[test]
fn the_locks_of_one_who_is_gone_are_free() {
    let (_stages, grid) = simulated(4, MapSettings::default());
    let map = grid.map("m");
    let gone = Owner { id: grid.new_id(), thread: 7 };
    let client = map.as_owner(gone);
    for key in 0..100 {
        client.lock(int(key), None).wait().unwrap();
    }
    let waits = map.set(int(50), int(1));
    assert_eq!(map.release_locks_of(gone.id).wait(), Ok(100));
    waits.wait().unwrap();
    assert_eq!(map.stats().wait().unwrap().locked, 0);
}

#[test]
fn destroying_a_map_ends_who_waits_in_it() {
    let (stages, grid) = simulated(5, MapSettings::default());
    let (mine, yours) = (grid.map("m"), grid.map("m"));
    mine.set(int(1), int(1)).wait().unwrap();
    mine.lock(int(1), None).wait().unwrap();
    let waits = yours.set(int(1), int(2));
    assert!(grid.structures().destroy(filbert_grid::Service::Map, "m"));
    assert!(matches!(waits.wait(), Err(GridError::Destroyed { .. })));
    for tried in [yours.try_put(int(1), int(2), 0), yours.try_remove(int(1), 0)] {
        assert!(matches!(tried.wait(), Err(GridError::Destroyed { .. })), "nobody has locked it");
    }
    stages.simulation().unwrap().settle();
    assert_eq!(grid.map("m").get(int(1)).wait(), Ok(None), "a new one of the same name");
}

/// The partition was never told, and whoever waited there waited for ever.
#[test]
fn destroying_a_map_ends_who_waits_in_a_full_partition() {
    let stages = Stages::builder().set("partition.mailbox_capacity", 1).simulated(5).unwrap();
    let grid = Grid::new(&stages);
    let (mine, yours) = (grid.map("m"), grid.map("m"));
    mine.lock(int(1), None).wait().unwrap();
    let waits = yours.lock(int(1), None);
    let looked = mine.strands().try_look(int(1).partition(), "busy", |_, _| {
        mine.get(int(1)).detach();
        assert!(grid.structures().destroy(filbert_grid::Service::Map, "m"));
    });
    assert!(looked.is_some());
    stages.simulation().unwrap().advance(Duration::from_secs(1));
    assert!(waits.is_done());
    assert!(matches!(waits.wait(), Err(GridError::Destroyed { .. })));
}

#[test]
fn clearing_leaves_locked_keys_alone() {
    let (_stages, grid) = simulated(6, MapSettings::default());
    let map = grid.map("m");
    map.put_all((0..100).map(|key| (int(key), int(key)))).wait().unwrap();
    map.lock(int(7), None).wait().unwrap();
    map.clear().wait().unwrap();
    assert_eq!(map.entry_set().wait(), Ok(vec![(int(7), int(7))]));
    map.unlock(int(7)).wait().unwrap();
    map.clear().wait().unwrap();
    assert_eq!(map.is_empty().wait(), Ok(true));
}
