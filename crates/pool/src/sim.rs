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
}

impl Simulator {
    pub(crate) fn new(seed: u64) -> Self {
        let state = State { random: split_mix(seed), engines: Vec::new(), busy: HashSet::new(), waits: 0 };
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
        {
            let _entered = context::enter(engine.metrics().id);
            engine.step(worker);
        }
        self.lock().busy.remove(&(index, worker));
        true
    }

    /// Takes turns until `done`, or until virtual time reaches the deadline.
    ///
    /// # Panics
    /// When nothing can run, no timer is pending, and `done` is still false: every thread would sleep for ever.
    pub(crate) fn drive(&self, env: &Env, deadline: Option<u64>, done: &mut dyn FnMut() -> bool) {
        self.lock().waits += 1;
        let _leave = Leave(self);
        while !done() {
            if deadline.is_some_and(|deadline| self.now() >= deadline) {
                return;
            }
            if env.timers().run_due(self.now()) || self.turn() {
                continue;
            }
            let next = self.next_moment(env).into_iter().chain(deadline).min();
            match next {
                Some(moment) if moment > self.now() => self.now.store(moment, Ordering::Relaxed),
                Some(_) => self.now.store(self.now() + 1, Ordering::Relaxed),
                None => panic!(
                    "simulation with seed {} is stuck: {} task(s) wait, nothing can run and no timer is pending \
                     (a wait inside a wait ends first; is the outer one needed?)",
                    self.seed,
                    self.lock().waits
                ),
            }
        }
    }

    /// Takes turns until nothing is left to do; timers further away than `horizon` nanoseconds stay pending.
    pub(crate) fn settle(&self, env: &Env, horizon: u64) {
        let end = self.now().saturating_add(horizon);
        loop {
            if env.timers().run_due(self.now()) || self.turn() {
                continue;
            }
            match self.next_moment(env) {
                Some(moment) if moment <= end => {
                    self.now.store(moment.max(self.now() + 1), Ordering::Relaxed)
                }
                _ => return,
            }
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

struct Leave<'a>(&'a Simulator);

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.0.lock().waits -= 1;
    }
}
