//! Bounds hold, and what goes is what was used least.

use crate::{int, simulated};
use filbert_grid::{EvictionPolicy, GridError, Interest, MapEventKind, MapSettings, MaxSize};
use filbert_wire::Data;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[test]
fn no_bound_is_passed_and_what_was_written_stays() {
    let policies = [EvictionPolicy::Lru, EvictionPolicy::Lfu, EvictionPolicy::Random];
    let bounds = [MaxSize::Entries(3_000), MaxSize::EntriesPerPartition(11), MaxSize::Bytes(3_000 * 80)];
    for (eviction, max_size) in policies.iter().flat_map(|policy| bounds.map(|bound| (*policy, bound))) {
        let (stages, grid) =
            simulated(1, MapSettings { eviction, max_size: Some(max_size), ..Default::default() });
        let map = grid.map("m");
        let evicted = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&evicted);
        let interest = Interest { flags: MapEventKind::Evicted.flag(), ..Interest::ALL };
        map.add_listener(grid.new_id(), interest, move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
        });
        for key in 0..8_000 {
            map.set(int(key), int(key)).wait().unwrap();
            assert_eq!(map.get(int(key)).wait(), Ok(Some(int(key))), "never the entry just written");
        }
        let stats = map.stats().wait().unwrap();
        match max_size {
            MaxSize::Bytes(most) => assert!(stats.bytes <= most, "{stats:?}"),
            _ => assert!(stats.entries <= 3_000, "{stats:?}"),
        }
        assert!(stats.entries > 2_000, "{stats:?}");
        assert_eq!(stats.entries + stats.evictions, 8_000);
        stages.simulation().unwrap().settle();
        assert_eq!(evicted.load(Ordering::Relaxed), stats.evictions);
    }
}

/// Only new entries made others go, so that a map grew without bound by updates.
#[test]
fn values_that_grow_make_others_go() {
    let most = 3_000 * 100;
    let settings = MapSettings {
        eviction: EvictionPolicy::Lru,
        max_size: Some(MaxSize::Bytes(most)),
        ..Default::default()
    };
    let (_stages, grid) = simulated(1, settings);
    let map = grid.map("m");
    map.put_all((0..3_000).map(|key| (int(key), int(key)))).wait().unwrap();
    let large = Data::new(-12, &[7; 400]);
    for key in 0..3_000 {
        map.replace(int(key), large.clone()).wait().unwrap();
    }
    let stats = map.stats().wait().unwrap();
    assert!(stats.bytes <= most, "{stats:?}");
    assert!(stats.entries > 271 && stats.evictions > 1_000, "{stats:?}");
}

#[test]
fn what_is_used_stays() {
    for eviction in [EvictionPolicy::Lru, EvictionPolicy::Lfu] {
        let settings =
            MapSettings { eviction, max_size: Some(MaxSize::Entries(5_420)), ..Default::default() };
        let (stages, grid) = simulated(1, settings);
        let (map, simulation) = (grid.map("m"), stages.simulation().unwrap());
        for key in 0..20_000 {
            map.set(int(key), int(key)).wait().unwrap();
            if key % 100 == 0 {
                simulation.advance(Duration::from_millis(20));
                for hot in 0..200 {
                    map.get(int(hot)).wait().unwrap();
                }
            }
        }
        let there = map.get_all((0..200).map(int)).wait().unwrap().len();
        assert!(there >= 190, "{eviction:?} kept {there} of 200 that were used all the time");
    }
}

#[test]
fn without_a_policy_a_full_map_refuses() {
    let settings = MapSettings { max_size: Some(MaxSize::Entries(10)), ..Default::default() };
    let (_stages, grid) = simulated(1, settings);
    let map = grid.map("m");
    let refused = map.put_all((0..100).map(|key| (int(key), int(key)))).wait().unwrap_err();
    assert!(matches!(refused, GridError::MapFull { limit: 10, .. }), "{refused}");
    assert_eq!(map.size().wait(), Ok(10));
}
