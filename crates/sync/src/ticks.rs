//! A timestamp cheap enough for every operation.
//!
//! `Instant::now` costs about 40 ns on a virtual machine, as much as a short partition operation. On x86-64 the time
//! stamp counter costs a quarter of that; it is calibrated once against the system clock. Other machines use `Instant`.

use std::sync::OnceLock;
use std::time::Instant;

/// The process's cheap clock: nanoseconds since it was first asked.
#[derive(Debug, Clone, Copy)]
pub struct Ticks {
    origin: Instant,
    #[cfg(target_arch = "x86_64")]
    counter: u64,
    #[cfg(target_arch = "x86_64")]
    nanos_per_tick: f64,
}

static TICKS: OnceLock<Ticks> = OnceLock::new();

impl Ticks {
    /// The process's clock, calibrated on the first call (about 2 ms).
    pub fn get() -> &'static Ticks {
        TICKS.get_or_init(Ticks::calibrate)
    }

    #[cfg(target_arch = "x86_64")]
    fn calibrate() -> Self {
        let (origin, counter) = read_both();
        while origin.elapsed().as_micros() < 2_000 {
            std::hint::spin_loop();
        }
        let (end, end_counter) = read_both();
        let ticks = end_counter.wrapping_sub(counter).max(1);
        let nanos_per_tick = end.duration_since(origin).as_nanos() as f64 / ticks as f64;
        Self { origin, counter, nanos_per_tick }
    }

    #[cfg(not(target_arch = "x86_64"))]
    #[expect(clippy::disallowed_methods, reason = "this is the clock that is passed in")]
    fn calibrate() -> Self {
        Self { origin: Instant::now() }
    }

    /// Nanoseconds since the clock was made.
    #[inline]
    pub fn now(&self) -> u64 {
        #[cfg(target_arch = "x86_64")]
        {
            // A counter that a hypervisor moved back must not become an age of centuries.
            (counter().saturating_sub(self.counter) as f64 * self.nanos_per_tick) as u64
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            self.origin.elapsed().as_nanos() as u64
        }
    }

    /// The time in the clock's own unit: cheaper still, for durations that are only compared with a limit.
    #[inline(always)]
    pub fn raw(&self) -> u64 {
        #[cfg(target_arch = "x86_64")]
        {
            counter()
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            self.now()
        }
    }

    /// A duration in the unit of [`Ticks::raw`].
    pub fn raw_of_nanos(&self, nanos: u64) -> u64 {
        #[cfg(target_arch = "x86_64")]
        {
            (nanos as f64 / self.nanos_per_tick) as u64
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            nanos
        }
    }

    /// The system clock's moment at which [`Ticks::now`] was zero.
    pub fn origin(&self) -> Instant {
        self.origin
    }
}

/// Both clocks at one moment. A thread that loses its processor between the two reads would spoil the rate for the life of
/// the process; so the closest of several readings counts.
#[cfg(target_arch = "x86_64")]
#[expect(clippy::disallowed_methods, reason = "this is the clock that is passed in")]
fn read_both() -> (Instant, u64) {
    let reading = |_| {
        let before = counter();
        let now = Instant::now();
        let after = counter();
        (after.wrapping_sub(before), now, before + after.wrapping_sub(before) / 2)
    };
    let closest = (0..20).map(reading).min_by_key(|reading| reading.0);
    closest.map(|(_, now, counter)| (now, counter)).expect("twenty readings")
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn counter() -> u64 {
    // SAFETY: every x86-64 processor has the time stamp counter; reading it has no other effect.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(all(test, not(filbert_loom)))]
mod tests {
    use super::*;

    /// Between two readings of the system clock outside of ours, and two inside: however long a thread is kept from running between them.
    #[test]
    fn keeps_pace_with_the_system_clock() {
        let ticks = Ticks::get();
        let span = std::time::Duration::from_millis(50);
        let (outer, before, inner) = (Instant::now(), ticks.now(), Instant::now());
        while inner.elapsed() < span {
            std::hint::spin_loop();
        }
        let (least, ours, most) = (inner.elapsed(), ticks.now() - before, outer.elapsed());
        let (least, most) = (least.as_nanos() as u64, most.as_nanos() as u64);
        assert!(
            ours >= least - least / 20 && ours <= most + most / 20,
            "{ours} ns, not {least} to {most} ns"
        );
    }
}
