//! Order, single writer, priority, bounds, panics: what every strand promises.

use super::*;
use crate::error::{SubmitError, TaskError};
use crate::striped::Called;
use filbert_sync::Latch;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

#[test]
fn operations_run_in_order_and_give_their_values() {
    let stage = TestStage::real(settings(2));
    let strand = stage.striped.strand(7, Vec::new());
    let futures: Vec<_> = (0..100)
        .map(|number| {
            let push = move |log: &mut Vec<u32>| {
                log.push(number);
                log.len()
            };
            strand.submit("push", push).unwrap()
        })
        .collect();
    for (index, future) in futures.into_iter().enumerate() {
        assert_eq!(future.wait(), Ok(index + 1));
    }
    let log = strand.submit("read", |log| log.clone()).unwrap().wait().unwrap();
    assert_eq!(log, (0..100).collect::<Vec<_>>());
}

#[test]
fn an_idle_strand_runs_on_the_calling_thread() {
    let stage = TestStage::real(settings(2));
    let strand = stage.striped.strand(1, 5);
    let me = std::thread::current().id();
    let Ok(Called::Here(result)) = strand.call("here", move |value| {
        *value += 1;
        (*value, std::thread::current().id() == me, crate::current().kind)
    }) else {
        panic!("the strand is idle")
    };
    assert_eq!(result, Ok((6, true, StageKind::Partition)));
    assert_eq!(crate::current(), StageId::APPLICATION);
    let mut borrowed = 0;
    assert!(strand.try_run_here("borrow", |value| borrowed = *value).is_ok());
    assert_eq!(borrowed, 6);
    assert_eq!(stage.striped.snapshot().executed, 2);
}

#[test]
fn two_callers_that_wait_for_each_other_are_refused_and_not_stuck() {
    let stage = TestStage::real(settings(2));
    let (a, b) = (stage.striped.strand(0, ()), stage.striped.strand(1, ()));
    let both = Arc::new(std::sync::Barrier::new(2));
    let caller = |mine: crate::Strand<()>, other: crate::Strand<()>| {
        let both = Arc::clone(&both);
        std::thread::spawn(move || {
            mine.call("outer", move |()| {
                both.wait();
                let result = other.call("inner", |()| 1).unwrap().wait();
                both.wait();
                result
            })
            .unwrap()
            .wait()
        })
    };
    let callers = [caller(a.clone(), b.clone()), caller(b, a)];
    for caller in callers {
        let inner = caller.join().unwrap().expect("the outer operation runs");
        assert!(matches!(inner, Err(TaskError::WaitRefused { .. })), "{inner:?}");
    }
}

#[test]
fn a_strand_that_is_called_from_itself_queues() {
    let stage = TestStage::real(settings(1));
    let strand = stage.striped.strand(0, 0);
    let again = strand.clone();
    let inner = strand.call("outer", move |_| again.call("inner", |value: &mut i32| *value += 1)).unwrap();
    let Ok(Ok(Called::Queued(future))) = inner.wait() else { panic!("a held strand cannot be claimed") };
    assert_eq!(future.wait(), Ok(()));
}

#[test]
fn panics_fail_their_operation_only() {
    let stage = TestStage::real(settings(2));
    let strand = stage.striped.strand(3, 1);
    for _ in 0..50 {
        let hop = strand.submit("bad", |_| -> u32 { panic!("by hop") }).unwrap().wait();
        assert!(matches!(&hop, Err(TaskError::Panicked { message, task: "bad", .. }) if message == "by hop"));
        strand.post("worse", |_| panic!("unseen")).unwrap();
        let here = strand.call("bad", |_| -> u32 { panic!("by call") }).unwrap().wait();
        assert!(matches!(&here, Err(TaskError::Panicked { message, .. }) if message == "by call"));
    }
    assert_eq!(strand.submit("good", |value| *value).unwrap().wait(), Ok(1));
    assert!(stage.striped.snapshot().panicked >= 100);
}

#[test]
fn a_full_mailbox_refuses() {
    let stage = TestStage::real(StripedSettings { mailbox_capacity: 3, ..settings(1) });
    let (begun, go) = (Arc::new(Latch::new()), Arc::new(Latch::new()));
    let strand = stage.striped.strand(0, ());
    let (begins, waits) = (Arc::clone(&begun), Arc::clone(&go));
    let blocked = strand.submit("block", move |()| {
        begins.open();
        waits.wait();
    });
    begun.wait();
    let queued: Vec<_> = (0..3).map(|number| strand.submit("next", move |()| number).unwrap()).collect();
    assert_eq!(strand.depth(), 3);
    assert_eq!(stage.striped.snapshot().depth, 3);
    let refused = strand.submit("too many", |()| ()).map(drop);
    assert_eq!(refused, Err(SubmitError::Overloaded { stage: stage.striped.id(), capacity: 3 }));
    assert_eq!(stage.striped.snapshot().refused, 1);
    go.open();
    assert_eq!(blocked.unwrap().wait(), Ok(()));
    for (number, future) in queued.into_iter().enumerate() {
        assert_eq!(future.wait(), Ok(number));
    }
}

#[test]
fn a_capacity_of_one_is_free_again_when_the_result_is_there() {
    let stage = TestStage::real(StripedSettings { mailbox_capacity: 1, ..settings(2) });
    let strand = stage.striped.strand(0, ());
    for number in 0..1_000 {
        assert_eq!(strand.submit("one", move |()| number).unwrap().wait(), Ok(number));
    }
}

#[test]
fn loose_operations_are_bounded_and_keyed_ones_keep_their_order() {
    let stage = TestStage::simulated(3, StripedSettings { mailbox_capacity: 4, ..settings(2) });
    let loose: Vec<_> =
        (0..4).map(|number| stage.striped.submit_any("loose", move || number).unwrap()).collect();
    assert!(matches!(
        stage.striped.submit_any("too many", || 0),
        Err(SubmitError::Overloaded { capacity: 4, .. })
    ));
    for (number, future) in loose.into_iter().enumerate() {
        assert_eq!(future.wait(), Ok(number));
    }
    assert_eq!(stage.striped.submit_any("again", || 9).unwrap().wait(), Ok(9));
    let log = Arc::new(Mutex::new(Vec::new()));
    for number in 0..4 {
        let log = Arc::clone(&log);
        stage.striped.submit_keyed(99, "keyed", move || log.lock().unwrap().push(number)).unwrap().detach();
    }
    assert_eq!(stage.striped.submit_keyed(98, "other", || 1).unwrap().wait(), Ok(1));
    stage.env.simulator().unwrap().settle(&stage.env, 1_000_000);
    assert_eq!(*log.lock().unwrap(), [0, 1, 2, 3]);
}

#[test]
fn a_parked_stripe_is_kicked_by_priority_work() {
    let stage = TestStage::real(settings(1));
    eventually("the stripe to park", || stage.striped.snapshot().parked > 0);
    let strand = stage.striped.strand(0, ());
    assert_eq!(strand.submit_priority("now", |()| 1).unwrap().wait(), Ok(1));
}

#[test]
fn a_full_mailbox_has_room_for_priority_work() {
    let stage = TestStage::real(StripedSettings { mailbox_capacity: 3, ..settings(1) });
    let (begun, go) = (Arc::new(Latch::new()), Arc::new(Latch::new()));
    let log = stage.striped.strand(0, Vec::new());
    let (begins, waits) = (Arc::clone(&begun), Arc::clone(&go));
    log.post("block", move |_| {
        begins.open();
        waits.wait();
    })
    .unwrap();
    begun.wait();
    let users = (0..10).take_while(|_| log.post("user", |log| log.push("user")).is_ok()).count();
    assert!(users < 10, "users fill it");
    log.post_priority("system", |log| log.push("system")).unwrap();
    go.open();
    let seen = log.submit_priority("read", |log| log.clone());
    assert_eq!(seen.unwrap().wait().unwrap()[0], "system");
}

#[test]
fn a_busy_stripe_sees_priority_work_before_its_normal_work() {
    // Takeover is off, so that everything stays on the one stripe.
    let stage = TestStage::real(StripedSettings { takeover: None, ..settings(1) });
    let log = Arc::new(Mutex::new(Vec::new()));
    let (begun, go) = (Arc::new(Latch::new()), Arc::new(Latch::new()));
    let busy = stage.striped.strand(0, ());
    let (begins, waits) = (Arc::clone(&begun), Arc::clone(&go));
    busy.post("block", move |()| {
        begins.open();
        waits.wait();
    })
    .unwrap();
    begun.wait();
    let note = |strand: &crate::Strand<()>, what: &'static str, priority| {
        let log = Arc::clone(&log);
        let f = move |_: &mut ()| log.lock().unwrap().push(what);
        if priority { strand.submit_priority(what, f).unwrap() } else { strand.submit(what, f).unwrap() }
    };
    let other = stage.striped.strand(1, ());
    let futures = [
        note(&busy, "same strand", false),
        note(&other, "other strand", false),
        note(&other, "urgent", true),
        note(&busy, "urgent too", true),
    ];
    go.open();
    for future in futures {
        future.wait().unwrap();
    }
    let log = log.lock().unwrap();
    let place = |what| log.iter().position(|other| *other == what).unwrap();
    assert!(place("urgent") < place("same strand"), "{log:?}");
    assert!(place("urgent") < place("other strand"), "{log:?}");
    assert!(place("urgent too") < place("same strand"), "{log:?}");
}

#[test]
fn single_writer_and_order_under_real_threads() {
    const SUBMITTERS: usize = 3;
    const ROUNDS: usize = 6_000;
    struct Guarded {
        inside: AtomicBool,
        last: [usize; SUBMITTERS],
        count: usize,
    }
    let stage = TestStage::real(settings(4));
    let strands: Vec<_> = (0..5)
        .map(|key| {
            let guarded = Guarded { inside: AtomicBool::new(false), last: [0; SUBMITTERS], count: 0 };
            stage.striped.strand(key, guarded)
        })
        .collect();
    let by_caller = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for submitter in 0..SUBMITTERS {
            let (strands, by_caller) = (&strands, &by_caller);
            scope.spawn(move || {
                for round in 1..=ROUNDS {
                    let strand = &strands[(round * 7 + submitter) % strands.len()];
                    let write = move |guarded: &mut Guarded| {
                        assert!(!guarded.inside.swap(true, Ordering::Relaxed), "two writers");
                        assert!(guarded.last[submitter] < round, "out of order");
                        guarded.last[submitter] = round;
                        guarded.count += 1;
                        guarded.inside.store(false, Ordering::Relaxed);
                    };
                    if round % 3 == 0 {
                        match strand.call("call", write).unwrap() {
                            Called::Here(result) => {
                                result.unwrap();
                                by_caller.fetch_add(1, Ordering::Relaxed);
                            }
                            Called::Queued(future) => future.detach(),
                        }
                    } else {
                        strand.post("post", write).unwrap();
                    }
                }
            });
        }
    });
    let reads = strands.iter().map(|strand| strand.submit("read", |guarded| guarded.count).unwrap());
    let total: usize = reads.map(|future| future.wait().unwrap()).sum();
    assert_eq!(total, SUBMITTERS * ROUNDS);
    assert_eq!(stage.striped.snapshot().panicked, 0);
}

/// The places of strands that are gone are given back when many are, and not only when as many new ones came.
#[test]
fn strands_that_are_gone_are_forgotten() {
    let stage = TestStage::simulated(1, settings(2));
    let before = stage.striped.core.known();
    let stays: Vec<_> = (0..1_000).map(|key| stage.striped.strand(key, [0_u8; 100])).collect();
    let goes: Vec<_> = (0..10_000).map(|key| stage.striped.strand(key, [0_u8; 100])).collect();
    drop(goes);
    assert!(stage.striped.core.known() < before + 2_000, "{}", stage.striped.core.known());
    assert_eq!(stays.len(), 1_000);
}
