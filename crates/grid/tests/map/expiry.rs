//! Entries whose time is over: gone for readers at once, told to listeners once.

use crate::{int, number, simulated};
use filbert_grid::{Interest, Lifetime, MapEventKind, MapSettings};
use filbert_pool::simulate;
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
