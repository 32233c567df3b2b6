//! The user's code at its worst: callbacks, results and payloads that panic, also when they are dropped.

use super::*;
use std::panic::panic_any;

/// Panics when dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("bomb");
        }
    }
}

/// Whatever happened before, the pool's only worker still works.
fn still_works(pool: &WorkStealing) {
    assert_eq!(pool.submit("after", || 7).unwrap().wait_timeout(Duration::from_secs(60)), Ok(7));
}

#[test]
fn a_panicking_callback_does_not_end_the_worker() {
    let pool = WorkStealing::standalone(1);
    let (go, wait) = latch();
    pool.submit("first", move || wait.wait()).unwrap().on_complete(|_| panic!("a callback"));
    go.open();
    still_works(&pool);
}

#[test]
fn a_result_that_panics_when_dropped_does_not_end_the_worker() {
    let pool = WorkStealing::standalone(1);
    pool.submit("bomb", || Bomb).unwrap().detach();
    still_works(&pool);
}

#[test]
fn a_value_beside_a_panicking_leaf_may_panic_when_dropped() {
    let pool = WorkStealing::standalone(2);
    for bad in [0, 999] {
        let said = panics(|| {
            pool.range(0..1_000).min_leaf(100).fold(
                || Bomb,
                |bomb, i| {
                    if i == bad {
                        std::mem::forget(bomb);
                        panic!("leaf");
                    }
                    bomb
                },
                |left, right| {
                    std::mem::forget(left);
                    right
                },
            )
        });
        assert_eq!(said, "leaf");
        still_works(&pool);
    }
}

#[test]
fn payloads_that_panic_when_dropped_do_not_hold_a_scope_up() {
    let pool = WorkStealing::standalone(2);
    for _ in 0..20 {
        let (told, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            pool.scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|_| {
                        add(&ended, 1);
                        panic_any(Bomb);
                    });
                }
                Bomb
            })
        }));
        if let Err(payload) = outcome {
            assert!(payload.is::<Bomb>());
            add(&told, 1);
            std::mem::forget(payload);
        }
        assert_eq!((told.into_inner(), ended.into_inner()), (1, 4));
    }
}

#[test]
fn a_payload_that_the_body_of_a_scope_outdoes_may_panic_when_dropped() {
    let pool = WorkStealing::standalone(1);
    let said = panics(|| {
        pool.scope(|scope| {
            scope.spawn(|_| panic_any(Bomb));
            panic!("the body");
        })
    });
    assert_eq!(said, "the body");
}

#[test]
fn a_join_never_unwinds_before_its_stolen_half_has_ended() {
    // Two workers: with the guest there would be enough active threads for one, and nobody would be woken for the fork.
    let pool = WorkStealing::standalone(2);
    let (began, held) = (Latch::new(), Arc::new(Latch::new()));
    let (ran, ended) = (Arc::new(AtomicBool::new(false)), AtomicBool::new(false));
    let (runs, sees, holds) = (Arc::clone(&ran), Arc::clone(&ran), Arc::clone(&held));
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        pool.join(
            || {
                began.wait();
                // One worker is in the other half and one in the task, so the guest runs this while it waits.
                slot::current().unwrap().push(JobRef::boxed(move || {
                    runs.store(true, Ordering::SeqCst);
                    panic!("a callback");
                }));
            },
            || {
                let hold = move || {
                    holds.open();
                    eventually("the guest to run the job", || sees.load(Ordering::SeqCst));
                };
                pool.submit("hold", hold).unwrap().detach();
                held.wait();
                began.open();
                eventually("the guest to run the job", || ran.load(Ordering::SeqCst));
                ended.store(true, Ordering::SeqCst);
            },
        )
    }));
    assert!(ended.load(Ordering::SeqCst), "the frame of the join is gone while its half runs");
    assert!(outcome.is_ok());
}
