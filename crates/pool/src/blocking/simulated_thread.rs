//! A dedicated thread under simulation: a real thread that runs only while the simulator waits for it.
//!
//! A dedicated body is a loop that blocks for as long as it likes, so it cannot be a step of the simulator: the step would
//! never return. It gets a stack of its own instead, and a *baton*: either the simulator's thread runs or this one,
//! never both, so the simulation is as deterministic as on one thread. The body hands the baton back when it waits for
//! its [stop signal](super::StopSignal), with the virtual time at which it wants to go on.

use std::sync::{Condvar, Mutex, MutexGuard};

/// Who runs.
pub(super) struct Baton {
    turn: Mutex<Turn>,
    changed: Condvar,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// The simulator; the thread wants to go on at that virtual time.
    Simulator { wake_at: u64 },
    /// The thread.
    Thread,
    /// The simulator, for good.
    Ended { sound: bool },
}

/// What became of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Returned {
    /// The body waits.
    Waits,
    /// The body is over; false when it panicked.
    Ended(bool),
}

impl Baton {
    /// With the simulator; the thread wants to begin at once.
    pub(super) fn new() -> Self {
        Self { turn: Mutex::new(Turn::Simulator { wake_at: 0 }), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(|broken| broken.into_inner())
    }

    fn set(&self, turn: Turn) {
        *self.lock() = turn;
        self.changed.notify_all();
    }

    fn wait_while(&self, condition: impl Fn(Turn) -> bool) -> Turn {
        let waited = self.changed.wait_while(self.lock(), |turn| condition(*turn));
        *waited.unwrap_or_else(|broken| broken.into_inner())
    }

    /// The virtual time at which the thread wants to go on; `None` while it runs and after its end.
    pub(super) fn wake_at(&self) -> Option<u64> {
        match *self.lock() {
            Turn::Simulator { wake_at } => Some(wake_at),
            Turn::Thread | Turn::Ended { .. } => None,
        }
    }

    /// The simulator lets the thread run until it waits or ends.
    pub(super) fn give(&self) -> Returned {
        self.set(Turn::Thread);
        match self.wait_while(|turn| turn == Turn::Thread) {
            Turn::Ended { sound } => Returned::Ended(sound),
            _ => Returned::Waits,
        }
    }

    /// The thread waits for its first turn.
    pub(super) fn receive(&self) {
        self.wait_while(|turn| turn != Turn::Thread);
    }

    /// The thread waits until that virtual time, or until the simulator has another reason to go on with it.
    pub(super) fn pause(&self, wake_at: u64) {
        self.set(Turn::Simulator { wake_at });
        self.receive();
    }

    /// The thread is over.
    pub(super) fn end(&self, sound: bool) {
        self.set(Turn::Ended { sound });
    }
}
