//! The controls of a simulated set of stages.

use crate::env::Env;
use std::time::Duration;

/// Lets a test move simulated stages on. Waiting for a future moves them too.
///
/// ```
/// use std::time::Duration;
///
/// let stages = filbert_pool::Stages::simulated(7);
/// let strand = stages.partition().strand(1, 0);
/// let inner = strand.clone();
/// let every = stages.maintenance().every("count", Duration::from_secs(3600), move || {
///     inner.post("count", |count| *count += 1).unwrap();
/// });
/// // A day passes, in no time.
/// stages.simulation().unwrap().advance(Duration::from_secs(24 * 3600 + 60));
/// assert!(strand.submit("read", |count| *count).unwrap().wait().unwrap() >= 23);
/// # drop(every);
/// ```
///
/// What does not work there: timers and sockets of tokio (no tokio runtime stands behind `io` and `mixed`), and waits that
/// end in any order: a wait inside a wait ends first, and a simulation that needs it otherwise says so and fails.
#[derive(Debug, Clone, Copy)]
pub struct Simulation<'a> {
    env: &'a Env,
}

impl<'a> Simulation<'a> {
    pub(super) fn of(env: &'a Env) -> Option<Self> {
        env.simulator().map(|_| Self { env })
    }

    /// The seed of every choice.
    pub fn seed(&self) -> u64 {
        self.env.simulator().map_or(0, |simulator| simulator.seed())
    }

    /// Virtual time since the start.
    pub fn now(&self) -> Duration {
        Duration::from_nanos(self.env.now())
    }

    /// Takes turns until nothing is left to do now; timers stay pending.
    pub fn settle(&self) {
        self.advance(Duration::ZERO);
    }

    /// Takes turns, and lets virtual time pass where nothing else is left, for `time`.
    pub fn advance(&self, time: Duration) {
        if let Some(simulator) = self.env.simulator() {
            simulator.settle(self.env, time.as_nanos() as u64);
        }
    }

    /// Takes turns until `done`, as a task that waits would.
    ///
    /// # Panics
    /// When nothing can run any more and it is still not done.
    pub fn until(&self, mut done: impl FnMut() -> bool) {
        if let Some(simulator) = self.env.simulator() {
            simulator.drive(self.env, None, &mut done);
        }
    }
}
