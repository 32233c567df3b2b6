//! Entries whose time is over: they go when someone looks for them, or when the sweep comes by. A locked entry stays until it is not.

use super::{MapPartition, MapTurn};
use crate::map::events::MapEventKind;
use crate::map::expiry::{Expiry, Lifetime};
use crate::map::operations::Sweep;
use crate::map::store::Slot;
use crate::strands::mail_until_taken;
use std::time::Duration;

/// Slots that one round of the sweep looks at.
const SWEEP: usize = 2_000;

/// The pause before the next round when a round did not see all.
const SWEEP_ON: Duration = Duration::from_millis(20);

impl MapPartition {
    /// Sets how long an entry lives from now on.
    pub(crate) fn live_for(&mut self, turn: &MapTurn<'_>, slot: Slot, lifetime: Lifetime) {
        let settings = &self.context.settings;
        let forever = lifetime.ttl_ms <= 0 && lifetime.max_idle_ms <= 0;
        if forever && settings.ttl_seconds == 0 && settings.max_idle_seconds == 0 {
            if !self.expiry.is_empty() {
                self.expiry.remove(slot);
            }
            return;
        }
        match Expiry::new(lifetime, settings, turn.now()) {
            Some(expiry) => {
                self.expiry.set(slot, expiry);
                self.arm_sweep(turn, self.context.sweep_interval);
            }
            None => self.expiry.remove(slot),
        }
    }

    pub(crate) fn expiry(&self, slot: Slot) -> Option<&Expiry> {
        self.expiry.get(slot)
    }

    /// True when the entry's time is over; then it is gone.
    #[inline]
    pub(crate) fn expire_if_over(&mut self, turn: &mut MapTurn<'_>, slot: Slot) -> bool {
        if self.expiry.is_empty() {
            return false;
        }
        let over = self.is_over(turn, slot);
        if over {
            self.remove(turn, slot, MapEventKind::Expired);
        }
        over
    }

    /// True when the entry's time is over, and it is only not swept yet.
    pub(crate) fn is_over(&self, turn: &MapTurn<'_>, slot: Slot) -> bool {
        !self.expiry.is_empty()
            && self.expiry.get(slot).is_some_and(|expiry| expiry.is_over(turn.now()))
            && !self.is_locked_entry(slot)
    }

    /// Looks at some entries that can expire, and takes away those whose time is over. As long as there are any that can, it comes
    /// again; without, nothing ever wakes up.
    pub(crate) fn sweep(&mut self, turn: &mut MapTurn<'_>) {
        let mut left = SWEEP;
        let pause = loop {
            match self.expiry.next(self.sweep_from, &mut left) {
                Ok((slot, _)) => {
                    self.sweep_from = slot.number() + 1;
                    self.expire_if_over(turn, slot);
                }
                Err(None) => {
                    self.sweep_from = 0;
                    break self.context.sweep_interval;
                }
                Err(Some(next)) => {
                    self.sweep_from = next;
                    break SWEEP_ON.min(self.context.sweep_interval);
                }
            }
        };
        self.sweep_armed = false;
        if !self.expiry.is_empty() {
            self.arm_sweep(turn, pause);
        }
    }

    pub(super) fn arm_sweep(&mut self, turn: &MapTurn<'_>, pause: Duration) {
        if std::mem::replace(&mut self.sweep_armed, true) {
            return;
        }
        let (home, partition, clock) = (self.home.clone(), self.partition, turn.clock().clone());
        turn.clock().after(pause, move || mail_until_taken(&home, partition, &clock, Sweep, SWEEP_ON));
    }
}
