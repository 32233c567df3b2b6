//! `join`: two closures, perhaps at the same time.
//!
//! This module has unsafe code: the second closure is shared with thieves from the frame of `join` itself.
//!
//! Rules (beside those of `job` and `slot`):
//! 1. A frame that added a private join leaves only through `retract`; when that says "promoted", it takes the job back out of
//!    its own deque or waits until it is done. Unwinding goes the same way, by a drop guard.
//!
//! A private join costs a thread-local load, the closure and two words stored, one relaxed load of the slot's own attention
//! word, two looks at the clock, and a comparison. When such a join took less than a quarter of a microsecond in all, the next ones on
//! this slot are most likely as small: they just run in sequence, for the price of one counter (`Slot::skips`). Older and
//! larger joins wait in the list meanwhile for whoever wants one.
//!
//! Rejected: running every join but one in 64 in sequence whenever a few are pending, as chili does. It is as cheap, but
//! `join(rest, heavy)` then shares one heavy half in 64; here a join must first have been seen to be small.

use super::job::StackJob;
use super::slot::{self, Slot};
use super::worker;
use crate::context;
use std::panic::resume_unwind;

/// Runs `a` and `b`, perhaps at the same time, on the pool that the current thread works for; in sequence outside any pool.
///
/// A panic of either reaches the caller, once both have ended.
///
/// ```
/// fn sum(values: &[u64]) -> u64 {
///     if values.len() < 1024 {
///         return values.iter().sum();
///     }
///     let (left, right) = values.split_at(values.len() / 2);
///     let (left, right) = filbert_pool::join(|| sum(left), || sum(right));
///     left + right
/// }
/// let values: Vec<u64> = (0..100_000).collect();
/// let pool = filbert_pool::WorkStealing::standalone(2);
/// assert_eq!(pool.run(|| sum(&values)), 4_999_950_000);
/// ```
///
/// What cannot go to another thread does not compile:
///
/// ```compile_fail,E0277
/// let here = std::rc::Rc::new(1);
/// filbert_pool::join(|| 1, || *here);
/// ```
#[inline]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    match slot::current() {
        Some(slot) => join_on(slot, a, b),
        None => {
            let a = a();
            (a, b())
        }
    }
}

/// `join` on a slot that the current thread holds.
#[inline(always)]
pub(super) fn join_on<A, B, RA, RB>(slot: &Slot, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    if slot.skips() {
        let a = a();
        return (a, b());
    }
    join_pending(slot, a, b)
}

/// A join that others may take part in.
#[inline(never)]
fn join_pending<A, B, RA, RB>(slot: &Slot, a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    let Some(position) = slot.position() else {
        // As deep as a recursion gets; whoever wants work finds enough of it further up.
        let a = a();
        return (a, b());
    };
    let began = slot.now();
    let job = StackJob::new(b);
    // SAFETY: rule 1.
    unsafe { slot.add(position, job.as_job_ref()) };
    let unwinding = Unwinding { slot, position, job: &job };
    let a = a();
    std::mem::forget(unwinding);
    if slot.retract(position) {
        // SAFETY: the job was private to the end, so nobody else runs it.
        let b = unsafe { job.take() };
        let result = (a, b());
        slot.ended(began);
        return result;
    }
    match settle(slot, position, &job) {
        Settled::Back(b) => (a, b()),
        Settled::Done(Ok(b)) => (a, b),
        Settled::Done(Err(payload)) => {
            drop(a);
            resume_unwind(payload)
        }
    }
}

enum Settled<B, R> {
    Back(B),
    Done(std::thread::Result<R>),
}

/// The end of a promoted job: taken back, or done by someone else.
#[cold]
#[inline(never)]
fn settle<B, R>(slot: &Slot, position: usize, job: &StackJob<B, R>) -> Settled<B, R>
where
    B: FnOnce() -> R + Send,
    R: Send,
{
    slot.forget_promoted(position);
    // SAFETY: the job was promoted.
    let done = unsafe { job.done() };
    while !done.is_done() {
        match slot.pop() {
            // SAFETY: we took the job out of the deque, so nobody else runs it.
            Some(next) if next.is(job.address()) => return Settled::Back(unsafe { job.take() }),
            // Forks of completers may lie on top; they are ours to run as well as anyone's.
            Some(next) => {
                let _fork = context::enter_closure();
                // SAFETY: taken out of the deque.
                unsafe { next.run() }
            }
            None => {
                worker::help_until(slot, done);
                break;
            }
        }
    }
    // SAFETY: the slot says done, and this is the only place that takes the result.
    Settled::Done(unsafe { job.result() })
}

/// Keeps rule 1 when `a` panics.
struct Unwinding<'a, B, R>
where
    B: FnOnce() -> R + Send,
    R: Send,
{
    slot: &'a Slot,
    position: usize,
    job: &'a StackJob<B, R>,
}

impl<B, R> Drop for Unwinding<'_, B, R>
where
    B: FnOnce() -> R + Send,
    R: Send,
{
    #[cold]
    fn drop(&mut self) {
        if self.slot.retract(self.position) {
            // SAFETY: the job was private, so nobody else runs it; it never will.
            drop(unsafe { self.job.take() });
        } else {
            // Taken back it is dropped unrun; done by a thief, its value or its own panic is dropped: the first one counts.
            drop(settle(self.slot, self.position, self.job));
        }
    }
}
