//! Concurrent operations on one key look as if they happened one after the other, each at one moment between its call and its answer.
//!
//! The checker is that of Wing and Gong, with a memory of what was tried: it looks for an order of the operations of one key that agrees
//! with the times and with all answers.

use crate::dice::Dice;
use crate::processors::registry;
use crate::{int, number, settings};
use filbert_grid::map::operations::{Everything, ExecuteOnEntries};
use filbert_grid::{Code, Grid, Map, MapSettings};
use filbert_pool::{Stages, simulate};
use filbert_wire::{Data, PartitionId};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// What was asked, and what the answer was.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Call {
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

const KEYS: usize = 3;

/// What happened to each key, and the order of all calls and answers.
#[derive(Default)]
struct History {
    ticks: AtomicU64,
    keys: [Mutex<Vec<Event>>; KEYS],
}

impl History {
    fn tick(&self) -> u64 {
        self.ticks.fetch_add(1, Ordering::SeqCst)
    }

    fn add(&self, key: usize, begin: u64, call: Call) {
        let end = self.tick();
        self.keys[key].lock().unwrap().push(Event { call, begin, end });
    }

    fn check(&self) {
        for events in &self.keys {
            let events = events.lock().unwrap();
            assert!(is_linearizable(&events), "no order explains {events:?}");
        }
    }
}

/// One of several that use the same three keys, all of one partition, so that they meet.
struct Client {
    map: Map,
    keys: [Data; KEYS],
    history: Arc<History>,
    dice: Dice,
}

impl Client {
    async fn run(mut self, calls: usize) {
        for _ in 0..calls {
            self.step().await;
        }
    }

    async fn step(&mut self) {
        let key = self.dice.below(KEYS as u32) as usize;
        let (value, other) = (self.dice.below(5), self.dice.below(5));
        let (map, data) = (&self.map, self.keys[key].clone());
        let begin = self.history.tick();
        let known = |data: Option<Data>| data.as_ref().map(number);
        let call = match self.dice.below(12) {
            0 | 1 => Call::Get(known(map.get(data).await.unwrap())),
            2 | 3 => Call::Put(value, known(map.put(data, int(value)).await.unwrap())),
            4 => {
                let there = map.put_if_absent(data, int(value), Default::default()).await.unwrap();
                Call::PutIfAbsent(value, known(there))
            }
            5 => Call::Remove(known(map.remove(data).await.unwrap())),
            6 => {
                let same = map.replace_if_same(data, int(other), int(value)).await.unwrap();
                Call::ReplaceIfSame(other, value, same)
            }
            7 | 8 => {
                let name = if value < 2 { "add far away" } else { "add" };
                let sum = map.execute_on_key(data, Code::named(name, int(other))).await.unwrap();
                Call::Add(other, known(sum).unwrap())
            }
            9 => {
                // On the one partition that all keys are in; the others would only take time.
                let all = ExecuteOnEntries::new(Everything, Code::named("add", int(other)));
                let given = map.strands().call(data.partition(), all).await.unwrap();
                for (index, key) in self.keys.iter().enumerate() {
                    let sum = given.iter().find(|(given, _)| given == key).map(|(_, sum)| number(sum));
                    self.history.add(index, begin, Call::AddIfThere(other, sum));
                }
                return;
            }
            _ => {
                map.lock(data.clone(), None).await.unwrap();
                let inside = self.history.tick();
                let read = known(map.get(data.clone()).await.unwrap());
                let again = known(map.get(data.clone()).await.unwrap());
                self.history.add(key, inside, Call::Get(read));
                self.history.add(key, inside, Call::Get(again));
                map.unlock(data).await.unwrap();
                return;
            }
        };
        self.history.add(key, begin, call);
    }
}

/// Clients of one map, and what they did.
fn clients(grid: &Grid, seed: u64, count: u64) -> (Vec<Client>, Arc<History>) {
    let partition = PartitionId::new(100).unwrap();
    let mut keys = (0..).map(int).filter(|key| key.partition() == partition);
    let keys: [Data; KEYS] = std::array::from_fn(|_| keys.next().unwrap());
    let history = Arc::new(History::default());
    let client = |number| Client {
        map: grid.map("m"),
        keys: keys.clone(),
        history: Arc::clone(&history),
        dice: Dice::new(seed.wrapping_mul(1_000) + number),
    };
    ((0..count).map(client).collect(), history)
}

#[test]
fn simulated_histories_are_linearizable() {
    simulate::seeds("simulated_histories_are_linearizable", 0..300, |seed| {
        let stages = Stages::simulated(seed);
        let grid = Grid::with(&stages, settings(MapSettings::default()), registry());
        let (clients, history) = clients(&grid, seed, 4);
        let running: Vec<_> = clients
            .into_iter()
            .map(|client| stages.mixed().spawn("client", client.run(8)).unwrap())
            .collect();
        running.into_iter().for_each(|client| client.wait().unwrap());
        history.check();
    });
}

#[test]
fn histories_of_threads_are_linearizable() {
    let stages = Stages::start().unwrap();
    for run in 0..20 {
        let grid = Grid::with(&stages, settings(MapSettings::default()), registry());
        let (clients, history) = clients(&grid, run, 4);
        std::thread::scope(|scope| {
            for client in clients {
                scope.spawn(|| stages.mixed().spawn("client", client.run(12)).unwrap().wait().unwrap());
            }
        });
        history.check();
    }
}
