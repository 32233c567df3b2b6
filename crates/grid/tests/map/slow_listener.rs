//! A listener of a map that sleeps: writers are slowed for the offer time-out at most, what is dropped is counted, and the other
//! listeners of that map, and those of other maps, hear all.

use crate::int;
use filbert_grid::{Grid, Interest};
use filbert_pool::{StageKind, Stages, simulate};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const OFFER_TIMEOUT: Duration = Duration::from_millis(250);

/// Turns take virtual time too, some of it between the end of an offer and the answer.
const TURNS: Duration = Duration::from_millis(1);

fn count(grid: &Grid, map: &str, then: impl Fn() + Send + Sync + 'static) -> Arc<AtomicU64> {
    let heard = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&heard);
    grid.map(map).add_listener(grid.new_id(), Interest::ALL, move |_| {
        counter.fetch_add(1, Ordering::Relaxed);
        then();
    });
    heard
}

#[test]
fn a_listener_that_sleeps_slows_writers_for_the_offer_time_out_at_most() {
    let name = "a_listener_that_sleeps_slows_writers_for_the_offer_time_out_at_most";
    simulate::seeds(name, 0..40, |seed| {
        let stages = Stages::builder()
            .set("event.capacity", 20)
            .set("event.reserved_per_topic", 5)
            .set("event.offer_timeout_ms", OFFER_TIMEOUT.as_millis() as u64)
            .simulated(seed)
            .unwrap();
        let (clock, simulation) = (stages.clock(), stages.simulation().unwrap());
        let grid = Grid::new(&stages);
        let sleeper = stages.clone();
        let heard = count(&grid, "slow", move || {
            let (promise, over) = sleeper.promise(StageKind::Partition, "sleep");
            sleeper.clock().after(Duration::from_millis(400), move || promise.keep(()));
            over.wait().unwrap();
        });
        let beside_heard = count(&grid, "slow", || {});
        let quick_heard = count(&grid, "quick", || {});
        let (slow, quick) = (grid.map("slow"), grid.map("quick"));

        let waited = Arc::new(Mutex::new(Vec::new()));
        let (mut offered, mut quick_offered) = (0, 0);
        for number in 0..60 {
            let begin = clock.now();
            let written = match clock.random_below(3) {
                0 => {
                    offered += 8;
                    slow.put_all((0..8).map(|key| (int(1_000 * (number + 1) + key), int(1))))
                }
                _ => {
                    offered += 1;
                    slow.set(int(number), int(1))
                }
            };
            assert_eq!(clock.now(), begin, "no thread waits, not even one that may");
            let (log, until) = (Arc::clone(&waited), clock.clone());
            written.on_complete(move |result| {
                assert_eq!(result, Ok(()));
                log.lock().unwrap().push(until.now() - begin);
            });
            quick_offered += 1;
            quick.set(int(number), int(1)).detach();
            if clock.random_below(6) == 0 {
                simulation.advance(Duration::from_millis(clock.random_below(60) as u64));
            }
        }
        simulation.advance(Duration::from_secs(600));
        let waited = waited.lock().unwrap();
        assert_eq!(waited.len(), 60, "every writer has its answer");
        assert!(waited.iter().all(|time| *time <= OFFER_TIMEOUT + TURNS), "{waited:?}");
        assert!(
            waited.iter().any(|time| *time >= OFFER_TIMEOUT),
            "some were slowed for all of it: {waited:?}"
        );
        // Each listener has a topic of its own, and they are counted together.
        let stats = |name: &str| {
            let found = stages.event().topics().into_iter().find(|topic| topic.name == format!("map/{name}"));
            let found = found.unwrap();
            (found.delivered, found.dropped)
        };
        let delivered = heard.load(Ordering::Relaxed);
        assert!(delivered < offered);
        assert_eq!(beside_heard.load(Ordering::Relaxed), offered);
        assert_eq!(stats("slow"), (delivered + offered, offered - delivered));
        assert_eq!(stats("quick"), (quick_offered, 0));
        assert_eq!(quick_heard.load(Ordering::Relaxed), quick_offered);
    });
}
