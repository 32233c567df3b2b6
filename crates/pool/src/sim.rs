//! One thread, virtual time, and a scheduler whose every choice comes from a seed.
//!
//! The simulator holds every engine and, turn by turn, lets one worker that has work take one step. A task that waits
//! (where it may) drives the simulator further from inside its own step, with its worker marked busy; so "blocked in a
//! task" means the same as under real threads: that worker does nothing, all others may. Time stands still while
//! anything can run, and jumps to the next timer when nothing can.
//!
//! Rejected: one real thread per worker with a baton. It simulates waits that end in any order, but costs a thread switch
//! per step, a hundred times what a step costs. Here a wait inside a wait ends first; a simulation that would need the
//! outer one to go on first says so.

use crate::context;
use crate::engine::Engine;
use crate::env::{Env, split_mix};
use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, Weak};

/// Virtual nanoseconds that a step takes, at most; so that time passes even when no one waits.
const STEP_NANOS: u64 = 2_000;

/// Runs all stages of a set on the calling thread.
pub(crate) struct Simulator {
    seed: u64,
    now: AtomicU64,
    state: Mutex<State>,
}

struct State {
    random: u64,
    engines: Vec<Weak<dyn Engine>>,
    busy: HashSet<(usize, usize)>,
    waits: usize,
    /// How many calls drive it, one inside the other; the outermost is the test's own.
    depth: usize,
    /// Why no wait can end any more. The panic inside a task is that task's; this one is everyone's.
    stuck: Option<String>,
}

impl Simulator {
    pub(crate) fn new(seed: u64) -> Self {
        let state = State {
            random: split_mix(seed),
            engines: Vec::new(),
            busy: HashSet::new(),
            waits: 0,
            depth: 0,
            stuck: None,
        };
        Self { seed, now: AtomicU64::new(1), state: Mutex::new(state) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    /// Virtual time.
    pub(crate) fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    /// The seed of every choice.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    /// Adds an engine to those that take turns; once, however often it is added.
    pub(crate) fn add(&self, engine: Weak<dyn Engine>) {
        let mut state = self.lock();
        if !state.engines.iter().any(|known| known.ptr_eq(&engine)) {
            state.engines.push(engine);
        }
    }

    /// One step of one worker, chosen by the seed; false when no worker that is free has work.
    pub(crate) fn turn(&self) -> bool {
        let mut state = self.lock();
        let mut ready = Vec::new();
        for (index, engine) in state.engines.iter().enumerate() {
            let Some(engine) = engine.upgrade() else { continue };
            for worker in 0..engine.metrics().workers() {
                if !state.busy.contains(&(index, worker)) && engine.has_work(worker) {
                    ready.push((index, worker, engine.clone()));
                }
            }
        }
        if ready.is_empty() {
            return false;
        }
        let choice = state.below(ready.len());
        let (index, worker, engine) = ready.swap_remove(choice);
        drop(ready);
        let passes = state.below(STEP_NANOS as usize) as u64;
        self.now.fetch_add(passes, Ordering::Relaxed);
        state.busy.insert((index, worker));
        drop(state);
        // Also when the step unwinds: a worker that stays busy for ever would hide what it still has to do.
        let _free_again = FreeAgain { simulator: self, worker: (index, worker) };
        let _entered = context::enter(engine.metrics().id);
        engine.step(worker);
        true
    }

    /// Takes turns until `done`, or until virtual time reaches the deadline.
    ///
    /// # Panics
    /// When nothing can run, no timer is pending, and `done` is still false: every thread would sleep for ever. So does every call
    /// around this one, since the panic itself may end as the failure of the task that waits here.
    pub(crate) fn drive(&self, env: &Env, deadline: Option<u64>, done: &mut dyn FnMut() -> bool) {
        let _driving = self.begin_driving(1);
        loop {
            self.check_stuck();
            if done() || deadline.is_some_and(|deadline| self.now() >= deadline) {
                return;
            }
            if env.timers().run_due(self.now()) || self.turn() {
                continue;
            }
            let next = self.next_moment(env).into_iter().chain(deadline).min();
            match next {
                Some(moment) if moment > self.now() => self.now.store(moment, Ordering::Relaxed),
                Some(_) => self.now.store(self.now() + 1, Ordering::Relaxed),
                None => {
                    let mut state = self.lock();
                    state.stuck = Some(format!(
                        "simulation with seed {} is stuck: {} task(s) wait, nothing can run and no timer is pending \
                         (a wait inside a wait ends first; is the outer one needed?)",
                        self.seed, state.waits
                    ));
                }
            }
        }
    }

    /// Takes turns until nothing is left to do; timers further away than `horizon` nanoseconds stay pending.
    ///
    /// # Panics
    /// When a task waits for ever, see [`Simulator::drive`].
    pub(crate) fn settle(&self, env: &Env, horizon: u64) {
        let end = self.now().saturating_add(horizon);
        let _driving = self.begin_driving(0);
        loop {
            self.check_stuck();
            if env.timers().run_due(self.now()) || self.turn() {
                continue;
            }
            match self.next_moment(env) {
                Some(moment) if moment <= end => {
                    self.now.store(moment.max(self.now() + 1), Ordering::Relaxed)
                }
                _ => break,
            }
        }
        // Time passes also when nothing was due; without an end there is nowhere to go.
        if end != u64::MAX {
            self.now.fetch_max(end, Ordering::Relaxed);
        }
    }

    fn begin_driving(&self, waits: usize) -> Driving<'_> {
        let mut state = self.lock();
        state.depth += 1;
        state.waits += waits;
        Driving { simulator: self, waits }
    }

    fn check_stuck(&self) {
        let stuck = self.lock().stuck.clone();
        if let Some(message) = stuck {
            panic!("{message}");
        }
    }

    fn next_moment(&self, env: &Env) -> Option<u64> {
        let state = self.lock();
        let engines = state.engines.iter().filter_map(|engine| engine.upgrade()?.next_deadline());
        engines.chain(env.timers().next_due()).min()
    }
}

impl State {
    fn below(&mut self, bound: usize) -> usize {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        (((split_mix(self.random) >> 32) * bound as u64) >> 32) as usize
    }
}

/// A call that drives the simulator, until dropped.
struct Driving<'a> {
    simulator: &'a Simulator,
    waits: usize,
}

impl Drop for Driving<'_> {
    fn drop(&mut self) {
        let mut state = self.simulator.lock();
        state.waits -= self.waits;
        state.depth -= 1;
        if state.depth == 0 {
            // It has reached the test; what the test does next is its own affair.
            state.stuck = None;
        }
    }
}

/// A worker that takes a step, until dropped.
struct FreeAgain<'a> {
    simulator: &'a Simulator,
    worker: (usize, usize),
}

impl Drop for FreeAgain<'_> {
    fn drop(&mut self) {
        self.simulator.lock().busy.remove(&self.worker);
    }
}

#[cfg(test)]
mod tests {
    use crate::context::{self, StageId};
    use crate::engine::{Ending, Engine};
    use crate::env::Env;
    use crate::metrics::{StageMetrics, StageSnapshot};
    use crate::panics::caught;
    use crate::rules::StageKind;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, Weak};

    /// One worker that does `step` so many times, and catches its panics or not.
    struct Scripted {
        metrics: StageMetrics,
        left: AtomicUsize,
        step: fn(&Env),
        catches: bool,
    }

    impl Scripted {
        fn start(steps: usize, catches: bool, step: fn(&Env)) -> (Arc<Env>, Arc<dyn Engine>) {
            let env = Env::simulated(1);
            let metrics = StageMetrics::new(&env, StageId::of(StageKind::Mixed), 1, None);
            let engine: Arc<dyn Engine> =
                Arc::new(Self { metrics, left: AtomicUsize::new(steps), step, catches });
            env.simulator().unwrap().add(Arc::downgrade(&engine) as Weak<dyn Engine>);
            (env, engine)
        }
    }

    impl Engine for Scripted {
        fn metrics(&self) -> &StageMetrics {
            &self.metrics
        }

        fn has_work(&self, _: usize) -> bool {
            self.left.load(Ordering::Relaxed) > 0
        }

        fn step(&self, _: usize) -> bool {
            self.left.fetch_sub(1, Ordering::Relaxed);
            let step = || (self.step)(self.metrics.env());
            if self.catches {
                let _ = caught(step);
            } else {
                step();
            }
            true
        }

        fn snapshot(&self) -> StageSnapshot {
            self.metrics.snapshot("scripted", None, 0, None)
        }

        fn close(&self, _: Ending) {}

        fn is_drained(&self) -> bool {
            !self.has_work(0)
        }
    }

    fn wait_for_ever(env: &Env) {
        env.simulator().unwrap().drive(env, None, &mut || false);
    }

    #[test]
    fn a_deadlock_inside_a_task_reaches_whoever_drives_the_simulation() {
        for settles in [true, false] {
            let (env, engine) = Scripted::start(1, true, wait_for_ever);
            let simulator = env.simulator().unwrap();
            let failure = caught(|| match settles {
                true => simulator.settle(&env, 0),
                false => simulator.drive(&env, None, &mut || engine.is_drained()),
            });
            assert!(failure.unwrap_err().contains("simulation with seed 1 is stuck: "));
            // Told once; what is left goes on.
            simulator.settle(&env, 0);
        }
    }

    #[test]
    fn a_worker_whose_step_unwinds_is_not_busy_for_ever() {
        let (env, engine) = Scripted::start(2, false, |_| panic!("out of the step"));
        let simulator = env.simulator().unwrap();
        for _ in 0..2 {
            assert_eq!(caught(|| simulator.turn()), Err("out of the step".to_owned()));
        }
        assert!(engine.is_drained());
        assert_eq!(context::current(), StageId::APPLICATION);
    }
}
