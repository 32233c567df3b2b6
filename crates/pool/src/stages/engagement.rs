//! Undertakings that use several stages at once, such as a job with tasklets, blocking threads and files.
//!
//! Stages end from the top down, which is right for work that only calls downwards. An undertaking has parts on stages of all levels,
//! and to end one of them cuts it short. So whoever runs one is *engaged* meanwhile, and a draining shutdown waits for all engagements
//! before it ends the first stage. Rejected: to end `flow` before `dedicated` and `mixed`. A job whose processors all block has nothing
//! on `flow`.

use super::Inner;
use crate::context::{self, StageId};
use crate::error::SubmitError;
use crate::rules::StageKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Holds up a draining shutdown until it is dropped; made by [`Stages::engage`](super::Stages::engage).
#[must_use = "dropped, it holds up nothing"]
pub struct Engagement {
    all: Arc<Engagements>,
}

/// All engagements of a set of stages.
#[derive(Debug, Default)]
pub(super) struct Engagements {
    live: AtomicUsize,
    is_closed: AtomicBool,
}

impl Engagements {
    /// From now on the application begins nothing; tasks that were accepted still may.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_over(&self) -> bool {
        self.live.load(Ordering::SeqCst) == 0
    }
}

pub(super) fn engage(inner: &Inner, kind: StageKind) -> Result<Engagement, SubmitError> {
    let all = Arc::clone(&inner.engagements);
    // SeqCst here and in `close`, `is_over`: either this sees "closed" or the other sees this engagement.
    all.live.fetch_add(1, Ordering::SeqCst);
    let engagement = Engagement { all };
    let is_outside = context::current().kind == StageKind::Application;
    if is_outside && engagement.all.is_closed.load(Ordering::SeqCst) {
        return Err(SubmitError::ShutDown { stage: StageId::of(kind) });
    }
    Ok(engagement)
}

impl Drop for Engagement {
    fn drop(&mut self) {
        self.all.live.fetch_sub(1, Ordering::SeqCst);
    }
}

impl std::fmt::Debug for Engagement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Engagement")
    }
}
