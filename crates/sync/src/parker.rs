//! One thread sleeps until another wakes it; a wake-up that comes before the sleep is kept.
//!
//! `std::thread::park` has the same token, but any library on the thread may consume or produce it. This parker belongs
//! to one worker alone, so a wake-up means exactly what the stage meant by it.
//!
//! | State | Meaning | Who leaves it |
//! |---|---|---|
//! | `EMPTY` | nobody sleeps, no wake-up kept | owner (to `PARKED`), anyone (to `NOTIFIED`) |
//! | `PARKED` | the owner sleeps, or is about to | anyone (to `NOTIFIED`), owner on time-out (to `EMPTY`) |
//! | `NOTIFIED` | a wake-up is kept | owner (to `EMPTY`) |
//!
//! Rules, cited by the design page `docs/design/004-park-and-unpark.md`:
//! 1. Only the owner calls [`Parker::park`]; anyone may call [`Parker::unpark`].
//! 2. `unpark` publishes (Release) what was written before it to the `park` (Acquire) that consumes it.
//! 3. A waker that must see "the owner is about to sleep" and an owner that must see "there is work" need a fence
//!    each; that fence belongs to the protocol that uses the parker, not to the parker.

use crate::primitives::{AtomicU32, Ordering, thread};
use std::sync::{Arc, OnceLock};
use std::task::Wake;
use std::time::Duration;

const EMPTY: u32 = 0;
const PARKED: u32 = 1;
const NOTIFIED: u32 = 2;

/// Puts its owner to sleep until someone calls [`Parker::unpark`].
#[derive(Debug)]
pub struct Parker {
    state: AtomicU32,
    owner: OnceLock<thread::Thread>,
}

impl Default for Parker {
    fn default() -> Self {
        Self::new()
    }
}

impl Parker {
    /// A parker without an owner; the first thread that parks becomes it.
    pub fn new() -> Self {
        Self { state: AtomicU32::new(EMPTY), owner: OnceLock::new() }
    }

    /// Sleeps until a wake-up comes, or returns at once if one was kept.
    pub fn park(&self) {
        if self.prepare() {
            return;
        }
        while self.state.load(Ordering::Acquire) != NOTIFIED {
            thread::park();
        }
        // A swap, not a store: a second wake-up may have come since the look, and what its waker wrote must be seen.
        self.state.swap(EMPTY, Ordering::Acquire);
    }

    /// Like [`Parker::park`] with a time-out; true when it was woken.
    #[cfg(not(filbert_loom))]
    #[expect(clippy::disallowed_methods, reason = "only real threads sleep, so the deadline is real")]
    pub fn park_timeout(&self, timeout: Duration) -> bool {
        if self.prepare() {
            return true;
        }
        // Later than a clock can tell is never.
        let deadline = std::time::Instant::now().checked_add(timeout);
        loop {
            match deadline.map(|deadline| deadline.saturating_duration_since(std::time::Instant::now())) {
                Some(left) if left.is_zero() => break,
                Some(left) => thread::park_timeout(left),
                None => thread::park(),
            }
            if self.state.load(Ordering::Acquire) == NOTIFIED {
                break;
            }
        }
        self.state.swap(EMPTY, Ordering::Acquire) == NOTIFIED
    }

    /// loom has no clock: a time-out is "some time later", which a model may take as at once.
    #[cfg(filbert_loom)]
    pub fn park_timeout(&self, _timeout: Duration) -> bool {
        thread::yield_now();
        self.state.swap(EMPTY, Ordering::Acquire) == NOTIFIED
    }

    /// Wakes the owner, or keeps the wake-up for its next [`Parker::park`]. True when the owner was asleep.
    pub fn unpark(&self) -> bool {
        if self.state.swap(NOTIFIED, Ordering::AcqRel) != PARKED {
            return false;
        }
        // The owner registered itself before it published PARKED (AcqRel above pairs with the exchange in `prepare`).
        if let Some(owner) = self.owner.get() {
            owner.unpark();
        }
        true
    }

    /// True when a wake-up was kept (and is now consumed); otherwise the state is `PARKED`.
    fn prepare(&self) -> bool {
        let me = self.owner.get_or_init(thread::current);
        debug_assert_eq!(me.id(), thread::current().id(), "a parker has one owner");
        if self.state.compare_exchange(EMPTY, PARKED, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            return false;
        }
        // A swap, not a store: a second wake-up may have come since the look, and what its waker wrote must be seen.
        self.state.swap(EMPTY, Ordering::Acquire);
        true
    }
}

/// A parker is a target for whatever wakes through a `std::task::Waker`: `Waker::from(Arc::clone(&parker))`.
impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        self.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.unpark();
    }
}

#[cfg(all(test, not(filbert_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_wake_up_before_the_sleep_is_kept() {
        let parker = Parker::new();
        assert!(!parker.unpark());
        parker.park();
        assert!(!parker.park_timeout(Duration::from_millis(1)));
    }

    #[test]
    fn the_longest_time_out_is_none() {
        let parker = Arc::new(Parker::new());
        let sleeper = Arc::clone(&parker);
        let thread = std::thread::spawn(move || sleeper.park_timeout(Duration::MAX));
        parker.unpark();
        assert!(thread.join().unwrap());
    }

    #[test]
    fn a_sleeper_is_woken() {
        let parker = Arc::new(Parker::new());
        let sleeper = Arc::clone(&parker);
        let thread = std::thread::spawn(move || sleeper.park());
        parker.unpark();
        thread.join().unwrap();
    }
}
