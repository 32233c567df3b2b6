//! Whoever waits in a structure that is destroyed is told; one that ended for good stays so.

use crate::long;
use filbert_grid::{Acquirer, Grid, GridError, Service};
use filbert_pool::{Stages, simulate};

#[test]
fn all_who_wait_are_told_of_the_end() {
    simulate::seeds("all_who_wait_are_told_of_the_end", 0..50, |seed| {
        let stages = Stages::simulated(seed);
        let grid = Grid::new(&stages);
        let session = grid.sessions().create().unwrap().id;
        let anyone = Acquirer { session: None, thread: 1, call: grid.new_id() };
        let (ringbuffer, latch) = (grid.ringbuffer("x"), grid.count_down_latch("x"));
        let (semaphore, lock) = (grid.semaphore("x"), grid.fenced_lock("x"));
        latch.try_set_count(1).wait().unwrap();
        lock.lock(session, 1, grid.new_id(), None).wait().unwrap();
        let reads: Vec<_> = (0..10).map(|_| ringbuffer.read_many(0, 1, 1, usize::MAX, None)).collect();
        let passes: Vec<_> = (0..10).map(|_| latch.wait_for(None)).collect();
        let acquires: Vec<_> = (0..10).map(|_| semaphore.acquire(anyone, 1, None)).collect();
        let locks: Vec<_> = (2..12).map(|thread| lock.lock(session, thread, grid.new_id(), None)).collect();
        for service in [Service::Ringbuffer, Service::CountDownLatch, Service::Semaphore, Service::FencedLock]
        {
            assert!(grid.structures().destroy(service, "x") && !grid.structures().destroy(service, "x"));
        }
        let told = |error: Option<GridError>| matches!(error, Some(GridError::Destroyed { .. }));
        assert!(reads.into_iter().all(|read| told(read.wait().err())));
        assert!(passes.into_iter().all(|passes| told(passes.wait().err())));
        assert!(acquires.into_iter().all(|acquired| told(acquired.wait().err())));
        assert!(locks.into_iter().all(|locked| told(locked.wait().err())));
        assert!(told(semaphore.available().wait().err()), "the old handle");
        assert_eq!(grid.semaphore("x").available().wait(), Ok(0), "another one is made");
    });
}

#[test]
fn what_ended_for_good_is_not_made_again() {
    let stages = Stages::simulated(1);
    let grid = Grid::new(&stages);
    grid.atomic_long("n").set(5).wait().unwrap();
    assert!(
        grid.structures().end(Service::AtomicLong, "n") && grid.structures().end(Service::AtomicLong, "n")
    );
    assert!(!grid.structures().end(Service::AtomicLong, "m"));
    let told = grid.atomic_long("n").get().wait().unwrap_err();
    assert_eq!(told.to_string(), "atomic-long n was destroyed; ask for it again to use a new one");
    assert_eq!(grid.atomic_long("m").get().wait(), Ok(0));
}

#[test]
fn structures_of_one_name_are_not_one() {
    let stages = Stages::simulated(1);
    let grid = Grid::new(&stages);
    grid.set("x").add(&long(1)).wait().unwrap();
    grid.list("x").add(&long(2)).wait().unwrap();
    grid.map("x").set(long(1), long(2)).wait().unwrap();
    assert_eq!(grid.replicated_map("x").size().wait(), Ok(0));
    grid.replicated_map("x").put(long(3), long(4), None).wait().unwrap();
    assert_eq!(
        (grid.map("x").size().wait(), grid.replicated_map("x").get(long(3)).wait()),
        (Ok(1), Ok(Some(long(4))))
    );
    let kinds: Vec<_> = grid.structures().list().into_iter().map(|(service, _)| service).collect();
    assert_eq!(kinds, [Service::Map, Service::List, Service::Set, Service::ReplicatedMap]);
}
