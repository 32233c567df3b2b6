//! The clock of a set of stages, for the crates above: time, timers and randomness, virtual under simulation.
//!
//! Calendar time is read from the system once, when the stages start, and moved on by the monotonic clock: a system clock that
//! jumps neither ends a lease early nor brings an expired entry back.

use crate::env::Env;
use std::sync::Arc;
use std::time::Duration;

/// Time, timers and randomness of a set of stages; a handle that is cheap to clone.
///
/// ```
/// use std::time::Duration;
///
/// let stages = filbert_pool::Stages::simulated(1);
/// let clock = stages.clock();
/// let begin = clock.now();
/// stages.simulation().unwrap().advance(Duration::from_secs(60));
/// assert_eq!(clock.now() - begin, Duration::from_secs(60));
/// ```
#[derive(Debug, Clone)]
pub struct Clock {
    env: Arc<Env>,
}

impl Clock {
    pub(crate) fn new(env: &Arc<Env>) -> Self {
        Self { env: Arc::clone(env) }
    }

    /// The time since some fixed moment; never goes back.
    #[inline]
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.env.now())
    }

    /// Calendar time, in milliseconds since 1970.
    #[inline]
    pub fn unix_ms(&self) -> u64 {
        self.env.unix_ms()
    }

    /// Runs `action` once, `delay` from now, on the timer thread or when virtual time gets there. It must be short: post to a
    /// strand, resolve a promise. Forgotten when the stages end first.
    pub fn after(&self, delay: Duration, action: impl FnOnce() + Send + 'static) {
        self.env.after(delay, action);
    }

    /// 64 random bits; from the seed under simulation. Not for secrets.
    pub fn random(&self) -> u64 {
        self.env.random()
    }

    /// A number below `bound`, which is below 2^32; from the seed under simulation.
    pub fn random_below(&self, bound: usize) -> usize {
        self.env.random_below(bound)
    }
}
