//! Every task and every group has its turn, counted in turns; the clock stands still, so each turn costs the same.

use super::*;
use crate::env::split_mix;
use crate::polled::group::{MAX_LEAD, MIN_CHARGE};
use crate::polled::grouped_queue::{LIFO_RUN, OLDEST_EVERY};
use crate::polled::run_queues::LANE_RUN;
use proptest::prelude::*;
use std::time::Duration;

fn again(_: &mut TurnContext<'_>) -> Turn {
    Turn::Again
}

/// Turns that are given by age instead of by share, out of so many.
fn by_age(steps: u64) -> u64 {
    steps / u64::from(OLDEST_EVERY) + 2
}

fn steps(pool: &TestPool, count: usize) {
    for _ in 0..count {
        assert!(pool.step(0));
    }
}

#[test]
fn a_group_of_many_tasks_leaves_a_single_task_its_half() {
    let pool = TestPool::by_hand(1);
    let (large, small) = (pool.group("large"), pool.group("small"));
    let tasks: Vec<_> = (0..100).map(|_| pool.spawn(&large, again)).collect();
    let single = pool.spawn(&small, again);
    steps(&pool, 400);
    assert!(small.turns().abs_diff(200) <= by_age(400), "{} turns", small.turns());
    drop((tasks, single));
}

#[test]
fn a_weight_is_a_share() {
    let pool = TestPool::by_hand(1);
    let (heavy, light) = (pool.group("heavy").with_weight(3), pool.group("light"));
    let tasks = [pool.spawn(&heavy, again), pool.spawn(&light, again)];
    steps(&pool, 400);
    assert!(heavy.turns().abs_diff(300) <= by_age(400), "{} turns", heavy.turns());
    drop(tasks);
}

#[test]
#[should_panic(expected = "group g cannot have weight 0")]
fn a_weight_of_zero_is_refused() {
    let _ = TestPool::by_hand(1).group("g").with_weight(0);
}

#[test]
fn run_time_is_what_counts_not_turns() {
    let pool = TestPool::by_hand(1);
    let (long, short) = (pool.group("long"), pool.group("short"));
    let in_turn = long.clone();
    let tasks = [
        // Each turn of this one takes nine times as long as one of the other.
        pool.spawn(&long, move |_: &mut TurnContext<'_>| {
            in_turn.core().charge(8 * MIN_CHARGE);
            Turn::Again
        }),
        pool.spawn(&short, again),
    ];
    steps(&pool, 1_000);
    assert!(short.turns().abs_diff(900) <= by_age(1_000), "{} turns", short.turns());
    drop(tasks);
}

#[test]
fn a_new_group_neither_waits_nor_monopolises() {
    let pool = TestPool::by_hand(1);
    let old = pool.group("old");
    let tasks = [pool.spawn(&old, again), pool.spawn(&old, again)];
    steps(&pool, 1_000);
    let new = pool.group("new");
    let task = pool.spawn(&new, again);
    steps(&pool, 3);
    assert!(new.turns() >= 1, "its turn comes at once");
    steps(&pool, 97);
    assert!(new.turns().abs_diff(50) <= by_age(100), "and then every other time: {} turns", new.turns());
    drop((tasks, task));
}

#[test]
fn a_nap_earns_no_credit_and_costs_none() {
    let pool = TestPool::by_hand(1);
    let (sleeper, busy) = (pool.group("sleeper"), pool.group("busy"));
    let naps = Arc::new(AtomicBool::new(false));
    let nap = Arc::clone(&naps);
    let task = pool.spawn(
        &sleeper,
        move |_: &mut TurnContext<'_>| {
            if nap.load(Ordering::Relaxed) { Turn::Idle } else { Turn::Again }
        },
    );
    // Long before the other one exists, with the pool idle in between: no history for either to wait for.
    steps(&pool, 500);
    naps.store(true, Ordering::Relaxed);
    pool.settle();
    let other = pool.spawn(&busy, again);
    steps(&pool, 300);
    naps.store(false, Ordering::Relaxed);
    task.wake();
    let before = sleeper.turns();
    steps(&pool, 100);
    assert!((sleeper.turns() - before).abs_diff(50) <= by_age(100), "{} turns", sleeper.turns() - before);
    drop(other);
}

#[test]
fn a_group_that_idles_between_turns_gets_no_more_than_its_share() {
    let pool = TestPool::by_hand(1);
    let (napping, steady) = (pool.group("napping"), pool.group("steady"));
    let task = pool.spawn(&napping, |_: &mut TurnContext<'_>| Turn::Idle);
    let others: Vec<_> = (0..3).map(|_| pool.spawn(&steady, again)).collect();
    for _ in 0..400 {
        task.wake();
        steps(&pool, 1);
    }
    assert!(napping.turns().abs_diff(200) <= by_age(400), "{} turns", napping.turns());
    drop(others);
}

#[test]
fn nobody_runs_ahead_without_bound() {
    let pool = TestPool::by_hand(2);
    let (wide, narrow) = (pool.group("wide"), pool.group("narrow"));
    let tasks = [pool.spawn(&wide, again), pool.spawn(&narrow, again)];
    // It used workers that nobody else wanted, for an hour.
    for _ in 0..3_600 {
        wide.core().charge(1_000_000_000);
    }
    assert!(wide.core().served() <= narrow.core().served() + MAX_LEAD);
    assert_eq!((wide.long_turns(), narrow.long_turns()), (3_600, 0));
    drop(tasks);
}

#[test]
fn two_that_wake_each_other_do_not_starve_a_third() {
    let pool = TestPool::by_hand(1);
    let turns = Arc::new(Mutex::new([0_usize; 3]));
    type Peer = Arc<Mutex<Option<TaskWaker>>>;
    let counted = |id: usize, peer: Peer| {
        let turns = Arc::clone(&turns);
        move |_: &mut TurnContext<'_>| {
            turns.lock().unwrap()[id] += 1;
            if let Some(peer) = &*peer.lock().unwrap() {
                peer.wake();
            }
            if id == 2 { Turn::Again } else { Turn::Idle }
        }
    };
    let (of_a, of_b) = (Peer::default(), Peer::default());
    let a = pool.spawn(&pool.group, counted(0, Arc::clone(&of_a)));
    let b = pool.spawn(&pool.group, counted(1, Arc::clone(&of_b)));
    *of_a.lock().unwrap() = Some(b.waker().clone());
    *of_b.lock().unwrap() = Some(a.waker().clone());
    let c = pool.spawn(&pool.group, counted(2, Arc::default()));
    steps(&pool, 1_000);
    let turns = *turns.lock().unwrap();
    assert!(turns[2] >= 1_000 / (LIFO_RUN as usize + 1) - 1, "{turns:?}");
    assert!(turns[0] + turns[1] > turns[2], "warm ones go first: {turns:?}");
    pool.queues.groups().cancel_all();
    pool.settle();
    drop(c);
}

#[test]
fn a_priority_group_goes_first_but_not_alone() {
    let pool = TestPool::by_hand(1);
    let control = pool.queues.groups().priority_group("control");
    let normal: Vec<_> = (0..50).map(|_| pool.spawn(&pool.group, again)).collect();
    steps(&pool, 100);
    let before = pool.group.turns();
    assert!(!pool.group.core().gives_way());
    let short = pool.spawn(&control, |_: &mut TurnContext<'_>| Turn::Done);
    assert!(pool.group.core().gives_way() && !control.core().gives_way(), "turns of others end early");
    steps(&pool, 1);
    assert!(short.is_done(), "it went before fifty others");
    assert!(!pool.group.core().gives_way(), "nobody waits any more");
    assert_eq!(pool.group.turns(), before);

    let endless = pool.spawn(&control, again);
    steps(&pool, 10 * (LANE_RUN as usize + 1));
    assert_eq!(pool.group.turns() - before, 10, "one normal turn after every {LANE_RUN} of the lane");
    drop((normal, endless));
}

#[test]
fn a_head_start_is_used_up() {
    let pool = TestPool::by_hand(1);
    let normal: Vec<_> = (0..50).map(|_| pool.spawn(&pool.group, again)).collect();
    steps(&pool, 100);
    let before = pool.group.turns();
    let fresh = pool.group("fresh").with_head_start(Duration::from_nanos(5 * MIN_CHARGE));
    let endless = pool.spawn(&fresh, again);
    steps(&pool, 5);
    assert_eq!((fresh.turns(), pool.group.turns()), (5, before), "five turns before fifty others");
    steps(&pool, 100);
    assert!(pool.group.turns() - before >= 40, "then it shares: {}", pool.group.turns() - before);
    drop((normal, endless));
}

#[test]
fn any_worker_serves_the_lane() {
    let pool = TestPool::by_hand(3);
    let control = pool.queues.groups().priority_group("control");
    for worker in 0..3 {
        let task = pool.spawn(&control, |_: &mut TurnContext<'_>| Turn::Done);
        assert!(pool.step(worker));
        assert!(task.is_done());
    }
}

/// A group with one task on a worker of its own is always ahead of the weighty one that its other task meets here.
#[test]
fn a_task_does_not_starve_because_its_sibling_is_served_elsewhere() {
    let pool = TestPool::by_hand(2);
    let (split, weighty) = (pool.group("split"), pool.group("weighty").with_weight(3));
    let turns = Arc::new(Mutex::new([0_u64; 3]));
    let handles: Vec<_> = [(&split, 0), (&split, 1), (&weighty, 2)]
        .into_iter()
        .map(|(group, id)| {
            let turns = Arc::clone(&turns);
            pool.spawn(group, move |_: &mut TurnContext<'_>| {
                turns.lock().unwrap()[id] += 1;
                Turn::Again
            })
        })
        .collect();
    for task in pool.queues.drain() {
        let worker = usize::from(Arc::ptr_eq(&task, handles[0].waker().task()));
        pool.queues.push(worker, task, Position::Again);
    }
    for _ in 0..1_000 {
        pool.step(0);
        pool.step(1);
    }
    let turns = *turns.lock().unwrap();
    assert!(turns.iter().all(|&turns| turns > 20), "{turns:?}");
}

proptest! {
    /// Whatever the mix of groups, weights and habits, and whichever worker steps: every task has turns.
    #[test]
    fn no_task_starves(
        groups in proptest::collection::vec((1_u32..4, 1_usize..6), 1..5),
        workers in 1_usize..4,
        seed in any::<u64>(),
        spinners in 0_usize..2,
    ) {
        let pool = TestPool::by_hand(workers);
        let turns: Arc<Mutex<Vec<u64>>> = Arc::default();
        let mut handles = Vec::new();
        for (weight, tasks) in groups {
            let group = pool.group("group").with_weight(weight);
            for _ in 0..tasks {
                let id = handles.len();
                turns.lock().unwrap().push(0);
                let counted = Arc::clone(&turns);
                handles.push(pool.spawn(&group, move |cx: &mut TurnContext<'_>| {
                    counted.lock().unwrap()[id] += 1;
                    // Some wake themselves while they run, some say so.
                    if id % 2 == 0 { return Turn::Again }
                    cx.waker().wake();
                    Turn::Idle
                }));
            }
        }
        let control = pool.queues.groups().priority_group("control");
        handles.extend((0..spinners).map(|_| pool.spawn(&control, again)));
        for step in 0..15_000 {
            pool.step((split_mix(seed ^ step) % workers as u64) as usize);
        }
        let turns = turns.lock().unwrap();
        prop_assert!(turns.iter().all(|&turns| turns > 0), "{:?}", turns);
        pool.queues.groups().cancel_all();
        while pool.step(0) {}
        prop_assert!(handles.iter().all(TaskHandle::is_done));
        prop_assert_eq!(pool.queues.groups().live(), 0);
    }
}
