//! Workers that are held up by one call.

use super::*;
use crate::polled::{TaskHandle, Turn, TurnContext};

/// Workers and spares, of a stage where a turn may take a moment.
fn with_spares(threads: usize, spares: usize) -> (Arc<Env>, WorkStealing) {
    let env = Env::real();
    let held_up_after = Some(Duration::from_millis(1));
    let settings = StealSettings { spares, held_up_after, ..settings(threads) };
    let pool = WorkStealing::start(&env, StageId::of(StageKind::Fragment), settings);
    (env, pool)
}

/// A task whose only turn lasts until the latch is open.
fn stuck(pool: &WorkStealing, until: &Arc<Latch>) -> TaskHandle {
    let (begun, waits) = latch();
    let until = Arc::clone(until);
    let body = move |_: &mut TurnContext<'_>| {
        begun.open();
        until.wait();
        Turn::Done
    };
    let task = pool.spawn_tasklet("stuck", body).unwrap();
    eventually("the turn to begin", || waits.is_open());
    task
}

#[test]
fn what_waits_behind_long_turns_is_done_before_they_end() {
    let (env, pool) = with_spares(2, 2);
    let (opens, until) = latch();
    let held_up = [stuck(&pool, &until), stuck(&pool, &until)];
    for round in 0..100 {
        assert_eq!(pool.spawn("short", async move { round }).unwrap().wait(), Ok(round));
        assert_eq!(pool.submit("closure", move || round).unwrap().wait(), Ok(round));
    }
    assert!(held_up.iter().all(|task| !task.is_done()), "nobody opened the latch");
    assert!((1..=2).contains(&pool.core.spares_up()), "{}", pool.core.spares_up());
    opens.open();
    for task in held_up {
        task.wait().unwrap();
    }
    eventually("the spares to leave", || pool.core.spares_up() == 0);
    assert_eq!(pool.submit("after", || 7).unwrap().wait(), Ok(7));
    end(&env, &pool, Ending::Drain);
}

#[test]
fn spares_that_are_held_up_are_replaced_up_to_the_bound() {
    let (env, pool) = with_spares(1, 2);
    let (opens, until) = latch();
    let held_up: Vec<_> = (0..3).map(|_| stuck(&pool, &until)).collect();
    assert_eq!(pool.core.spares_up(), 2);
    let waits = pool.spawn("waits", async { 7 }).unwrap();
    opens.open();
    assert_eq!(waits.wait(), Ok(7));
    for task in held_up {
        task.wait().unwrap();
    }
    eventually("the spares to leave", || pool.core.spares_up() == 0);
    end(&env, &pool, Ending::Cancel);
}

#[test]
fn a_stage_that_ends_ends_its_spares() {
    let (env, pool) = with_spares(1, 1);
    let (opens, until) = latch();
    let held_up = [stuck(&pool, &until), stuck(&pool, &until)];
    pool.engine().close(Ending::Drain);
    opens.open();
    for task in held_up {
        task.wait().unwrap();
    }
    end(&env, &pool, Ending::Drain);
}
