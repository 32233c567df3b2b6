//! A change on its way to a store, seen from the operation that made it.
//!
//! Whoever writes it calls back, on its own thread. Rejected: a future of the stages, whose callbacks run on `generic`. Threads there may
//! wait for an operation, and its answer would then wait for one of them.

use crate::error::GridError;
use std::sync::{Arc, Mutex, MutexGuard};

type Callback = Box<dyn FnOnce(Option<GridError>) + Send>;

/// Where it stands.
enum Phase {
    /// Not written; who wants to know.
    Waits(Option<Callback>),
    /// Written, or refused.
    Done(Option<GridError>),
}

/// A change on its way to a store.
#[derive(Clone)]
pub(crate) struct UnderWay {
    phase: Arc<Mutex<Phase>>,
}

/// The duty to say what became of it; `lost` when it is dropped without a word.
#[derive(Debug)]
pub(crate) struct Duty {
    under_way: Option<UnderWay>,
    lost: GridError,
}

impl UnderWay {
    /// One that is not done, and the duty to end it.
    pub(crate) fn new(lost: GridError) -> (Self, Duty) {
        let under_way = Self { phase: Arc::new(Mutex::new(Phase::Waits(None))) };
        (under_way.clone(), Duty { under_way: Some(under_way), lost })
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    pub(crate) fn is_done(&self) -> bool {
        matches!(*self.phase(), Phase::Done(_))
    }

    /// Why it was refused, if it was.
    pub(crate) fn refused(&self) -> Option<GridError> {
        match &*self.phase() {
            Phase::Waits(_) => None,
            Phase::Done(refused) => refused.clone(),
        }
    }

    /// Calls back when it is done: here, or on the thread that ends it.
    pub(crate) fn on_complete(self, callback: impl FnOnce(Option<GridError>) + Send + 'static) {
        let mut phase = self.phase();
        match &mut *phase {
            Phase::Waits(waits) => *waits = Some(Box::new(callback)),
            Phase::Done(refused) => {
                let refused = refused.clone();
                drop(phase);
                callback(refused);
            }
        }
    }

    fn end(&self, refused: Option<GridError>) {
        let before = std::mem::replace(&mut *self.phase(), Phase::Done(refused.clone()));
        if let Phase::Waits(Some(callback)) = before {
            callback(refused);
        }
    }
}

impl Duty {
    /// It is written, or was refused.
    pub(crate) fn end(mut self, refused: Option<GridError>) {
        if let Some(under_way) = self.under_way.take() {
            under_way.end(refused);
        }
    }
}

impl Drop for Duty {
    fn drop(&mut self) {
        if let Some(under_way) = self.under_way.take() {
            under_way.end(Some(self.lost.clone()));
        }
    }
}

impl std::fmt::Debug for UnderWay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UnderWay").field("is_done", &self.is_done()).finish()
    }
}
