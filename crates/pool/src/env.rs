//! The surroundings of a set of stages: clock, timers, randomness and waiting, real or simulated.
//!
//! No stage reads a clock, rolls a die or blocks a thread but through its `Env`. That is the whole difference between a
//! real and a simulated set of stages; the strands, tasks and queues above are the same code.

use crate::context::{self, StageId};
use crate::future::Callbacks;
use crate::origin::OriginDirectories;
use crate::panics::caught;
use crate::rules::StageKind;
use crate::sim::Simulator;
use crate::thread::Threads;
use crate::timers::{Due, Timers};
use filbert_sync::Ticks;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, SystemTime};

/// Clock, timers, randomness and waiting for one set of stages.
pub(crate) struct Env {
    clock: Clock,
    timers: Timers,
    threads: Threads,
    random: AtomicU64,
    /// Calendar time less [`Env::now`], in nanoseconds; fixed when the stages start.
    calendar: u64,
    callbacks: OnceLock<Weak<dyn Callbacks>>,
    origins: OriginDirectories,
}

/// When simulated stages start: the first of January 2030.
const SIMULATED_CALENDAR: u64 = 1_893_456_000_000_000_000;

#[expect(
    clippy::disallowed_methods,
    reason = "the one place that asks the system for the date, once per set of stages"
)]
fn calendar_nanos() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX / 2)
}

enum Clock {
    Real(&'static Ticks),
    Simulated(Simulator),
}

impl Env {
    /// Real time and real threads.
    pub(crate) fn real() -> Arc<Self> {
        let ticks = Ticks::get();
        let calendar = calendar_nanos().saturating_sub(ticks.now());
        Arc::new(Self::new(Clock::Real(ticks), ticks.origin().elapsed().as_nanos() as u64 | 1, calendar))
    }

    /// One thread, virtual time, every choice from `seed`.
    pub(crate) fn simulated(seed: u64) -> Arc<Self> {
        Arc::new(Self::new(Clock::Simulated(Simulator::new(seed)), seed, SIMULATED_CALENDAR))
    }

    fn new(clock: Clock, seed: u64, calendar: u64) -> Self {
        Self {
            clock,
            timers: Timers::new(),
            threads: Threads::new(),
            random: AtomicU64::new(seed),
            calendar,
            callbacks: OnceLock::new(),
            origins: OriginDirectories::default(),
        }
    }

    /// Nanoseconds since some fixed moment; virtual under simulation.
    #[inline]
    pub(crate) fn now(&self) -> u64 {
        match &self.clock {
            Clock::Real(ticks) => ticks.now(),
            Clock::Simulated(simulator) => simulator.now(),
        }
    }

    /// Milliseconds since 1970.
    #[inline]
    pub(crate) fn unix_ms(&self) -> u64 {
        (self.calendar + self.now()) / 1_000_000
    }

    /// The simulator, when time is virtual.
    #[inline]
    pub(crate) fn simulator(&self) -> Option<&Simulator> {
        match &self.clock {
            Clock::Real(_) => None,
            Clock::Simulated(simulator) => Some(simulator),
        }
    }

    /// A number below `bound`, from the seed.
    pub(crate) fn random_below(&self, bound: usize) -> usize {
        (((self.random() >> 32) * bound as u64) >> 32) as usize
    }

    /// 64 bits, from the seed.
    pub(crate) fn random(&self) -> u64 {
        split_mix(self.random.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed))
    }

    /// Who knows the clients that work is done for.
    pub(crate) fn origins(&self) -> &OriginDirectories {
        &self.origins
    }

    /// The timers of this set of stages.
    pub(crate) fn timers(&self) -> &Timers {
        &self.timers
    }

    /// The threads of this set of stages.
    pub(crate) fn threads(&self) -> &Threads {
        &self.threads
    }

    /// Runs `action` once, `delay` from now: on the timer thread, or when virtual time gets there. It must be short.
    pub(crate) fn after(self: &Arc<Self>, delay: Duration, action: impl FnOnce() + Send + 'static) -> Due {
        let at = self.now().saturating_add(u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX));
        let (due, is_first) = self.timers.add(at, Box::new(action));
        if is_first && self.simulator().is_none() {
            self.timers.wake(self);
        }
        due
    }

    /// Where user callbacks run, once the `generic` stage exists.
    pub(crate) fn set_callbacks(&self, callbacks: Weak<dyn Callbacks>) {
        let _ = self.callbacks.set(callbacks);
    }

    /// Runs `callback` on the `generic` stage; right here when that stage is not there or takes no more work.
    pub(crate) fn run_callback(&self, callback: Box<dyn FnOnce() + Send>) {
        match self.callbacks.get().and_then(Weak::upgrade) {
            Some(callbacks) => callbacks.run(callback),
            None => run_callback_here(callback),
        }
    }
}

impl std::fmt::Debug for Env {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Env").field("simulated", &self.simulator().is_some()).finish_non_exhaustive()
    }
}

/// A callback without the `generic` stage: as on that stage, its panic is its own, and it may not wait upwards.
pub(crate) fn run_callback_here(callback: Box<dyn FnOnce() + Send>) {
    let _stage = context::enter(StageId::of(StageKind::Generic));
    let _ = caught(callback);
}

/// One round of SplitMix64: a good scramble of a counter.
pub(crate) const fn split_mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
