//! Work that is done again and again, with a pause between.

use super::maintenance::Maintenance;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Keeps periodic work going; dropping it stops the work after the round that runs.
#[derive(Debug)]
#[must_use = "dropping the handle stops the work at once"]
pub struct Periodic {
    stopped: Arc<AtomicBool>,
}

struct Round {
    maintenance: Maintenance,
    pause: Duration,
    task: &'static str,
    body: Mutex<Box<dyn FnMut() + Send>>,
    stopped: Arc<AtomicBool>,
}

impl Periodic {
    pub(super) fn start(
        maintenance: &Maintenance,
        task: &'static str,
        pause: Duration,
        body: impl FnMut() + Send + 'static,
    ) -> Self {
        let stopped = Arc::new(AtomicBool::new(false));
        let round = Round {
            maintenance: maintenance.clone(),
            // A pause of nothing would be a busy loop.
            pause: pause.max(Duration::from_millis(1)),
            task,
            body: Mutex::new(Box::new(body)),
            stopped: Arc::clone(&stopped),
        };
        Arc::new(round).rest();
        Self { stopped }
    }
}

impl Round {
    /// Lets the pause pass, then works.
    fn rest(self: Arc<Self>) {
        let env = Arc::clone(self.maintenance.env());
        env.after(self.pause, move || {
            if self.stopped.load(Ordering::Acquire) {
                return;
            }
            let (maintenance, task) = (self.maintenance.clone(), self.task);
            // Refused only at shutdown: then the work is over.
            if let Ok(done) = maintenance.submit(task, move || self.work()) {
                done.detach();
            }
        });
    }

    fn work(self: Arc<Self>) {
        let _rests = RestOnDrop(Arc::clone(&self));
        if !self.stopped.load(Ordering::Acquire) {
            let mut body = self.body.lock().unwrap_or_else(|broken| broken.into_inner());
            body();
        }
    }
}

/// The next round is set up even when this one panics.
struct RestOnDrop(Arc<Round>);

impl Drop for RestOnDrop {
    fn drop(&mut self) {
        if !self.0.stopped.load(Ordering::Acquire) {
            Arc::clone(&self.0).rest();
        }
    }
}

impl Drop for Periodic {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Release);
    }
}
