//! The same promises under real threads, where a wake-up may come at any instruction of a turn.

use super::*;
use std::sync::atomic::AtomicUsize;

const TASKS: usize = 12;
const SENDERS: usize = 3;
const TOKENS: usize = 4_000;

#[derive(Default)]
struct Node {
    sent: AtomicUsize,
    taken: AtomicUsize,
    running: AtomicBool,
}

impl Node {
    fn turn(&self, cx: &mut TurnContext<'_>) -> Turn {
        assert!(!self.running.swap(true, Ordering::AcqRel), "two turns of one task at a time");
        // A plain load: that the wake-up makes the token visible is what is tested.
        let sent = self.sent.load(Ordering::Relaxed);
        self.taken.store(sent, Ordering::Relaxed);
        self.running.store(false, Ordering::Release);
        if sent.is_multiple_of(7) && !cx.should_yield() { Turn::Again } else { Turn::Idle }
    }
}

#[test]
fn every_token_is_taken_and_every_task_runs_alone() {
    let pool = TestPool::threaded(3);
    let groups = [pool.group("a"), pool.group("b"), pool.queues.groups().priority_group("control")];
    let nodes: Arc<Vec<Node>> = Arc::new((0..TASKS).map(|_| Node::default()).collect());
    let handles: Vec<_> = (0..TASKS)
        .map(|me| {
            let nodes = Arc::clone(&nodes);
            pool.spawn(&groups[me % 3], move |cx: &mut TurnContext<'_>| nodes[me].turn(cx))
        })
        .collect();
    std::thread::scope(|scope| {
        for sender in 0..SENDERS {
            let (nodes, handles) = (&nodes, &handles);
            scope.spawn(move || {
                for token in 0..TOKENS {
                    let to = (token * (sender + 1) + sender) % TASKS;
                    nodes[to].sent.fetch_add(1, Ordering::Relaxed);
                    handles[to].wake();
                }
            });
        }
    });
    eventually("every token to be taken", || {
        nodes.iter().all(|node| node.taken.load(Ordering::Relaxed) == node.sent.load(Ordering::Relaxed))
    });
    let total: usize = nodes.iter().map(|node| node.taken.load(Ordering::Relaxed)).sum();
    assert_eq!(total, SENDERS * TOKENS);
    pool.end();
    assert!(handles.iter().all(TaskHandle::is_done));
}

#[test]
fn tasks_are_cancelled_while_they_run_and_while_they_are_woken() {
    for _ in 0..30 {
        let pool = TestPool::threaded(2);
        let probe = Arc::new(());
        let handles: Vec<_> = (0..20)
            .map(|id| {
                let held = Arc::clone(&probe);
                pool.spawn(&pool.group, move |_: &mut TurnContext<'_>| {
                    let _ = &held;
                    if id % 2 == 0 { Turn::Again } else { Turn::Idle }
                })
            })
            .collect();
        std::thread::scope(|scope| {
            scope.spawn(|| handles.iter().cycle().take(200).for_each(TaskHandle::wake));
            scope.spawn(|| handles.iter().rev().for_each(TaskHandle::cancel));
        });
        eventually("every task to end", || handles.iter().all(TaskHandle::is_done));
        eventually("every state to be dropped", || Arc::strong_count(&probe) == 1);
        pool.end();
    }
}

#[test]
fn a_ring_of_tasks_passes_a_token_round() {
    let pool = TestPool::threaded(2);
    let (length, rounds) = (50, 200);
    let wakers: Arc<Mutex<Vec<TaskWaker>>> = Arc::default();
    let tokens: Arc<Vec<AtomicBool>> = Arc::new((0..length).map(|_| AtomicBool::new(false)).collect());
    let passed = Arc::new(AtomicUsize::new(0));
    let handles: Vec<_> = (0..length)
        .map(|me| {
            let (wakers, tokens, passed) = (Arc::clone(&wakers), Arc::clone(&tokens), Arc::clone(&passed));
            pool.spawn(&pool.group, move |_: &mut TurnContext<'_>| {
                if tokens[me].swap(false, Ordering::Relaxed)
                    && passed.fetch_add(1, Ordering::Relaxed) < length * rounds
                {
                    tokens[(me + 1) % length].store(true, Ordering::Relaxed);
                    let next = wakers.lock().unwrap()[(me + 1) % length].clone();
                    next.wake();
                }
                Turn::Idle
            })
        })
        .collect();
    *wakers.lock().unwrap() = handles.iter().map(|handle| handle.waker().clone()).collect();
    tokens[0].store(true, Ordering::Relaxed);
    handles[0].wake();
    eventually("the token to come round", || passed.load(Ordering::Relaxed) > length * rounds);
    pool.end();
    wakers.lock().unwrap().clear();
}

#[test]
fn a_turn_is_over_when_its_budget_is_used() {
    let pool = TestPool::threaded(1);
    let group = pool.group("long");
    let handle = pool.spawn(&group, |cx: &mut TurnContext<'_>| {
        while !cx.should_yield() {
            std::hint::spin_loop();
        }
        assert!(cx.used() >= TURN_BUDGET && turn_is_over());
        Turn::Done
    });
    assert_eq!(handle.wait(), Ok(()));
    assert_eq!((group.turns(), group.long_turns()), (1, 1));
    pool.end();
}

#[test]
fn a_chain_of_futures_hands_a_value_down() {
    let pool = TestPool::threaded(3);
    let mut last = pool.spawn_future(async { 0 });
    for _ in 0..2_000 {
        let before = last;
        last = pool.spawn_future(async move {
            checkpoint().await;
            before.await.map_or(-1, |value| value + 1)
        });
    }
    assert_eq!(last.wait(), Ok(2_000));
    pool.end();
}

/// A fragment that starts further fragments of its query for as long as it lives.
struct Spreading {
    pool: std::sync::Weak<TestPool>,
    group: Group,
}

impl Tasklet for Spreading {
    fn turn(&mut self, _cx: &mut TurnContext<'_>) -> Turn {
        if let Some(pool) = self.pool.upgrade()
            && self.group.tasks() < 300
        {
            pool.spawn(&self.group, Spreading { pool: self.pool.clone(), group: self.group.clone() })
                .detach();
        }
        Turn::Again
    }
}

#[test]
fn a_query_that_keeps_starting_fragments_does_not_outrun_its_cancel() {
    let pool = TestPool::threaded(2);
    for query in 0..20 {
        let group = pool.group("query");
        pool.spawn(&group, Spreading { pool: Arc::downgrade(&pool), group: group.clone() }).detach();
        eventually("some fragments", || group.turns() > query * 10);
        group.cancel();
        eventually("the last fragment to end", || group.tasks() == 0);
    }
    pool.end();
}
