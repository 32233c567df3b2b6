//! One task: its turns, its end, who frees it.

use super::*;
use crate::error::TaskError;
use std::sync::Weak;
use std::sync::atomic::AtomicUsize;
use std::task::{Poll, Waker};

fn idle(_: &mut TurnContext<'_>) -> Turn {
    Turn::Idle
}

/// A tasklet that holds `probe`, and says what it is told.
fn holding(probe: &Arc<()>, mut says: impl FnMut() -> Turn + Send + 'static) -> impl Tasklet {
    let held = Arc::clone(probe);
    move |_: &mut TurnContext<'_>| {
        let _ = &held;
        says()
    }
}

fn cancelled(pool: &TestPool, task: &'static str) -> TaskError {
    TaskError::Cancelled { stage: pool.metrics.id, task }
}

#[test]
fn a_tasklet_has_turns_until_it_is_done() {
    let pool = TestPool::by_hand(1);
    let mut left = 5;
    let handle = pool.spawn(&pool.group, move |cx: &mut TurnContext<'_>| {
        assert_eq!(cx.worker(), 0);
        left -= 1;
        if left == 0 { Turn::Done } else { Turn::Again }
    });
    assert_eq!(pool.group.tasks(), 1);
    pool.settle();
    assert_eq!(handle.wait(), Ok(()));
    assert_eq!((pool.group.turns(), pool.group.tasks(), pool.queues.groups().live()), (5, 0, 0));
}

#[test]
fn an_idle_task_costs_nothing_until_it_is_woken() {
    let pool = TestPool::by_hand(1);
    assert!(pool.group.is_at_rest());
    let handle = pool.spawn(&pool.group, idle);
    assert!(!pool.group.is_at_rest(), "it waits for its first turn");
    pool.settle();
    assert!(!pool.step(0));
    assert!(pool.group.is_at_rest());
    handle.wake();
    handle.wake();
    assert_eq!(pool.queues.depth(), 1, "two wake-ups, one turn");
    assert!(!pool.group.is_at_rest());
    pool.settle();
    assert_eq!(pool.group.turns(), 2);
    let mut handle = handle;
    let timed_out = handle.wait_timeout(Duration::ZERO).unwrap_err();
    assert!(timed_out.is_retryable(), "{timed_out}");
}

#[test]
fn a_wake_up_during_the_turn_gives_another_one() {
    let pool = TestPool::by_hand(1);
    let mut turns = 0;
    let handle = pool.spawn(&pool.group, move |cx: &mut TurnContext<'_>| {
        turns += 1;
        if turns == 3 {
            return Turn::Done;
        }
        let waker: Waker = cx.waker().clone().into();
        waker.wake();
        Turn::Idle
    });
    pool.settle();
    assert_eq!(handle.wait(), Ok(()));
}

#[test]
fn a_panic_ends_the_task_and_nothing_else() {
    let pool = TestPool::by_hand(1);
    let probe = Arc::new(());
    let bad = pool.spawn(&pool.group, holding(&probe, || panic!("row 7 is broken")));
    let good = pool.spawn(&pool.group, |_: &mut TurnContext<'_>| Turn::Done);
    pool.settle();
    assert_eq!(Arc::strong_count(&probe), 1, "its state is dropped");
    let message = "row 7 is broken".to_owned();
    assert_eq!(bad.wait(), Err(TaskError::Panicked { stage: pool.metrics.id, task: "test", message }));
    assert_eq!(good.wait(), Ok(()));
    assert_eq!(pool.snapshot().panicked, 1);
}

struct PanicsOnDrop;

impl Drop for PanicsOnDrop {
    fn drop(&mut self) {
        panic!("while dropped");
    }
}

#[test]
fn a_panic_while_the_state_is_dropped_is_told_too() {
    let pool = TestPool::by_hand(1);
    let spawn = |says: Turn| {
        let held = PanicsOnDrop;
        pool.spawn(&pool.group, move |_: &mut TurnContext<'_>| {
            let _ = &held;
            says
        })
    };
    let (done, cancelled, dropped) = (spawn(Turn::Done), spawn(Turn::Idle), spawn(Turn::Idle));
    pool.settle();
    cancelled.cancel();
    pool.settle();
    for handle in [done, cancelled] {
        assert!(
            matches!(handle.wait(), Err(TaskError::Panicked { message, .. }) if message == "while dropped")
        );
    }
    drop(dropped);
    assert_eq!(pool.queues.groups().live(), 0);
}

#[test]
fn cancel_drops_the_state_at_the_next_turn() {
    let pool = TestPool::by_hand(1);
    let probe = Arc::new(());
    let asleep = pool.spawn(&pool.group, holding(&probe, || Turn::Idle));
    pool.settle();
    let queued = pool.spawn(&pool.group, holding(&probe, || panic!("must not run")));
    asleep.cancel();
    queued.cancel();
    assert_eq!(Arc::strong_count(&probe), 3, "not on the thread that cancels");
    pool.settle();
    assert_eq!(Arc::strong_count(&probe), 1);
    asleep.cancel();
    asleep.wake();
    assert!(!pool.step(0), "a task that ended is never queued");
    assert_eq!(asleep.wait(), Err(cancelled(&pool, "test")));
    assert_eq!(queued.wait(), Err(cancelled(&pool, "test")));
}

#[test]
fn a_cancel_during_a_turn_makes_it_the_last() {
    let pool = TestPool::by_hand(1);
    let own: Arc<Mutex<Option<Weak<Task>>>> = Arc::default();
    let to_cancel = Arc::clone(&own);
    let handle = pool.spawn(&pool.group, move |cx: &mut TurnContext<'_>| {
        assert!(!cx.is_cancelled());
        to_cancel.lock().unwrap().as_ref().and_then(Weak::upgrade).unwrap().cancel();
        assert!(cx.is_cancelled() && cx.should_yield() && turn_is_over());
        Turn::Again
    });
    *own.lock().unwrap() = Some(Arc::downgrade(handle.waker().task()));
    assert!(pool.step(0));
    assert!(!pool.step(0));
    assert_eq!(handle.wait(), Err(cancelled(&pool, "test")));
}

#[test]
fn cancelling_a_group_leaves_the_others() {
    let pool = TestPool::by_hand(2);
    let query = pool.group("query 7");
    assert_eq!((query.name(), query.is_priority()), ("query 7", false));
    let doomed: Vec<_> = (0..5).map(|_| pool.spawn(&query, idle)).collect();
    let other = pool.spawn(&pool.group, idle);
    pool.settle();
    query.cancel();
    pool.settle();
    assert!(doomed.iter().all(TaskHandle::is_done) && !other.is_done());
    assert_eq!((query.tasks(), pool.group.tasks()), (0, 1));

    let late = pool.spawn(&query, |_: &mut TurnContext<'_>| panic!("its query is gone"));
    pool.settle();
    assert!(query.is_cancelled() && !pool.group.is_cancelled());
    assert_eq!(late.wait(), Err(cancelled(&pool, "test")));
}

#[test]
fn an_idle_task_that_nobody_can_wake_is_freed() {
    let pool = TestPool::by_hand(1);
    let probe = Arc::new(());
    let handle = pool.spawn(&pool.group, holding(&probe, || Turn::Idle));
    let waker = handle.waker().clone();
    pool.settle();
    let future = handle.into_future();
    assert!(!future.is_done(), "the waker keeps it");
    waker.wake();
    drop(waker);
    assert!(!future.is_done(), "the queue keeps it");
    pool.settle();
    assert_eq!(Arc::strong_count(&probe), 1);
    assert_eq!(future.wait(), Err(cancelled(&pool, "test")));
    assert_eq!(pool.queues.groups().live(), 0);
}

#[test]
fn a_tasklet_that_keeps_its_own_waker_ends_with_its_group() {
    let pool = TestPool::by_hand(1);
    let probe = Arc::new(());
    let held = Arc::clone(&probe);
    let mut own = Vec::new();
    let handle = pool.spawn(&pool.group, move |cx: &mut TurnContext<'_>| {
        let _ = &held;
        own.push(cx.waker().clone());
        Turn::Idle
    });
    pool.settle();
    handle.detach();
    assert_eq!(Arc::strong_count(&probe), 2, "a cycle that counting cannot find");
    pool.queues.groups().cancel_all();
    pool.settle();
    assert_eq!(Arc::strong_count(&probe), 1);
}

#[test]
fn a_pool_that_is_gone_frees_its_tasks() {
    let pool = TestPool::by_hand(1);
    let probe = Arc::new(());
    let queued = pool.spawn(&pool.group, holding(&probe, || Turn::Idle)).into_future();
    let idle = pool.spawn(&pool.group, holding(&probe, || Turn::Idle));
    let task = Arc::clone(idle.waker().task());
    let (id, group) = (pool.metrics.id, pool.group.clone());
    pool.queues.drain().into_iter().for_each(|task| task.run(0, &pool.metrics));
    drop(pool.spawn(&pool.group, holding(&probe, || Turn::Idle)));
    drop(pool);
    assert!(queued.is_done());
    assert_eq!(Arc::strong_count(&probe), 2, "the idle one has a handle");
    idle.wake();
    assert_eq!(Arc::strong_count(&probe), 1, "woken without a pool it drops its state");
    assert_eq!(idle.wait(), Err(TaskError::Cancelled { stage: id, task: "test" }));
    drop(task);
    assert_eq!((group.tasks(), group.core().is_active()), (0, false));
}

#[test]
fn a_future_is_polled_when_woken_and_gives_its_output() {
    let pool = TestPool::by_hand(1);
    let (polls, slot) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new((None::<Waker>, false))));
    let (counted, shared) = (Arc::clone(&polls), Arc::clone(&slot));
    let future = pool.spawn_future(std::future::poll_fn(move |context| {
        counted.fetch_add(1, Ordering::Relaxed);
        let mut shared = shared.lock().unwrap();
        if shared.1 {
            return Poll::Ready("rows");
        }
        shared.0 = Some(context.waker().clone());
        Poll::Pending
    }));
    pool.settle();
    assert_eq!(polls.load(Ordering::Relaxed), 1);
    slot.lock().unwrap().1 = true;
    let waker = slot.lock().unwrap().0.take().unwrap();
    waker.wake();
    pool.settle();
    assert_eq!(future.wait(), Ok("rows"));
    assert_eq!(polls.load(Ordering::Relaxed), 2);
}

#[test]
fn a_future_that_yields_lets_others_go_first() {
    let pool = TestPool::by_hand(1);
    let log = Arc::new(Mutex::new(Vec::new()));
    let spawn = |name: &'static str| {
        let log = Arc::clone(&log);
        pool.spawn_future(async move {
            for _ in 0..2 {
                log.lock().unwrap().push(name);
                let mut yielded = false;
                std::future::poll_fn(|context| {
                    if std::mem::replace(&mut yielded, true) {
                        return Poll::Ready(());
                    }
                    context.waker().wake_by_ref();
                    Poll::Pending
                })
                .await;
            }
        })
    };
    let (a, b) = (spawn("a"), spawn("b"));
    pool.settle();
    assert_eq!(*log.lock().unwrap(), ["a", "b", "a", "b"]);
    assert_eq!((a.wait(), b.wait()), (Ok(()), Ok(())));
}

#[test]
fn a_cancelled_future_is_dropped_and_so_is_one_that_panics() {
    let pool = TestPool::by_hand(1);
    let probe = Arc::new(());
    let held = Arc::clone(&probe);
    let waiting = pool.spawn_future(async move {
        let _held = held;
        // Someone holds the waker, so that only the cancel ends it.
        std::future::poll_fn(|context| {
            std::mem::forget(context.waker().clone());
            Poll::<()>::Pending
        })
        .await
    });
    let held = Arc::clone(&probe);
    let broken = pool.spawn_future(async move {
        let _held = held;
        panic!("no such column")
    });
    pool.settle();
    assert_eq!(Arc::strong_count(&probe), 2);
    assert!(!waiting.cancel(), "it had begun");
    pool.settle();
    assert_eq!(Arc::strong_count(&probe), 1);
    let broken: Result<(), _> = broken.wait();
    assert!(matches!(broken, Err(TaskError::Panicked { message, .. }) if message == "no such column"));
    let unbegun = pool.spawn_future(async { unreachable!("cancelled before its first poll") });
    assert!(TaskFuture::<()>::cancel(unbegun));
    pool.settle();
    assert_eq!(pool.queues.groups().live(), 0);
}

#[test]
fn a_task_awaits_another() {
    let pool = TestPool::by_hand(2);
    let inner = pool.spawn_future(async { 21 });
    let outer = pool.spawn_future(async move { inner.await.map(|value| value * 2) });
    pool.settle();
    assert_eq!(outer.wait(), Ok(Ok(42)));
}

#[test]
fn checkpoints_end_a_turn_when_its_budget_is_used() {
    assert!(!turn_is_over(), "outside of all turns");
    let pool = TestPool::by_hand(1);
    let endless = pool.spawn_future(async {
        loop {
            checkpoint().await;
        }
    });
    let other = pool.spawn(&pool.group, |_: &mut TurnContext<'_>| Turn::Done);
    for _ in 0..2 {
        assert!(pool.step(0));
    }
    assert!(other.is_done());
    TaskFuture::<()>::cancel(endless);
    pool.settle();
    assert_eq!(pool.queues.groups().live(), 0);
}
