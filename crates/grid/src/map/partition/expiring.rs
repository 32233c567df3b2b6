//! Entries whose time is over: they go when someone looks for them, or when the sweep comes by. A locked entry stays until it is not.

use super::{MapPartition, MapTurn};
use crate::map::events::MapEventKind;
use crate::map::expiry::{Expiry, Lifetime, millis};
use crate::map::operations::Sweep;
use crate::map::store::Slot;
use crate::strands::mail_until_taken;
use filbert_pool::Timer;
use filbert_wire::Data;
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
                self.sweep_by(turn, expiry.due_ms());
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

    /// Looks at some entries that can expire, and takes away those whose time is over. It comes again for the rest of them, and then when
    /// the next one is due; when none is, nothing ever wakes up.
    pub(crate) fn sweep(&mut self, turn: &mut MapTurn<'_>) {
        if !self.sweeping.is_under_way {
            self.sweeping = Sweeping { is_under_way: true, ..Sweeping::default() };
        }
        let mut left = SWEEP;
        loop {
            match self.expiry.next(self.sweeping.from, &mut left) {
                Ok((slot, expiry)) => {
                    let due = expiry.due_ms();
                    self.sweeping.from = slot.number() + 1;
                    // A locked entry stays: its lock's end sees to it.
                    if !self.expire_if_over(turn, slot) && !self.is_locked_entry(slot) {
                        self.sweeping.earliest = self.sweeping.earliest.min(due);
                    }
                }
                Err(None) => break,
                Err(Some(next)) => {
                    self.sweeping.from = next;
                    let timer = self.sweep_timer(turn, SWEEP_ON);
                    self.sweeping.timer = Some((0, timer));
                    return;
                }
            }
        }
        let earliest = self.sweeping.earliest;
        self.sweeping = Sweeping::default();
        self.sweep_by(turn, earliest);
    }

    /// Sees to it that the sweep comes by soon after `due`, in milliseconds of the clock.
    pub(super) fn sweep_by(&mut self, turn: &MapTurn<'_>, due: u64) {
        if self.sweeping.is_under_way {
            // It may have passed the entry already; at its end it looks when it has to come again.
            self.sweeping.earliest = self.sweeping.earliest.min(due);
            return;
        }
        if due == u64::MAX || self.sweeping.timer.as_ref().is_some_and(|(set_for, _)| *set_for <= due) {
            return;
        }
        let now = millis(turn.now());
        let moment = round_moment(due, now, self.context.sweep_interval);
        if self.sweeping.timer.as_ref().is_none_or(|(set_for, _)| moment < *set_for) {
            let timer = self.sweep_timer(turn, Duration::from_millis(moment - now));
            self.sweeping.timer = Some((moment, timer));
        }
    }

    /// Sees to it that the sweep comes by for an entry that nobody has locked any more.
    pub(super) fn sweep_unlocked(&mut self, turn: &MapTurn<'_>, key: &Data) {
        if self.expiry.is_empty() {
            return;
        }
        let slot = self.store.find(key.as_bytes());
        if let Some(due) = slot.and_then(|slot| self.expiry.get(slot)).map(Expiry::due_ms) {
            self.sweep_by(turn, due);
        }
    }

    fn sweep_timer(&self, turn: &MapTurn<'_>, pause: Duration) -> Timer {
        let (home, partition, clock) = (self.home.clone(), self.partition, turn.clock().clone());
        turn.clock().timer(pause, move || mail_until_taken(&home, partition, &clock, Sweep, SWEEP_ON))
    }
}

/// The first moment after `now`, not before `due`, that is a multiple of `interval`: so that the partitions of all maps wake up together, and
/// each once in an interval at most. In milliseconds.
fn round_moment(due: u64, now: u64, interval: Duration) -> u64 {
    let interval = (interval.as_millis() as u64).max(1);
    let soonest = due.max(now.saturating_add(1)).min(now.saturating_add(FARTHEST_MS));
    soonest.div_ceil(interval).saturating_mul(interval)
}

/// No timer is set farther ahead than some hundred years, so that no sum of times overflows. When it is due, the next is set.
const FARTHEST_MS: u64 = 1 << 42;

/// When the sweep comes by, and how far it has come.
///
/// The timer of a partition is set for its earliest end, not for every second: an entry that lives for an hour costs nothing for an hour. Each
/// use of an entry with a longest idle time puts its end off, but not the timer, which then finds nothing to do and is set anew: one timer
/// in each idle time, instead of one for each use.
#[derive(Debug)]
pub(super) struct Sweeping {
    /// Where the next round goes on.
    from: u32,
    /// A sweep has begun, and not seen all entries yet.
    is_under_way: bool,
    /// The earliest end among the entries that it has seen and those that came meanwhile.
    earliest: u64,
    /// The timer, and the millisecond that it is set for. Gone with the partition.
    timer: Option<(u64, Timer)>,
}

impl Default for Sweeping {
    fn default() -> Self {
        Self { from: 0, is_under_way: false, earliest: u64::MAX, timer: None }
    }
}
