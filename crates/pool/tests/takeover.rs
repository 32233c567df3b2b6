//! One strand blocked: every other strand's tasks finish before it is released, wherever they are at home.

use filbert_pool::{Stages, simulate};
use filbert_sync::Latch;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

#[test]
fn a_blocked_strand_holds_up_no_other_on_real_threads() {
    for threads in [2, 3, 8] {
        let stages = Stages::builder().set("partition.threads", threads).start().unwrap();
        for blocked in 0..threads {
            let latch = Arc::new(Latch::new());
            let waits = Arc::clone(&latch);
            let stuck = stages.partition().strand(blocked, ());
            let stuck = stuck.submit("stuck", move |()| waits.wait()).unwrap();
            let others: Vec<_> = (0..64_u64)
                .flat_map(|key| {
                    let strand = stages.partition().strand(key, 0_u64);
                    (0..10).map(move |_| {
                        let add = |count: &mut u64| {
                            *count += 1;
                            *count
                        };
                        strand.submit("count", add).unwrap()
                    })
                })
                .collect();
            for (i, mut future) in others.into_iter().enumerate() {
                let counted = future.wait_timeout(Duration::from_secs(60)).unwrap();
                assert_eq!(counted, i as u64 % 10 + 1, "order within the strand");
            }
            assert!(!stuck.is_done());
            latch.open();
            stuck.wait().unwrap();
        }
    }
}

#[test]
fn a_blocked_strand_holds_up_no_other_in_simulation() {
    simulate::seeds("a_blocked_strand_holds_up_no_other_in_simulation", 0..2_000, |seed| {
        const OTHERS: usize = 12;
        let stages = Stages::simulated(seed);
        let finished = Arc::new(AtomicUsize::new(0));
        let (inner, all) = (stages.clone(), Arc::clone(&finished));
        // The strand is released by the last of the others; if one waited behind it, the simulation would be stuck.
        let blocked = stages.partition().strand(seed % 5, ());
        let stuck = blocked
            .submit("stuck", move |()| {
                inner.simulation().unwrap().until(|| all.load(Ordering::Relaxed) == OTHERS)
            })
            .unwrap();
        for key in 0..OTHERS as u64 {
            let finished = Arc::clone(&finished);
            let count = move |(): &mut ()| {
                finished.fetch_add(1, Ordering::Relaxed);
            };
            stages.partition().strand(key, ()).submit("count", count).unwrap().detach();
        }
        stuck.wait().unwrap();
        assert_eq!(finished.load(Ordering::Relaxed), OTHERS);
    });
}
