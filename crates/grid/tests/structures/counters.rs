//! Ids are unique and grow; counters count, and say when a reader has seen more.

use filbert_grid::{Grid, GridError};
use filbert_pool::Stages;
use std::collections::HashSet;
use std::sync::Arc;

#[test]
fn ids_of_many_threads_are_unique_and_those_of_one_grow() {
    let stages = Stages::start().unwrap();
    let ids = Grid::new(&stages).flake_id_generator("ids");
    let taken: Vec<Vec<i64>> = std::thread::scope(|scope| {
        let take =
            || (0..50).flat_map(|_| ids.new_batch(20).wait().unwrap().ids().collect::<Vec<_>>()).collect();
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(take)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(taken.iter().all(|of_one| of_one.is_sorted()));
    let all: HashSet<i64> = taken.into_iter().flatten().collect();
    assert_eq!(all.len(), 4 * 50 * 20);
    assert!(all.iter().all(|id| *id > 0 && id & 0xffff == 0), "the last 16 bits are the member's");
}

/// 15 seconds of ids are there at once; the others come as the clock goes on.
#[test]
fn who_wants_too_many_ids_waits() {
    let stages = Stages::simulated(1);
    let ids = Grid::new(&stages).flake_id_generator("ids");
    let begin = stages.clock().now();
    let batches: Vec<_> = (0..16).map(|_| ids.new_batch(100_000)).collect();
    assert!(batches[..9].iter().all(|batch| batch.is_done()) && !batches[10].is_done());
    let last = batches.into_iter().map(|batch| batch.wait().unwrap().base).collect::<Vec<_>>();
    assert!(last.is_sorted());
    assert!((stages.clock().now() - begin).as_millis() as i64 >= 16 * 100_000 / 64 - 15_001);
    for wrong in [0, 100_001] {
        assert!(matches!(ids.new_batch(wrong).wait(), Err(GridError::BadArgument { .. })));
    }
}

#[test]
fn a_counter_counts_what_all_threads_count() {
    let stages = Stages::start().unwrap();
    let counter = Grid::new(&stages).pn_counter("visits");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let counter = Arc::clone(&counter);
            scope.spawn(move || {
                let mut seen = None;
                for _ in 0..1_000 {
                    let delta = if thread == 0 { -1 } else { 2 };
                    let now = counter.add(delta, seen).wait().unwrap();
                    assert!(seen < Some(now.version));
                    seen = Some(now.version);
                }
            });
        }
    });
    let end = counter.get(None).wait().unwrap();
    assert_eq!((end.value, end.version), (5_000, 4_000));
    let lost = counter.get(Some(4_001)).wait();
    assert_eq!(lost, Err(GridError::ConsistencyLost { seen: 4_001, known: 4_000 }));
    assert!(counter.add(1, Some(4_001)).wait().is_err());
    assert_eq!(counter.get(Some(4_000)).wait().map(|end| end.value), Ok(5_000), "nothing was added");
}
