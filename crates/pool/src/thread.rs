//! The one door through which threads are made: each is named after its stage, counted, and joined at shutdown.

use filbert_sync::Latch;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The threads of one set of stages.
pub(crate) struct Threads {
    running: Mutex<Vec<Entry>>,
}

struct Entry {
    name: String,
    ended: Arc<Latch>,
    handle: std::thread::JoinHandle<()>,
}

impl Threads {
    pub(crate) fn new() -> Self {
        Self { running: Mutex::new(Vec::new()) }
    }

    /// Starts a thread. Linux shows the first 15 bytes of its name.
    #[expect(clippy::disallowed_methods, reason = "this is the one door")]
    pub(crate) fn spawn(&self, name: String, body: impl FnOnce() + Send + 'static) -> Arc<Latch> {
        let ended = Arc::new(Latch::new());
        let opens = OpenOnDrop(Arc::clone(&ended));
        let handle = std::thread::Builder::new()
            .name(name.clone())
            .spawn(move || {
                let _opens = opens;
                body();
            })
            .unwrap_or_else(|error| panic!("the system refuses to start thread {name}: {error}"));
        let mut running = self.running.lock().unwrap_or_else(|broken| broken.into_inner());
        running.retain(|entry| !entry.ended.is_open());
        running.push(Entry { name, ended: Arc::clone(&ended), handle });
        ended
    }

    /// Waits until every thread has ended or the time is over; the names of those that go on.
    #[expect(clippy::disallowed_methods, reason = "only real threads are joined, so the deadline is real")]
    pub(crate) fn join(&self, within: Duration) -> Vec<String> {
        let deadline = Instant::now() + within;
        let entries = {
            let mut running = self.running.lock().unwrap_or_else(|broken| broken.into_inner());
            std::mem::take(&mut *running)
        };
        let me = std::thread::current().id();
        let mut left = Vec::new();
        for entry in entries {
            let remaining = deadline.saturating_duration_since(Instant::now());
            if entry.handle.thread().id() == me || !entry.ended.wait_timeout(remaining) {
                left.push(entry.name);
            } else {
                let _ = entry.handle.join();
            }
        }
        left
    }
}

/// Waits for something that is likely to come within microseconds, before a sleep that costs as many: looks a few times, then
/// lets other threads run between looks. True when it came.
pub(crate) fn spin_until(mut done: impl FnMut() -> bool) -> bool {
    const LOOKS: usize = 64;
    const YIELDS: usize = 16;
    for look in 0..LOOKS + YIELDS {
        if done() {
            return true;
        }
        if look < LOOKS {
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
    }
    false
}

struct OpenOnDrop(Arc<Latch>);

impl Drop for OpenOnDrop {
    fn drop(&mut self) {
        self.0.open();
    }
}
