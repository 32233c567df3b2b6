//! The pool against oracles, with panics, guests, deep recursion and both endings.

mod completers;
mod ending;
mod helping;
mod hostile;
mod joins;
mod ranges;
mod scopes;
mod spares;
mod tasks;

use super::*;
use crate::error::TaskError;
use crate::eventually::eventually;
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
    StealSettings {
        threads,
        spares: 0,
        held_up_after: None,
        injector_capacity: 100,
        slow_limit: None,
        min_leaf: 1,
    }
}

fn staged(threads: usize) -> (Arc<Env>, WorkStealing) {
    let env = Env::real();
    let pool = WorkStealing::start(&env, StageId::of(StageKind::Cpu), settings(threads));
    (env, pool)
}

fn end(env: &Arc<Env>, pool: &WorkStealing, ending: Ending) {
    pool.engine().close(ending);
    env.timers().close();
    assert_eq!(env.threads().join(Duration::from_secs(30)), Vec::<String>::new(), "threads that never end");
    assert!(pool.engine().is_drained());
}

/// A simulated pool, and what drives it.
fn simulated(seed: u64, threads: usize) -> (Arc<Env>, WorkStealing) {
    let env = Env::simulated(seed);
    let pool = WorkStealing::start(&env, StageId::of(StageKind::Cpu), settings(threads));
    env.simulator().unwrap().add(Arc::downgrade(&pool.engine()));
    (env, pool)
}

/// A latch and a handle of it for a task.
fn latch() -> (Arc<Latch>, Arc<Latch>) {
    let latch = Arc::new(Latch::new());
    (Arc::clone(&latch), latch)
}

#[test]
fn simulated_pools_run_by_steps_and_in_sequence() {
    for seed in 0..20 {
        let (_env, pool) = simulated(seed, 2);
        let engine = pool.engine();
        assert_eq!(pool.join(|| fib(8), || 2), (21, 2));
        assert_eq!(pool.range(0..100).sum(), 4_950);
        let spawned = pool.submit("fib", || fib(10)).unwrap();
        let counted = pool.complete("count", completers::Count { n: 6, bad: None, bad_end: None }).unwrap();
        assert_eq!((spawned.wait(), counted.wait()), (Ok(55), Ok(64)));
        engine.close(Ending::Drain);
        assert!(engine.is_drained());
    }
}
