//! Random tasks under the simulator: whatever the order of turns, wakes and cancels, nothing is lost and nothing is left.

use super::*;
use crate::env::split_mix;
use crate::simulate;
use std::sync::atomic::{AtomicU64, AtomicUsize};

/// What the tasks of one simulated run share.
struct Net {
    nodes: Vec<Node>,
    random: AtomicU64,
    /// Bodies that are not dropped yet.
    bodies: AtomicUsize,
}

#[derive(Default)]
struct Node {
    /// Tokens on their way to the task, each with the number of hops it has left.
    inbox: Mutex<Vec<u32>>,
    waker: Mutex<Option<TaskWaker>>,
    running: AtomicBool,
    /// No more turns: cancelled or panicked.
    ended: AtomicBool,
    taken: AtomicUsize,
}

impl Net {
    fn below(&self, bound: usize) -> usize {
        let state = self.random.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        (split_mix(state) % bound as u64) as usize
    }

    fn send(&self, to: usize, hops: u32) {
        let node = &self.nodes[to];
        node.inbox.lock().unwrap().push(hops);
        let waker = node.waker.lock().unwrap().clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// One turn of task `me`: takes tokens, passes each on to a random task while it has hops left.
    fn turn(&self, me: usize, cx: &mut TurnContext<'_>) -> Turn {
        let node = &self.nodes[me];
        assert!(!node.running.swap(true, Ordering::Relaxed), "two turns of one task at a time");
        assert!(!node.ended.load(Ordering::Relaxed), "a turn after the end");
        let verdict = loop {
            let Some(hops) = node.inbox.lock().unwrap().pop() else { break Turn::Idle };
            node.taken.fetch_add(1, Ordering::Relaxed);
            if hops > 0 {
                // Sometimes to itself: a wake-up during its own run.
                self.send(self.below(self.nodes.len()), hops - 1);
            }
            if cx.should_yield() {
                break Turn::Again;
            }
        };
        node.running.store(false, Ordering::Relaxed);
        verdict
    }
}

struct Body {
    net: Arc<Net>,
    me: usize,
    panics_at: usize,
}

impl Tasklet for Body {
    fn turn(&mut self, cx: &mut TurnContext<'_>) -> Turn {
        if self.net.nodes[self.me].taken.load(Ordering::Relaxed) >= self.panics_at {
            self.net.nodes[self.me].ended.store(true, Ordering::Relaxed);
            // Quietly: thousands of reports would hide the one that matters.
            std::panic::resume_unwind(Box::new("on purpose"));
        }
        self.net.turn(self.me, cx)
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        assert!(!self.net.nodes[self.me].running.load(Ordering::Relaxed), "dropped during its turn");
        self.net.nodes[self.me].ended.store(true, Ordering::Relaxed);
        self.net.bodies.fetch_sub(1, Ordering::Relaxed);
    }
}

fn run(seed: u64) -> u64 {
    let random = AtomicU64::new(split_mix(seed));
    let below = |bound: usize| {
        (split_mix(random.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed)) % bound as u64) as usize
    };
    let pool = TestPool::simulated(seed, 1 + below(4));
    let tasks = 1 + below(9);
    let mut groups: Vec<_> = (0..1 + below(3)).map(|_| pool.group("group")).collect();
    groups.push(pool.queues.groups().priority_group("control"));
    let net = Arc::new(Net {
        nodes: (0..tasks).map(|_| Node::default()).collect(),
        random: AtomicU64::new(seed ^ 7),
        bodies: AtomicUsize::new(tasks),
    });
    let handles: Vec<_> = (0..tasks)
        .map(|me| {
            let panics_at = if below(12) == 0 { below(20) } else { usize::MAX };
            let group = &groups[below(groups.len())];
            let handle = pool.spawn(group, Body { net: Arc::clone(&net), me, panics_at });
            *net.nodes[me].waker.lock().unwrap() = Some(handle.waker().clone());
            handle
        })
        .collect();
    let handles = Arc::new(handles);
    for _ in 0..below(40) {
        let (net, to, hops) = (Arc::clone(&net), below(tasks), below(6) as u32);
        pool.env().after(Duration::from_nanos(below(200_000) as u64), move || net.send(to, hops));
    }
    let mut cancelled = vec![false; tasks];
    for _ in 0..below(3) {
        let victim = below(tasks);
        cancelled[victim] = true;
        let handles = Arc::clone(&handles);
        pool.env().after(Duration::from_nanos(below(200_000) as u64), move || handles[victim].cancel());
    }
    let simulator = pool.env().simulator().unwrap();
    simulator.settle(pool.env(), 1_000_000);

    let mut total = 0;
    for (me, node) in net.nodes.iter().enumerate() {
        total += node.taken.load(Ordering::Relaxed) as u64;
        let ended = node.ended.load(Ordering::Relaxed);
        assert_eq!(handles[me].is_done(), ended, "task {me} has an end without a result, or the reverse");
        assert!(ended || !cancelled[me], "task {me} was cancelled and lives");
        assert!(ended || node.inbox.lock().unwrap().is_empty(), "task {me} has tokens that it never took");
    }
    let alive = net.nodes.iter().filter(|node| !node.ended.load(Ordering::Relaxed)).count();
    assert_eq!((net.bodies.load(Ordering::Relaxed), pool.queues.groups().live()), (alive, alive));
    assert_eq!(pool.queues.depth(), 0);
    assert!(groups.iter().all(|group| !group.core().is_active()), "a group is active without a busy task");

    // The end, one way or the other: all are cancelled, or nobody can wake them any more.
    if below(2) == 0 {
        pool.close(Ending::Cancel);
        simulator.settle(pool.env(), 0);
        assert!(pool.is_drained());
        assert!(handles.iter().all(TaskHandle::is_done));
        assert!(net.nodes.iter().all(|node| node.ended.load(Ordering::Relaxed)));
    }
    net.nodes.iter().for_each(|node| drop(node.waker.lock().unwrap().take()));
    drop(handles);
    assert_eq!((net.bodies.load(Ordering::Relaxed), pool.queues.groups().live()), (0, 0));
    total ^ simulator.now().rotate_left(20)
}

#[test]
fn nothing_is_lost_and_nothing_is_left() {
    simulate::seeds("nothing_is_lost_and_nothing_is_left", 0..10_000, |seed| {
        run(seed);
    });
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in [1, 99, 12_345] {
        assert_eq!(run(seed), run(seed));
    }
}
