//! A ringbuffer holds the last items under their numbers; readers wait for what is not there yet, and are told of what is gone.

use crate::{long, number};
use filbert_grid::{
    Code, Function, FunctionError, Grid, GridError, GridSettings, Overflow, Registry, Ringbuffer,
    RingbufferSettings,
};
use filbert_pool::{Stages, simulate};
use filbert_wire::{Data, ToData};
use std::sync::Arc;
use std::time::Duration;

/// Takes even numbers.
struct Even;

impl Function for Even {
    fn apply(&self, value: Option<&Data>) -> Result<Option<Data>, FunctionError> {
        let even = number(value.ok_or("an item is there")?).is_multiple_of(2);
        Ok(Some(even.to_data().map_err(|error| error.to_string())?))
    }
}

fn ringbuffer(stages: &Stages, capacity: usize, ttl_seconds: u64) -> (Grid, Arc<Ringbuffer>) {
    let mut settings = GridSettings::default();
    settings.ringbuffers.set("*", RingbufferSettings { capacity, ttl_seconds });
    let grid = Grid::with(stages, settings, Registry::new().with_function("even", |_| Ok(Even)));
    let ringbuffer = grid.ringbuffer("r");
    (grid, ringbuffer)
}

fn even() -> Option<Code> {
    Some(Code::named("even", long(0)))
}

/// The model: all items that ever were, and from where on they are there.
#[test]
fn it_holds_the_last_items_under_their_numbers() {
    simulate::seeds("it_holds_the_last_items_under_their_numbers", 0..200, |seed| {
        let stages = Stages::simulated(seed);
        let clock = stages.clock();
        let random = |bound| clock.random_below(bound);
        let capacity = 1 + random(8);
        let (_grid, ring) = ringbuffer(&stages, capacity, 0);
        let mut all: Vec<usize> = Vec::new();
        for _ in 0..200 {
            let head = all.len().saturating_sub(capacity);
            match random(5) {
                0 => {
                    let item = random(100);
                    assert_eq!(ring.add(&long(item), Overflow::Overwrite).wait(), Ok(Some(all.len() as i64)));
                    all.push(item);
                }
                1 => {
                    let some: Vec<usize> = (0..1 + random(12)).map(|_| random(100)).collect();
                    let items = some.iter().map(|item| long(*item)).collect();
                    // Without a time to live the oldest always go.
                    let overflow = if some.len() <= capacity { Overflow::Fail } else { Overflow::Overwrite };
                    all.extend(&some);
                    assert_eq!(ring.add_all(items, overflow).wait(), Ok(Some(all.len() as i64 - 1)));
                }
                2 => {
                    let from = random(all.len() + 1);
                    let filtered = random(2) == 0;
                    let max = 1 + random(6);
                    let read = ring
                        .read_many(from as i64, 0, max, usize::MAX, if filtered { even() } else { None })
                        .wait()
                        .unwrap();
                    let from = from.max(head);
                    let mut expected = Vec::new();
                    let mut next = from;
                    while next < all.len() && expected.len() < max {
                        if !filtered || all[next].is_multiple_of(2) {
                            expected.push((next as i64, all[next]));
                        }
                        next += 1;
                    }
                    let items: Vec<_> = read.items.iter().map(|(at, item)| (*at, number(item))).collect();
                    assert_eq!((items, read.read, read.next_sequence), (expected, next - from, next as i64));
                }
                3 if !all.is_empty() => {
                    let at = random(all.len());
                    let read = ring.read_one(at as i64).wait();
                    if at < head {
                        let (sequence, head) = (at as i64, head as i64);
                        assert_eq!(read, Err(GridError::StaleSequence { sequence, head }));
                    } else {
                        assert_eq!(read.map(|item| number(&item)), Ok(all[at]));
                    }
                }
                _ => {
                    let sizes = ring.sizes().wait().unwrap();
                    assert_eq!((sizes.head, sizes.tail), (head as i64, all.len() as i64 - 1));
                    assert_eq!(sizes.size, (all.len() - head) as u64);
                    assert_eq!((sizes.capacity, sizes.remaining), (capacity as u64, capacity as u64));
                }
            }
        }
    });
}

#[test]
fn a_reader_waits_until_there_is_enough_and_holds_no_thread() {
    let stages = Stages::simulated(7);
    let (_grid, ring) = ringbuffer(&stages, 10, 0);
    let add = |item| ring.add(&long(item), Overflow::Overwrite).wait().unwrap();
    add(7);
    let readers: Vec<_> = (0..1_000).map(|_| ring.read_many(1, 3, 5, usize::MAX, None)).collect();
    let picky = ring.read_many(0, 2, 5, usize::MAX, even());
    let (beyond, next) = (ring.read_many(4, 2, 2, usize::MAX, None), ring.read_one(1));
    stages.simulation().unwrap().settle();
    assert!(!beyond.is_done());
    add(0);
    assert_eq!(next.wait().map(|item| number(&item)), Ok(0));
    add(2);
    stages.simulation().unwrap().settle();
    assert!(readers.iter().all(|reader| !reader.is_done()));
    assert_eq!(beyond.wait().unwrap().next_sequence, 3, "from the next item on, not from one far ahead");
    assert_eq!(picky.wait().unwrap().items.len(), 2);
    add(3);
    for reader in readers {
        let read = reader.wait().unwrap();
        assert_eq!((read.items.len(), read.next_sequence), (3, 4));
    }
}

/// Items that a slow reader waits behind are passed over, not waited for.
#[test]
fn a_reader_that_waits_passes_over_what_is_gone() {
    let stages = Stages::simulated(8);
    let (_grid, ring) = ringbuffer(&stages, 2, 0);
    ring.add(&long(0), Overflow::Overwrite).wait().unwrap();
    let reader = ring.read_many(0, 2, 2, usize::MAX, even());
    stages.simulation().unwrap().settle();
    ring.add_all([1, 3, 5, 6].map(long).to_vec(), Overflow::Overwrite).wait().unwrap();
    let read = reader.wait().unwrap();
    assert_eq!(read.items.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [0, 4]);
}

#[test]
fn items_grow_old_and_make_room() {
    let stages = Stages::simulated(3);
    let (_grid, ring) = ringbuffer(&stages, 2, 10);
    let fail = |item| ring.add(&long(item), Overflow::Fail).wait().unwrap();
    assert_eq!((fail(0), fail(1), fail(2)), (Some(0), Some(1), None));
    assert_eq!(ring.sizes().wait().unwrap().remaining, 0);
    stages.simulation().unwrap().advance(Duration::from_secs(10));
    let sizes = ring.sizes().wait().unwrap();
    assert_eq!((sizes.size, sizes.head, sizes.tail, sizes.remaining), (0, 2, 1, 2));
    assert_eq!(ring.read_one(1).wait(), Err(GridError::StaleSequence { sequence: 1, head: 2 }));
    assert_eq!(fail(3), Some(2));
}

/// An answer has an end also when its items are large; one comes in any case, so that a reader gets on.
#[test]
fn a_read_takes_as_much_as_may_be() {
    let stages = Stages::simulated(3);
    let (_grid, ring) = ringbuffer(&stages, 10, 0);
    let large = || Data::new(-12, &[7; 1_000]);
    ring.add_all((0..10).map(|_| large()).collect(), Overflow::Overwrite).wait().unwrap();
    for (max_bytes, expected) in [(0, 1), (1_500, 1), (3_500, 3), (100_000, 10)] {
        let read = ring.read_many(0, 5, 10, max_bytes, None).wait().unwrap();
        assert_eq!((read.items.len(), read.next_sequence), (expected, expected as i64), "{max_bytes} bytes");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let stages = Stages::simulated(3);
    let (_grid, ring) = ringbuffer(&stages, 4, 0);
    let refused = |from, min, max| {
        matches!(ring.read_many(from, min, max, usize::MAX, None).wait(), Err(GridError::BadArgument { .. }))
    };
    assert!(refused(-1, 0, 1) && refused(0, 2, 1) && refused(0, 5, 5) && refused(0, 0, 1_001));
    assert!(matches!(ring.read_one(1).wait(), Err(GridError::BadArgument { .. })));
    ring.add(&long(1), Overflow::Overwrite).wait().unwrap();
    let unknown = ring.read_many(0, 0, 1, usize::MAX, Some(Code::named("odd", long(0)))).wait();
    assert!(matches!(unknown, Err(GridError::NotRegistered { .. })), "{unknown:?}");
}
