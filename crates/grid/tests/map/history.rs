//! What happened to each of a few keys, and whether it could have happened so. The tests of the door check the histories of real
//! connections with it too.
//!
//! The checker is that of Wing and Gong, with a memory of what was tried: it looks for an order of the operations of one key that agrees
//! with the times and with all answers.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many keys are looked at.
pub(crate) const KEYS: usize = 3;

/// What was asked, and what the answer was.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Call {
    Get(Option<u32>),
    Put(u32, Option<u32>),
    PutIfAbsent(u32, Option<u32>),
    Remove(Option<u32>),
    ReplaceIfSame(u32, u32, bool),
    Add(u32, u32),
    /// As part of a call on all entries: nothing when the key was not there.
    AddIfThere(u32, Option<u32>),
}

impl Call {
    /// The state after it, if its answer fits the state before.
    fn apply(self, state: Option<u32>) -> Option<Option<u32>> {
        let (fits, after) = match self {
            Call::Get(answer) => (answer == state, state),
            Call::Put(value, old) => (old == state, Some(value)),
            Call::PutIfAbsent(value, there) => (there == state, state.or(Some(value))),
            Call::Remove(old) => (old == state, None),
            Call::ReplaceIfSame(expected, value, same) => {
                (same == (state == Some(expected)), if same { Some(value) } else { state })
            }
            Call::Add(amount, sum) => (sum == state.unwrap_or(0) + amount, Some(sum)),
            Call::AddIfThere(amount, sum) => (sum == state.map(|state| state + amount), sum),
        };
        fits.then_some(after)
    }
}

#[derive(Debug, Clone, Copy)]
struct Event {
    call: Call,
    begin: u64,
    end: u64,
}

/// True when some order of the events agrees with times and answers.
fn is_linearizable(events: &[Event]) -> bool {
    assert!(events.len() <= 128, "the set of done events is one number");
    let all = if events.len() == 128 { u128::MAX } else { (1 << events.len()) - 1 };
    let mut tried = HashSet::new();
    let mut open = vec![(0_u128, None)];
    while let Some((done, state)) = open.pop() {
        if done == all {
            return true;
        }
        let left = || (0..events.len()).filter(|index| done & (1 << index) == 0);
        // Nothing happens before it is called: an event that began after another one ended comes after it.
        let first_end = left().map(|index| events[index].end).min().unwrap_or(u64::MAX);
        for index in left().filter(|index| events[*index].begin <= first_end) {
            if let Some(after) = events[index].call.apply(state) {
                let next = (done | (1 << index), after);
                if tried.insert(next) {
                    open.push(next);
                }
            }
        }
    }
    false
}

#[test]
fn the_checker_knows_right_from_wrong() {
    let event = |call, begin, end| Event { call, begin, end };
    let right = [
        event(Call::Put(1, None), 0, 10),
        event(Call::Get(None), 1, 3),
        event(Call::Get(Some(1)), 2, 4),
        event(Call::Add(2, 3), 11, 12),
    ];
    assert!(is_linearizable(&right));
    let stale = [event(Call::Put(1, None), 0, 1), event(Call::Get(None), 2, 3)];
    assert!(!is_linearizable(&stale));
    let back =
        [event(Call::Put(1, None), 0, 9), event(Call::Get(Some(1)), 1, 2), event(Call::Get(None), 3, 4)];
    assert!(!is_linearizable(&back));
    let lost = [event(Call::Add(1, 1), 0, 5), event(Call::Add(1, 1), 0, 5)];
    assert!(!is_linearizable(&lost));
}

/// What happened to each key, and the order of all calls and answers.
#[derive(Default)]
pub(crate) struct History {
    ticks: AtomicU64,
    keys: [Mutex<Vec<Event>>; KEYS],
}

impl History {
    pub(crate) fn tick(&self) -> u64 {
        self.ticks.fetch_add(1, Ordering::SeqCst)
    }

    pub(crate) fn add(&self, key: usize, begin: u64, call: Call) {
        let end = self.tick();
        self.keys[key].lock().unwrap().push(Event { call, begin, end });
    }

    pub(crate) fn check(&self) {
        for events in &self.keys {
            let events = events.lock().unwrap();
            assert!(is_linearizable(&events), "no order explains {events:?}");
        }
    }
}
