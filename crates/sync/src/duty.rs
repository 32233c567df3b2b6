//! One runner on duty: whoever brings work learns whether it must call the runner, and the runner never misses work.
//!
//! The work itself lies elsewhere (lanes, a list). A bringer puts it there and calls [`Duty::summon`]; the answer true
//! means that nobody is on duty and the bringer must start a runner. The runner works until it finds nothing, calls
//! [`Duty::leave`], and *looks once more*; if something came meanwhile it summons itself and goes on.
//!
//! Why nothing is missed: both calls are read-modify-writes of one word, so they have an order. If the bringer's comes first,
//! the runner's `leave` reads it (Acquire reads Release), and its last look sees the work. If the runner's comes first,
//! the bringer reads "off duty" and starts a new runner. No fence is needed, because both sides write the same word.
//!
//! Rule: only the runner calls [`Duty::leave`], and there is at most one runner per true answer.

use crate::primitives::{AtomicBool, Ordering};

/// Whether someone is taking care of the work, or has been called to.
#[derive(Debug)]
pub struct Duty {
    on: AtomicBool,
}

impl Default for Duty {
    fn default() -> Self {
        Self::new()
    }
}

impl Duty {
    /// Nobody is on duty.
    pub fn new() -> Self {
        Self { on: AtomicBool::new(false) }
    }

    /// There is work. True: nobody is on duty, and the caller must start a runner.
    #[inline]
    pub fn summon(&self) -> bool {
        !self.on.swap(true, Ordering::AcqRel)
    }

    /// The runner found nothing more and leaves. It must look once more after this.
    #[inline]
    pub fn leave(&self) {
        let was_on = self.on.swap(false, Ordering::AcqRel);
        debug_assert!(was_on, "only the runner on duty leaves it");
    }
}

#[cfg(all(test, not(filbert_loom)))]
mod tests {
    use super::*;

    #[test]
    fn one_runner_at_a_time() {
        let duty = Duty::new();
        assert!(duty.summon());
        assert!(!duty.summon());
        duty.leave();
        assert!(duty.summon());
    }
}
