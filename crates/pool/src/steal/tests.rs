//! The pool against oracles, with panics, guests, deep recursion and both endings.

use super::*;
use crate::error::TaskError;
use crate::eventually::eventually;
use proptest::prelude::*;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

fn fib(n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = join::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn message(payload: Box<dyn std::any::Any + Send>) -> String {
    crate::panics::message(&*payload)
}

fn panics<R>(body: impl FnOnce() -> R) -> String {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(_) => "no panic".to_owned(),
        Err(payload) => message(payload),
    }
}

fn add(to: &AtomicUsize, value: usize) {
    to.fetch_add(value, Ordering::SeqCst);
}

fn settings(threads: usize) -> StealSettings {
    StealSettings { threads, injector_capacity: 100, slow_limit: None, min_leaf: 1 }
}

fn staged(threads: usize) -> (Arc<Env>, WorkStealing) {
    let env = Env::real();
    let pool = WorkStealing::start(&env, StageId::of(StageKind::Cpu), settings(threads));
    (env, pool)
}

fn end(env: &Arc<Env>, pool: &WorkStealing, ending: Ending) {
    pool.engine().close(ending);
    assert_eq!(env.threads().join(Duration::from_secs(30)), Vec::<String>::new(), "threads that never end");
    assert!(pool.engine().is_drained());
}

#[test]
fn fib_by_one_two_and_five_workers() {
    for threads in [1, 2, 5] {
        let pool = WorkStealing::standalone(threads);
        for _ in 0..20 {
            assert_eq!(pool.run(|| fib(20)), 6_765);
        }
        assert_eq!(pool.submit("fib", || fib(22)).unwrap().wait(), Ok(17_711));
    }
}

#[test]
fn join_outside_any_pool_runs_in_sequence() {
    assert_eq!(fib(15), 610);
}

#[test]
fn both_halves_of_a_coarse_join_run_at_the_same_time() {
    // Each half waits for the other one to have begun: in sequence this would never end.
    let pool = WorkStealing::standalone(2);
    for _ in 0..50 {
        let (left, right) = (AtomicBool::new(false), AtomicBool::new(false));
        let meet = |mine: &AtomicBool, theirs: &AtomicBool| {
            mine.store(true, Ordering::SeqCst);
            eventually("the other half", || theirs.load(Ordering::SeqCst));
        };
        pool.join(|| meet(&left, &right), || meet(&right, &left));
    }
}

#[test]
fn long_second_halves_are_shared_while_the_recursion_unwinds() {
    // The way down is short, so most halves are still private when the worker comes, and nobody joins any more on the way
    // up. The caller's k-th half waits until the worker has done 15 + k of them: the first 16 were shared at once,
    // each further one only because the caller looks around between two halves.
    fn descend(depth: usize, here: &AtomicUsize, there: &AtomicUsize, caller: std::thread::ThreadId) {
        if depth == 0 {
            return;
        }
        let half = || {
            if std::thread::current().id() != caller {
                there.fetch_add(1, Ordering::SeqCst);
                return;
            }
            let mine = here.fetch_add(1, Ordering::SeqCst) + 1;
            eventually("the worker helps", || there.load(Ordering::SeqCst) >= (15 + mine).min(40));
        };
        join::join(|| descend(depth - 1, here, there, caller), half);
    }
    let pool = WorkStealing::standalone(2);
    let (here, there) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let caller = std::thread::current().id();
    pool.run(|| descend(100, &here, &there, caller));
    assert_eq!(here.into_inner() + there.into_inner(), 100);
}

#[test]
fn a_panic_of_either_half_reaches_the_caller_and_the_pool_lives_on() {
    let pool = WorkStealing::standalone(2);
    for round in 0..200 {
        let in_a = panics(|| pool.join(|| panic!("a {round}"), || fib(5)));
        assert_eq!(in_a, format!("a {round}"));
        let in_b = panics(|| pool.join(|| fib(5), || panic!("b {round}")));
        assert_eq!(in_b, format!("b {round}"));
        let in_both = panics(|| pool.join(|| -> u32 { panic!("a") }, || -> u32 { panic!("b") }));
        assert_eq!(in_both, "a");
    }
    assert_eq!(pool.run(|| fib(15)), 610);
}

#[test]
fn what_a_half_owns_is_dropped_once() {
    struct Counted<'a>(&'a AtomicUsize);
    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let pool = WorkStealing::standalone(2);
    let drops = AtomicUsize::new(0);
    for round in 0..300 {
        let (a, b) = (Counted(&drops), Counted(&drops));
        let result = catch_unwind(AssertUnwindSafe(|| {
            pool.join(
                move || {
                    let _a = a;
                    assert!(round % 2 == 0, "odd");
                },
                move || drop(b),
            )
        }));
        assert_eq!(result.is_ok(), round % 2 == 0);
        assert_eq!(drops.load(Ordering::SeqCst), 2 * (round + 1));
    }
}

#[test]
fn a_recursion_deeper_than_the_private_list() {
    fn down(depth: usize) -> usize {
        if depth == 0 {
            return 0;
        }
        let (below, one) = join::join(|| down(depth - 1), || 1);
        below + one
    }
    let pool = WorkStealing::standalone(2);
    let depth = slot::PRIVATE + 500;
    let deep = std::thread::Builder::new().stack_size(64 << 20).spawn(move || pool.run(|| down(depth)));
    assert_eq!(deep.unwrap().join().unwrap(), depth);
}

#[test]
fn more_callers_from_outside_than_guest_slots() {
    let (env, pool) = staged(2);
    let callers = 24;
    let barrier = Barrier::new(callers);
    std::thread::scope(|scope| {
        for _ in 0..callers {
            scope.spawn(|| {
                barrier.wait();
                for _ in 0..20 {
                    assert_eq!(pool.run(|| fib(14)), 377);
                    assert_eq!(pool.range(0..1_000).sum(), 499_500);
                    assert_eq!(panics(|| pool.run(|| panic!("mine"))), "mine");
                }
            });
        }
    });
    end(&env, &pool, Ending::Drain);
}

#[test]
fn a_thread_that_must_not_wait_does_everything_itself() {
    let (cpu_env, cpu) = staged(2);
    let env = Env::real();
    let flow = WorkStealing::start(&env, StageId::of(StageKind::Flow), settings(2));
    let other = cpu.clone();
    let ran = flow.submit("cross", move || {
        let me = std::thread::current().id();
        let (a, b) = other.join(|| std::thread::current().id(), || std::thread::current().id());
        let scoped = other.scope(|scope| {
            scope.spawn(|_| assert_eq!(std::thread::current().id(), me));
            7
        });
        assert_eq!(other.range(0..100).adaptive().sum(), 4_950);
        a == me && b == me && scoped == 7
    });
    assert_eq!(ran.unwrap().wait(), Ok(true));
    end(&env, &flow, Ending::Drain);
    end(&cpu_env, &cpu, Ending::Drain);
}

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
fn spawned_tasks_report_values_panics_and_bounds() {
    let (env, pool) = staged(1);
    assert!(matches!(
        pool.submit("bad", || -> u32 { panic!("no") }).unwrap().wait(),
        Err(TaskError::Panicked { task: "bad", message, .. }) if message == "no"
    ));
    let (go, busy) = (Arc::new(Latch::new()), Arc::new(Latch::new()));
    let (wait, begun) = (Arc::clone(&go), Arc::clone(&busy));
    let blocker = pool.submit("blocker", move || {
        begun.open();
        wait.wait();
    });
    busy.wait();
    let queued: Vec<_> = (0..100).map(|i| pool.submit("queued", move || i).unwrap()).collect();
    let refused = pool.submit("one too many", || ()).unwrap_err();
    assert_eq!(refused, SubmitError::Overloaded { stage: pool.stage(), capacity: 100 });
    let snapshot = pool.engine().snapshot();
    assert_eq!((snapshot.depth, snapshot.threads, snapshot.refused), (100, 1, 1));
    assert!(snapshot.oldest_ms.is_some() && snapshot.running.iter().any(|task| task.task == "blocker"));
    go.open();
    assert_eq!(blocker.unwrap().wait(), Ok(()));
    for (i, task) in queued.into_iter().enumerate() {
        assert_eq!(task.wait(), Ok(i));
    }
    eventually("all counted", || pool.engine().snapshot().executed >= 102);
    assert_eq!(pool.engine().snapshot().panicked, 1);
    end(&env, &pool, Ending::Drain);
    assert_eq!(pool.submit("late", || ()).unwrap_err(), SubmitError::ShutDown { stage: pool.stage() });
    assert_eq!(pool.run(|| fib(10)), 55, "a guest after the end works in sequence");
}

#[test]
fn cancel_drops_what_has_not_begun() {
    let (env, pool) = staged(1);
    let (go, busy) = (Arc::new(Latch::new()), Arc::new(Latch::new()));
    let (wait, begun) = (Arc::clone(&go), Arc::clone(&busy));
    let blocker = pool.submit("blocker", move || {
        begun.open();
        wait.wait();
    });
    busy.wait();
    let queued = pool.submit("queued", || ()).unwrap();
    pool.engine().close(Ending::Cancel);
    assert!(matches!(queued.wait(), Err(TaskError::Cancelled { .. })));
    go.open();
    assert_eq!(blocker.unwrap().wait(), Ok(()));
    end(&env, &pool, Ending::Cancel);
}

#[test]
fn shutdowns_under_load_all_end() {
    for round in 0..60 {
        let (env, pool) = staged(1 + round % 3);
        let tasks: Vec<_> = (0..20).map(|_| pool.submit("fib", || fib(12)).unwrap()).collect();
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(pool.run(|| fib(14)), 377));
            scope.spawn(|| {
                let _ = pool.submit("maybe", || ()).map(TaskFuture::detach);
            });
            end(&env, &pool, if round % 2 == 0 { Ending::Drain } else { Ending::Cancel });
        });
        for task in tasks {
            let result = task.wait();
            assert!(
                result == Ok(144) || (round % 2 == 1 && matches!(result, Err(TaskError::Cancelled { .. })))
            );
        }
    }
}

/// A tree in which node `n` forks `n - 1`, `n - 2`, ... and counts itself.
struct Count {
    n: u32,
    bad: Option<u32>,
    bad_end: Option<u32>,
}

impl Completer for Count {
    type Output = u64;

    fn compute(&mut self, forks: &mut Forks<'_, Self>) {
        assert!(self.bad != Some(self.n), "bad node");
        for n in 0..self.n {
            forks.fork(Count { n, ..*self });
        }
    }

    fn on_completion(self, children: Vec<u64>) -> u64 {
        assert!(self.bad_end != Some(self.n), "bad end");
        assert_eq!(children.len(), self.n as usize);
        1 + children.iter().sum::<u64>()
    }
}

#[test]
fn completers_count_a_tree_and_fail_as_one() {
    let (env, pool) = staged(2);
    for _ in 0..20 {
        let count = |bad, bad_end| pool.complete("count", Count { n: 10, bad, bad_end }).unwrap().wait();
        assert_eq!(count(None, None), Ok(1 << 10));
        assert!(
            matches!(count(Some(4), None), Err(TaskError::Panicked { message, .. }) if message == "bad node")
        );
        assert!(
            matches!(count(None, Some(9)), Err(TaskError::Panicked { message, .. }) if message == "bad end")
        );
    }
    // Forks that a guest leaves behind are done by the workers.
    let inside = pool.run(|| pool.complete("inside", Count { n: 8, bad: None, bad_end: None }));
    assert_eq!(inside.unwrap().wait(), Ok(1 << 8));
    end(&env, &pool, Ending::Drain);
}

#[test]
fn every_element_is_visited_whatever_the_length() {
    let pools = [WorkStealing::standalone(1), WorkStealing::standalone(3)];
    for n in 0..3_000 {
        let pool = &pools[n % 2];
        let min_leaf = 1 + n % 7;
        assert_eq!(pool.range(0..n).min_leaf(min_leaf).sum(), n * n.saturating_sub(1) / 2, "n = {n}");
        if n % 13 == 0 {
            let items = pool.range(5..5 + n).min_leaf(min_leaf).filter(|i| i % 3 != 0).collect();
            assert_eq!(items, (5..5 + n).filter(|i| i % 3 != 0).collect::<Vec<_>>(), "n = {n}");
            assert_eq!(pool.range(0..n).adaptive().count(), n);
        }
    }
}

#[test]
fn a_panic_in_a_leaf_reaches_the_caller() {
    let pool = WorkStealing::standalone(2);
    for bad in [0, 500, 9_999] {
        let said =
            panics(|| pool.range(0..10_000).min_leaf(10).for_each(|i| assert!(i != bad, "leaf {bad}")));
        assert_eq!(said, format!("leaf {bad}"));
        let said = panics(|| {
            pool.range(0..10_000).min_leaf(10).fold(|| 0, |a, _| a, |_, _| -> usize { panic!("combine") })
        });
        assert_eq!(said, "combine");
    }
    assert_eq!(pool.range(0..10_000).min_leaf(10).sum(), 49_995_000);
}

#[test]
fn chunks_cover_slices_and_ranges() {
    let pool = WorkStealing::standalone(2);
    let values: Vec<u64> = (0..54_321).collect();
    let expected = 54_321 * 54_320 / 2;
    for min_leaf in [1_000, 10_000, 100_000] {
        let sum = pool.slice(&values).min_leaf(min_leaf).chunks(|chunk| chunk.iter().sum::<u64>());
        assert_eq!(sum.reduce(|| 0, |a, b| a + b), expected);
        let sum = pool.range(0..54_321).min_leaf(min_leaf).chunks(|part| part.map(|i| i as u64).sum::<u64>());
        assert_eq!(sum.reduce(|| 0, |a, b| a + b), expected);
    }
}

#[test]
fn simulated_pools_run_by_steps_and_in_sequence() {
    for seed in 0..20 {
        let env = Env::simulated(seed);
        let pool = WorkStealing::start(&env, StageId::of(StageKind::Cpu), settings(2));
        let engine = pool.engine();
        env.simulator().unwrap().add(Arc::downgrade(&engine));
        assert_eq!(pool.join(|| fib(8), || 2), (21, 2));
        assert_eq!(pool.range(0..100).sum(), 4_950);
        let spawned = pool.submit("fib", || fib(10)).unwrap();
        let counted = pool.complete("count", Count { n: 6, bad: None, bad_end: None }).unwrap();
        assert_eq!((spawned.wait(), counted.wait()), (Ok(55), Ok(64)));
        engine.close(Ending::Drain);
        assert!(engine.is_drained());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn float_sums_have_the_same_bits_for_any_number_of_workers(
        length in 0_usize..40_000,
        seed in any::<u64>(),
    ) {
        let values: Vec<f64> = (0..length as u64)
            .map(|i| {
                let bits = crate::env::split_mix(seed ^ i);
                (bits % 2_000_003) as f64 * 10_f64.powi((bits >> 60) as i32 - 8)
            })
            .collect();
        let mut bits = Vec::new();
        for threads in [1, 2, 3, 7] {
            let pool = shared_pool(threads);
            bits.push(pool.slice(&values).map(|v| *v).sum().to_bits());
            bits.push(pool.slice(&values).min_leaf(100 * threads).map(|v| *v).sum().to_bits());
            bits.push(pool.slice(&values).adaptive().map(|v| *v).sum().to_bits());
        }
        prop_assert!(bits.iter().all(|sum| *sum == bits[0]));
    }

    #[test]
    fn folds_agree_with_a_plain_loop(
        values in proptest::collection::vec(any::<u32>(), 0..5_000),
        min_leaf in 1_usize..2_000,
        threads in 1_usize..4,
    ) {
        let pool = shared_pool(threads);
        let ours: Vec<u32> = pool.slice(&values).min_leaf(min_leaf).filter(|v| **v % 3 == 0).map(|v| v / 3).collect();
        let plain: Vec<u32> = values.iter().filter(|v| **v % 3 == 0).map(|v| v / 3).collect();
        prop_assert_eq!(ours, plain);
        let most = pool.slice(&values).min_leaf(min_leaf).map(|v| *v).reduce(|| 0, u32::max);
        prop_assert_eq!(most, values.iter().copied().max().unwrap_or(0));
    }
}

/// One pool per size for all cases of a property.
fn shared_pool(threads: usize) -> &'static WorkStealing {
    static POOLS: std::sync::OnceLock<Vec<WorkStealing>> = std::sync::OnceLock::new();
    &POOLS.get_or_init(|| (1..8).map(WorkStealing::standalone).collect())[threads - 1]
}
