//! The store against a `BTreeMap`, and the promise of the scan.

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn number(n: u16) -> Data {
    Data::new(-7, &u32::from(n).to_be_bytes())
}

/// Long enough to change an entry's allocation, by `n`.
fn value(n: u16) -> Data {
    Data::new(-12, &vec![n as u8; usize::from(n % 40)])
}

#[derive(Debug, Clone)]
enum Change {
    Set(u16, u16),
    Remove(u16),
}

fn changes(keys: u16) -> impl Strategy<Value = Vec<Change>> {
    let one = prop_oneof![
        3 => (0..keys, any::<u16>()).prop_map(|(key, value)| Change::Set(key, value)),
        2 => (0..keys).prop_map(Change::Remove),
    ];
    prop::collection::vec(one, 0..2_000)
}

fn apply(store: &mut Store, change: &Change) {
    match *change {
        Change::Set(key, new) => match store.find(number(key).as_bytes()) {
            Some(slot) => store.replace(slot, value(new).as_bytes()),
            None => {
                store.insert(number(key).as_bytes(), value(new).as_bytes());
            }
        },
        Change::Remove(key) => {
            if let Some(slot) = store.find(number(key).as_bytes()) {
                store.remove(slot);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn it_holds_what_a_tree_holds(changes in changes(700)) {
        let (mut store, mut tree) = (Store::new(1), BTreeMap::new());
        for change in &changes {
            apply(&mut store, change);
            match *change {
                Change::Set(key, value) => { tree.insert(key, value); }
                Change::Remove(key) => { tree.remove(&key); }
            }
        }
        prop_assert_eq!(store.len(), tree.len());
        for key in 0..700 {
            let found = store.find(number(key).as_bytes()).map(|slot| copied(store.value(slot)));
            prop_assert_eq!(found, tree.get(&key).map(|n| value(*n)));
        }
        let mut bytes = 0;
        let mut next = 0;
        while let Some(slot) = store.next(next) {
            bytes += store.cost(slot);
            next = slot.number() + 1;
        }
        prop_assert_eq!(store.bytes(), bytes);
    }

    #[test]
    fn a_scan_sees_exactly_once_what_stays(
        before in changes(300), meanwhile in changes(300), step in 1_usize..40,
    ) {
        let mut store = Store::new(2);
        before.iter().for_each(|change| apply(&mut store, change));
        let there: BTreeSet<Vec<u8>> =
            (0..300).map(|n| number(n).as_bytes().to_vec()).filter(|key| store.find(key).is_some()).collect();
        let mut stays = there;
        let (mut seen, mut next) = (BTreeMap::<Vec<u8>, usize>::new(), 0);
        let mut meanwhile = meanwhile.chunks(step);
        while let Some(slot) = store.next(next) {
            *seen.entry(store.key(slot).to_vec()).or_default() += 1;
            next = slot.number() + 1;
            for change in meanwhile.next().unwrap_or_default() {
                apply(&mut store, change);
                if let Change::Remove(key) = change {
                    stays.remove(number(*key).as_bytes());
                }
            }
        }
        for key in &stays {
            prop_assert_eq!(seen.get(key), Some(&1));
        }
    }
}

#[test]
fn keys_are_equal_whatever_their_partition_hash() {
    let mut store = Store::new(3);
    store.insert(number(1).as_bytes(), value(1).as_bytes());
    let mut hashed = number(1).as_bytes().to_vec();
    hashed[..4].copy_from_slice(&[9; 4]);
    assert!(store.find(&hashed).is_some());
}

#[test]
fn side_tables_hold_what_was_set() {
    let (mut side, mut tree) = (Side::new(), BTreeMap::new());
    for n in (0..5_000_u32).step_by(7) {
        side.set(Slot(n * 37 % 5_000), n);
        tree.insert(n * 37 % 5_000, n);
    }
    for n in (0..5_000).step_by(3) {
        side.remove(Slot(n));
        tree.remove(&n);
    }
    let (mut found, mut from) = (BTreeMap::new(), 0);
    loop {
        match side.next(from, &mut 5) {
            Ok((slot, item)) => {
                found.insert(slot.0, *item);
                from = slot.0 + 1;
            }
            Err(Some(next)) => from = next,
            Err(None) => break,
        }
    }
    assert_eq!(found, tree);
    tree.keys().for_each(|slot| side.remove(Slot(*slot)));
    assert!(side.is_empty());
}

#[test]
fn an_empty_store_gives_its_memory_back() {
    let mut store = Store::new(4);
    for round in 0..3 {
        for n in 0..1_000 {
            store.insert(number(n).as_bytes(), value(n).as_bytes());
        }
        for n in 0..1_000 {
            let slot = store.find(number(n).as_bytes()).unwrap();
            store.remove(slot);
        }
        assert_eq!((store.end(), store.bytes(), store.next(0)), (0, 0, None), "round {round}");
    }
}
