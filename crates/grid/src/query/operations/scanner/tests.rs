//! Scans by bitmaps: how long a turn is, and what is found while entries change between turns.

use super::super::{FetchWhere, MapTurn, Shared};
use super::*;
use crate::operation::{Action, Operation, Step};
use crate::query::{IndexKind, IndexSettings};
use crate::{Grid, GridSettings, Lifetime, Map, Owner, Registry, map::operations as op};
use filbert_pool::Stages;
use filbert_wire::{FromData, PartitionId, ToData};
use std::collections::BTreeSet;
use uuid::Uuid;

/// Scans, and counts its turns and what each of them looked at.
#[derive(Debug, Serialize, Deserialize)]
struct Watched {
    predicate: Shared<Predicate>,
    #[serde(skip)]
    scanner: Scanner,
    #[serde(skip)]
    looked: Vec<usize>,
}

impl Operation for Watched {
    type Target = MapPartition;
    type Output = Vec<usize>;
    const NAME: &'static str = "test.watched_scan";
    const ACTION: Action = Action::Read;
    const SHORT: bool = false;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        let mut looked = 0;
        let scanned = self.scanner.run(map, turn, &self.predicate, |_, _| {
            looked += 1;
            Ok(())
        });
        self.looked.push(looked);
        match scanned {
            Ok(Scanned::Again) => Step::Again,
            Ok(Scanned::Done) => Step::done(std::mem::take(&mut self.looked)),
            Err(error) => Step::failed(error.into()),
        }
    }
}

const ENTRIES: i32 = 12_000;

fn home() -> PartitionId {
    PartitionId::new(7).unwrap()
}

/// Whatever its key is, the entry goes to one partition: so that this has many.
fn set(map: &Map, key: i32, value: i32) {
    let place = op::Place::new(key.to_data().unwrap(), Owner { id: Uuid::nil(), thread: 0 });
    let set = op::Set { place, value: value.to_data().unwrap(), lifetime: Lifetime::DEFAULT };
    map.strands().call(home(), set).wait().unwrap();
}

/// A map whose values are 1 and 2 in turn, with a bitmap index. Time stands still, so that turns end by what was looked at.
fn halves(slice: u32) -> (Stages, Map) {
    let stages = Stages::simulated(1);
    let settings = GridSettings { scan_slice_entries: slice, ..GridSettings::default() };
    let map = Grid::with(&stages, settings, Registry::new()).map("halves");
    let index = IndexSettings::new("halves", IndexKind::Bitmap, None, ["this"]).unwrap();
    map.add_index(index).wait().unwrap();
    (0..ENTRIES).for_each(|key| set(&map, key, 1 + key % 2));
    (stages, map)
}

fn turns(map: &Map, predicate: &str) -> Vec<usize> {
    let predicate = Shared::new(Predicate::sql(predicate).unwrap());
    let watched = Watched { predicate, scanner: Scanner::default(), looked: Vec::new() };
    map.strands().call(home(), watched).wait().unwrap()
}

#[test]
fn bitmaps_of_many_entries_are_put_together_in_several_turns() {
    let (_stages, map) = halves(1);
    // No entry has both: nothing ends a turn but the sets themselves.
    let looked = turns(&map, "this = 1 AND this = 2");
    assert_eq!(looked.iter().sum::<usize>(), 0);
    assert!(looked.len() >= 3, "{ENTRIES} entries by {} turns", looked.len());
}

#[test]
fn a_slice_bounds_what_one_turn_looks_at() {
    let (_stages, map) = halves(500);
    for predicate in ["this = 1", "this IN (1, 2)", "NOT this = 1", "this = 1 AND this != 2"] {
        let looked = turns(&map, predicate);
        let all = if predicate.contains("IN") { ENTRIES } else { ENTRIES / 2 };
        assert_eq!(looked.iter().sum::<usize>(), all as usize, "{predicate}");
        assert!(looked.iter().all(|looked| *looked <= 500), "{predicate}");
    }
}

#[test]
fn what_always_matches_is_found_once_though_it_changes_between_the_turns() {
    let (_stages, map) = halves(500);
    let predicate = Shared::new(Predicate::sql("this = 1 OR this = 2").unwrap());
    let (mut seen, mut cursor, mut page) = (BTreeSet::new(), None, 0);
    loop {
        let fetch = FetchWhere::new(predicate.clone(), 3_000, cursor.take());
        let found = map.strands().call(home(), fetch).wait().unwrap();
        for (key, _) in &found.entries {
            assert!(seen.insert(i32::from_data(key).unwrap()), "twice");
        }
        // All entries go to the other side of the OR.
        page += 1;
        (0..ENTRIES).for_each(|key| set(&map, key, 1 + (key + page) % 2));
        match found.next {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    assert_eq!(seen.len(), ENTRIES as usize);
}

#[test]
fn a_scan_goes_on_when_its_index_cannot_be_used_any_more() {
    let (_stages, map) = halves(500);
    let predicate = Shared::new(Predicate::sql("this = 1").unwrap());
    let fetch = |cursor| {
        let fetch = FetchWhere::new(predicate.clone(), 4_000, cursor);
        map.strands().call(home(), fetch).wait().unwrap()
    };
    let first = fetch(None);
    map.strands().call(home(), DropIndexes).wait().unwrap();
    let second = fetch(first.next);
    assert_eq!((first.entries.len(), second.entries.len(), second.next), (4_000, 2_000, None));
}

/// Takes all indexes away.
#[derive(Debug, Serialize, Deserialize)]
struct DropIndexes;

impl Operation for DropIndexes {
    type Target = MapPartition;
    type Output = ();
    const NAME: &'static str = "test.drop_indexes";
    const ACTION: Action = Action::Index;

    fn run(&mut self, map: &mut MapPartition, _: &mut MapTurn<'_>) -> Step<Self> {
        let indexes = map.indexes().unwrap();
        let names: Vec<_> = indexes.lock().settings().map(|index| index.name().to_owned()).collect();
        names.iter().for_each(|name| assert!(indexes.lock().drop_index(name)));
        Step::done(())
    }
}
