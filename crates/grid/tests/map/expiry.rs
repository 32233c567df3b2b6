//! Entries whose time is over: gone for readers at once, told to listeners once.

use crate::{int, number, simulated};
use filbert_grid::{Interest, Lifetime, MapEventKind, MapSettings};
use filbert_pool::{Stages, simulate};
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[test]
fn every_entry_expires_once_whoever_finds_it() {
    simulate::seeds("every_entry_expires_once_whoever_finds_it", 0..30, |seed| {
        let (stages, grid) = simulated(seed, MapSettings::default());
        let (map, simulation) = (grid.map("m"), stages.simulation().unwrap());
        let expired = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&expired);
        let interest = Interest { flags: MapEventKind::Expired.flag(), ..Interest::ALL };
        map.add_listener(grid.new_id(), interest, move |event| {
            assert_eq!(event.old_value, event.key);
            heard.lock().unwrap().push(number(event.key.as_ref().unwrap()));
        });
        for key in 0..200 {
            map.set_for(int(key), int(key), Lifetime::ttl_ms(1_000 + i64::from(key % 10) * 100))
                .wait()
                .unwrap();
        }
        simulation.advance(Duration::from_millis(1_450));
        // Some are found by readers, the rest by the sweep.
        for key in (0..200).step_by(3) {
            assert_eq!(map.get(int(key)).wait().unwrap().is_some(), key % 10 > 4, "key {key}");
        }
        simulation.advance(Duration::from_secs(10));
        let mut expired = expired.lock().unwrap().clone();
        expired.sort_unstable();
        assert_eq!(expired, (0..200).collect::<Vec<_>>());
        assert_eq!(map.size().wait(), Ok(0), "without anyone asking for them");
        assert_eq!(map.stats().wait().unwrap().expirations, 200);
    });
}

#[test]
fn idleness_is_measured_from_the_last_use() {
    let (stages, grid) = simulated(1, MapSettings { max_idle_seconds: 2, ..Default::default() });
    let (map, simulation) = (grid.map("m"), stages.simulation().unwrap());
    map.set(int(1), int(1)).wait().unwrap();
    map.set(int(2), int(2)).wait().unwrap();
    for _ in 0..10 {
        simulation.advance(Duration::from_millis(1_500));
        assert_eq!(map.get(int(1)).wait(), Ok(Some(int(1))));
    }
    assert_eq!(map.get(int(2)).wait(), Ok(None));
    let view = map.entry_view(int(1)).wait().unwrap().unwrap();
    assert_eq!((view.ttl_ms, view.max_idle_ms), (i64::MAX, 2_000));
}

#[test]
fn an_entry_view_says_what_is_known() {
    let settings = MapSettings { per_entry_stats: true, ..Default::default() };
    let (stages, grid) = simulated(1, settings);
    let (map, clock) = (grid.map("m"), stages.clock());
    let begin = clock.unix_ms() as i64;
    map.put_for(int(1), int(1), Lifetime::ttl_ms(60_000)).wait().unwrap();
    stages.simulation().unwrap().advance(Duration::from_secs(1));
    map.get(int(1)).wait().unwrap();
    map.put_for(int(1), int(2), Lifetime::ttl_ms(60_000)).wait().unwrap();
    let view = map.entry_view(int(1)).wait().unwrap().unwrap();
    assert_eq!((view.key, view.value, view.hits, view.version), (int(1), int(2), 2, 1));
    assert!((view.creation_time - begin).abs() <= 1 && (view.last_update_time - begin - 1_000).abs() <= 2);
    assert!((view.expiration_time - begin - 61_000).abs() <= 3, "{} {begin}", view.expiration_time);
    assert_eq!(map.entry_view(int(2)).wait(), Ok(None));
}

/// Everything that ran on any stage.
fn executed(stages: &Stages) -> u64 {
    stages.snapshot().iter().map(|stage| stage.executed).sum()
}

/// Bug: a partition with an entry that could expire looked for expired ones every second, whenever that was: 271 timers and hops a second for
/// each map.
#[test]
fn nothing_runs_before_the_first_end() {
    let (stages, grid) = simulated(1, MapSettings::default());
    let (map, idle) = (grid.map("m"), grid.map("idle"));
    let simulation = stages.simulation().unwrap();
    for key in 0..2_000 {
        map.set_for(int(key), int(key), Lifetime::ttl_ms(3_600_000)).wait().unwrap();
        idle.set_for(int(key), int(key), Lifetime { ttl_ms: 0, max_idle_ms: 3_600_000 }).wait().unwrap();
    }
    let before = executed(&stages);
    simulation.advance(Duration::from_secs(30 * 60));
    assert_eq!(executed(&stages), before, "nothing is due for an hour");
    // A shorter life beside longer ones is not forgotten for theirs.
    map.set_for(int(7), int(7), Lifetime::ttl_ms(10_000)).wait().unwrap();
    simulation.advance(Duration::from_secs(12));
    assert_eq!(map.size().wait(), Ok(1_999));
    simulation.advance(Duration::from_secs(31 * 60));
    assert_eq!((map.size().wait(), idle.size().wait()), (Ok(0), Ok(0)));
    // What can expire no more is not looked for.
    let before = executed(&stages);
    simulation.advance(Duration::from_secs(24 * 3_600));
    assert_eq!(executed(&stages), before);
}

/// The lock keeps the entry, and nobody looks again and again whether it still does.
#[test]
fn an_entry_that_is_locked_goes_with_its_lock() {
    let (stages, grid) = simulated(1, MapSettings::default());
    let map = grid.map("m");
    let simulation = stages.simulation().unwrap();
    map.set_for(int(1), int(1), Lifetime::ttl_ms(2_000)).wait().unwrap();
    map.lock(int(1), None).wait().unwrap();
    simulation.advance(Duration::from_secs(10));
    let before = executed(&stages);
    simulation.advance(Duration::from_secs(3_600));
    assert_eq!(executed(&stages), before, "nobody looks at it while it is locked");
    assert_eq!(map.size().wait(), Ok(1));
    map.unlock(int(1)).wait().unwrap();
    simulation.advance(Duration::from_secs(2));
    assert_eq!(map.size().wait(), Ok(0));
}

/// Uses put the end off; the entry goes after the last of them, though nobody asks for it.
#[test]
fn an_idle_entry_is_swept_after_its_last_use() {
    simulate::seeds("an_idle_entry_is_swept_after_its_last_use", 0..20, |seed| {
        let settings = MapSettings { max_idle_seconds: 10, ..Default::default() };
        let (stages, grid) = simulated(seed, settings);
        let (map, simulation) = (grid.map("m"), stages.simulation().unwrap());
        (0..50).for_each(|key| map.set(int(key), int(key)).wait().unwrap());
        // Each is used for as many seconds as its number.
        for second in 0..50 {
            simulation.advance(Duration::from_secs(1));
            for key in second..50 {
                assert!(map.get(int(key)).wait().unwrap().is_some(), "key {key} after {second} s");
            }
            let gone = (second + 1).saturating_sub(11);
            let size = map.size().wait().unwrap();
            assert!((50 - gone - 2..=50 - gone).contains(&(size as u32)), "{size} after {second} s");
        }
        simulation.advance(Duration::from_secs(12));
        assert_eq!(map.size().wait(), Ok(0));
    });
}

/// An oracle: a random script of lives, uses and removals, against a list of ends.
#[test]
fn at_every_moment_what_is_over_is_gone_soon() {
    simulate::seeds("at_every_moment_what_is_over_is_gone_soon", 0..30, |seed| {
        let (stages, grid) = simulated(seed, MapSettings::default());
        let (map, simulation, clock) = (grid.map("m"), stages.simulation().unwrap(), stages.clock());
        let mut ends = std::collections::BTreeMap::new();
        for _ in 0..300 {
            let key = clock.random_below(40) as u32;
            match clock.random_below(4) {
                0 | 1 => {
                    let ttl = 1 + clock.random_below(60_000) as u64;
                    map.set_for(int(key), int(key), Lifetime::ttl_ms(ttl as i64)).wait().unwrap();
                    ends.insert(key, clock.now() + Duration::from_millis(ttl));
                }
                2 => {
                    map.remove(int(key)).wait().unwrap();
                    ends.remove(&key);
                }
                _ => simulation.advance(Duration::from_millis(clock.random_below(20_000) as u64)),
            }
            let (now, most) = (clock.now(), Duration::from_millis(1_100));
            let live = ends.values().filter(|end| **end > now).count();
            let not_swept = ends.values().filter(|end| **end <= now && **end + most > now).count();
            let size = map.size().wait().unwrap() as usize;
            assert!(
                (live..=live + not_swept).contains(&size),
                "{size} entries, {live} live, {not_swept} just over"
            );
        }
    });
}
