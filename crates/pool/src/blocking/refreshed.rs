//! A value that is loaded anew after a while, without anyone waiting for it.

use super::maintenance::Maintenance;
use crate::panics::{caught, discard};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;

/// A value that refreshes itself when it is read and old.
pub struct Refreshed<T> {
    shared: Arc<Shared<T>>,
}

type Load<T> = Box<dyn Fn() -> Result<T, String> + Send + Sync>;

struct Shared<T> {
    maintenance: Maintenance,
    task: &'static str,
    after: u64,
    load: Load<T>,
    refreshing: AtomicBool,
    value: RwLock<Written<T>>,
}

struct Written<T> {
    value: Arc<T>,
    at: u64,
    last_error: Option<String>,
}

impl<T: Send + Sync + 'static> Refreshed<T> {
    pub(super) fn new(
        maintenance: Maintenance,
        task: &'static str,
        after: Duration,
        first: T,
        load: Load<T>,
    ) -> Self {
        let at = maintenance.env().now();
        let value = RwLock::new(Written { value: Arc::new(first), at, last_error: None });
        let after = after.as_nanos() as u64;
        let refreshing = AtomicBool::new(false);
        Self { shared: Arc::new(Shared { maintenance, task, after, load, refreshing, value }) }
    }

    /// The value as it is now; begins a refresh if it is old and none is under way.
    pub fn get(&self) -> Arc<T> {
        let shared = &self.shared;
        let (value, at) = {
            let written = shared.value.read().unwrap_or_else(|broken| broken.into_inner());
            (Arc::clone(&written.value), written.at)
        };
        let old = shared.maintenance.env().now().saturating_sub(at) >= shared.after;
        if old && !shared.refreshing.swap(true, Ordering::AcqRel) {
            let refreshed = Arc::clone(shared);
            match shared.maintenance.submit(shared.task, move || refreshed.refresh()) {
                Ok(begun) => begun.detach(),
                // Shutting down, or read from a stage that may not start this: the old value it is.
                Err(_) => shared.refreshing.store(false, Ordering::Release),
            }
        }
        value
    }

    /// Why the last refresh failed, if it did.
    pub fn last_error(&self) -> Option<String> {
        self.shared.value.read().unwrap_or_else(|broken| broken.into_inner()).last_error.clone()
    }
}

impl<T> Shared<T> {
    fn refresh(&self) {
        let _over = OverOnDrop(&self.refreshing);
        let loaded =
            caught(|| (self.load)()).unwrap_or_else(|panic| Err(format!("the load panicked: {panic}")));
        let write = || self.value.write().unwrap_or_else(|broken| broken.into_inner());
        match loaded {
            Ok(value) => {
                let new =
                    Written { value: Arc::new(value), at: self.maintenance.env().now(), last_error: None };
                let old = std::mem::replace(&mut *write(), new);
                // Outside the lock: it may be the last handle of a user's value.
                discard(old);
            }
            Err(error) => {
                tracing::warn!(task = self.task, error, "refresh failed; the old value is kept");
                write().last_error = Some(error);
            }
        }
    }
}

/// A refresh is over even when it panics.
struct OverOnDrop<'a>(&'a AtomicBool);

impl Drop for OverOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

impl<T> std::fmt::Debug for Refreshed<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Refreshed").field("task", &self.shared.task).finish_non_exhaustive()
    }
}
