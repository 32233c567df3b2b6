//! A piece of work as two words, so that it fits a deque: where its data is, and the function that runs it.
//!
//! This module has unsafe code: it erases the types and lifetimes of closures that live on a stack or on the heap.
//!
//! | Field of [`StackJob`] | Who touches it, when |
//! |---|---|
//! | `fork` | written by the owner when the job is promoted; read by whoever runs the promoted job |
//! | `body` | taken once: by the owner (private, or taken back), or by whoever took the job out of the deque |
//! | `result` | written by a runner that is not the owner, before `fork.done`; read by the owner after it |
//!
//! Rules:
//! 1. A [`JobRef`] is run exactly once, or (a private one) never.
//! 2. The data behind a `JobRef` lives until the job has run: a stack job's owner leaves its frame only after it took the
//!    job back or saw it done; a heap job owns itself.
//! 3. Whoever runs a promoted stack job reads where to ring before it says that the job is done: then the frame may be gone.
//! 4. `fork` is the first field, so that a promotion, which knows no type, can write it.

use crate::panics::caught;
use filbert_sync::idle::Idle;
use filbert_sync::join_slot::JoinSlot;
use std::cell::UnsafeCell;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A piece of work, whatever it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct JobRef {
    data: *const (),
    run: unsafe fn(*const ()),
}

// SAFETY: a job is run by one thread (rule 1), and every constructor asks for `Send` contents.
unsafe impl Send for JobRef {}

impl JobRef {
    /// # Safety
    /// `run(data)` must be sound on any thread of the pool, once, until which `data` stays valid (rules 1 and 2).
    pub(super) unsafe fn new(data: *const (), run: unsafe fn(*const ())) -> Self {
        Self { data, run }
    }

    /// A closure that owns all it needs. It must not unwind.
    pub(super) fn boxed<F: FnOnce() + Send + 'static>(body: F) -> Self {
        // SAFETY: the closure is `'static`.
        unsafe { Self::boxed_for(body) }
    }

    /// A closure on the heap. It must not unwind.
    ///
    /// # Safety
    /// The closure has run before anything that it borrows is gone.
    pub(super) unsafe fn boxed_for<F: FnOnce() + Send>(body: F) -> Self {
        unsafe fn run<F: FnOnce()>(data: *const ()) {
            // SAFETY: the pointer came from `Box::into_raw` below, and by rule 1 comes back once.
            let body = unsafe { Box::from_raw(data.cast::<F>().cast_mut()) };
            // It may run inside another frame's wait, whose half is still with a thief: it must not unwind. A panic that gets here
            // is of a user's callback or `Drop`, after its task was told.
            let _ = caught(body);
        }
        Self { data: Box::into_raw(Box::new(body)).cast_const().cast(), run: run::<F> }
    }

    /// True when both are the same job.
    pub(super) fn is(self, data: *const ()) -> bool {
        std::ptr::eq(self.data, data)
    }

    /// Runs it.
    ///
    /// # Safety
    /// The caller took the job out of where it was queued and gives it up (rule 1).
    #[inline]
    pub(super) unsafe fn run(self) {
        // SAFETY: by rule 2 the data is valid.
        unsafe { (self.run)(self.data) }
    }

    /// Prepares a private stack job for the deque.
    ///
    /// # Safety
    /// The job is a [`StackJob`] that only its owner, the caller, knows so far.
    pub(super) unsafe fn promote(self, idle: &Idle, bed: usize) {
        let fork = Fork { done: JoinSlot::new(), idle, bed };
        // SAFETY: `fork` is the first field of a stack job (rule 4), nobody else knows the job yet, and it is in an `UnsafeCell`.
        unsafe { self.data.cast_mut().cast::<Fork>().write(fork) };
    }
}

/// What a promoted job needs to tell its owner.
#[derive(Debug)]
struct Fork {
    done: JoinSlot,
    idle: *const Idle,
    bed: usize,
}

/// One half of a `join`, in its owner's frame. Making one costs nothing but the closure itself.
#[repr(C)]
pub(super) struct StackJob<B, R> {
    fork: UnsafeCell<MaybeUninit<Fork>>,
    body: UnsafeCell<ManuallyDrop<B>>,
    result: UnsafeCell<MaybeUninit<std::thread::Result<R>>>,
}

impl<B, R> StackJob<B, R>
where
    B: FnOnce() -> R + Send,
    R: Send,
{
    #[inline(always)]
    pub(super) fn new(body: B) -> Self {
        Self {
            fork: UnsafeCell::new(MaybeUninit::uninit()),
            body: UnsafeCell::new(ManuallyDrop::new(body)),
            result: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// The job as two words.
    ///
    /// # Safety
    /// The caller keeps rule 2.
    #[inline(always)]
    pub(super) unsafe fn as_job_ref(&self) -> JobRef {
        JobRef { data: (&raw const *self).cast(), run: Self::run_promoted }
    }

    /// Where the job is, to tell it from others.
    pub(super) fn address(&self) -> *const () {
        (&raw const *self).cast()
    }

    /// The closure, for its owner.
    ///
    /// # Safety
    /// Once, and only if nobody else runs the job.
    #[inline(always)]
    pub(super) unsafe fn take(&self) -> B {
        // SAFETY: the caller is the only one to take it.
        unsafe { ManuallyDrop::take(&mut *self.body.get()) }
    }

    /// The hand-over of a promoted job.
    ///
    /// # Safety
    /// The job was promoted.
    pub(super) unsafe fn done(&self) -> &JoinSlot {
        // SAFETY: promotion wrote it; since then it is only read.
        unsafe { &(*self.fork.get()).assume_init_ref().done }
    }

    /// What the thief's run ended with.
    ///
    /// # Safety
    /// The slot says done, and the result was not taken before.
    pub(super) unsafe fn result(&self) -> std::thread::Result<R> {
        // SAFETY: the runner wrote it before it said done (Release, Acquire), and touches it no more.
        unsafe { (*self.result.get()).assume_init_read() }
    }

    /// Runs the job on a thread that is not its owner's, or that came upon it while it waited for another one.
    unsafe fn run_promoted(data: *const ()) {
        let job = data.cast::<Self>();
        // SAFETY: by rule 2 the frame is there until we say done, and by rule 1 we alone take the body.
        unsafe {
            let body = ManuallyDrop::take(&mut *(*job).body.get());
            let result = catch_unwind(AssertUnwindSafe(body));
            (*(*job).result.get()).write(result);
            let fork = (*job).fork.get().cast::<Fork>();
            let (idle, bed) = ((*fork).idle, (*fork).bed);
            if (*fork).done.finish() {
                // Rule 3: the frame may be gone. The pool is not: this thread works for it.
                (*idle).ring(bed);
            }
        }
    }
}
