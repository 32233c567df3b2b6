//! A listener that sleeps: publishers are slowed for the offer time-out at most, what is dropped is counted, other topics deliver all.

use filbert_grid::Grid;
use filbert_pool::{StageKind, Stages, simulate};
use filbert_wire::Data;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const OFFER_TIMEOUT: Duration = Duration::from_millis(250);

/// Turns take virtual time too, some of it between the end of an offer and the answer.
const TURNS: Duration = Duration::from_millis(1);

fn message() -> Data {
    Data::new(-3, b"m")
}

/// Sleeps on the thread of a listener, in virtual time.
fn sleep(stages: &Stages, time: Duration) {
    let (promise, over) = stages.promise(StageKind::Partition, "sleep");
    stages.clock().after(time, move || promise.keep(()));
    over.wait().unwrap();
}

#[test]
fn a_listener_that_sleeps_slows_publishers_for_the_offer_time_out_at_most() {
    simulate::seeds(
        "a_listener_that_sleeps_slows_publishers_for_the_offer_time_out_at_most",
        0..60,
        |seed| {
            let stages = Stages::builder()
                .set("event.capacity", 20)
                .set("event.reserved_per_topic", 5)
                .set("event.offer_timeout_ms", OFFER_TIMEOUT.as_millis() as u64)
                .simulated(seed)
                .unwrap();
            let (clock, simulation) = (stages.clock(), stages.simulation().unwrap());
            let grid = Grid::new(&stages);
            let (slow, quick) = (grid.topic("slow"), grid.topic("quick"));
            let delivered = Arc::new(AtomicU64::new(0));
            let (count, sleeper) = (Arc::clone(&delivered), stages.clone());
            slow.add_listener(move |_| {
                count.fetch_add(1, Ordering::Relaxed);
                sleep(&sleeper, Duration::from_millis(400));
            });
            let quick_delivered = Arc::new(AtomicU64::new(0));
            let count = Arc::clone(&quick_delivered);
            quick.add_listener(move |_| {
                count.fetch_add(1, Ordering::Relaxed);
            });

            // What each publisher waited for its answer, by the virtual clock. Some publish one message, some a list.
            let waited = Arc::new(Mutex::new(Vec::new()));
            let mut offered = 0;
            let mut quick_offered = 0;
            for _ in 0..60 {
                let begin = clock.now();
                let published = match clock.random_below(3) {
                    0 => {
                        offered += 8;
                        slow.publish_all(vec![message(); 8])
                    }
                    _ => {
                        offered += 1;
                        slow.publish(&message())
                    }
                };
                assert_eq!(clock.now(), begin, "no thread waits, not even one that may");
                let (log, until) = (Arc::clone(&waited), clock.clone());
                published.on_complete(move |result| {
                    assert_eq!(result, Ok(()));
                    log.lock().unwrap().push(until.now() - begin);
                });
                quick_offered += 1;
                let begin = clock.now();
                quick.publish(&message()).detach();
                assert_eq!(clock.now(), begin);
                if clock.random_below(6) == 0 {
                    simulation.advance(Duration::from_millis(clock.random_below(60) as u64));
                }
            }
            simulation.advance(Duration::from_secs(600));
            let waited = waited.lock().unwrap();
            assert_eq!(waited.len(), 60, "every publisher has its answer");
            assert!(waited.iter().all(|time| *time <= OFFER_TIMEOUT + TURNS), "{waited:?}");
            assert!(
                waited.iter().any(|time| *time >= OFFER_TIMEOUT),
                "some were slowed for all of it: {waited:?}"
            );
            let stats = slow.stats();
            assert_eq!(stats.published, offered);
            assert_eq!(stats.delivered, delivered.load(Ordering::Relaxed));
            assert!(stats.dropped > 0, "{stats:?}");
            assert_eq!(stats.dropped, offered - stats.delivered);
            let stats = quick.stats();
            assert_eq!((stats.published, stats.delivered, stats.dropped), (quick_offered, quick_offered, 0));
            assert_eq!(quick_delivered.load(Ordering::Relaxed), quick_offered);
        },
    );
}
