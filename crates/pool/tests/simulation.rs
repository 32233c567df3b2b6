//! Whole sets of stages in simulation: random programs over all of them, each replayable from its seed.

use filbert_pool::{Shutdown, Stages, TaskError, TaskFuture, Turn, TurnContext, simulate};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A small generator for the programs; the schedule has its own, from the same seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// What a strand remembers: who wrote what, in the order it happened.
type Log = Vec<(u64, u64)>;

/// Executor tasks write to random strands by any door, sometimes wait, sometimes compute in between.
#[test]
fn random_programs_keep_order_and_lose_nothing() {
    simulate::seeds("random_programs_keep_order_and_lose_nothing", 0..10_000, |seed| {
        let stages = Stages::builder().executor("writers").set("executor.writers.threads", 3);
        let stages = stages.set("partition.threads", 3).simulated(seed).unwrap();
        let mut dice = Dice(seed * 2 + 1);
        let strands: Vec<_> =
            (0..1 + dice.below(5)).map(|key| stages.partition().strand(key, Log::new())).collect();
        let strands = Arc::new(strands);
        let writers = 1 + dice.below(4);
        let writes = 1 + dice.below(6);
        let inside = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..writers)
            .map(|writer| {
                let executor = stages.executor("writers").unwrap();
                let (strands, stages, inside) = (Arc::clone(&strands), stages.clone(), Arc::clone(&inside));
                let mut dice = Dice(seed.wrapping_mul(31) + writer + 1);
                let body = move || {
                    for number in 0..writes {
                        let strand = &strands[dice.below(strands.len() as u64) as usize];
                        let inside = Arc::clone(&inside);
                        let write = move |log: &mut Log| {
                            inside.fetch_add(1, Ordering::Relaxed);
                            log.push((writer, number));
                        };
                        let written = strand.submit("write", write).unwrap();
                        match dice.below(4) {
                            0 => written.wait().unwrap(),
                            1 => {
                                let fragment = stages.fragment().submit("fragment", move || number).unwrap();
                                assert_eq!(fragment.wait(), Ok(number));
                                written.detach();
                            }
                            2 => {
                                let future = stages.flow().spawn("flow", written).unwrap();
                                assert_eq!(future.wait(), Ok(Ok(())));
                            }
                            _ => written.detach(),
                        }
                    }
                };
                executor.submit("writer", body).unwrap()
            })
            .collect();
        tasks.into_iter().for_each(|task| task.wait().unwrap());
        let mut total = 0;
        for strand in strands.iter() {
            let log = strand.submit("read", |log: &mut Log| log.clone()).unwrap().wait().unwrap();
            total += log.len() as u64;
            for writer in 0..writers {
                let own: Vec<u64> =
                    log.iter().filter(|entry| entry.0 == writer).map(|entry| entry.1).collect();
                assert!(own.is_sorted(), "writer {writer} out of order: {own:?}");
            }
        }
        assert_eq!(total, writers * writes, "every write happened once");
        assert_eq!(inside.load(Ordering::Relaxed) as u64, writers * writes);
    });
}

/// Cancels and shutdowns at random moments: every future resolves, and what ran ran once.
#[test]
fn random_ends_leave_no_future_open() {
    simulate::seeds("random_ends_leave_no_future_open", 0..3_000, |seed| {
        let stages = Stages::builder().executor("a").simulated(seed).unwrap();
        let mut dice = Dice(seed * 2 + 1);
        let ran = Arc::new(AtomicUsize::new(0));
        let mut open: Vec<TaskFuture<()>> = Vec::new();
        let (mut submitted, mut cancelled) = (0, 0);
        for key in 0..30 {
            let ran = Arc::clone(&ran);
            let body = move || {
                ran.fetch_add(1, Ordering::Relaxed);
            };
            let future = match dice.below(7) {
                0 => stages.partition().submit_keyed(key, "work", body),
                1 => stages.generic().submit("work", body),
                2 => stages.executor("a").unwrap().submit("work", body),
                3 => stages.cpu().submit("work", body),
                4 => stages.fragment().spawn("work", async move { body() }),
                5 => stages.mixed().submit("work", body),
                _ => stages.dedicated().submit("work", move |_| body()),
            };
            submitted += 1;
            open.push(future.unwrap());
            match dice.below(6) {
                0 => stages.simulation().unwrap().advance(Duration::from_micros(dice.below(20))),
                1 => {
                    let chosen = dice.below(open.len() as u64) as usize;
                    cancelled += usize::from(open.swap_remove(chosen).cancel());
                }
                _ => {}
            }
        }
        let how = if dice.below(2) == 0 { Shutdown::Drain } else { Shutdown::Cancel };
        let report = stages.shutdown(how).unwrap();
        assert!(report.cut_short.is_empty() && report.left_behind.is_empty(), "{report:?}");
        let mut lost = cancelled;
        for future in open {
            match future.wait() {
                Ok(()) => {}
                Err(TaskError::Cancelled { .. }) => lost += 1,
                Err(other) => panic!("{other}"),
            }
        }
        if how == Shutdown::Drain {
            assert_eq!(
                ran.load(Ordering::Relaxed) + cancelled,
                submitted,
                "drained: all that was not cancelled ran"
            );
        }
        assert!(ran.load(Ordering::Relaxed) + lost >= submitted, "nothing vanished");
    });
}

/// Periodic work in virtual time: an hour of it takes no time.
#[test]
fn virtual_time_passes_at_once() {
    let stages = Stages::simulated(1);
    let rounds = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&rounds);
    let body = move || {
        counts.fetch_add(1, Ordering::Relaxed);
    };
    let periodic = stages.maintenance().every("minute", Duration::from_secs(60), body);
    stages.simulation().unwrap().advance(Duration::from_secs(3_600));
    let counted = rounds.load(Ordering::Relaxed);
    assert!((58..=60).contains(&counted), "{counted} rounds in an hour");
    drop(periodic);
}

/// A dedicated thread that waits in a loop, as they do: it lets virtual time pass and everything else go on.
#[test]
fn a_dedicated_loop_lives_beside_the_rest() {
    simulate::seeds("a_dedicated_loop_lives_beside_the_rest", 0..200, |seed| {
        let stages = Stages::simulated(seed);
        let rounds = Arc::new(AtomicUsize::new(0));
        let counts = Arc::clone(&rounds);
        let body = move |stop: &filbert_pool::StopSignal| {
            while !stop.wait_timeout(Duration::from_millis(10)) {
                counts.fetch_add(1, Ordering::Relaxed);
            }
            "ended"
        };
        let poller = stages.dedicated().submit("poller", body).unwrap();
        assert_eq!(stages.generic().submit("beside", || 1).unwrap().wait(), Ok(1));
        stages.simulation().unwrap().advance(Duration::from_millis(95));
        let counted = rounds.load(Ordering::Relaxed);
        assert!((8..=10).contains(&counted), "{counted} rounds of 10 ms in 95 ms");
        stages.shutdown(if seed % 2 == 0 { Shutdown::Drain } else { Shutdown::Cancel }).unwrap();
        assert_eq!(poller.wait(), Ok("ended"));
    });
}

/// Says that it is dropped.
struct Tell(usize, Arc<Mutex<Vec<usize>>>);

impl Drop for Tell {
    fn drop(&mut self) {
        self.1.lock().unwrap().push(self.0);
    }
}

#[test]
fn a_cancelled_group_is_replayable() {
    let order_of = |seed| {
        let stages = Stages::simulated(seed);
        let order = Arc::new(Mutex::new(Vec::new()));
        let group = stages.flow().group("job");
        for number in 0..20 {
            let tell = Tell(number, Arc::clone(&order));
            let tasklet = move |_: &mut TurnContext<'_>| {
                let _ = &tell;
                Turn::Again
            };
            stages.flow().spawn_tasklet_in(&group, "task", tasklet).unwrap().detach();
        }
        group.cancel();
        stages.simulation().unwrap().settle();
        let order = order.lock().unwrap().clone();
        assert_eq!(order.len(), 20);
        order
    };
    for seed in 0..5 {
        assert_eq!(order_of(seed), order_of(seed));
    }
}

#[test]
fn panics_on_mixed_are_counted() {
    let stages = Stages::simulated(1);
    let future = stages.mixed().spawn("future", async { panic!("a future") }).unwrap();
    let closure = stages.mixed().submit("closure", || panic!("a closure")).unwrap();
    let results: [Result<(), _>; 2] = [future.wait(), closure.wait()];
    assert!(results.iter().all(|result| matches!(result, Err(TaskError::Panicked { .. }))), "{results:?}");
    stages.simulation().unwrap().settle();
    let mixed = stages.snapshot().into_iter().find(|stage| stage.stage == "mixed").unwrap();
    assert_eq!((mixed.executed, mixed.panicked), (2, 2));
}
