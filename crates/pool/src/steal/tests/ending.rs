//! Roots, bounds, and both endings.

use super::*;
use crate::polled::{Turn, TurnContext};

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

#[test]
fn a_task_freed_elsewhere_after_the_close_ends_the_pool() {
    let (env, pool) = staged(2);
    let group = pool.group("idle");
    let handle = pool.spawn_tasklet_in(&group, "idle", |_: &mut TurnContext<'_>| Turn::Idle).unwrap();
    eventually("the task to be idle", || group.turns() == 1);
    pool.engine().close(Ending::Drain);
    let parked = || pool.engine().snapshot().parked;
    let before = parked();
    pool.core.idle.ring_all();
    eventually("the workers to lie down again", || parked() >= before + 2);
    assert!(!pool.engine().is_drained(), "the task can still be woken");
    drop(handle);
    eventually("the end", || pool.engine().is_drained());
    assert_eq!(env.threads().join(Duration::from_secs(30)), Vec::<String>::new());
}

#[test]
fn workers_that_ended_count_as_nothing() {
    let (env, pool) = staged(3);
    end(&env, &pool, Ending::Drain);
    assert!(pool.core.idle.is_quiet());
}
