//! Joins: both halves, panics, depth, guests.

use super::*;

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
