//! Which threads work on a range: several where it is worth that, and the caller alone where it is not.
#![allow(
    clippy::disallowed_methods,
    reason = "deadlines for tests that would hang, and a caller that is no worker"
)]

use filbert_pool::WorkStealing;
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

const DEADLINE: Duration = Duration::from_secs(60);

/// Where so many threads have to be at the same time.
struct Meeting {
    there: Mutex<usize>,
    came: Condvar,
}

impl Meeting {
    fn new() -> Self {
        Self { there: Mutex::new(0), came: Condvar::new() }
    }

    /// Comes, and waits until there are so many.
    fn of(&self, count: usize) {
        let mut there = self.there.lock().unwrap();
        *there += 1;
        self.came.notify_all();
        let waited = self.came.wait_timeout_while(there, DEADLINE, |there| *there < count);
        assert!(!waited.unwrap().1.timed_out(), "one thread works on all of it");
    }
}

fn all(one: HashSet<ThreadId>, other: HashSet<ThreadId>) -> HashSet<ThreadId> {
    one.into_iter().chain(other).collect()
}

/// Each element waits for the others: one thread would wait for ever.
#[test]
fn a_range_is_worked_on_by_all_workers_at_once() {
    for workers in [2, 4] {
        let (pool, meeting) = (WorkStealing::standalone(workers), Meeting::new());
        let range = pool.range(0..workers).min_leaf(1);
        range.fold(|| (), |(), _| meeting.of(workers), |(), ()| ());
        assert_eq!(*meeting.there.lock().unwrap(), workers);
    }
}

/// One element less than two leaves stays with whoever asks, and nobody is woken; two leaves are shared.
#[test]
fn a_small_range_stays_with_its_caller() {
    let pool = WorkStealing::standalone(4);
    let here = |mut seen: HashSet<ThreadId>, _| {
        seen.insert(thread::current().id());
        seen
    };
    let seen = pool.range(0..199).min_leaf(100).fold(HashSet::new, here, all);
    assert_eq!(seen, HashSet::from([thread::current().id()]));
    let meeting = Meeting::new();
    let begins_a_leaf = |(), element| {
        if element % 100 == 0 {
            meeting.of(2);
        }
    };
    pool.range(0..200).min_leaf(100).fold(|| (), begins_a_leaf, |(), ()| ());
}

/// The first leaf holds the others up until all else is done; then what is left of it is shared.
#[test]
fn the_rest_of_an_adaptive_range_is_split() {
    const LEAVES: usize = 8;
    const LEAF: usize = 4_000;
    let pool = WorkStealing::standalone(2);
    let (others, first_leaf) = (AtomicUsize::new(0), Mutex::new(HashSet::new()));
    let wait_until = |holds: &dyn Fn() -> bool, most: Duration| {
        let begin = Instant::now();
        while !holds() && begin.elapsed() < most {
            thread::yield_now();
        }
        holds()
    };
    let work = |(), element: usize| {
        if element >= LEAF {
            others.fetch_add(1, Ordering::SeqCst);
            return;
        }
        if element == 0 {
            let others_are_done = || others.load(Ordering::SeqCst) == (LEAVES - 1) * LEAF;
            assert!(wait_until(&others_are_done, DEADLINE), "nobody else works on the rest");
        }
        first_leaf.lock().unwrap().insert(thread::current().id());
        // Long enough that the other worker sees that there is something to do; nothing once it did.
        wait_until(&|| first_leaf.lock().unwrap().len() > 1, Duration::from_millis(5));
    };
    pool.range(0..LEAVES * LEAF).adaptive().fold(|| (), work, |(), ()| ());
    assert!(first_leaf.lock().unwrap().len() > 1, "one worker did all of the leaf");
}
