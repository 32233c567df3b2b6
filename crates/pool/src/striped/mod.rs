//! The striped mechanism (stages `partition`, `query`, `event`): ordered work by key, one thread at a time per key.
//!
//! ```text
//!  submit -> strand's mailbox -> (strand becomes ready) -> ready queue of its home stripe -> the stripe's thread opens the mail
//!                                                               \-> another stripe's, when that one is stuck (takeover)
//!  call   -> claims an idle strand and runs on the calling thread (caller-runs)
//! ```
//!
//! The unit is the [`Strand`]: a value, and mail for it. A stripe is a thread with a queue of *strands* that have mail, not of
//! operations; so a slow operation holds up its own strand only: the strands behind it can be taken over by stripes that
//! are idle. The protocol of the strand, of sleep and of the watch is argued in `docs/design/001-strand.md`.
//!
//! | File | Holds |
//! |---|---|
//! | `strand.rs` | [`Strand`]: submit, post, call; a strand's turn on a stripe |
//! | `core.rs` | the stage without its threads: ready queues, placement, takeover, ending |
//! | `stripe.rs` | one stripe's ready queues and mode |
//! | `worker.rs` | a stripe's thread: find, run, spin, watch, sleep |

mod core;
mod strand;
mod stripe;
mod worker;

#[cfg(test)]
mod tests;

pub use strand::{Called, Strand};

use self::core::Core;
use crate::context::{self, StageId};
use crate::engine::{Ending, Engine};
use crate::env::{Env, split_mix};
use crate::error::SubmitError;
use crate::future::TaskFuture;
use crate::metrics::StageSnapshot;
use crate::rules::StageKind;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

/// How a striped stage is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StripedSettings {
    /// Its threads, a stripe each.
    pub threads: usize,
    /// How many operations may wait for one strand.
    pub mailbox_capacity: usize,
    /// The size of the table that [`Striped::submit_keyed`] hashes keys onto.
    pub strands: usize,
    /// How long a stripe may stay in one task before others take the strands that wait behind it; `None` switches it off.
    pub takeover: Option<Duration>,
    /// How long mail may have waited before those who ask [`Striped::late`] refuse more; `None`: any time.
    pub overload: Option<Duration>,
    /// A task that takes longer is reported; `None` reports none.
    pub slow_limit: Option<Duration>,
}

impl Default for StripedSettings {
    /// As the `partition` stage: two threads per core.
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            threads: 2 * cores,
            mailbox_capacity: 100_000,
            strands: 1_024,
            takeover: Some(Duration::from_millis(2)),
            overload: None,
            slow_limit: Some(Duration::from_millis(100)),
        }
    }
}

/// A striped stage (`partition`, `query`): work in order by key, one thread at a time per key. A handle that is cheap to clone.
///
/// The unit is the [`Strand`]: a value, and mail for it. Each thread of the stage is a *stripe* with a queue of the strands that
/// have mail; a strand is at home on one of them. A slow operation holds up its own strand only: idle stripes take over the
/// strands that wait behind it.
///
/// ```
/// let stages = filbert_pool::Stages::start()?;
/// let partition = stages.partition();
/// // A value of its own, owned by its strand.
/// let account = partition.strand(42, 100_i64);
/// assert_eq!(account.submit("withdraw", |balance| { *balance -= 30; *balance })?.wait(), Ok(70));
/// // Without a value: operations with the same key keep their order.
/// let first = partition.submit_keyed(7, "first", || 1)?;
/// let second = partition.submit_keyed(7, "second", || 2)?;
/// assert_eq!((first.wait(), second.wait()), (Ok(1), Ok(2)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Striped {
    core: Arc<Core>,
    table: Arc<[Strand<()>]>,
}

impl Striped {
    /// Starts the stage: its threads, or its place in the simulation.
    pub(crate) fn start(env: &Arc<Env>, id: StageId, settings: StripedSettings) -> Self {
        assert!(settings.threads > 0 && settings.strands > 0, "stage {id} needs a thread and a strand");
        let core = Core::new(env, id, &settings);
        let table = (0..settings.strands).map(|key| Strand::new(&core, key as u64, (), None, None)).collect();
        match env.simulator() {
            Some(simulator) => {
                let engine: Arc<dyn Engine> = core.clone();
                simulator.add(Arc::downgrade(&engine));
            }
            None => {
                for me in 0..settings.threads {
                    let core = Arc::clone(&core);
                    env.threads().spawn(format!("{}-{me}", id.name), move || worker::run(&core, me));
                }
            }
        }
        Self { core, table }
    }

    /// How long mail may have waited before more work is refused; `None`: any time.
    pub fn overload_after(&self) -> Option<Duration> {
        self.core.overload
    }

    /// Refuses work because what was there before has waited for longer than [`Striped::overload_after`]: counts it among what the stage
    /// refused, and gives the error to tell.
    ///
    /// Whoever hands in work decides whether it may be refused: parts of what has begun go on.
    #[cold]
    pub fn late(&self) -> SubmitError {
        self.core.metrics.count_refused();
        let bound_ms = self.core.overload.map_or(0, |bound| bound.as_millis() as u64);
        SubmitError::Late { stage: self.id(), bound_ms }
    }

    /// A stage of its own, with real threads, that ends when it is dropped; for programs that need no other stage.
    ///
    /// ```
    /// use filbert_pool::{Called, Striped, StripedSettings};
    ///
    /// let stage = Striped::standalone(StripedSettings { threads: 2, ..Default::default() });
    /// let account = stage.strand(42, 100_i64);
    /// let withdrawn = account.submit("withdraw", |balance| { *balance -= 30; *balance }).unwrap();
    /// assert_eq!(withdrawn.wait(), Ok(70));
    /// // An idle strand runs the operation right here, without a hop to another thread.
    /// assert_eq!(account.call("read", |balance| *balance).unwrap().wait(), Ok(70));
    /// ```
    pub fn standalone(settings: StripedSettings) -> StandaloneStriped {
        let env = Env::real();
        let striped = Self::start(&env, StageId::of(StageKind::Partition), settings);
        StandaloneStriped { striped, env }
    }

    /// What the simulator, the snapshots and the shutdown see of it.
    pub(crate) fn engine(&self) -> Arc<dyn Engine> {
        self.core.clone()
    }

    /// What the stage says of itself.
    pub fn snapshot(&self) -> StageSnapshot {
        Engine::snapshot(&*self.core)
    }

    /// The stage's kind and name.
    pub fn id(&self) -> StageId {
        self.core.metrics.id
    }

    /// A new strand with the value `state`, at home on stripe `key % threads`.
    pub fn strand<S: Send + 'static>(&self, key: u64, state: S) -> Strand<S> {
        Strand::new(&self.core, key, state, None, None)
    }

    /// Makes a strand as [`Striped::strand`] does; reports of slow operations say that they are about that structure or statement.
    pub fn strand_about<S: Send + 'static>(&self, key: u64, about: &Arc<str>, state: S) -> Strand<S> {
        Strand::new(&self.core, key, state, None, Some(about))
    }

    /// A strand whose bound is kept by its owner (an event topic shares its bound with others).
    pub(crate) fn strand_unbounded<S: Send + 'static>(
        &self,
        key: u64,
        about: &Arc<str>,
        state: S,
    ) -> Strand<S> {
        Strand::new(&self.core, key, state, Some(usize::MAX), Some(about))
    }

    /// Runs `f` on the strand that `key` hashes onto: operations with the same key keep their order.
    pub fn submit_keyed<R: Send + 'static>(
        &self,
        key: u64,
        name: &'static str,
        f: impl FnOnce() -> R + Send + 'static,
    ) -> Result<TaskFuture<R>, SubmitError> {
        let strand = (split_mix(key) % self.table.len() as u64) as usize;
        self.table[strand].submit(name, |()| f())
    }

    /// Runs `f` on a random stripe, in no order.
    pub fn submit_any<R: Send + 'static>(
        &self,
        name: &'static str,
        f: impl FnOnce() -> R + Send + 'static,
    ) -> Result<TaskFuture<R>, SubmitError> {
        context::check_submit(self.id())?;
        let place = self.core.place_for_loose()?;
        let stripe = self.core.metrics.env().random_below(self.core.stripes.len());
        // A strand of its own: it waits behind no one but its stripe, and takeover sees to that.
        self.strand(stripe as u64, ()).submit(name, move |()| {
            drop(place);
            f()
        })
    }
}

impl std::fmt::Debug for Striped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Striped").field("stage", &self.id().name).finish_non_exhaustive()
    }
}

/// A [`Striped`] stage with surroundings of its own; ends when dropped, without what has not begun.
#[derive(Debug)]
pub struct StandaloneStriped {
    striped: Striped,
    env: Arc<Env>,
}

impl Deref for StandaloneStriped {
    type Target = Striped;

    fn deref(&self) -> &Striped {
        &self.striped
    }
}

impl Drop for StandaloneStriped {
    fn drop(&mut self) {
        self.striped.core.close(Ending::Cancel);
        self.env.timers().close();
        self.env.threads().join(Duration::from_secs(10));
    }
}
