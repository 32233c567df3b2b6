use super::*;
use crate::context;
use crate::error::SubmitError;
use crate::eventually::eventually;
use filbert_sync::Latch;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

const PARTITION: StageId = StageId::of(StageKind::Partition);

fn small(capacity: usize, reserved_per_topic: usize) -> EventSettings {
    EventSettings {
        threads: 2,
        capacity,
        reserved_per_topic,
        offer_timeout: Duration::from_millis(5),
        takeover: Some(Duration::from_millis(2)),
        slow_limit: None,
    }
}

fn end(env: &Arc<Env>, stage: &EventStage, ending: Ending) {
    stage.engine().close(ending);
    match env.simulator() {
        Some(simulator) => simulator.settle(env, u64::MAX / 4),
        None => {
            env.timers().close();
            let left = env.threads().join(Duration::from_secs(30));
            assert!(left.is_empty(), "threads that do not end: {left:?}");
        }
    }
    assert!(stage.engine().is_drained());
}

#[test]
fn events_of_a_topic_are_delivered_in_order() {
    let env = Env::real();
    let stage = EventStage::start(&env, EventSettings::default());
    let log = Arc::new(Mutex::new(Vec::new()));
    let topic = stage.topic("news");
    for number in 0..1_000 {
        let log = Arc::clone(&log);
        assert!(matches!(
            stage.topic("news").offer("note", move || log.lock().unwrap().push(number)),
            Ok(Offer::Accepted)
        ));
    }
    eventually("the events", || stage.topics()[0].delivered == 1_000 && log.lock().unwrap().len() == 1_000);
    assert_eq!(*log.lock().unwrap(), (0..1_000).collect::<Vec<_>>());
    assert_eq!(
        stage.topics(),
        [TopicSnapshot { name: "news".to_owned(), queued: 0, delivered: 1_000, dropped: 0 }]
    );
    drop(topic);
    eventually("the topic to be gone", || stage.topics().is_empty());
    end(&env, &stage, Ending::Drain);
}

#[test]
fn a_reserve_is_there_while_another_topic_floods_and_its_listener_is_blocked() {
    for threads in [2, 5] {
        let env = Env::real();
        // Nothing times out: b waits for its own listener now and then, and a's last offers wait for a's.
        let patient = Duration::from_secs(600);
        let settings = EventSettings { threads, offer_timeout: patient, ..small(40, 10) };
        let stage = EventStage::start(&env, settings);
        let (a, b) = (stage.topic("a"), stage.topic("b"));
        let go = Arc::new(Latch::new());
        let mut pending = Vec::new();
        while pending.len() < 2 {
            let _on_a_partition_thread = context::enter(PARTITION);
            let go = Arc::clone(&go);
            if let Offer::Pending(future) = a.offer("slow", move || go.wait()).unwrap() {
                pending.push(future);
            }
        }
        let delivered = Arc::new(AtomicUsize::new(0));
        for _ in 0..100 {
            let delivered = Arc::clone(&delivered);
            let offer = b.offer("quick", move || {
                delivered.fetch_add(1, Ordering::Relaxed);
            });
            assert!(matches!(offer, Ok(Offer::Accepted)), "{offer:?}");
        }
        eventually("b's events, with a's listener blocked", || delivered.load(Ordering::Relaxed) == 100);
        assert!(!go.is_open());
        go.open();
        for future in pending {
            assert_eq!(future.wait(), Ok(Offered::Accepted));
        }
        eventually("a's events", || stage.topics().iter().all(|topic| topic.queued == 0));
        assert_eq!(stage.snapshot().dropped, 0);
        end(&env, &stage, Ending::Drain);
    }
}

#[test]
fn an_application_thread_waits_and_then_drops() {
    let env = Env::real();
    let stage = EventStage::start(&env, small(3, 0));
    let (topic, go) = (stage.topic("full"), Arc::new(Latch::new()));
    let mut dropped = 0;
    while dropped < 3 {
        let go = Arc::clone(&go);
        match topic.offer("slow", move || go.wait()).unwrap() {
            Offer::Accepted => {}
            Offer::Dropped => dropped += 1,
            Offer::Pending(_) => panic!("an application thread waits"),
        }
    }
    go.open();
    end(&env, &stage, Ending::Drain);
    assert_eq!((stage.topics()[0].dropped, stage.snapshot().dropped), (3, 3));
    assert!(stage.topics()[0].delivered >= 3);
}

/// Fills a topic whose listener waits in virtual time for `block`.
fn blocked_topic(env: &Arc<Env>, stage: &EventStage, block: Duration, events: usize) -> Topic {
    let topic = stage.topic("full");
    let waits = Arc::clone(env);
    let until = env.now() + block.as_nanos() as u64;
    let _ = topic.offer("block", move || {
        waits.simulator().unwrap().drive(&waits, Some(until), &mut || false);
    });
    for _ in 0..events {
        assert!(matches!(topic.offer("fill", || ()), Ok(Offer::Accepted)));
    }
    topic
}

#[test]
fn a_level_c_thread_never_waits_and_learns_what_became_of_its_offer() {
    for (block_ms, expected) in [(2, Offered::Accepted), (50, Offered::Dropped)] {
        for seed in 0..50 {
            let env = Env::simulated(seed);
            let stage = EventStage::start(&env, small(4, 0));
            let topic = blocked_topic(&env, &stage, Duration::from_millis(block_ms), 3);
            let ran = Arc::new(AtomicUsize::new(0));
            let mut pending = Vec::new();
            {
                let _on_a_partition_thread = context::enter(PARTITION);
                for number in 0..3 {
                    let ran = Arc::clone(&ran);
                    let before = env.now();
                    let offer = topic.offer("late", move || {
                        assert_eq!(
                            ran.fetch_add(1, Ordering::Relaxed),
                            number,
                            "waiting offers keep their order"
                        );
                    });
                    assert_eq!(env.now(), before, "it did not wait");
                    match offer.unwrap() {
                        Offer::Pending(future) => pending.push(future),
                        other => panic!("the stage is full: {other:?}"),
                    }
                }
            }
            // The blocked event leaves its place when it begins; the first that waits gets it.
            let expected = [Offered::Accepted, expected, expected];
            for (future, expected) in pending.into_iter().zip(expected) {
                assert_eq!(future.wait(), Ok(expected), "seed {seed}");
            }
            env.simulator().unwrap().settle(&env, u64::MAX / 4);
            assert_eq!(stage.snapshot().panicked, 0);
            let topics = stage.topics();
            assert_eq!(topics[0].delivered + topics[0].dropped, 7);
            drop(topic);
            end(&env, &stage, Ending::Drain);
        }
    }
}

#[test]
fn a_closed_stage_refuses_and_resolves_what_waits() {
    for ending in [Ending::Drain, Ending::Cancel] {
        let env = Env::simulated(1);
        let stage = EventStage::start(&env, small(4, 0));
        let topic = blocked_topic(&env, &stage, Duration::ZERO, 3);
        let pending = {
            let _on_a_partition_thread = context::enter(PARTITION);
            match topic.offer("late", || ()).unwrap() {
                Offer::Pending(future) => future,
                other => panic!("{other:?}"),
            }
        };
        stage.engine().close(ending);
        assert_eq!(pending.wait(), Ok(Offered::Dropped));
        assert!(matches!(topic.offer("later", || ()), Err(SubmitError::ShutDown { .. })));
        env.simulator().unwrap().settle(&env, u64::MAX / 4);
        let topics = stage.topics();
        assert_eq!(topics[0].delivered + topics[0].dropped, 5, "{ending:?}");
        assert_eq!(topics[0].delivered, if ending == Ending::Drain { 4 } else { 0 });
        assert_eq!(stage.snapshot().dropped, topics[0].dropped);
        end(&env, &stage, ending);
    }
}

#[test]
fn every_offer_is_delivered_in_order_or_dropped_and_counted_for_every_seed() {
    for seed in 0..600_u64 {
        let env = Env::simulated(seed);
        let capacity = 1 + (seed % 13) as usize;
        let stage = EventStage::start(&env, small(capacity, (seed % 5) as usize));
        let simulator = env.simulator().unwrap();
        let topics: Vec<_> = (0..3).map(|number| stage.topic(&number.to_string())).collect();
        let last: Arc<[AtomicU32; 3]> = Arc::default();
        let reordered = Arc::new(AtomicUsize::new(0));
        let mut pending = Vec::new();
        let mut offered = [0_u64; 3];
        for number in 1..=60_u32 {
            let target = env.random_below(3);
            let (last, reordered, waits) = (Arc::clone(&last), Arc::clone(&reordered), Arc::clone(&env));
            let event = move || {
                if last[target].swap(number, Ordering::Relaxed) >= number {
                    reordered.fetch_add(1, Ordering::Relaxed);
                }
                match waits.random_below(6) {
                    0 => {
                        let until = waits.now() + waits.random_below(8_000_000) as u64;
                        waits.simulator().unwrap().drive(&waits, Some(until), &mut || false);
                    }
                    1 => panic!("expected"),
                    _ => {}
                }
            };
            let from_below = env.random_below(3) > 0;
            let _entered = from_below.then(|| context::enter(PARTITION));
            offered[target] += 1;
            match topics[target].offer("event", event).unwrap() {
                Offer::Pending(future) => {
                    assert!(from_below);
                    pending.push(future);
                }
                Offer::Accepted | Offer::Dropped => {}
            }
            drop(_entered);
            for _ in 0..env.random_below(2) {
                simulator.turn();
            }
            let queued: usize = stage.topics().iter().map(|topic| topic.queued).sum();
            assert!(queued <= capacity, "seed {seed}: {queued} events in {capacity} places");
        }
        for future in pending {
            future.wait().unwrap();
        }
        simulator.settle(&env, u64::MAX / 4);
        assert_eq!(reordered.load(Ordering::Relaxed), 0, "seed {seed}: out of order");
        let mut dropped = 0;
        for (snapshot, offered) in stage.topics().iter().zip(offered) {
            assert_eq!(snapshot.delivered + snapshot.dropped, offered, "seed {seed}: {snapshot:?}");
            dropped += snapshot.dropped;
        }
        assert_eq!(stage.snapshot().dropped, dropped);
        drop(topics);
        end(&env, &stage, Ending::Drain);
    }
}

#[test]
fn a_topic_that_is_asked_for_again_keeps_its_order() {
    let env = Env::real();
    let stage = EventStage::start(&env, EventSettings { threads: 2, ..EventSettings::default() });
    let (begun, go) = (Arc::new(Latch::new()), Arc::new(Latch::new()));
    let log = Arc::new(Mutex::new(Vec::new()));
    let (begins, waits, first) = (Arc::clone(&begun), Arc::clone(&go), Arc::clone(&log));
    let _ = stage.topic("news").offer("first", move || {
        begins.open();
        waits.wait_timeout(Duration::from_secs(1));
        first.lock().unwrap().push(1);
    });
    begun.wait();
    let (second, opens) = (Arc::clone(&log), Arc::clone(&go));
    let _ = stage.topic("news").offer("second", move || {
        second.lock().unwrap().push(2);
        opens.open();
    });
    eventually("both", || log.lock().unwrap().len() == 2);
    assert_eq!(*log.lock().unwrap(), [1, 2], "the second event ran while the first was still running");
    end(&env, &stage, Ending::Drain);
}

#[test]
fn room_that_comes_when_a_topic_goes_is_given_to_who_waits() {
    let env = Env::simulated(1);
    let stage = EventStage::start(&env, small(40, 10));
    let other = stage.topic("other");
    let topic = blocked_topic(&env, &stage, Duration::from_secs(1), 29);
    let pending = {
        let _on_a_partition_thread = context::enter(PARTITION);
        match topic.offer("late", || ()).unwrap() {
            Offer::Pending(future) => future,
            offer => panic!("{offer:?}"),
        }
    };
    // With one topic less there are ten more shared places.
    drop(other);
    // The listener begins and blocks: one place is free too, and then nothing for a second.
    let more: Vec<_> = {
        let _on_a_partition_thread = context::enter(PARTITION);
        (0..5).map(|_| topic.offer("more", || ()).unwrap()).collect()
    };
    assert_eq!(pending.wait(), Ok(Offered::Accepted));
    for offer in more {
        match offer {
            Offer::Accepted => {}
            Offer::Pending(future) => {
                assert_eq!(future.wait(), Ok(Offered::Accepted), "{:?}", stage.topics())
            }
            Offer::Dropped => panic!("dropped"),
        }
    }
}

#[test]
fn a_cancelled_offer_is_not_delivered() {
    let env = Env::simulated(1);
    let stage = EventStage::start(&env, small(4, 0));
    let topic = blocked_topic(&env, &stage, Duration::ZERO, 3);
    let ran = Arc::new(AtomicUsize::new(0));
    let runs = Arc::clone(&ran);
    let pending = {
        let _on_a_partition_thread = context::enter(PARTITION);
        match topic
            .offer("late", move || {
                runs.fetch_add(1, Ordering::Relaxed);
            })
            .unwrap()
        {
            Offer::Pending(future) => future,
            offer => panic!("{offer:?}"),
        }
    };
    assert!(pending.cancel(), "it had not begun, and so never will");
    env.simulator().unwrap().settle(&env, u64::MAX / 4);
    assert_eq!(ran.load(Ordering::Relaxed), 0, "a cancelled offer was delivered");
}

struct Bomb;
impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("from a drop");
    }
}

#[test]
fn a_waiting_event_that_panics_when_dropped_does_not_keep_the_stage_from_closing() {
    let env = Env::simulated(1);
    let stage = EventStage::start(&env, small(4, 0));
    let topic = blocked_topic(&env, &stage, Duration::ZERO, 3);
    let bomb = Bomb;
    let pending = {
        let _on_a_partition_thread = context::enter(PARTITION);
        match topic
            .offer("late", move || {
                std::mem::forget(bomb);
            })
            .unwrap()
        {
            Offer::Pending(future) => future,
            offer => panic!("{offer:?}"),
        }
    };
    let engine = stage.engine();
    let closed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| engine.close(Ending::Cancel)));
    assert!(closed.is_ok(), "the close unwound");
    env.simulator().unwrap().settle(&env, u64::MAX / 4);
    assert!(engine.is_drained());
    assert_eq!(pending.wait(), Ok(Offered::Dropped));
}

#[test]
fn a_callback_that_panics_takes_no_event_with_it() {
    let env = Env::simulated(1);
    let stage = EventStage::start(&env, small(4, 0));
    let topic = stage.topic("full");
    let ran = Arc::new(AtomicUsize::new(0));
    for _ in 0..4 {
        let runs = Arc::clone(&ran);
        let _ = topic.offer("event", move || {
            runs.fetch_add(1, Ordering::Relaxed);
        });
    }
    {
        let _on_a_partition_thread = context::enter(PARTITION);
        let runs = Arc::clone(&ran);
        match topic
            .offer("late", move || {
                runs.fetch_add(1, Ordering::Relaxed);
            })
            .unwrap()
        {
            Offer::Pending(future) => future.on_complete(|_| panic!("callback")),
            offer => panic!("{offer:?}"),
        }
    }
    env.simulator().unwrap().settle(&env, u64::MAX / 4);
    assert_eq!(ran.load(Ordering::Relaxed), 5, "{:?}", stage.topics());
}
