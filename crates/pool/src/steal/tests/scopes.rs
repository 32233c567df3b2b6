//! Scopes: what is borrowed is there to the end, whoever runs the tasks.

use super::*;

#[test]
fn scopes_nest_and_borrow() {
    let pool = WorkStealing::standalone(3);
    for _ in 0..50 {
        let sum = AtomicUsize::new(0);
        pool.scope(|outer| {
            for i in 0..20 {
                let sum = &sum;
                outer.spawn(move |outer| {
                    outer.spawn(move |_| {
                        sum.fetch_add(1, Ordering::Relaxed);
                    });
                    pool_free_inner(sum, i);
                });
            }
            pool.scope(|inner| inner.spawn(|_| add(&sum, 1_000)));
            assert!(sum.load(Ordering::Relaxed) >= 1_000, "the inner scope has ended");
        });
        assert_eq!(sum.into_inner(), 1_000 + 20 + 190);
    }
    fn pool_free_inner(sum: &AtomicUsize, i: usize) {
        join::join(|| sum.fetch_add(i, Ordering::Relaxed), || std::hint::black_box(()));
    }
}

#[test]
fn a_panic_in_a_scope_reaches_its_caller_after_all_tasks_ended() {
    let pool = WorkStealing::standalone(2);
    for _ in 0..50 {
        let ended = AtomicUsize::new(0);
        let said = panics(|| {
            pool.scope(|scope| {
                for i in 0..10 {
                    let ended = &ended;
                    scope.spawn(move |_| {
                        ended.fetch_add(1, Ordering::SeqCst);
                        assert!(i != 3, "task three");
                    });
                }
            });
        });
        assert_eq!((said.as_str(), ended.load(Ordering::SeqCst)), ("task three", 10));
        let said = panics(|| {
            pool.scope(|scope| {
                scope.spawn(|_| add(&ended, 1));
                panic!("the body");
            })
        });
        assert_eq!((said.as_str(), ended.load(Ordering::SeqCst)), ("the body", 11));
    }
}

#[test]
fn a_scope_from_here_on_a_worker_keeps_no_gate_open() {
    let (env, pool) = staged(1);
    let inside = pool.clone();
    let (submitted, is_submitted) = latch();
    let drained = pool.submit("scope", move || {
        // Whoever submits has a pass of its own until it is back.
        is_submitted.wait();
        inside.scope_from_here(|_| {
            inside.core.gate.close();
            inside.core.gate.is_drained()
        })
    });
    submitted.open();
    assert_eq!(
        drained.unwrap().wait(),
        Ok(true),
        "the worker has no pass: nobody would be rung when it is given back"
    );
    end(&env, &pool, Ending::Drain);
}

#[test]
fn tasks_of_a_scope_that_runs_in_sequence_count_as_the_stage() {
    let (_env, pool) = simulated(1, 2);
    let (here, mut inside) = (context::current(), None);
    let body = pool.scope_from_here(|scope| {
        scope.spawn(|_| inside = Some(context::current()));
        context::current()
    });
    assert_eq!((body, inside), (here, Some(pool.stage())));
}
