//! Work that waits, wherever somebody happens to stand: what is dropped may be so on a thread that runs futures.

use filbert_pool::{Stages, WeakStages};
use std::sync::{Arc, Mutex};
use tokio::runtime::{Handle, RuntimeFlavor};

/// Something that waits, such as closing a connection.
pub(super) struct Waiting {
    /// What it is, for the stage.
    pub(super) task: &'static str,
    /// What is told where it cannot be done at all.
    pub(super) lost: &'static str,
}

impl Waiting {
    /// Does it here, on a thread that may run futures.
    pub(super) fn in_place<T: Send + 'static>(&self, with: T, stages: &WeakStages, work: fn(T)) {
        match Handle::try_current().map(|handle| handle.runtime_flavor()) {
            Err(_) => work(with),
            Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(|| work(with)),
            // A runtime of somebody else's, on whose only thread nothing may wait.
            Ok(_) => self.elsewhere(with, stages, work),
        }
    }

    /// Does it on a thread of `mixed`.
    fn elsewhere<T: Send + 'static>(&self, with: T, stages: &WeakStages, work: fn(T)) {
        // It is taken out by whoever does the work: a refused closure must not drop it here.
        let kept = Arc::new(Mutex::new(Some(with)));
        let taken = Arc::clone(&kept);
        let closure = move || {
            let with = taken.lock().unwrap_or_else(|broken| broken.into_inner()).take();
            if let Some(with) = with {
                work(with);
            }
        };
        let submitted =
            stages.upgrade().and_then(|stages: Stages| stages.mixed().submit(self.task, closure).ok());
        match submitted {
            Some(submitted) => submitted.detach(),
            None => {
                tracing::warn!("{}", self.lost);
                std::mem::forget(kept);
            }
        }
    }
}
