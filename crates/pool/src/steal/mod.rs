//! The work-stealing mechanism: fork-join for the stages `cpu`, `fragment` and `flow`.
//!
//! ```text
//!   join ──► private list ──(start of a task, or a theft)──► shared deque ──► thieves
//!   submit, complete ──► roots (bounded, first in first out) ──► any worker
//!   join, run, scope, ranges from outside ──► the caller takes part as a guest
//! ```
//!
//! A pending join is private to its worker: pushing and popping it costs no fence. The oldest are promoted to a shared
//! deque when there should be something to steal (`slot`, `docs/design/003-fork-join-promotion.md`). Workers without work
//! search for a moment, then sleep; an idle pool uses no CPU (`worker`, `docs/design/004-park-and-unpark.md`).
//!
//! This module has one unsafe line: a call from outside that found no guest slot waits while a worker runs its closure.
//!
//! Rejected: a deque operation per join (crossbeam-deque's pop pays a sequentially consistent fence, 8.5 ns); a heartbeat
//! timer for promotion (coarse forks wait for the beat, and a timer runs while nothing does).

mod completer;
mod core;
mod guest;
mod job;
mod join;
mod scope;
pub mod shape;
mod slot;
mod spare;
mod tasks;
mod vigil;
mod worker;

#[cfg(test)]
mod tests;

pub use completer::{Completer, Forks};
pub use join::join;
pub use scope::Scope;
pub use vigil::Vigil;

use self::core::{Core, Root, RootBody};
use crate::context::{self, StageId};
use crate::engine::{Ending, Engine};
use crate::env::Env;
use crate::error::SubmitError;
use crate::future::{TaskFuture, task_future};
use crate::rules::StageKind;
use filbert_sync::{Latch, Pass};
use guest::Guest;
use job::JobRef;
use slot::Slot;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

/// How a work-stealing stage is made.
#[derive(Debug, Clone)]
pub(crate) struct StealSettings {
    /// Worker threads.
    pub(crate) threads: usize,
    /// Workers that are made when needed, for those that are held up.
    pub(crate) spares: usize,
    /// A worker in a longer turn is held up.
    pub(crate) held_up_after: Option<Duration>,
    /// How many roots may be queued.
    pub(crate) injector_capacity: usize,
    /// A root that takes longer is reported.
    pub(crate) slow_limit: Option<Duration>,
    /// The least number of elements that a range is cut into.
    pub(crate) min_leaf: usize,
}

/// The least number of cheap operations that are worth a task of their own.
pub(crate) const MIN_LEAF: usize = 10_000;

/// A pool of workers that share forked work; a cheap handle, to be cloned at will.
///
/// Called from a thread outside, [`join`](WorkStealing::join), [`run`](WorkStealing::run), [`scope`](WorkStealing::scope)
/// and the ranges let the caller take part: it starts at once, and workers help. On a thread that must not wait for this
/// stage everything runs in sequence, with the same answer.
///
/// ```
/// let cpu = filbert_pool::WorkStealing::standalone(2);
/// let (sum, longest) = cpu.join(
///     || (1..=1_000_u64).sum::<u64>(),
///     || ["a", "filbert"].iter().map(|word| word.len()).max(),
/// );
/// assert_eq!((sum, longest), (500_500, Some(7)));
/// let squares: u64 = cpu.range(0..1_000).map(|i| (i * i) as u64).sum();
/// assert_eq!(squares, 332_833_500);
/// ```
#[derive(Clone)]
pub struct WorkStealing {
    core: Arc<Core>,
    _closes: Option<Arc<Closes>>,
}

/// Ends a pool of its own when its last handle is gone.
struct Closes(Arc<Core>);

impl Drop for Closes {
    fn drop(&mut self) {
        self.0.close(Ending::Drain);
    }
}

/// Leaves the gate of a pool when dropped.
struct LeavesGate<'a> {
    core: &'a Core,
    pass: Option<Pass<'a>>,
}

impl Drop for LeavesGate<'_> {
    fn drop(&mut self) {
        if let Some(pass) = self.pass.take() {
            self.core.leave(pass);
        }
    }
}

/// Where a call runs.
enum Place<'a> {
    /// On the caller, which holds this slot already.
    Here(&'a Slot),
    /// On the caller, which takes part for the length of the call.
    Guest(Guest<'a>),
    /// On the caller alone.
    Sequence,
    /// On a worker, while the caller blocks: every guest slot is taken.
    Worker,
}

impl WorkStealing {
    /// Starts a stage.
    pub(crate) fn start(env: &Arc<Env>, id: StageId, settings: StealSettings) -> WorkStealing {
        let threads = settings.threads;
        let core = Core::new(env, id, settings);
        if env.simulator().is_none() {
            for index in 0..threads {
                let core = Arc::clone(&core);
                env.threads().spawn(format!("{id}-{index}"), move || worker::run(core, index));
            }
        }
        WorkStealing { core, _closes: None }
    }

    /// A pool of its own, outside any set of stages; its threads end when the last handle is dropped.
    ///
    /// # Panics
    /// When `threads` is zero.
    pub fn standalone(threads: usize) -> WorkStealing {
        assert!(threads > 0, "a work-stealing pool needs at least one thread");
        let settings = StealSettings {
            threads,
            spares: 0,
            held_up_after: None,
            injector_capacity: 1_000_000,
            slow_limit: None,
            min_leaf: MIN_LEAF,
        };
        let mut pool = Self::start(&Env::real(), StageId::of(StageKind::Cpu), settings);
        pool._closes = Some(Arc::new(Closes(Arc::clone(&pool.core))));
        pool
    }

    /// What drives and ends the stage.
    pub(crate) fn engine(&self) -> Arc<dyn Engine> {
        Arc::clone(&self.core) as Arc<dyn Engine>
    }

    /// The stage that this pool is.
    pub fn stage(&self) -> StageId {
        self.core.id()
    }

    /// How many workers it has.
    pub fn threads(&self) -> usize {
        self.core.settings.threads
    }

    #[inline(always)]
    fn here(&self) -> Option<&Slot> {
        slot::current().filter(|slot| slot.belongs_to(Arc::as_ptr(&self.core)))
    }

    /// True when a thread outside may wait for workers to do their part.
    fn may_share(&self) -> bool {
        context::current().kind.permission(self.core.id().kind).wait && self.core.env.simulator().is_none()
    }

    /// Where a call from this thread runs. The order matters: whoever is inside goes on inside, even after the end.
    fn place(&self) -> Place<'_> {
        if let Some(slot) = self.here() {
            return Place::Here(slot);
        }
        if !self.may_share() {
            return Place::Sequence;
        }
        let core = &*self.core;
        match Guest::enter(core) {
            Some(guest) => Place::Guest(guest),
            None if core.gate.is_closed() => Place::Sequence,
            None => Place::Worker,
        }
    }

    /// Runs `a` and `b`, perhaps at the same time. A panic of either reaches the caller once both have ended.
    ///
    /// ```compile_fail,E0277
    /// let here = std::rc::Rc::new(1);
    /// filbert_pool::WorkStealing::standalone(1).join(|| 1, || *here);
    /// ```
    #[inline]
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        match self.here() {
            Some(slot) => join::join_on(slot, a, b),
            None => self.join_from_outside(a, b),
        }
    }

    #[cold]
    fn join_from_outside<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.inside(move |slot| match slot {
            Some(slot) => join::join_on(slot, a, b),
            None if self.core.env.simulator().is_some() && self.core.env.random_below(2) == 1 => {
                let b = b();
                (a(), b)
            }
            None => {
                let a = a();
                (a, b())
            }
        })
    }

    /// Runs `body` in the pool and returns its value: everything that it forks is shared. A panic reaches the caller.
    pub fn run<R: Send>(&self, body: impl FnOnce() -> R + Send) -> R {
        self.inside(|_| body())
    }

    /// Runs `body` with the slot that its thread holds, or with none when it has to run in sequence.
    fn inside<R: Send>(&self, body: impl FnOnce(Option<&Slot>) -> R + Send) -> R {
        match self.place() {
            Place::Here(slot) => body(Some(slot)),
            Place::Guest(guest) => body(Some(guest.slot())),
            Place::Sequence => self.in_sequence(body),
            Place::Worker => self.on_a_worker(body),
        }
    }

    /// The calling thread counts as one of the stage as long as the value is kept: for what is not worth sharing.
    #[inline]
    pub(crate) fn count_as_worker(&self) -> context::Entered {
        context::enter(self.core.id())
    }

    /// Runs `body` on the calling thread alone. It counts as a thread of the stage all the same: what is refused on a worker is
    /// refused here too.
    fn in_sequence<R>(&self, body: impl FnOnce(Option<&Slot>) -> R) -> R {
        let _stage = self.count_as_worker();
        body(None)
    }

    /// Blocks until a worker has run `body`; runs it here, in sequence, when the queue of roots is full.
    fn on_a_worker<R: Send>(&self, body: impl FnOnce(Option<&Slot>) -> R + Send) -> R {
        let core = &*self.core;
        let Some(pass) = core.gate.enter() else { return self.in_sequence(body) };
        let done = Arc::new(Latch::new());
        let (mut body, mut result) = (Some(body), None);
        let opens = Arc::clone(&done);
        let run = || {
            // Its own latch, because this frame may be gone as soon as the latch is open.
            let opens = opens;
            if let Some(body) = body.take() {
                result = Some(catch_unwind(AssertUnwindSafe(|| body(slot::current()))));
            }
            opens.open();
        };
        // SAFETY: this frame waits for the latch, which the job opens last; a job that was queued is always run.
        let job = unsafe { JobRef::boxed_for(run) };
        let root = Root { name: "run", queued_at: core.env.now(), body: RootBody::Job(job) };
        match core.push_root(root, true) {
            Ok(()) => done.wait(),
            Err(root) => core.run_here(root),
        }
        core.leave(pass);
        match result {
            Some(Ok(value)) => value,
            Some(Err(payload)) => resume_unwind(payload),
            None => unreachable!("the job was run"),
        }
    }

    /// Runs `body`, which may spawn tasks that borrow from around the call; returns when all of them have ended.
    ///
    /// The first panic, of `body` or of a task, reaches the caller.
    ///
    /// ```
    /// let cpu = filbert_pool::WorkStealing::standalone(2);
    /// let mut halves = [0_u64; 2];
    /// let [left, right] = &mut halves;
    /// cpu.scope(|scope| {
    ///     scope.spawn(|_| *left = 1);
    ///     scope.spawn(|_| *right = 2);
    /// });
    /// assert_eq!(halves, [1, 2]);
    /// ```
    ///
    /// A task cannot outlive what it borrows:
    ///
    /// ```compile_fail,E0597
    /// let cpu = filbert_pool::WorkStealing::standalone(1);
    /// cpu.scope(|scope| {
    ///     let local = 1;
    ///     scope.spawn(|_| assert_eq!(local, 1));
    /// });
    /// ```
    pub fn scope<'env, R: Send>(
        &self,
        body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R + Send,
    ) -> R {
        self.inside(|slot| scope::run(slot, self.core.id(), body))
    }

    /// Like [`WorkStealing::scope`], but `body` stays on the calling thread and outside the pool: it may block, on a file or a
    /// database, while the tasks that it spawns run on the workers.
    pub fn scope_from_here<'env, R>(
        &self,
        body: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
    ) -> R {
        let core = &*self.core;
        if let Some(slot) = self.here() {
            return scope::run(Some(slot), core.id(), body);
        }
        // Asked before the gate: a pass that was given must be left through `Core::leave`, or nobody wakes the workers.
        let pass = if self.may_share() { core.gate.enter() } else { None };
        match pass {
            None => scope::run(None, core.id(), body),
            Some(pass) => {
                // Left even when the body panics: a pass that stays keeps the pool from ending.
                let _leaves = LeavesGate { core, pass: Some(pass) };
                scope::run_outside(core, body)
            }
        }
    }

    /// Hands a task to the pool; its future tells how it ended.
    ///
    /// ```
    /// let cpu = filbert_pool::WorkStealing::standalone(1);
    /// let answer = cpu.submit("answer", || 6 * 7)?;
    /// assert_eq!(answer.wait(), Ok(42));
    /// # Ok::<(), filbert_pool::SubmitError>(())
    /// ```
    pub fn submit<T: Send + 'static>(
        &self,
        name: &'static str,
        body: impl FnOnce() -> T + Send + 'static,
    ) -> Result<TaskFuture<T>, SubmitError> {
        let (resolver, future) = task_future(&self.core.env, self.core.id(), name);
        self.enqueue(name, Box::new(move || resolver.run(body)))?;
        Ok(future)
    }

    /// Runs a [`Completer`] and everything that it forks; nobody waits, on any thread.
    pub fn complete<C: Completer>(
        &self,
        name: &'static str,
        root: C,
    ) -> Result<TaskFuture<C::Output>, SubmitError> {
        let (resolver, future) = task_future(&self.core.env, self.core.id(), name);
        let root = completer::root(&self.core, resolver, root);
        self.enqueue(name, Box::new(root))?;
        Ok(future)
    }

    fn enqueue(&self, name: &'static str, body: Box<dyn FnOnce() -> bool + Send>) -> Result<(), SubmitError> {
        let core = &*self.core;
        context::check_submit(core.id())?;
        let refused = |error| {
            core.metrics.count_refused();
            Err(error)
        };
        let Some(pass) = core.gate.enter() else {
            return refused(SubmitError::ShutDown { stage: core.id() });
        };
        let root = Root { name, queued_at: core.env.now(), body: RootBody::Task(body) };
        let pushed = core.push_root(root, true);
        core.leave(pass);
        if pushed.is_err() {
            let capacity = core.settings.injector_capacity;
            return refused(SubmitError::Overloaded { stage: core.id(), capacity });
        }
        Ok(())
    }
}

impl std::fmt::Debug for WorkStealing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkStealing")
            .field("stage", &self.stage().name)
            .field("threads", &self.threads())
            .finish_non_exhaustive()
    }
}
