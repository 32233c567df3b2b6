//! Random operations of two owners, with lifetimes, locks and time that passes, against a tree with a clock.

use crate::dice::Dice;
use crate::{int, simulated};
use filbert_grid::{Invocation, Lifetime, Map, MapSettings};
use filbert_pool::{Simulation, simulate};
use std::collections::BTreeMap;
use std::time::Duration;

#[derive(Debug, Clone, Copy)]
struct Line {
    value: u32,
    ttl_end: u64,
    idle: u64,
    due: u64,
}

/// What the map must be like.
#[derive(Default)]
struct Oracle {
    lines: BTreeMap<u32, Line>,
    locks: BTreeMap<u32, (usize, u32)>,
    now: u64,
}

const NEVER: u64 = u64::MAX / 4;

impl Oracle {
    fn get(&mut self, key: u32) -> Option<u32> {
        let locked = self.locks.contains_key(&key);
        let line = self.lines.get(&key)?;
        if line.due <= self.now && !locked {
            self.lines.remove(&key);
            return None;
        }
        Some(line.value)
    }

    fn used(&mut self, key: u32) {
        let now = self.now;
        if let Some(line) = self.lines.get_mut(&key) {
            line.due = line.ttl_end.min(now + line.idle);
        }
    }

    fn put(&mut self, key: u32, value: u32, lifetime: Lifetime) {
        let choose = |ms: i64, default| {
            if ms > 0 {
                ms as u64
            } else if ms == 0 {
                NEVER
            } else {
                default
            }
        };
        let (ttl, idle) = (choose(lifetime.ttl_ms, 7_000), choose(lifetime.max_idle_ms, NEVER));
        let ttl_end = self.now + ttl;
        self.lines.insert(key, Line { value, ttl_end, idle, due: ttl_end.min(self.now + idle) });
    }

    fn is_held_up(&self, key: u32, who: usize) -> bool {
        self.locks.get(&key).is_some_and(|(owner, _)| *owner != who)
    }

    /// True when some entry ends so near to now that it depends on microseconds.
    fn is_close(&self) -> bool {
        self.lines.values().any(|line| line.due.abs_diff(self.now) < 3)
    }
}

fn now_ms(simulation: Simulation<'_>) -> u64 {
    simulation.now().as_millis() as u64 + 1
}

/// The result of an operation that is not held up; `None`, and the operation cancelled, when it is.
fn outcome<T: Send + 'static>(held_up: bool, simulation: Simulation<'_>, call: Invocation<T>) -> Option<T> {
    if held_up {
        simulation.settle();
        assert!(!call.is_done(), "someone else has locked the key");
        call.cancel();
        return None;
    }
    Some(call.wait().unwrap())
}

fn lifetime(dice: &mut Dice) -> Lifetime {
    let some = |dice: &mut Dice| [-1, 0, 1_500, 4_000][dice.below(4) as usize];
    Lifetime { ttl_ms: some(dice), max_idle_ms: some(dice) }
}

fn step(dice: &mut Dice, oracle: &mut Oracle, owners: &[Map], simulation: Simulation<'_>) {
    let who = dice.below(2) as usize;
    let map = &owners[who];
    let (key, value, other) = (dice.below(6), dice.below(4), dice.below(4));
    let held_up = oracle.is_held_up(key, who);
    let data = int(key);
    match dice.below(17) {
        0 | 1 => {
            assert_eq!(map.get(data).wait().unwrap(), oracle.get(key).map(int));
            oracle.used(key);
        }
        2 => {
            assert_eq!(map.contains_key(data).wait().unwrap(), oracle.get(key).is_some());
            oracle.used(key);
        }
        3 | 4 => {
            let lifetime = lifetime(dice);
            if let Some(old) = outcome(held_up, simulation, map.put_for(data, int(value), lifetime)) {
                assert_eq!(old, oracle.get(key).map(int));
                oracle.put(key, value, lifetime);
            }
        }
        5 => {
            let lifetime = lifetime(dice);
            if outcome(held_up, simulation, map.set_for(data, int(value), lifetime)).is_some() {
                oracle.get(key);
                oracle.put(key, value, lifetime);
            }
        }
        6 => {
            let lifetime = lifetime(dice);
            if let Some(there) = outcome(held_up, simulation, map.put_if_absent(data, int(value), lifetime)) {
                let known = oracle.get(key);
                assert_eq!(there, known.map(int));
                match known {
                    Some(_) => oracle.used(key),
                    None => oracle.put(key, value, lifetime),
                }
            }
        }
        7 => {
            if let Some(old) = outcome(held_up, simulation, map.replace(data, int(value))) {
                let known = oracle.get(key);
                assert_eq!(old, known.map(int));
                if known.is_some() {
                    oracle.put(key, value, Lifetime::DEFAULT);
                }
            }
        }
        8 => {
            let call = map.replace_if_same(data, int(other), int(value));
            if let Some(same) = outcome(held_up, simulation, call) {
                assert_eq!(same, oracle.get(key) == Some(other));
                if same {
                    oracle.put(key, value, Lifetime::DEFAULT);
                }
            }
        }
        9 => {
            if let Some(old) = outcome(held_up, simulation, map.remove(data)) {
                assert_eq!(old, oracle.get(key).map(int));
                oracle.lines.remove(&key);
            }
        }
        10 => {
            if let Some(same) = outcome(held_up, simulation, map.remove_if_same(data, int(other))) {
                assert_eq!(same, oracle.get(key) == Some(other));
                if same {
                    oracle.lines.remove(&key);
                }
            }
        }
        11 => {
            let removed = map.try_remove(data, 0).wait().unwrap();
            assert_eq!(removed, !held_up && oracle.get(key).is_some());
            if removed {
                oracle.lines.remove(&key);
            }
        }
        12 => {
            if let Some(there) = outcome(held_up, simulation, map.set_ttl(data, 2_000)) {
                let known = oracle.get(key);
                assert_eq!(there, known.is_some());
                let now = oracle.now;
                if let Some(line) = oracle.lines.get_mut(&key) {
                    line.ttl_end = now + 2_000;
                    line.due = line.ttl_end.min(now + line.idle);
                }
            }
        }
        13 => {
            assert_eq!(map.try_lock(data, 0, None).wait().unwrap(), !held_up);
            if !held_up {
                oracle.locks.entry(key).or_insert((who, 0)).1 += 1;
            }
        }
        14 => {
            let held = oracle.locks.get(&key).is_some_and(|(owner, _)| *owner == who);
            assert_eq!(map.unlock(data).wait().is_ok(), held);
            if let Some((_, count)) = oracle.locks.get_mut(&key).filter(|_| held) {
                *count -= 1;
                if *count == 0 {
                    oracle.locks.remove(&key);
                }
            }
        }
        15 => {
            assert_eq!(map.is_locked(data).wait().unwrap(), oracle.locks.contains_key(&key));
        }
        _ => {
            let mut all = map.entry_set().wait().unwrap();
            all.sort_by_key(|(key, _)| crate::number(key));
            let known: Vec<_> =
                (0..6).filter_map(|key| oracle.get(key).map(|value| (int(key), int(value)))).collect();
            assert_eq!(all, known);
        }
    }
}

#[test]
fn it_does_what_a_tree_with_a_clock_does() {
    simulate::seeds("it_does_what_a_tree_with_a_clock_does", 0..150, |seed| {
        let (stages, grid) = simulated(seed, MapSettings { ttl_seconds: 7, ..Default::default() });
        let simulation = stages.simulation().unwrap();
        let owners = [grid.map("m"), grid.map("m")];
        let (mut dice, mut oracle) = (Dice::new(seed), Oracle::default());
        for _ in 0..250 {
            if dice.below(6) == 0 {
                simulation.advance(Duration::from_millis(u64::from(dice.below(2_000))));
            }
            oracle.now = now_ms(simulation);
            while oracle.is_close() {
                simulation.advance(Duration::from_millis(2));
                oracle.now = now_ms(simulation);
            }
            (0..6).for_each(|key| {
                oracle.get(key);
            });
            step(&mut dice, &mut oracle, &owners, simulation);
        }
    });
}
