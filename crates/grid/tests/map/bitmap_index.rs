//! Bitmap indexes of a map whose entries come, change, expire, make room and go in a random order: queries find what a scan finds.

use crate::dice::Dice;
use crate::{int, number, simulated};
use filbert_grid::query::{IndexKind, IndexSettings, Predicate};
use filbert_grid::{EvictionPolicy, Lifetime, Map, MapSettings, MaxSize};
use filbert_pool::simulate;
use filbert_wire::{Data, Json, PartitionId, ToData};
use std::collections::BTreeSet;
use std::time::Duration;

/// Keys of each of two partitions: so many entries that an index is worth asking.
const KEYS: usize = 64;

type Fits = fn(u32) -> bool;

/// Values by a number: `a` is one of four, `b` one of three, where one is left out.
fn value(number: u32) -> Data {
    let fields = match number % 3 {
        0 => format!(r#"{{"n": {number}, "a": {}}}"#, number % 4),
        b => format!(r#"{{"n": {number}, "a": {}, "b": {b}}}"#, number % 4),
    };
    Json(serde_json::from_str::<serde_json::Value>(&fields).unwrap()).to_data().unwrap()
}

const QUERIES: [(&str, Fits); 6] = [
    ("a = 2", |n| n % 4 == 2),
    ("a = 2 AND b = 1", |n| n % 4 == 2 && n % 3 == 1),
    ("a IN (0, 3) OR b = 2", |n| n % 4 == 0 || n % 4 == 3 || n % 3 == 2),
    ("a != 1", |n| n % 4 != 1),
    ("NOT (a = 1 OR b = 1) AND n > 50", |n| n % 4 != 1 && n % 3 != 1 && n > 50),
    ("b IS NULL", |n| n.is_multiple_of(3)),
];

/// What is there, by its key and the number of its value.
fn entries(map: &Map) -> Vec<(u32, u32)> {
    let all = map.entry_set().wait().unwrap();
    let of_value = |data: &Data| (0..100).find(|number| value(*number) == *data).expect("one of ours");
    all.iter().map(|(key, value)| (number(key), of_value(value))).collect()
}

/// Keys that lie on two partitions.
fn keys() -> Vec<u32> {
    let of = |partition| (0..).filter(move |key| int(*key).partition() == partition).take(KEYS);
    let [one, other] = [3, 200].map(|number| PartitionId::new(number).unwrap());
    of(one).chain(of(other)).collect()
}

fn check(map: &Map) {
    let there = entries(map);
    for (text, fits) in QUERIES {
        let found = map.key_set_where(&Predicate::sql(text).unwrap()).wait().unwrap();
        let expected: BTreeSet<u32> = there.iter().filter(|(_, n)| fits(*n)).map(|(key, _)| *key).collect();
        assert_eq!(found.len(), expected.len(), "{text}");
        assert_eq!(found.iter().map(number).collect::<BTreeSet<_>>(), expected, "{text}");
    }
}

#[test]
fn bitmaps_find_what_a_scan_finds_whatever_happened_to_the_entries() {
    let keys = keys();
    simulate::seeds("bitmaps_find_what_a_scan_finds_whatever_happened_to_the_entries", 0..12, |seed| {
        let bound = (seed % 3 > 0).then_some(MaxSize::EntriesPerPartition(40));
        let settings =
            MapSettings { eviction: EvictionPolicy::Lru, max_size: bound, ..MapSettings::default() };
        let (stages, grid) = simulated(seed, settings);
        let (map, mut dice) = (grid.map("m"), Dice::new(seed));
        let add = |attribute: &str| {
            let settings = IndexSettings::new("m", IndexKind::Bitmap, None, [attribute]).unwrap();
            map.add_index(settings).wait().unwrap();
        };
        add("a");
        for step in 0..600 {
            let (key, new) = (int(keys[dice.below(keys.len() as u32) as usize]), value(dice.below(100)));
            match dice.below(40) {
                0..24 => map.set(key, new).wait().unwrap(),
                24..29 => {
                    map.set_for(key, new, Lifetime::ttl_ms(1 + i64::from(dice.below(5_000)))).wait().unwrap()
                }
                29..33 => drop(map.remove(key).wait().unwrap()),
                33..35 => drop(map.evict(key).wait().unwrap()),
                35..37 => drop(map.replace(key, new).wait().unwrap()),
                37 if dice.below(8) == 0 => map.clear().wait().unwrap(),
                38 if dice.below(8) == 0 => map.evict_all().wait().unwrap(),
                39 => drop(map.remove_where(&Predicate::sql("a = 3 AND b = 2").unwrap()).wait().unwrap()),
                _ => stages.simulation().unwrap().advance(Duration::from_millis(dice.below(1_000).into())),
            }
            if step == 300 {
                // Over what is there.
                add("b");
            }
            if step % 60 == 59 {
                check(&map);
            }
        }
    });
}
