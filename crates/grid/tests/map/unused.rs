//! A map that nobody uses has no partitions yet: a strand takes more than a kilobyte, and a map has 271.

use crate::int;
use filbert_grid::{Grid, GridError, LocalMapStats, Service};
use filbert_pool::Stages;

#[test]
fn partitions_are_made_when_they_are_used() {
    let stages = Stages::simulated(1);
    let grid = Grid::new(&stages);
    let map = grid.map("m");
    assert_eq!((map.size().wait(), map.is_empty().wait()), (Ok(0), Ok(true)));
    assert_eq!((map.values().wait(), map.contains_value(&int(1)).wait()), (Ok(Vec::new()), Ok(false)));
    assert_eq!(map.stats().wait(), Ok(LocalMapStats::default()));
    assert_eq!((map.clear().wait(), map.evict_all().wait()), (Ok(()), Ok(())));
    map.release_locks_of(map.owner().id).wait().unwrap();
    // A client that left made all partitions of all maps.
    map.free_keys_of(map.owner().id);
    let multi_map = grid.multi_map("mm");
    multi_map.free_keys_of(map.owner().id);
    assert_eq!(map.strands().used_partitions(), []);
    assert_eq!(grid.memory().used(), 0, "each strand would count");
    let owner = grid.new_owner();
    assert_eq!(multi_map.lock(&int(1), owner, 0, None).wait(), Ok(true));
    multi_map.free_keys_of(owner.id);
    assert_eq!(multi_map.is_locked(&int(1)).wait(), Ok(false), "where there are locks they are freed");

    map.set(int(1), int(10)).wait().unwrap();
    assert_eq!(map.strands().used_partitions(), [int(1).partition()]);
    assert_eq!((map.size().wait(), map.values().wait()), (Ok(1), Ok(vec![int(10)])));
    assert_eq!(map.contains_value(&int(10)).wait(), Ok(true));
    map.clear().wait().unwrap();
    assert_eq!(map.size().wait(), Ok(0));
}

/// What is made late is made as a part of something that is gone.
#[test]
fn a_destroyed_structure_is_gone_where_it_was_never_used() {
    let stages = Stages::simulated(1);
    let grid = Grid::new(&stages);
    let (map, multi_map) = (grid.map("m"), grid.multi_map("m"));
    map.set(int(1), int(1)).wait().unwrap();
    grid.structures().destroy(Service::Map, "m");
    grid.structures().destroy(Service::MultiMap, "m");
    for key in [1, 2] {
        assert!(matches!(map.set(int(key), int(1)).wait(), Err(GridError::Destroyed { .. })));
    }
    assert!(matches!(multi_map.size().wait(), Err(GridError::Destroyed { .. })));
}
