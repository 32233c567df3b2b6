//! Tasklets and futures beside forks and roots.

use super::*;
use crate::polled::{Group, TaskWaker, Turn, TurnContext};

#[test]
fn a_group_of_another_pool_is_refused() {
    let (ours, other) = (WorkStealing::standalone(1), WorkStealing::standalone(1));
    let group = ours.group("job 7");
    let refused = other.spawn_in(&group, "future", async { 7 }).unwrap_err();
    assert_eq!(refused, SubmitError::ForeignGroup { group: "job 7".to_owned(), stage: other.stage() });
    assert!(
        refused.to_string().starts_with("group job 7 was not made by the pool of stage cpu"),
        "{refused}"
    );
    let refused = other.spawn_tasklet_in(&group, "tasklet", |_: &mut TurnContext<'_>| Turn::Done);
    assert!(matches!(refused, Err(SubmitError::ForeignGroup { .. })), "{refused:?}");
    assert_eq!((ours.core.polled.groups().live(), other.core.polled.groups().live()), (0, 0));
    assert_eq!(ours.spawn_in(&group, "future", async { 7 }).unwrap().wait(), Ok(7));
}

#[test]
fn a_task_of_many_turns_is_executed_once() {
    let pool = WorkStealing::standalone(1);
    let group = pool.group("five");
    let mut left = 5;
    let five = pool.spawn_tasklet_in(&group, "five", move |_: &mut TurnContext<'_>| {
        left -= 1;
        if left == 0 { Turn::Done } else { Turn::Again }
    });
    five.unwrap().wait().unwrap();
    assert_eq!((group.turns(), pool.engine().snapshot().executed), (5, 1));
}

#[test]
fn a_future_awaits_on_any_pool_and_a_closure_does_not() {
    let pool = WorkStealing::standalone(2);
    let inner = pool.submit("inner", || 1).unwrap();
    let outer = pool.spawn("outer", async move { inner.await.map(|one| one + 1) });
    assert_eq!(outer.unwrap().wait(), Ok(Ok(2)));
    let inner = pool.submit("inner", || 1).unwrap();
    let closure = pool.submit("closure", move || {
        let mut inner = std::pin::pin!(inner);
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        matches!(inner.as_mut().poll(&mut cx), std::task::Poll::Ready(Err(TaskError::WaitRefused { .. })))
    });
    assert_eq!(closure.unwrap().wait(), Ok(true));
}

#[test]
fn tasks_that_always_run_leave_forks_their_helpers() {
    let pool = WorkStealing::standalone(1);
    let group = pool.group("busy");
    let spinning = |_: &mut TurnContext<'_>| Turn::Again;
    let busy: Vec<_> = (0..3).map(|_| pool.spawn_tasklet_in(&group, "busy", spinning).unwrap()).collect();
    eventually("the worker to be busy", || group.turns() > 10);
    let helped = AtomicBool::new(false);
    pool.join(
        || eventually("the other half to be taken", || helped.load(Ordering::SeqCst)),
        || helped.store(true, Ordering::SeqCst),
    );
    group.cancel();
    busy.into_iter().for_each(|task| assert!(task.wait().is_err()));
}

/// A tasklet that counts its turns, and idles in between.
fn counting(pool: &WorkStealing, group: &Group) -> (TaskWaker, Arc<AtomicUsize>) {
    let turns = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&turns);
    let task = pool.spawn_tasklet_in(group, "counting", move |_: &mut TurnContext<'_>| {
        add(&count, 1);
        Turn::Idle
    });
    let waker = task.unwrap().waker().clone();
    eventually("its first turn", || turns.load(Ordering::SeqCst) == 1);
    (waker, turns)
}

#[test]
fn a_turn_that_goes_on_passes_on_what_it_woke() {
    let pool = WorkStealing::standalone(2);
    let group = pool.group("pair");
    let (other, turns) = counting(&pool, &group);
    let long = pool.spawn_tasklet_in(&group, "long", move |cx: &mut TurnContext<'_>| {
        other.wake();
        eventually("the other to have its turn meanwhile", || {
            cx.should_yield();
            turns.load(Ordering::SeqCst) == 2
        });
        Turn::Done
    });
    long.unwrap().wait().unwrap();
    group.cancel();
}

#[test]
fn of_two_woken_tasks_one_is_for_another_worker_at_once() {
    let pool = WorkStealing::standalone(2);
    let group = pool.group("three");
    let (one, other) = (counting(&pool, &group), counting(&pool, &group));
    let long = pool.spawn_tasklet_in(&group, "long", move |_: &mut TurnContext<'_>| {
        one.0.wake();
        other.0.wake();
        eventually("one of them to have its turn", || {
            one.1.load(Ordering::SeqCst) + other.1.load(Ordering::SeqCst) > 2
        });
        Turn::Done
    });
    long.unwrap().wait().unwrap();
    group.cancel();
}

#[test]
fn a_task_that_is_woken_in_a_short_turn_wakes_no_worker() {
    const ROUNDS: u64 = 50;
    let pool = WorkStealing::standalone(2);
    let group = pool.group("chain");
    let (second, turns) = counting(&pool, &group);
    let first = pool.spawn_tasklet_in(&group, "first", move |_: &mut TurnContext<'_>| {
        second.wake();
        Turn::Idle
    });
    let first = first.unwrap();
    let asleep = || pool.core.idle.is_quiet();
    eventually("its first turn", || turns.load(Ordering::SeqCst) == 2);
    eventually("all to sleep", asleep);
    let parked = || pool.engine().snapshot().parked;
    let before = parked();
    for round in 1..=ROUNDS {
        first.wake();
        eventually("both turns", || turns.load(Ordering::SeqCst) as u64 == 2 + round);
        eventually("all to sleep", asleep);
    }
    // A worker is counted a moment after it went to sleep, so that two may belong to the time before.
    assert!(
        parked() - before <= ROUNDS + 2,
        "one worker per wake-up from outside, not two: {}",
        parked() - before
    );
    group.cancel();
}

#[test]
fn what_runs_in_sequence_counts_as_the_stage() {
    let (_env, pool) = simulated(1, 2);
    assert_eq!(pool.run(context::current), pool.stage());
    assert_eq!(pool.join(context::current, || ()).0, pool.stage());
    let (env, pool) = staged(1);
    end(&env, &pool, Ending::Drain);
    assert_eq!(pool.run(context::current), pool.stage(), "after the end");
    assert_eq!(context::current(), StageId::APPLICATION);
}

#[test]
fn a_root_that_finds_no_place_counts_as_the_stage() {
    let (env, pool) = staged(1);
    let (go, wait) = latch();
    let (begun, begins) = latch();
    let blocker = pool.submit("blocker", move || {
        begins.open();
        wait.wait();
    });
    begun.wait();
    let queued: Vec<_> = (0..100).map(|_| pool.submit("queued", || ()).unwrap()).collect();
    let mut stage = None;
    pool.scope_from_here(|scope| scope.spawn(|_| stage = Some(context::current())));
    assert_eq!(stage, Some(pool.stage()));
    go.open();
    blocker.unwrap().wait().unwrap();
    queued.into_iter().for_each(|task| task.wait().unwrap());
    end(&env, &pool, Ending::Drain);
}
