//! More work is to come soon: workers that have none look for longer before they sleep.
//!
//! A computation in many short parallel steps has moments between them in which one thread goes on alone. A worker that sleeps meanwhile is
//! woken when the next step begins, and finds half of it done: a wake-up takes tens of microseconds, as long as a small step. Whoever knows
//! that more is to come holds a [`Vigil`], and as many workers as it has *seats* stay up; each for half a millisecond without work at most,
//! since a longer pause is one that a wake-up does not add much to.
//!
//! Both numbers are hints: they decide how long somebody looks, never whether work is found. So they are plain, relaxed counts.
//!
//! Rejected: a longer search for all workers at all times (a stage with an item per millisecond would burn a processor, rule 8 of
//! `docs/design/004-park-and-unpark.md`).

use super::WorkStealing;
use super::core::Core;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How long a worker with a seat looks for work.
pub(super) const VIGIL_NANOS: u64 = 500_000;

/// Keeps workers up between the steps of a computation, until it is dropped.
#[must_use = "workers stay up as long as this is held"]
pub struct Vigil {
    core: Arc<Core>,
    seats: usize,
}

impl WorkStealing {
    /// Says that work will come in short intervals: up to `workers` of the pool's stay up for it, looking, as long as this is held.
    ///
    /// ```
    /// let cpu = filbert_pool::WorkStealing::standalone(2);
    /// let vigil = cpu.vigil(1);
    /// for step in 1..=3_u64 {
    ///     let (a, b) = cpu.join(|| step * step, || step + step);
    ///     assert_eq!(a + b, step * (step + 2));
    /// }
    /// drop(vigil);
    /// ```
    pub fn vigil(&self, workers: usize) -> Vigil {
        let seats = workers.min(self.threads());
        self.core.seats.granted.fetch_add(seats, Ordering::Relaxed);
        Vigil { core: Arc::clone(&self.core), seats }
    }
}

impl Drop for Vigil {
    fn drop(&mut self) {
        self.core.seats.granted.fetch_sub(self.seats, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for Vigil {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vigil").field("stage", &self.core.id()).field("seats", &self.seats).finish()
    }
}

/// How many workers may stay up, and how many do.
#[derive(Debug, Default)]
pub(super) struct Seats {
    granted: AtomicUsize,
    taken: AtomicUsize,
}

impl Seats {
    /// How many there are.
    pub(super) fn granted(&self) -> usize {
        self.granted.load(Ordering::Relaxed)
    }

    /// A seat, if one is free.
    pub(super) fn take(&self) -> Option<Seat<'_>> {
        let step = |taken| (taken < self.granted()).then_some(taken + 1);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step).ok().map(|_| Seat(self))
    }
}

/// One worker stays up; given back when dropped.
#[derive(Debug)]
pub(super) struct Seat<'a>(&'a Seats);

impl Seat<'_> {
    /// False when there are fewer seats than before: the vigil is over.
    pub(super) fn is_granted(&self) -> bool {
        self.0.taken.load(Ordering::Relaxed) <= self.0.granted()
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_stay_up_as_there_are_seats() {
        let cpu = WorkStealing::standalone(2);
        let seats = &cpu.core.seats;
        assert!(seats.take().is_none(), "nobody said that more is to come");
        let (one, many) = (cpu.vigil(1), cpu.vigil(100));
        assert_eq!(seats.granted(), 3, "no more than there are workers, for each");
        drop(many);
        let seat = seats.take().expect("one is free");
        assert!(seat.is_granted() && seats.take().is_none());
        drop(one);
        assert!(!seat.is_granted());
        drop(seat);
        assert_eq!((seats.granted(), seats.taken.load(Ordering::Relaxed)), (0, 0));
    }
}
