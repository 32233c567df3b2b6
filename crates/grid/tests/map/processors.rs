//! Registered code on entries: one, some, all; long ones; ones that panic.

use crate::many::Multiples;
use crate::{int, number, settings};
use filbert_grid::{Code, Entry, EntryProcessor, Grid, GridError, Map, MapSettings, Registry};
use filbert_pool::{Stages, simulate};
use filbert_wire::{Data, PartitionId};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

/// Adds to a number, and gives the sum; a key that is not there counts as zero.
pub(crate) struct Add {
    pub(crate) amount: u32,
    pub(crate) offloadable: bool,
}

impl EntryProcessor for Add {
    fn process(&self, entry: &mut Entry<'_>) -> Result<Option<Data>, String> {
        let sum = entry.value().as_ref().map_or(0, number).wrapping_add(self.amount);
        entry.set_value(int(sum));
        Ok(Some(int(sum)))
    }

    fn is_offloadable(&self) -> bool {
        self.offloadable
    }
}

/// Removes small numbers, fails for 13, panics for 14, and gives nothing otherwise.
struct Judge;

impl EntryProcessor for Judge {
    fn process(&self, entry: &mut Entry<'_>) -> Result<Option<Data>, String> {
        match entry.value().as_ref().map(number) {
            Some(13) => Err("thirteen".to_owned()),
            Some(14) => panic!("fourteen"),
            Some(small) if small < 10 => {
                entry.remove();
                assert_eq!(entry.value(), None);
                Ok(None)
            }
            _ => Ok(None),
        }
    }
}

pub(crate) fn registry() -> Registry {
    let add = |offloadable| move |argument: &Data| Ok(Add { amount: number(argument), offloadable });
    Registry::new()
        .with_processor("add", add(false))
        .with_processor("add far away", add(true))
        .with_processor("judge", |_| Ok(Judge))
        .with_processor_class(66, 1, |fields| match fields {
            [amount] => Ok(Add { amount: u32::from(*amount), offloadable: false }),
            _ => Err("one byte is expected".to_owned()),
        })
}

fn simulated(seed: u64) -> (Stages, Grid) {
    let stages = Stages::simulated(seed);
    let grid = Grid::with(&stages, settings(MapSettings::default()), registry());
    (stages, grid)
}

#[test]
fn code_runs_on_one_entry_on_some_and_on_all() {
    simulate::seeds("code_runs_on_one_entry_on_some_and_on_all", 0..20, |seed| {
        let (_stages, grid) = simulated(seed);
        let map = grid.map("m");
        let add = Code::named("add", int(5));
        assert_eq!(map.execute_on_key(int(1), add.clone()).wait(), Ok(Some(int(5))));
        let far = Code::named("add far away", int(5));
        assert_eq!(map.execute_on_key(int(1), far).wait(), Ok(Some(int(10))));
        let class = Code::Class { factory: 66, class: 1, fields: vec![2] };
        assert_eq!(map.execute_on_key(int(1), class).wait(), Ok(Some(int(12))));
        map.put_all((0..500).map(|key| (int(key), int(100)))).wait().unwrap();
        map.lock(int(3), None).wait().unwrap();
        assert_eq!(grid.map("m").execute_on_keys([int(3), int(600)], &add).wait().unwrap().len(), 2);
        let given = map.execute_on_entries(&add).wait().unwrap();
        let sum: u32 = given.iter().map(|(_, given)| number(given)).sum();
        assert_eq!((given.len(), sum), (501, 500 * 105 + 5 + 10));
        assert_eq!(map.execute_where(Multiples(100), &add).wait().unwrap().len(), 6);
        assert_eq!(map.get(int(500)).wait(), Ok(None));
        assert_eq!(map.get(int(400)).wait(), Ok(Some(int(110))));
    });
}

#[test]
fn code_that_fails_or_panics_fails_alone() {
    let (_stages, grid) = simulated(1);
    let map = grid.map("m");
    map.put_all([(int(1), int(1)), (int(2), int(13)), (int(3), int(14)), (int(4), int(20))]).wait().unwrap();
    let judge = Code::named("judge", int(0));
    let run = |key| map.execute_on_key(int(key), judge.clone()).wait();
    assert_eq!((run(1), run(4), run(5)), (Ok(None), Ok(None), Ok(None)));
    assert_eq!(map.contains_key(int(1)).wait(), Ok(false));
    let says = |result: Result<_, GridError>, what: &str| result.unwrap_err().to_string().contains(what);
    assert!(says(run(2), "thirteen") && says(run(3), "it panicked: fourteen"));
    assert!(map.execute_on_entries(&judge).wait().is_err());
    let unknown = map.execute_on_key(int(1), Code::named("nobody", int(0))).wait();
    assert!(matches!(unknown, Err(GridError::NotRegistered { .. })));
    let bad = Code::Class { factory: 66, class: 1, fields: vec![] };
    assert!(says(map.execute_on_key(int(1), bad).wait(), "one byte is expected"));
    assert_eq!(map.size().wait(), Ok(3), "and the map goes on");
}

#[test]
fn others_have_their_turn_while_code_goes_over_all_entries() {
    simulate::seeds("others_have_their_turn_while_code_goes_over_all_entries", 0..20, |seed| {
        let (_stages, grid) = simulated(seed);
        let map = grid.map("m");
        let partition = PartitionId::new(5).unwrap();
        let keys: Vec<u32> = (0..).filter(|key| int(*key).partition() == partition).take(100).collect();
        map.put_all(keys.iter().map(|key| (int(*key), int(0)))).wait().unwrap();
        let all = map.execute_on_entries(&Code::named("add", int(1)));
        let mut last = 0;
        for key in keys.iter().rev().take(5) {
            last = number(&map.get(int(*key)).wait().unwrap().unwrap());
        }
        assert!(!all.is_done());
        assert_eq!(last, 0, "it has not come there yet");
        assert_eq!(all.wait().unwrap().len(), 100);
    });
}

/// Says that it began, and waits until it may end.
struct Gate {
    began: Mutex<Sender<()>>,
    end: Arc<Mutex<Receiver<()>>>,
    offloadable: bool,
}

impl EntryProcessor for Gate {
    fn process(&self, entry: &mut Entry<'_>) -> Result<Option<Data>, String> {
        self.began.lock().unwrap().send(()).unwrap();
        self.end.lock().unwrap().recv().unwrap();
        entry.set_value(int(1_000));
        Ok(None)
    }

    fn is_offloadable(&self) -> bool {
        self.offloadable
    }
}

/// A real grid with a processor `gate`; hears when it began, and ends it.
fn gated(offloadable: bool) -> (Stages, Grid, Receiver<()>, Sender<()>) {
    let (began, hear) = channel();
    let (end, wait) = channel();
    let (began, wait) = (Mutex::new(began), Arc::new(Mutex::new(wait)));
    let make = move |_: &Data| {
        let began = Mutex::new(began.lock().unwrap().clone());
        Ok(Gate { began, end: Arc::clone(&wait), offloadable })
    };
    let stages = Stages::start().unwrap();
    let grid = Grid::with(&stages, Default::default(), registry().with_processor("gate", make));
    (stages, grid, hear, end)
}

#[test]
fn an_offloaded_processor_locks_its_key_and_nothing_else() {
    let (_stages, grid, began, end) = gated(true);
    let map = grid.map("m");
    map.set(int(1), int(1)).wait().unwrap();
    let far = map.execute_on_key(int(1), Code::named("gate", int(0)));
    began.recv().unwrap();
    assert_eq!(map.get(int(1)).wait(), Ok(Some(int(1))), "readers go on");
    let write = map.put(int(1), int(2));
    let all = map.execute_on_entries(&Code::named("add", int(1)));
    assert_eq!(map.try_put(int(1), int(3), 0).wait(), Ok(false));
    map.force_unlock(int(1)).wait().unwrap();
    assert_eq!(map.try_put(int(1), int(3), 0).wait(), Ok(false), "the member's own lock is not broken");
    map.set(int(2), int(2)).wait().unwrap();
    assert!(!far.is_done() && !write.is_done() && !all.is_done());
    end.send(()).unwrap();
    assert_eq!(far.wait(), Ok(None));
    let old = number(&write.wait().unwrap().unwrap());
    assert!(old == 1_000 || old == 1_001, "{old}");
    all.wait().unwrap();
    assert_eq!(map.is_locked(int(1)).wait(), Ok(false));
}

#[test]
fn a_cancelled_caller_does_not_leave_the_key_locked() {
    let (_stages, grid, began, end) = gated(true);
    let map = grid.map("m");
    let far = map.execute_on_key(int(1), Code::named("gate", int(0)));
    began.recv().unwrap();
    far.cancel();
    let write = map.put(int(1), int(2));
    end.send(()).unwrap();
    assert_eq!(write.wait(), Ok(Some(int(1_000))), "what it decided is written all the same");
}

fn reads(map: &Map, keys: &[u32]) {
    for key in keys {
        assert_eq!(map.get(int(*key)).wait(), Ok(Some(int(*key))));
    }
}

#[test]
fn a_slow_processor_on_one_map_does_not_hold_up_another() {
    let (_stages, grid, began, end) = gated(false);
    let (slow, other) = (grid.map("slow"), grid.map("other"));
    let keys: Vec<u32> = (0..2_000).collect();
    other.put_all(keys.iter().map(|key| (int(*key), int(*key)))).wait().unwrap();
    slow.set(int(1), int(1)).wait().unwrap();
    let over_all = slow.execute_on_entries(&Code::named("gate", int(0)));
    began.recv().unwrap();
    reads(&other, &keys);
    assert_eq!(other.get_all(keys.iter().map(|key| int(*key))).wait().unwrap().len(), 2_000);
    assert!(!over_all.is_done());
    end.send(()).unwrap();
    over_all.wait().unwrap();
    assert_eq!(slow.get(int(1)).wait(), Ok(Some(int(1_000))));
}

#[test]
fn an_operation_on_a_whole_map_leaves_most_of_its_partitions_to_callers() {
    let (stages, grid, began, end) = gated(false);
    let map = grid.map("slow");
    let keys: Vec<Data> = (0..2_000).map(int).collect();
    map.put_all(keys.iter().map(|key| (key.clone(), key.clone()))).wait().unwrap();
    let over_all = map.execute_on_entries(&Code::named("gate", int(0)));
    began.recv().unwrap();
    let busy: std::collections::BTreeSet<PartitionId> = keys
        .iter()
        .filter(|key| map.try_read(key, |value| assert!(value.is_some())).is_none())
        .map(Data::partition)
        .collect();
    let threads = stages.settings().number("partition.threads") as usize;
    // Looked at one after the other: a thread may have gone from one partition to the next meanwhile.
    let most = 2 * threads;
    assert!((1..=most).contains(&busy.len()), "{} partitions are busy with {threads} threads", busy.len());
    keys.iter().for_each(|_| end.send(()).unwrap());
    over_all.wait().unwrap();
    assert!(map.values().wait().unwrap().iter().all(|value| number(value) == 1_000));
}
