//! The turn under way: how much of its budget is used, and whom to wake.
//!
//! Nothing can interrupt a turn, so whoever loops asks whether it is over: a tasklet through its [`TurnContext`], a stream
//! deep inside a future through [`checkpoint`], which finds the turn in a thread-local. A query operator that
//! produces batches for ever without asking its inputs must contain such a point, or its worker is lost to everyone else.
//!
//! Under simulation virtual time stands still inside a turn; there the seed decides at which question a turn is over, so
//! that every such point is tried as the last one.

use super::handle::TaskWaker;
use super::task::Task;
use crate::context::{self, Entered};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// How long a turn should take at most. Always measured; longer turns are counted by their group.
pub const TURN_BUDGET: Duration = Duration::from_millis(1);

/// A turn that has taken so long is over when a task that goes first waits.
const SHORTEST_TURN: Duration = Duration::from_micros(100);

/// Under simulation a turn is over at one question in this many.
const SIMULATED_QUESTIONS: usize = 8;

/// What a tasklet has at hand during its turn.
#[derive(Debug)]
pub struct TurnContext<'a> {
    waker: &'a TaskWaker,
    worker: usize,
    began: u64,
}

impl<'a> TurnContext<'a> {
    pub(super) fn new(waker: &'a TaskWaker, worker: usize, began: u64) -> Self {
        Self { waker, worker, began }
    }

    /// Wakes this task; clone it for whoever will have something for it.
    pub fn waker(&self) -> &TaskWaker {
        self.waker
    }

    /// The index of the worker that gives this turn.
    pub fn worker(&self) -> usize {
        self.worker
    }

    /// How long this turn has taken so far.
    pub fn used(&self) -> Duration {
        Duration::from_nanos(self.waker.task().env().now().saturating_sub(self.began))
    }

    /// This turn goes on for a while: a task that it has woken need not wait for its end, if another worker is free.
    ///
    /// [`TurnContext::should_yield`] says the same. A task that does neither keeps the task that it woke first to itself until
    /// the turn ends, because to wake another worker costs more than most turns.
    #[inline]
    pub fn pass_on(&self) {
        pass_on(self.waker.task());
    }

    /// True when the turn should end soon: its budget is used, or the task was cancelled.
    pub fn should_yield(&self) -> bool {
        is_over(self.waker.task(), self.began)
    }

    /// True when the task was cancelled: whatever this turn returns, it is the last.
    pub fn is_cancelled(&self) -> bool {
        self.waker.task().is_cancelled()
    }
}

fn is_over(task: &Task, began: u64) -> bool {
    pass_on(task);
    if task.is_cancelled() {
        return true;
    }
    let env = task.env();
    match env.simulator() {
        Some(_) => env.random_below(SIMULATED_QUESTIONS) == 0,
        None => {
            let used = env.now().saturating_sub(began);
            used >= TURN_BUDGET.as_nanos() as u64
                || (used >= SHORTEST_TURN.as_nanos() as u64 && task.group().gives_way())
        }
    }
}

#[inline]
fn pass_on(task: &Task) {
    if OWES_NEWS.replace(false) {
        task.pass_on();
    }
}

/// A pool kept the news of a task that was woken in this turn; it is asked for them when the turn turns out to be a long one.
pub(crate) fn owe_news() {
    OWES_NEWS.set(true);
}

thread_local! {
    /// A hint: news are kept for this thread's turn, or were for an earlier one.
    static OWES_NEWS: Cell<bool> = const { Cell::new(false) };

    /// The turn that this thread gives right now.
    static HERE: RefCell<Option<(Arc<Task>, u64)>> = const { RefCell::new(None) };
}

/// This thread gives `task` a turn until the result is dropped.
pub(super) struct TurnHere {
    before: Option<(Arc<Task>, u64)>,
    _awaits: Entered,
}

pub(super) fn enter(task: &Arc<Task>, began: u64) -> TurnHere {
    let before = HERE.replace(Some((Arc::clone(task), began)));
    TurnHere { before, _awaits: context::enter_turn() }
}

impl Drop for TurnHere {
    fn drop(&mut self) {
        let ended = HERE.replace(self.before.take());
        drop(ended);
    }
}

/// True when the turn that this thread gives to a polled task should end soon. False outside all turns.
pub fn turn_is_over() -> bool {
    HERE.with_borrow(|here| here.as_ref().is_some_and(|(task, began)| is_over(task, *began)))
}

/// Ends the turn here if its budget is used, and goes on in the next one.
///
/// ```
/// async fn count(rows: impl Iterator<Item = u64>) -> u64 {
///     let mut sum = 0;
///     for row in rows {
///         sum += row;
///         filbert_pool::checkpoint().await;
///     }
///     sum
/// }
/// ```
pub fn checkpoint() -> Checkpoint {
    Checkpoint { yielded: false }
}

/// See [`checkpoint`].
#[derive(Debug)]
#[must_use = "a checkpoint that is not awaited ends no turn"]
pub struct Checkpoint {
    yielded: bool,
}

impl Future for Checkpoint {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.yielded || !turn_is_over() {
            return Poll::Ready(());
        }
        self.yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}
