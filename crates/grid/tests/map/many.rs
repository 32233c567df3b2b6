//! Many keys at once: split by partition, joined again.

use crate::{int, number, simulated};
use filbert_grid::map::operations::{EntryFilter, EntryRef, Keys};
use filbert_grid::{Grid, MapSettings};
use filbert_pool::{Stages, simulate};
use filbert_wire::PartitionId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Keys that are a multiple of this.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Multiples(pub(crate) u32);

impl EntryFilter for Multiples {
    fn matches(&self, entry: &EntryRef<'_>) -> bool {
        u32::from_be_bytes(entry.key[8..].try_into().unwrap()).is_multiple_of(self.0)
    }
}

#[test]
fn what_was_put_at_once_is_there() {
    let stages = Stages::start().unwrap();
    let map = Grid::new(&stages).map("m");
    map.put_all((0..20_000).map(|key| (int(key), int(key + 1)))).wait().unwrap();
    assert_eq!(map.size().wait(), Ok(20_000));
    let some = map.get_all((19_000..21_000).map(int)).wait().unwrap();
    assert_eq!(some.len(), 1_000);
    assert!(some.iter().all(|(key, value)| number(value) == number(key) + 1));
    let keys: BTreeSet<u32> = map.key_set().wait().unwrap().iter().map(number).collect();
    assert!(keys.iter().copied().eq(0..20_000));
    let values: u64 = map.values().wait().unwrap().iter().map(|value| u64::from(number(value))).sum();
    assert_eq!(values, (1..=20_000).sum::<u64>());
    assert_eq!(map.contains_value(&int(20_000)).wait(), Ok(true));
    assert_eq!(map.contains_value(&int(20_001)).wait(), Ok(false));
    assert_eq!(map.scan::<Keys, _>(Multiples(1_000)).wait().unwrap().len(), 20);
    assert_eq!(map.remove_all(Multiples(2)).wait(), Ok(10_000));
    assert_eq!(map.size().wait(), Ok(10_000));
    assert_eq!(map.get_all([]).wait(), Ok(vec![]));
    map.clear().wait().unwrap();
    assert_eq!(map.stats().wait().unwrap().bytes, 0);
}

#[test]
fn pages_show_once_what_stays_while_others_come_and_go() {
    simulate::seeds("pages_show_once_what_stays_while_others_come_and_go", 0..20, |seed| {
        let (_stages, grid) = simulated(seed, MapSettings::default());
        let map = grid.map("m");
        let partition = PartitionId::new(11).unwrap();
        let mut here = (0..).filter(|key| int(*key).partition() == partition);
        let keys: Vec<u32> = here.by_ref().take(60).collect();
        for key in &keys {
            map.set(int(*key), int(0)).wait().unwrap();
        }
        let (mut cursor, mut seen) = (0, Vec::new());
        loop {
            let page = map.fetch_entries(partition, cursor, 7).wait().unwrap();
            assert!(page.entries.len() <= 7);
            seen.extend(page.entries.iter().map(|(key, _)| number(key)).filter(|key| keys.contains(key)));
            let (new, gone) = (here.next().unwrap(), keys[seen.len() % 20]);
            map.set(int(new), int(1)).wait().unwrap();
            map.delete(int(gone)).wait().unwrap();
            match page.next {
                Some(next) => cursor = next,
                None => break,
            }
        }
        let once: BTreeSet<u32> = seen.iter().copied().collect();
        assert_eq!(once.len(), seen.len(), "nothing twice");
        assert!(keys[20..].iter().all(|key| once.contains(key)));
    });
}

#[test]
fn a_value_is_read_without_a_copy() {
    let stages = Stages::start().unwrap();
    let map = Grid::new(&stages).map("m");
    map.set(int(1), int(2)).wait().unwrap();
    assert_eq!(map.try_read(&int(1), |value| value.map(<[u8]>::len)), Some(Some(12)));
    assert_eq!(map.try_read(&int(2), |value| value.map(<[u8]>::len)), Some(None));
}
