//! One side sleeps, the other rings: how a lane wakes whoever waits for it.
//!
//! A bell has one *sleeper* (the receiver of a lane or of a whole conveyor, or the sender of a lane) and any number of
//! *ringers* (the other sides). The slot for the sleeper's waker changes hands with the state:
//!
//! | State | Who may touch the slot | Who leaves the state |
//! |---|---|---|
//! | `QUIET` | the sleeper | the sleeper, to `ARMED` |
//! | `ARMED` | whoever leaves the state | the sleeper, back to `QUIET`; a ringer, to `RINGING` |
//! | `RINGING` | the ringer that made it so | that ringer, to `QUIET` |
//!
//! Rules:
//! 1. The sleeper alone calls `arm`, `disarm` and `clear`, never two at once. (Its handle is `&mut` wherever it does.)
//! 2. The slot is touched only by whoever the table names; leaving `ARMED` is a compare-and-exchange, so one wins.
//! 3. What the sleeper wrote into the slot is published by the store of `ARMED` (Release) to the exchange to `RINGING`
//!    (Acquire); what the ringer did to it by the store of `QUIET` (Release) to the sleeper's load (Acquire).
//! 4. No lost wake-up: the sleeper arms, fences, then looks at the lanes again; a ringer publishes its change to a lane,
//!    fences, then looks at the state. Both fences are sequentially consistent, so one comes first: either the sleeper
//!    sees the change, or the ringer sees `ARMED`. A ringer that sees another state instead is late for an older
//!    `ARMED` whose own ringer wakes the sleeper, and the sleeper arms and looks again before it sleeps again.
//!
//! A bell that is being rung while its sleeper wants to arm it answers "look again" instead of spinning: the sleeper may
//! be a polled task, and its worker has other tasks to run while that ringer is preempted.

use crate::primitives::{AtomicU32, Ordering, UnsafeCell, fence};
use std::task::Waker;

const QUIET: u32 = 0;
const ARMED: u32 = 1;
const RINGING: u32 = 2;

/// Where one side waits for the other.
pub(crate) struct Bell {
    state: AtomicU32,
    sleeper: UnsafeCell<Option<Waker>>,
}

// SAFETY: the slot is the only part that is not Sync by itself; rules 1 to 3 hand it from thread to thread.
unsafe impl Sync for Bell {}
// SAFETY: a Waker may move between threads.
unsafe impl Send for Bell {}

impl Bell {
    pub(crate) fn new() -> Self {
        Self { state: AtomicU32::new(QUIET), sleeper: UnsafeCell::new(None) }
    }

    /// Asks for `waker` to be woken at the next ring. False when the bell is being rung right now: look again.
    ///
    /// After true the caller must look at its lanes once more before it sleeps (rule 4).
    pub(crate) fn arm(&self, waker: &Waker) -> bool {
        if !self.disarm() {
            return false;
        }
        self.sleeper.with_mut(|slot| {
            // SAFETY: the state is QUIET and we are the sleeper (rules 1, 2).
            let slot = unsafe { &mut *slot };
            if !slot.as_ref().is_some_and(|kept| kept.will_wake(waker)) {
                *slot = Some(waker.clone());
            }
        });
        self.state.store(ARMED, Ordering::Release);
        fence(Ordering::SeqCst);
        true
    }

    /// Takes the request back, keeping the waker for the next one. False when the bell is being rung right now.
    pub(crate) fn disarm(&self) -> bool {
        // Acquire: partner of the store of QUIET in `ring_armed`.
        match self.state.load(Ordering::Acquire) {
            QUIET => true,
            ARMED => match self.state.compare_exchange(ARMED, QUIET, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => true,
                Err(now) => now == QUIET,
            },
            _ => false,
        }
    }

    /// Forgets the waker, so that a sleeper that goes away is not kept alive by its own bell.
    pub(crate) fn clear(&self) {
        if self.disarm() {
            // SAFETY: the state is QUIET and we are the sleeper (rules 1, 2).
            let forgotten = self.sleeper.with_mut(|slot| unsafe { (*slot).take() });
            drop(forgotten);
        }
    }

    /// Wakes the sleeper if there is one. Call it after the change it waits for has been published.
    #[inline]
    pub(crate) fn ring(&self) {
        fence(Ordering::SeqCst);
        if self.state.load(Ordering::Relaxed) == ARMED {
            self.ring_armed();
        }
    }

    #[cold]
    fn ring_armed(&self) {
        if self.state.compare_exchange(ARMED, RINGING, Ordering::Acquire, Ordering::Relaxed).is_err() {
            return;
        }
        // SAFETY: we made the state RINGING (rule 2); Acquire shows us the waker (rule 3).
        let sleeper = self.sleeper.with_mut(|slot| unsafe { (*slot).take() });
        self.state.store(QUIET, Ordering::Release);
        if let Some(waker) = sleeper {
            waker.wake();
        }
    }
}
