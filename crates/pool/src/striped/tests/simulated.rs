//! Random work on a few strands, checked against an oracle that knows only the order of the submits.

use super::*;
use crate::error::TaskError;
use crate::striped::{Called, Strand};
use std::sync::Mutex;

const STRANDS: usize = 5;

/// What a strand is used for: its log, and a flag that a second writer would find set.
#[derive(Default)]
struct Log {
    inside: bool,
    normal: Vec<u32>,
    priority: Vec<u32>,
}

/// What was submitted to each strand, in the order of the submits.
#[derive(Default, Clone)]
struct Submitted {
    normal: Vec<u32>,
    priority: Vec<u32>,
    /// Priority operations that were submitted and have not begun.
    urgent: usize,
}

struct World {
    env: Arc<Env>,
    strands: Vec<Strand<Log>>,
    oracle: Mutex<Vec<Submitted>>,
    left: Mutex<u32>,
    /// What went wrong inside an operation, where a panic would be caught like any other.
    violations: Mutex<Vec<String>>,
}

impl World {
    fn below(&self, bound: usize) -> usize {
        self.env.random_below(bound)
    }

    /// One random action, from the outside or from inside an operation.
    fn act(self: &Arc<Self>) {
        let number = {
            let mut left = self.left.lock().unwrap();
            if *left == 0 {
                return;
            }
            *left -= 1;
            *left
        };
        let target = self.below(STRANDS);
        let strand = &self.strands[target];
        let choice = self.below(10);
        let priority = choice < 2;
        // Written down before the submit: a caller's operation runs inside it.
        {
            let mut oracle = self.oracle.lock().unwrap();
            if priority {
                oracle[target].priority.push(number);
                oracle[target].urgent += 1;
            } else {
                oracle[target].normal.push(number);
            }
        }
        let world = Arc::clone(self);
        let operation = move |log: &mut Log| world.operation(target, number, priority, log);
        match choice {
            0 | 1 => strand.submit_priority("priority", operation).unwrap().detach(),
            2..=5 => strand.post("post", operation).unwrap(),
            6 | 7 => strand.submit("submit", operation).unwrap().detach(),
            _ => match strand.call("call", operation).unwrap() {
                Called::Here(Err(TaskError::Panicked { message, .. })) => assert_eq!(message, "expected"),
                Called::Here(result) => result.unwrap(),
                Called::Queued(future) => future.detach(),
            },
        }
    }

    fn operation(self: &Arc<Self>, target: usize, number: u32, priority: bool, log: &mut Log) {
        if std::mem::replace(&mut log.inside, true) {
            self.violations.lock().unwrap().push(format!("two writers on strand {target}"));
        }
        {
            let urgent = &mut self.oracle.lock().unwrap()[target].urgent;
            if priority {
                *urgent -= 1;
                log.priority.push(number);
            } else {
                if *urgent > 0 {
                    let violation = format!("normal work before priority work on strand {target}");
                    self.violations.lock().unwrap().push(violation);
                }
                log.normal.push(number);
            }
        }
        for _ in 0..self.below(3) {
            self.act();
        }
        if self.below(8) == 0 {
            // Blocked, for up to three takeover periods.
            let until = self.env.now() + self.below(3 * TAKEOVER.as_nanos() as usize) as u64;
            self.env.simulator().unwrap().drive(&self.env, Some(until), &mut || false);
        }
        log.inside = false;
        if self.below(16) == 0 {
            panic!("expected");
        }
    }
}

fn run(seed: u64) -> u64 {
    let threads = 1 + (seed % 4) as usize;
    let takeover = (!seed.is_multiple_of(5)).then_some(TAKEOVER);
    let stage = TestStage::simulated(seed, StripedSettings { takeover, strands: 1, ..settings(threads) });
    let strands = (0..STRANDS as u64).map(|key| stage.striped.strand(key, Log::default())).collect();
    let world = Arc::new(World {
        env: Arc::clone(&stage.env),
        strands,
        oracle: Mutex::new(vec![Submitted::default(); STRANDS]),
        left: Mutex::new(40),
        violations: Mutex::default(),
    });
    let simulator = stage.env.simulator().unwrap();
    while *world.left.lock().unwrap() > 0 {
        world.act();
        for _ in 0..world.below(3) {
            simulator.turn();
        }
    }
    simulator.settle(&stage.env, u64::MAX / 4);
    assert_eq!(*world.violations.lock().unwrap(), [""; 0]);
    for (target, submitted) in world.oracle.lock().unwrap().iter().enumerate() {
        let ran = world.strands[target].try_run_here("read", |log| {
            assert_eq!(log.normal, submitted.normal, "normal work of strand {target}");
            assert_eq!(log.priority, submitted.priority, "priority work of strand {target}");
        });
        match ran {
            Ok(result) => result.unwrap(),
            Err(_) => panic!("strand {target} is not idle at the end"),
        }
    }
    stage.striped.snapshot().stolen
}

fn check(seeds: std::ops::Range<u64>) -> u64 {
    silence_expected_panics();
    let mut stolen = 0;
    for seed in seeds {
        match std::panic::catch_unwind(|| run(seed)) {
            Ok(taken) => stolen += taken,
            Err(payload) => panic!(
                "seed {seed}: {}\nreplay: FILBERT_SEED={seed} cargo test -p filbert-pool --lib striped::tests::simulated",
                crate::panics::message(&*payload)
            ),
        }
    }
    stolen
}

/// Tens of thousands of panics that belong to the test would bury one that does not.
fn silence_expected_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if info.payload().downcast_ref::<&str>() != Some(&"expected") {
                before(info);
            }
        }));
    });
}

/// `FILBERT_SEED` runs that one seed; `FILBERT_SEEDS` says how many to run.
#[test]
fn single_writer_and_order_hold_for_every_seed() {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    if let Some(seed) = number("FILBERT_SEED") {
        run(seed);
        return;
    }
    let seeds = number("FILBERT_SEEDS").unwrap_or(10_000);
    let stolen = check(0..seeds);
    assert!(stolen > 0, "no seed made a takeover");
}
