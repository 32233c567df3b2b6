//! The one door through which threads are made: each is named after its stage, counted, and joined.
//!
//! *No thread is detached.* To drop a handle detaches its thread, and glibc (2.36 and others) looks at a thread once more after it has marked it as
//! detached. A thread that ends at that very moment has given its memory back by then: the process dies of a segmentation fault, without a
//! word. Stages that end drop dozens of handles of threads that are just ending. So a handle is either joined or kept:
//!
//! - A thread opens its latch as the last thing it does. Whose latch is open is joined at once: it waits for nobody any more.
//! - Others stay with their [`Threads`], and when these are gone, among the [`LEFT`] of the process. Whoever makes a thread, or lets go of
//!   `Threads`, joins those of them that have ended meanwhile.

use filbert_sync::Latch;
use std::sync::{Arc, Mutex, MutexGuard};
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

/// Threads that outlived their stages: inside a task that did not end in time, or the very thread that let go of the stages.
static LEFT: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

impl Threads {
    pub(crate) fn new() -> Self {
        Self { running: Mutex::new(Vec::new()) }
    }

    /// Starts a thread. Linux shows the first 15 bytes of its name.
    pub(crate) fn spawn(&self, name: String, body: impl FnOnce() + Send + 'static) -> Arc<Latch> {
        let started = start(name.clone(), body);
        let entry =
            started.unwrap_or_else(|error| panic!("the system refuses to start thread {name}: {error}"));
        let ended = Arc::clone(&entry.ended);
        lock(&self.running).push(entry);
        join_ended(&self.running);
        join_ended(&LEFT);
        ended
    }

    /// Waits until every thread has ended or the time is over; the names of those that go on.
    #[expect(clippy::disallowed_methods, reason = "only real threads are joined, so the deadline is real")]
    pub(crate) fn join(&self, within: Duration) -> Vec<String> {
        let deadline = Instant::now() + within;
        let entries = std::mem::take(&mut *lock(&self.running));
        let mut left = Vec::new();
        for entry in entries {
            let remaining = deadline.saturating_duration_since(Instant::now());
            if entry.is_this_thread() || !entry.ended.wait_timeout(remaining) {
                left.push(entry.name.clone());
                leave(entry);
            } else {
                entry.join();
            }
        }
        left
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        std::mem::take(&mut *lock(&self.running)).into_iter().for_each(leave);
        join_ended(&LEFT);
    }
}

/// Runs something that ends, on a thread that no stage and no shutdown waits for; false when there is no thread to be had, and `body` was
/// dropped.
pub(crate) fn run_apart(name: String, body: impl FnOnce() + Send + 'static) -> bool {
    let started = start(name, body).map(leave);
    join_ended(&LEFT);
    started.is_ok()
}

/// The refusal of the system to run as many threads as are needed.
#[derive(Debug, thiserror::Error)]
#[error(
    "the system allows {started} of the {wanted} threads that are needed: {source}; allow more processes (ulimit -u, or TasksMax of the service) and \
     more memory (ulimit -v), or set fewer threads (`filbert stages --settings`)"
)]
pub struct ThreadsRefused {
    started: usize,
    wanted: usize,
    source: std::io::Error,
}

/// Tries whether the system runs so many threads beside those that there are. They are started, and end at once; a program that needs them can then
/// say why it does not start, where a stage would panic.
///
/// # Errors
/// When the system refuses one of them.
///
/// ```
/// filbert_pool::try_threads(4)?;
/// # Ok::<(), filbert_pool::ThreadsRefused>(())
/// ```
pub fn try_threads(wanted: usize) -> Result<(), ThreadsRefused> {
    let release = Arc::new(Latch::new());
    let mut started = Vec::with_capacity(wanted);
    let mut refused = None;
    while started.len() < wanted && refused.is_none() {
        let release = Arc::clone(&release);
        match start("probe".to_owned(), move || release.wait()) {
            Ok(entry) => started.push(entry),
            Err(error) => refused = Some(error),
        }
    }
    release.open();
    let count = started.len();
    started.into_iter().for_each(Entry::join);
    refused.map_or(Ok(()), |source| Err(ThreadsRefused { started: count, wanted, source }))
}

#[expect(clippy::disallowed_methods, reason = "this is the one door")]
fn start(name: String, body: impl FnOnce() + Send + 'static) -> std::io::Result<Entry> {
    let ended = Arc::new(Latch::new());
    let opens = OpenOnDrop(Arc::clone(&ended));
    let handle = std::thread::Builder::new().name(name.clone()).spawn(move || {
        let _opens = opens;
        body();
    })?;
    Ok(Entry { name, ended, handle })
}

/// Keeps a handle until its thread has ended.
fn leave(entry: Entry) {
    lock(&LEFT).push(entry);
}

/// Joins those that have ended.
fn join_ended(entries: &Mutex<Vec<Entry>>) {
    let has_ended = |entry: &mut Entry| entry.ended.is_open() && !entry.is_this_thread();
    let ended: Vec<Entry> = lock(entries).extract_if(.., has_ended).collect();
    ended.into_iter().for_each(Entry::join);
}

fn lock(entries: &Mutex<Vec<Entry>>) -> MutexGuard<'_, Vec<Entry>> {
    entries.lock().unwrap_or_else(|broken| broken.into_inner())
}

impl Entry {
    fn is_this_thread(&self) -> bool {
        self.handle.thread().id() == std::thread::current().id()
    }

    fn join(self) {
        // A panic of its body was told where it was caught, or by the hook.
        let _ = self.handle.join();
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
