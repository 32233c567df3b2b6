//! The first error or panic of many tasks: it wins, and stops the others.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

enum Failure<E> {
    Error(E),
    Panic(Box<dyn Any + Send>),
}

/// Where tasks of one operation report that they failed.
pub(super) struct FirstFailure<E> {
    stopped: AtomicBool,
    first: Mutex<Option<Failure<E>>>,
}

impl<E> FirstFailure<E> {
    pub(super) fn new() -> Self {
        Self { stopped: AtomicBool::new(false), first: Mutex::new(None) }
    }

    /// True when somebody failed, and everybody should end. A hint: what failed travels through the lock.
    #[inline]
    pub(super) fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Runs `body`; nothing when it failed, which is then reported. User code runs only in here.
    pub(super) fn guard<R>(&self, body: impl FnOnce() -> Result<R, E>) -> Option<R> {
        let failure = match catch_unwind(AssertUnwindSafe(body)) {
            Ok(Ok(value)) => return Some(value),
            Ok(Err(error)) => Failure::Error(error),
            Err(payload) => Failure::Panic(payload),
        };
        let mut first = self.first.lock().unwrap_or_else(|broken| broken.into_inner());
        if first.is_none() {
            *first = Some(failure);
        }
        self.stopped.store(true, Ordering::Relaxed);
        None
    }

    /// The outcome when all tasks have ended; goes on with the panic if that came first.
    pub(super) fn outcome(self) -> Result<(), E> {
        match self.first.into_inner().unwrap_or_else(|broken| broken.into_inner()) {
            None => Ok(()),
            Some(Failure::Error(error)) => Err(error),
            Some(Failure::Panic(payload)) => resume_unwind(payload),
        }
    }
}
