//! A SIGHUP that comes before the member serves.
//!
//! Its default action kills the process, and the handlers belong to the runtime of a member that may read maps from disk for minutes. An
//! operator who asks for a reload meanwhile does not mean to end the member. So the signal is blocked while the process has one thread, and all
//! others inherit that. The system keeps the signal until the main thread lets it through, which it does when the handlers are in place.
//!
//! A process with a terminal blocks nothing: when the terminal is closed during the start, there is no member to end in order.

use filbert::HangUp;
use nix::sys::signal::{SigSet, Signal};

/// A SIGHUP that waits until the member serves.
#[must_use = "call `release`"]
pub(super) struct HeldHangUp {
    effect: HangUp,
}

impl HeldHangUp {
    /// Blocks SIGHUP in a process whose settings it reads again. Call it before other threads are started.
    pub(super) fn hold() -> nix::Result<Self> {
        let effect = HangUp::of_process();
        if effect == HangUp::Reloads {
            hang_up().thread_block()?;
        }
        Ok(Self { effect })
    }

    /// Lets a SIGHUP through to this thread, also one that came meanwhile. Call it when the handlers are in place.
    pub(super) fn release(self) -> nix::Result<HangUp> {
        if self.effect == HangUp::Reloads {
            hang_up().thread_unblock()?;
        }
        Ok(self.effect)
    }
}

fn hang_up() -> SigSet {
    SigSet::from_iter([Signal::SIGHUP])
}
