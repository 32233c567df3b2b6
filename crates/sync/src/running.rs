//! What a worker is doing right now: the task's name and when it began, readable by others without stopping the worker.
//!
//! The worker writes four plain words per task; a reader copies them and throws the copy away when the worker moved on
//! meanwhile (a sequence lock). A lock, or an `Arc` per task, would cost more than many tasks do.
//!
//! | Field | Written by | Read by |
//! |---|---|---|
//! | `sequence` | the worker: odd while the other fields change | anyone |
//! | `name`, `length`, `since` | the worker, only while `sequence` is odd | anyone; valid if `sequence` was even and the same before and after |
//!
//! Rules:
//! 1. One thread writes (the worker that owns the slot).
//! 2. `name` and `length` always come from one `&'static str`, and a reader uses them only together, after rule 3.
//! 3. A copy counts when `sequence` was the same even number before (Acquire) and after (Acquire fence, then load).

use crate::primitives::{AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence};

/// How often a reader tries; a model needs to see only one try.
const ATTEMPTS: usize = if cfg!(filbert_loom) { 1 } else { 8 };

/// A worker's public statement of what it runs.
#[derive(Debug)]
pub struct Running {
    sequence: AtomicU64,
    name: AtomicPtr<u8>,
    length: AtomicUsize,
    since: AtomicU64,
}

/// A copy of what a worker was running at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunningTask {
    /// The name that the task was submitted under.
    pub name: &'static str,
    /// When it began, in the unit that the writer uses.
    pub since: u64,
}

impl Default for Running {
    fn default() -> Self {
        Self::new()
    }
}

impl Running {
    /// A slot that says "nothing".
    pub fn new() -> Self {
        Self {
            sequence: AtomicU64::new(0),
            name: AtomicPtr::new(std::ptr::null_mut()),
            length: AtomicUsize::new(0),
            since: AtomicU64::new(0),
        }
    }

    /// The worker begins `name` now.
    #[inline]
    pub fn begin(&self, name: &'static str, since: u64) {
        self.write(name.as_ptr().cast_mut(), name.len(), since);
    }

    /// The worker is done with it.
    #[inline]
    pub fn end(&self) {
        self.write(std::ptr::null_mut(), 0, 0);
    }

    #[inline]
    fn write(&self, name: *mut u8, length: usize, since: u64) {
        let odd = self.sequence.load(Ordering::Relaxed).wrapping_add(1);
        self.sequence.store(odd, Ordering::Relaxed);
        // Partner: the Acquire fence in `read`. A reader that sees a new field also sees the odd sequence.
        fence(Ordering::Release);
        self.name.store(name, Ordering::Relaxed);
        self.length.store(length, Ordering::Relaxed);
        self.since.store(since, Ordering::Relaxed);
        // Partner: the first load in `read`.
        self.sequence.store(odd.wrapping_add(1), Ordering::Release);
    }

    /// What the worker runs, if anything. Gives up (as "nothing") when the worker changes it faster than we can read.
    pub fn read(&self) -> Option<RunningTask> {
        for _ in 0..ATTEMPTS {
            let before = self.sequence.load(Ordering::Acquire);
            let name = self.name.load(Ordering::Relaxed);
            let length = self.length.load(Ordering::Relaxed);
            let since = self.since.load(Ordering::Relaxed);
            fence(Ordering::Acquire);
            let after = self.sequence.load(Ordering::Relaxed);
            if before != after || !before.is_multiple_of(2) {
                continue;
            }
            if name.is_null() {
                return None;
            }
            // SAFETY: by rule 3 the copy is whole, so by rule 2 the two words are one `&'static str`.
            let name = unsafe { std::str::from_utf8_unchecked(std::slice::from_raw_parts(name, length)) };
            return Some(RunningTask { name, since });
        }
        None
    }
}

#[cfg(all(test, not(filbert_loom)))]
mod tests {
    use super::*;

    #[test]
    fn says_what_runs_and_since_when() {
        let slot = Running::new();
        assert_eq!(slot.read(), None);
        slot.begin("map.get", 7);
        assert_eq!(slot.read(), Some(RunningTask { name: "map.get", since: 7 }));
        slot.end();
        assert_eq!(slot.read(), None);
    }

    #[test]
    fn a_reader_never_mixes_two_tasks() {
        let slot = Running::new();
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for i in 0..200_000_u64 {
                    if i % 2 == 0 { slot.begin("short", 1) } else { slot.begin("a much longer name", 2) }
                }
                stop.store(true, std::sync::atomic::Ordering::Relaxed);
            });
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                if let Some(task) = slot.read() {
                    assert_eq!(task.since == 1, task.name == "short");
                }
            }
        });
    }
}
