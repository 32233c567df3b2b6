//! The journal of a map: replaying it gives the map.

use crate::dice::Dice;
use crate::{int, number, simulated};
use filbert_grid::map::operations::ReadJournalItems;
use filbert_grid::map::{JournalFilter, JournalProjection};
use filbert_grid::{
    EvictionPolicy, GridError, JournalEvent, JournalSettings, Lifetime, Map, MapEventKind, MapSettings,
    MaxSize,
};
use filbert_pool::{Stages, simulate};
use filbert_wire::{Data, PARTITION_COUNT, PartitionId};
use std::collections::BTreeMap;
use std::time::Duration;

fn journal(capacity: u64) -> Option<JournalSettings> {
    Some(JournalSettings { capacity, ..Default::default() })
}

/// What all journals of a map have, page by page, and how much they lost.
fn read_all(map: &Map, batch: u32) -> (Vec<JournalEvent>, u64) {
    let (mut all, mut lost) = (Vec::new(), 0);
    for partition in PartitionId::all() {
        let end = map.span_of_journal(partition).wait().unwrap().next;
        let mut next = 0;
        while next < end {
            let page = map.read_journal(partition, next, batch).wait().unwrap();
            assert!(page.events.len() <= batch as usize && !page.events.is_empty());
            (next, lost) = (page.next, lost + page.lost);
            all.extend(page.events);
        }
    }
    (all, lost)
}

/// Does to a tree what the events say, and checks that each fits what was before it.
fn replay(events: Vec<JournalEvent>) -> BTreeMap<Vec<u8>, Data> {
    let mut replayed: BTreeMap<Vec<u8>, Data> = BTreeMap::new();
    for event in events {
        let key = event.key.as_bytes().to_vec();
        assert_eq!(replayed.get(&key), event.old_value.as_ref(), "{event:?}");
        let is_added = event.kind == MapEventKind::Added;
        assert_eq!(
            (event.old_value.is_none(), event.value.is_some()),
            (is_added, is_added || event.kind == MapEventKind::Updated)
        );
        match event.value {
            Some(value) => replayed.insert(key, value),
            None => replayed.remove(&key),
        };
    }
    replayed
}

fn entries(map: &Map) -> BTreeMap<Vec<u8>, Data> {
    let entries = map.entry_set().wait().unwrap();
    entries.into_iter().map(|(key, value)| (key.as_bytes().to_vec(), value)).collect()
}

#[test]
fn replaying_the_journal_gives_the_map() {
    simulate::seeds("replaying_the_journal_gives_the_map", 0..60, |seed| {
        let settings = MapSettings {
            journal: journal(1_000_000),
            eviction: EvictionPolicy::Lru,
            max_size: Some(MaxSize::Entries(20)),
            ..Default::default()
        };
        let (stages, grid) = simulated(seed, settings);
        let (map, mut dice) = (grid.map("m"), Dice::new(seed));
        for _ in 0..300 {
            let (key, value) = (int(dice.below(40)), int(dice.below(100)));
            match dice.below(12) {
                0..5 => map.set(key, value).wait().unwrap(),
                5 => map.set_for(key, value, Lifetime { ttl_ms: 500, max_idle_ms: 0 }).wait().unwrap(),
                6 => map.put_all([(key, value), (int(dice.below(40)), int(7))]).wait().unwrap(),
                7 | 8 => drop(map.remove(key).wait().unwrap()),
                9 => drop(map.evict(key).wait().unwrap()),
                10 => stages.simulation().unwrap().advance(Duration::from_millis(200)),
                _ => match dice.below(8) {
                    0 => map.clear().wait().unwrap(),
                    1 => {
                        // The entry with the lock stays.
                        assert!(map.try_lock(key.clone(), 0, None).wait().unwrap());
                        map.evict_all().wait().unwrap();
                        map.unlock(key).wait().unwrap();
                    }
                    _ => {}
                },
            }
        }
        // Those whose time is over are gone for readers before the journal hears of it.
        stages.simulation().unwrap().advance(Duration::from_secs(10));
        let (events, lost) = read_all(&map, 1 + dice.below(9));
        assert_eq!((replay(events), lost), (entries(&map), 0));
    });
}

#[test]
fn every_kind_of_change_is_there_with_its_values() {
    let (stages, grid) = simulated(1, MapSettings { journal: journal(10_000), ..Default::default() });
    let map = grid.map("m");
    map.set(int(1), int(10)).wait().unwrap();
    map.set(int(1), int(11)).wait().unwrap();
    map.remove(int(1)).wait().unwrap();
    map.set_for(int(1), int(12), Lifetime { ttl_ms: 1_000, max_idle_ms: 0 }).wait().unwrap();
    stages.simulation().unwrap().advance(Duration::from_secs(5));
    map.set(int(1), int(13)).wait().unwrap();
    map.evict(int(1)).wait().unwrap();
    map.set(int(1), int(14)).wait().unwrap();
    map.evict_all().wait().unwrap();
    map.set(int(1), int(15)).wait().unwrap();
    map.clear().wait().unwrap();
    use MapEventKind::{Added, Evicted, Expired, Removed, Updated};
    let kinds: Vec<_> = read_all(&map, 100).0.into_iter().map(|event| event.kind).collect();
    assert_eq!(
        kinds,
        [Added, Updated, Removed, Added, Expired, Added, Evicted, Added, Evicted, Added, Removed]
    );
}

#[test]
fn a_clear_of_more_than_the_journal_keeps_loses_the_rest() {
    let (_stages, grid) =
        simulated(1, MapSettings { journal: journal(u64::from(PARTITION_COUNT) * 2), ..Default::default() });
    let map = grid.map("m");
    let entries: Vec<_> = (0..5_000).map(|number| (int(number), int(number))).collect();
    map.put_all(entries).wait().unwrap();
    map.clear().wait().unwrap();
    let (events, lost) = read_all(&map, 100);
    assert!(events.iter().all(|event| event.kind == MapEventKind::Removed));
    assert_eq!((events.len(), events.len() as u64 + lost), (2 * PARTITION_COUNT as usize, 10_000));
}

#[test]
fn readers_wait_for_the_next_change_and_learn_of_the_end() {
    let (stages, grid) = simulated(1, MapSettings { journal: journal(10_000), ..Default::default() });
    let map = grid.map("m");
    let partition = int(1).partition();
    let readers: Vec<_> = (0..3).map(|_| map.read_journal(partition, 0, 10)).collect();
    let given_up = map.read_journal(partition, 0, 10);
    stages.simulation().unwrap().settle();
    assert!(readers.iter().all(|reader| !reader.is_done()));
    given_up.cancel();
    map.set(int(1), int(2)).wait().unwrap();
    for reader in readers {
        assert_eq!(reader.wait().unwrap().next, 1);
    }
    let waits = map.read_journal(partition, 1, 10);
    grid.structures().destroy(filbert_grid::Service::Map, "m");
    assert!(matches!(waits.wait(), Err(GridError::Destroyed { .. })));
}

#[test]
fn a_map_without_a_journal_says_so() {
    let stages = Stages::simulated(1);
    let map = filbert_grid::Grid::new(&stages).map("plain");
    let said = map.read_journal(int(1).partition(), 0, 1).wait().unwrap_err().to_string();
    assert!(said.contains("plain") && said.contains("journal.capacity"), "{said}");
    let items = map.read_journal_items(int(1).partition(), ReadJournalItems::new(0, 0, 1)).wait();
    assert_eq!(items, Err(GridError::NoJournal { map: "plain".to_owned() }));
}

/// What clients read in pieces of any size, some of it before it happens, is what happened. When a reader is lapped it goes on with the oldest.
#[test]
fn items_are_the_changes_in_their_order() {
    simulate::seeds("items_are_the_changes_in_their_order", 0..40, |seed| {
        let places = if seed % 2 == 0 { 8 } else { 1_000 };
        let capacity = places * u64::from(PARTITION_COUNT);
        let (stages, grid) =
            simulated(seed, MapSettings { journal: journal(capacity), ..Default::default() });
        let (map, mut dice, partition) = (grid.map("m"), Dice::new(seed), int(1).partition());
        let (mut next, mut seen) = (0, Vec::new());
        for value in 0..60 {
            map.set(int(1), int(value)).wait().unwrap();
            if dice.below(3) > 0 {
                continue;
            }
            let (min, max) = (dice.below(4) as usize, 4 + dice.below(5) as usize);
            let read = ReadJournalItems::new(next, min, max).projected(Some(JournalProjection::Value));
            let reads = map.read_journal_items(partition, read);
            stages.simulation().unwrap().settle();
            if !reads.is_done() {
                // They are too few yet; it is lapped meanwhile, perhaps.
                (0..10).for_each(|_| map.set(int(1), int(value)).wait().unwrap());
            }
            let items = reads.wait().unwrap();
            assert!((min..=max).contains(&items.items.len()));
            assert_eq!(items.items.last().map_or(items.next, |(sequence, _)| sequence + 1), items.next);
            seen.extend(items.items.iter().map(|(sequence, value)| (*sequence, number(value))));
            next = items.next;
        }
        assert!(seen.is_sorted_by(|one, other| one.0 < other.0 && one.1 <= other.1), "{seen:?}");
        let is_whole = seen.iter().enumerate().all(|(place, (sequence, _))| place as u64 == *sequence);
        assert!(is_whole || places == 8, "nothing is lost where there is room");
    });
}

/// All changes of a partition by a filter that takes none of them: in slices, and then it waits.
#[test]
fn a_filter_that_takes_nothing_waits_for_what_it_takes() {
    let (stages, grid) = simulated(1, MapSettings { journal: journal(1_000_000), ..Default::default() });
    let map = grid.map("m");
    for value in 0..50 {
        map.set(int(1), int(value)).wait().unwrap();
        map.remove(int(1)).wait().unwrap();
    }
    let read = ReadJournalItems::new(0, 51, 100).filtered(Some(JournalFilter::Puts));
    let reads = map.read_journal_items(int(1).partition(), read);
    stages.simulation().unwrap().settle();
    assert!(!reads.is_done());
    map.remove(int(1)).wait().unwrap();
    map.set(int(1), int(50)).wait().unwrap();
    let items = reads.wait().unwrap();
    assert_eq!((items.items.len(), items.read, items.next), (51, 101, 101));
}
