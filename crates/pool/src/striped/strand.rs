//! A strand: a value that one thread at a time may touch, and three ways to run something on it.
//!
//! [`Strand::submit`] mails an operation and gives a future, [`Strand::post`] mails one that nobody waits for, and
//! [`Strand::call`] runs it on the calling thread when the strand is idle. Operations run in the order in which they came,
//! priority operations before the others.

use super::core::{Core, Turn};
use crate::context;
use crate::error::{SubmitError, TaskError};
use crate::future::{Resolver, TaskFuture, TaskResult, task_future};
use crate::origin::Origin;
use crate::panics::{caught, discard};
use filbert_sync::strand::{Held, Lane, Letter, Refused, Released, Strand as Protocol};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How long a strand may run before others get their turn, and how many operations at most. By time, because what was taken
/// out of a mailbox is best opened while it is in the cache, and because a few slow operations are a long turn already.
const TURN_NANOS: u64 = 50_000;
const BATCH: usize = 1_024;

/// The same under simulation, where short turns mean more ways to interleave.
const SIMULATED_BATCH: usize = 4;

/// Room that a full mailbox has left for priority mail: the system frees what users fill, and must get through to do so.
const KEPT_FREE: usize = 1_024;

/// A value of its own on a striped stage that one thread at a time touches: no lock, no `Arc<Mutex<_>>`. A handle that is cheap to
/// clone.
///
/// [`submit`](Strand::submit) mails an operation and gives a future of its result; [`post`](Strand::post) mails one that nobody
/// waits for; [`call`](Strand::call) runs it on the calling thread when the strand is idle. Mail is opened in the order in
/// which it came, priority mail before the other. A full mailbox refuses with [`SubmitError::Overloaded`].
///
/// ```
/// use filbert_pool::{Called, Stages};
///
/// let stages = Stages::start()?;
/// let words = stages.partition().strand(1, Vec::new());
/// words.post("push", |words| words.push("filbert"))?;
/// let count = words.submit("count", |words| words.len())?;
/// assert_eq!(count.wait(), Ok(1));
/// match words.call("last", |words| words.last().copied())? {
///     Called::Here(last) => assert_eq!(last, Ok(Some("filbert"))),
///     Called::Queued(later) => assert_eq!(later.wait(), Ok(Some("filbert"))),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Strand<S: Send + 'static> {
    cell: Arc<StrandCell<S>>,
}

/// What [`Strand::call`] did.
#[derive(Debug)]
pub enum Called<R> {
    /// The strand was idle: the operation ran on the calling thread, and this is its result.
    Here(TaskResult<R>),
    /// The strand was busy: the operation is in its mailbox.
    Queued(TaskFuture<R>),
}

impl<R: Send + 'static> Called<R> {
    /// The result, waited for where that is needed and allowed.
    pub fn wait(self) -> TaskResult<R> {
        match self {
            Called::Here(result) => result,
            Called::Queued(future) => future.wait(),
        }
    }

    /// Lets go of the result: an operation in the mailbox runs all the same.
    pub fn detach(self) {
        if let Called::Queued(future) = self {
            future.detach();
        }
    }
}

struct StrandCell<S: Send + 'static> {
    core: Arc<Core>,
    home: usize,
    capacity: usize,
    protocol: Protocol<S>,
    /// Operations run by callers; written by the holder alone.
    called: AtomicU64,
    /// The structure that its operations are about, for reports.
    about: Option<Arc<str>>,
}

impl<S: Send + 'static> Strand<S> {
    pub(super) fn new(
        core: &Arc<Core>,
        key: u64,
        state: S,
        capacity: Option<usize>,
        about: Option<&Arc<str>>,
    ) -> Self {
        let cell = Arc::new(StrandCell {
            core: Arc::clone(core),
            home: (key % core.stripes.len() as u64) as usize,
            capacity: capacity.unwrap_or(core.capacity),
            protocol: Protocol::new(state),
            called: AtomicU64::new(0),
            about: about.cloned(),
        });
        let entry: Arc<dyn Turn> = cell.clone();
        core.register(&entry);
        Self { cell }
    }

    /// Mails `f`; the future has its result.
    pub fn submit<R: Send + 'static>(
        &self,
        name: &'static str,
        f: impl FnOnce(&mut S) -> R + Send + 'static,
    ) -> Result<TaskFuture<R>, SubmitError> {
        self.submit_in(Lane::Normal, name, f)
    }

    /// Like [`Strand::submit`], before all normal work of the strand and of its stripe.
    pub fn submit_priority<R: Send + 'static>(
        &self,
        name: &'static str,
        f: impl FnOnce(&mut S) -> R + Send + 'static,
    ) -> Result<TaskFuture<R>, SubmitError> {
        self.submit_in(Lane::Priority, name, f)
    }

    fn submit_in<R: Send + 'static>(
        &self,
        lane: Lane,
        name: &'static str,
        f: impl FnOnce(&mut S) -> R + Send + 'static,
    ) -> Result<TaskFuture<R>, SubmitError> {
        let metrics = &self.cell.core.metrics;
        let (resolver, future) = task_future(metrics.env(), metrics.id, name);
        self.mail(name, Answered { f, resolver }, lane)?;
        Ok(future)
    }

    /// Mails `f` without a future: the cheapest hand-over. A panic is counted, and seen by no one else.
    pub fn post(
        &self,
        name: &'static str,
        f: impl FnOnce(&mut S) + Send + 'static,
    ) -> Result<(), SubmitError> {
        self.mail(name, Posted(f), Lane::Normal)
    }

    /// Like [`Strand::post`], before all normal work of the strand and of its stripe. For the system's own work: it finds some room in a
    /// mailbox that is full of other mail.
    pub fn post_priority(
        &self,
        name: &'static str,
        f: impl FnOnce(&mut S) + Send + 'static,
    ) -> Result<(), SubmitError> {
        self.mail(name, Posted(f), Lane::Priority)
    }

    fn mail(&self, name: &'static str, letter: impl Letter<S>, lane: Lane) -> Result<(), SubmitError> {
        let cell = &self.cell;
        let stage = cell.core.metrics.id;
        context::check_submit(stage)?;
        let capacity = match lane {
            Lane::Normal => cell.capacity,
            Lane::Priority => cell.capacity.saturating_add(KEPT_FREE),
        };
        let letter = Sent { origin: Origin::current(), letter };
        match cell.protocol.submit(name, letter, lane, capacity) {
            Ok(false) => Ok(()),
            Ok(true) => {
                cell.core.push(cell.clone(), lane);
                Ok(())
            }
            Err(refused) => {
                cell.core.metrics.count_refused();
                Err(match refused {
                    Refused::Full => SubmitError::Overloaded { stage, capacity },
                    Refused::Closed => SubmitError::ShutDown { stage },
                })
            }
        }
    }

    /// Runs `f` on the calling thread if the strand is idle (*caller-runs*: no hop, no allocation), else mails it.
    ///
    /// While `f` runs here, the thread counts as one of the stage: what `f` must not do on a stripe is refused here too, above
    /// all waiting.
    #[inline]
    pub fn call<R: Send + 'static>(
        &self,
        name: &'static str,
        f: impl FnOnce(&mut S) -> R + Send + 'static,
    ) -> Result<Called<R>, SubmitError> {
        context::check_submit(self.cell.core.metrics.id)?;
        match self.try_run_here(name, f) {
            Ok(result) => Ok(Called::Here(result)),
            Err(f) => self.submit(name, f).map(Called::Queued),
        }
    }

    /// Runs `f` on the calling thread if the strand is idle, else gives it back. Being never mailed, `f` may borrow.
    #[inline]
    pub fn try_run_here<R, F: FnOnce(&mut S) -> R>(
        &self,
        name: &'static str,
        f: F,
    ) -> Result<TaskResult<R>, F> {
        let cell = &self.cell;
        let metrics = &cell.core.metrics;
        if context::check_submit(metrics.id).is_err() {
            return Err(f);
        }
        let Some(mut held) = cell.protocol.claim(|released| cell.queue(released)) else { return Err(f) };
        let _entered = context::enter(metrics.id);
        // Only the holder counts, so a load and a store are enough.
        cell.called.store(cell.called.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        let value = held.value();
        let result = metrics.observe_caller(name, cell.about.as_deref(), || caught(|| f(value)));
        Ok(result.map_err(|message| TaskError::Panicked { stage: metrics.id, task: name, message }))
    }

    /// Operations that wait for the strand.
    pub fn depth(&self) -> usize {
        self.cell.protocol.depth()
    }

    /// The stripe where it is at home.
    pub fn home(&self) -> usize {
        self.cell.home
    }
}

impl<S: Send + 'static> Clone for Strand<S> {
    fn clone(&self) -> Self {
        Self { cell: Arc::clone(&self.cell) }
    }
}

impl<S: Send + 'static> std::fmt::Debug for Strand<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Strand")
            .field("stage", &self.cell.core.metrics.id.name)
            .field("home", &self.cell.home)
            .finish_non_exhaustive()
    }
}

impl<S: Send + 'static> StrandCell<S> {
    /// Does what a release asks for.
    #[inline]
    fn queue(self: &Arc<Self>, released: Released) {
        if released.priority {
            self.core.push(self.clone(), Lane::Priority);
        }
        if released.normal {
            self.core.push(self.clone(), Lane::Normal);
        }
        if released.drained {
            self.core.strand_drained();
        }
    }

    fn run_batch<F: Fn(Released)>(&self, worker: usize, lane: Lane, held: &mut Held<'_, S, F>) {
        let core = &*self.core;
        let env = core.metrics.env();
        let stripe = &core.stripes[worker];
        let batch = match env.simulator() {
            None => BATCH,
            Some(_) => 1 + env.random_below(SIMULATED_BATCH),
        };
        let mut observed = core.metrics.batch(worker, self.about.as_deref());
        let turn_ends = observed.now() + TURN_NANOS;
        for _ in 0..batch {
            let Some(mail) = held.next(lane) else { break };
            if core.is_cancelled() {
                // Its future, if it has one, says "cancelled"; what it owns may panic when dropped.
                discard(mail);
                continue;
            }
            let value = held.value();
            let went_well = observed.observe(mail.name(), || caught(|| mail.open(value)).unwrap_or(false));
            if !went_well {
                core.metrics.worker(worker).count_panicked();
            }
            stripe.moved();
            let priority_waits = lane == Lane::Normal && stripe.has_priority();
            if priority_waits || observed.now() >= turn_ends {
                break;
            }
        }
    }
}

impl<S: Send + 'static> Turn for StrandCell<S> {
    fn turn(self: Arc<Self>, worker: usize, lane: Lane) {
        if let Some(mut held) = self.protocol.begin(lane, |released| self.queue(released)) {
            self.run_batch(worker, lane, &mut held);
        }
    }

    fn home(&self) -> usize {
        self.home
    }

    fn depth(&self) -> usize {
        self.protocol.depth()
    }

    fn called(&self) -> u64 {
        self.called.load(Ordering::Relaxed)
    }

    fn close(&self) -> bool {
        self.protocol.close()
    }
}

impl<S: Send + 'static> Drop for StrandCell<S> {
    fn drop(&mut self) {
        let called = *self.called.get_mut();
        self.core.forget(called);
    }
}

/// A letter, and the client that it was sent for.
struct Sent<L> {
    origin: Origin,
    letter: L,
}

impl<S, L: Letter<S>> Letter<S> for Sent<L> {
    fn open(self, value: &mut S) -> bool {
        let _origin = self.origin.enter();
        self.letter.open(value)
    }
}

/// An operation that nobody waits for.
struct Posted<F>(F);

impl<S, F: FnOnce(&mut S) + Send + 'static> Letter<S> for Posted<F> {
    fn open(self, value: &mut S) -> bool {
        (self.0)(value);
        true
    }
}

/// An operation whose result goes to a future.
struct Answered<F, R: Send + 'static> {
    f: F,
    resolver: Resolver<R>,
}

impl<S, R: Send + 'static, F: FnOnce(&mut S) -> R + Send + 'static> Letter<S> for Answered<F, R> {
    fn open(self, value: &mut S) -> bool {
        let f = self.f;
        self.resolver.run(|| f(value))
    }
}
