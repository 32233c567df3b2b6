//! Whether a query is still wanted; and if not, why.

use crate::error::CubeError;
use futures::task::AtomicWaker;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;

/// Ends a query from anywhere: the caller, a timer, the drop of its handle. The first reason counts.
#[derive(Debug, Default)]
pub(crate) struct CancelToken {
    /// What computes looks here, between blocks.
    flag: Arc<AtomicBool>,
    reason: Mutex<Option<CubeError>>,
    /// The future that leads the query.
    leader: AtomicWaker,
}

impl CancelToken {
    pub(crate) fn cancel(&self, reason: CubeError) {
        self.reason.lock().unwrap_or_else(|broken| broken.into_inner()).get_or_insert(reason);
        self.flag.store(true, Ordering::Release);
        self.leader.wake();
    }

    /// The flag alone, for what only looks.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.flag)
    }

    /// An error once the query is not wanted any more.
    pub(crate) fn check(&self) -> Result<(), CubeError> {
        if self.flag.load(Ordering::Acquire) { Err(self.reason()) } else { Ok(()) }
    }

    /// The reason, for an error that may be the consequence of it.
    pub(crate) fn explain(&self, error: CubeError) -> CubeError {
        if error == CubeError::Cancelled && self.flag.load(Ordering::Acquire) { self.reason() } else { error }
    }

    fn reason(&self) -> CubeError {
        let reason = self.reason.lock().unwrap_or_else(|broken| broken.into_inner());
        reason.clone().unwrap_or(CubeError::Cancelled)
    }

    /// Ready once the query is not wanted any more. One waits at a time.
    pub(crate) async fn cancelled(&self) -> CubeError {
        poll_fn(|context| {
            self.leader.register(context.waker());
            if self.flag.load(Ordering::Acquire) { Poll::Ready(self.reason()) } else { Poll::Pending }
        })
        .await
    }
}
