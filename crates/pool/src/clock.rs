//! The clock of a set of stages, for the crates above: time, timers and randomness, virtual under simulation.
//!
//! Calendar time is read from the system once, when the stages start, and moved on by the monotonic clock: a system clock that
//! jumps neither ends a lease early nor brings an expired entry back.

use crate::env::Env;
use crate::timers::Due;
use std::sync::{Arc, Weak};
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
        let _ = self.env.after(delay, action);
    }

    /// The same, as long as the timer is kept: dropped, the action is forgotten. For time-outs of what usually ends before them.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let stages = filbert_pool::Stages::simulated(1);
    /// let timer = stages.clock().timer(Duration::from_secs(1), || panic!("it took too long"));
    /// drop(timer);
    /// stages.simulation().unwrap().advance(Duration::from_secs(2));
    /// ```
    #[must_use = "dropped, the action is forgotten"]
    pub fn timer(&self, delay: Duration, action: impl FnOnce() + Send + 'static) -> Timer {
        Timer { env: Arc::downgrade(&self.env), due: self.env.after(delay, action) }
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

/// An action that is still to come, as [`Clock::timer`] made it. Dropped, it does not come any more; one that is running goes on.
#[derive(Debug)]
pub struct Timer {
    env: Weak<Env>,
    due: Due,
}

impl Drop for Timer {
    fn drop(&mut self) {
        if let Some(env) = self.env.upgrade() {
            env.timers().remove(self.due);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Stages;
    use crate::clock::Clock;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    #[test]
    fn a_dropped_timer_is_gone_and_the_others_run_in_their_order() {
        let stages = Stages::simulated(7);
        let Clock { env } = stages.clock();
        let before = env.timers().len();
        let ran = Arc::new(AtomicUsize::new(0));
        let owned = Arc::new(());
        let clock = stages.clock();
        let timer = |second: u64| {
            let (ran, owned) = (Arc::clone(&ran), Arc::clone(&owned));
            clock.timer(Duration::from_secs(second), move || {
                let _owned = owned;
                ran.fetch_add(second as usize, Ordering::Relaxed);
            })
        };
        let mut timers: Vec<_> = (1..=4).map(timer).collect();
        assert_eq!(env.timers().len(), before + 4);
        drop(timers.remove(1));
        assert_eq!((env.timers().len(), Arc::strong_count(&owned)), (before + 3, 4));
        stages.simulation().unwrap().advance(Duration::from_secs(5));
        assert_eq!((ran.load(Ordering::Relaxed), env.timers().len()), (8, before));
        // What ran is gone already.
        drop(timers);
        assert_eq!(Arc::strong_count(&owned), 1);
    }
}
