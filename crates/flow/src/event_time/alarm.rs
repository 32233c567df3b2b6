//! A timer that wakes a processor: set once, due once.

use crate::processor::ProcessorContext;
use filbert_pool::WeakStages;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;
use std::time::Duration;

/// Wakes its processor some time after it was set.
#[derive(Debug)]
pub(super) struct Alarm {
    stages: WeakStages,
    waker: Waker,
    is_due: Arc<AtomicBool>,
    is_set: bool,
}

impl Alarm {
    pub(super) fn new(context: &ProcessorContext<'_>) -> Self {
        let (stages, waker) = (context.stages().clone(), context.waker().clone());
        Self { stages, waker, is_due: Arc::default(), is_set: false }
    }

    pub(super) fn is_set(&self) -> bool {
        self.is_set
    }

    /// Due `delay` from now. Never when the stages have ended: then there are no more turns either.
    pub(super) fn set(&mut self, delay: Duration) {
        let Some(stages) = self.stages.upgrade() else { return };
        self.is_set = true;
        let (is_due, waker) = (Arc::clone(&self.is_due), self.waker.clone());
        stages.clock().after(delay, move || {
            // Before the wake-up, whose turn looks at it.
            is_due.store(true, Ordering::Release);
            waker.wake();
        });
    }

    pub(super) fn is_due(&self) -> bool {
        self.is_due.load(Ordering::Acquire)
    }

    /// True once after it was due.
    pub(super) fn take_due(&mut self) -> bool {
        let is_due = self.is_due();
        if is_due {
            self.is_due.store(false, Ordering::Relaxed);
            self.is_set = false;
        }
        is_due
    }
}
