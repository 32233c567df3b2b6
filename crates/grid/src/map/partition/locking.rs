//! A partition's locks, and those who wait for them.

use super::{MapPartition, MapSignal, MapTurn};
use crate::error::GridResult;
use crate::map::locks::{Owner, Unlocked};
use crate::map::operations::EndLeases;
use crate::map::store::{Slot, copied};
use crate::strands::FARTHEST;
use crate::strands::mail_until_taken;
use filbert_wire::Data;
use std::time::Duration;
use uuid::Uuid;

/// How long a full mailbox is left alone before the end of a lease is mailed again.
const LEASE_AGAIN: Duration = Duration::from_millis(10);

/// A key is locked by someone else.
#[derive(Debug)]
pub(crate) struct Blocked;

impl MapPartition {
    /// Refused when someone else has locked `key`.
    #[inline]
    pub(crate) fn check_lock(
        &mut self,
        turn: &mut MapTurn<'_>,
        key: &Data,
        owner: Owner,
    ) -> Result<(), Blocked> {
        if self.locks.is_empty() {
            return Ok(());
        }
        self.end_lease(turn, key);
        if self.locks.may_change(key, owner) { Ok(()) } else { Err(Blocked) }
    }

    /// True when `key` is away for processing.
    pub(crate) fn is_away(&self, key: &Data) -> bool {
        self.locks.is_system(key)
    }

    /// The same of the entry in a slot.
    pub(crate) fn is_away_entry(&self, slot: Slot) -> bool {
        !self.locks.is_empty() && self.is_away(&copied(self.store.key(slot)))
    }

    /// Refuses to lock `key` when nobody has locked it and there is no memory for another lock.
    pub(crate) fn check_lock_room(
        &mut self,
        turn: &mut MapTurn<'_>,
        operation: &'static str,
        key: &Data,
        leased: bool,
    ) -> GridResult<()> {
        self.end_lease(turn, key);
        match self.locks.growth(key, leased) {
            0 => Ok(()),
            growth => self.context.memory.admit(operation, growth),
        }
    }

    pub(crate) fn lock(
        &mut self,
        turn: &mut MapTurn<'_>,
        key: &Data,
        owner: Owner,
        lease: Option<Duration>,
    ) -> Result<(), Blocked> {
        self.end_lease(turn, key);
        // An entry whose time is over does not come back because it is locked before someone has looked.
        self.find(turn, key);
        let until = lease.and_then(|lease| turn.now().checked_add(lease));
        if !self.locks.lock(key, owner, until) {
            return Err(Blocked);
        }
        self.stats.locks += 1;
        self.arm_leases(turn);
        Ok(())
    }

    /// Sees to it that a timer is set for the next end of a lease.
    fn arm_leases(&mut self, turn: &MapTurn<'_>) {
        let Some(next) = self.locks.next_end() else { return };
        if !self.lease_alarms.must_set(next) {
            return;
        }
        let (home, partition, clock) = (self.home.clone(), self.partition, turn.clock().clone());
        let pause = next.saturating_sub(turn.now()).min(FARTHEST);
        let over = EndLeases { due: next };
        turn.clock().after(pause, move || mail_until_taken(&home, partition, &clock, over, LEASE_AGAIN));
    }

    /// Gives back the locks whose lease is over, and sees to the next timer; this one was set for `due`.
    pub(crate) fn end_leases(&mut self, turn: &mut MapTurn<'_>, due: Duration) {
        while let Some(key) = self.locks.next_over(turn.now()) {
            self.end_lease(turn, &key);
        }
        self.lease_alarms.came(due);
        self.arm_leases(turn);
    }

    pub(crate) fn unlock(&mut self, turn: &mut MapTurn<'_>, key: &Data, owner: Owner) -> Unlocked {
        self.end_lease(turn, key);
        let unlocked = self.locks.unlock(key, owner);
        if unlocked == Unlocked::Free {
            self.is_free(turn, key.clone());
        }
        unlocked
    }

    pub(crate) fn force_unlock(&mut self, turn: &mut MapTurn<'_>, key: &Data) {
        if self.locks.force_unlock(key) {
            self.is_free(turn, key.clone());
        }
    }

    pub(crate) fn lock_owner(&mut self, turn: &mut MapTurn<'_>, key: &Data) -> Option<Owner> {
        self.end_lease(turn, key);
        self.locks.owner(key)
    }

    /// Locks `key` while its entry is away.
    pub(crate) fn send_away(&mut self, key: &Data, owner: Owner) {
        self.locks.lock_system(key, owner);
    }

    /// The entry of `key` is back.
    pub(crate) fn bring_back(&mut self, turn: &mut MapTurn<'_>, key: &Data, absence: u64) {
        self.locks.unlock_system(key);
        // Also when the key is locked again by its owner: that one may wait for its own key.
        self.is_free(turn, key.clone());
        turn.happened(MapSignal::Returned(absence));
    }

    /// Gives back all locks of a client or member that is gone; how many.
    pub(crate) fn release_locks_of(&mut self, turn: &mut MapTurn<'_>, gone: Uuid) -> u64 {
        let freed = self.locks.release(|owner| owner.id == gone);
        self.freed(turn, freed)
    }

    pub(crate) fn release_all_locks(&mut self, turn: &mut MapTurn<'_>) {
        let freed = self.locks.release(|_| true);
        self.freed(turn, freed);
    }

    pub(crate) fn end_lease(&mut self, turn: &mut MapTurn<'_>, key: &Data) {
        if self.locks.until(key).is_some() && self.locks.end_lease(key, turn.now()) {
            self.is_free(turn, key.clone());
        }
    }

    fn freed(&mut self, turn: &mut MapTurn<'_>, keys: Vec<Data>) -> u64 {
        let count = keys.len() as u64;
        keys.into_iter().for_each(|key| self.is_free(turn, key));
        count
    }

    /// Nobody has locked `key` any more: those who wait for it go on, and so does the end of its entry's life.
    fn is_free(&mut self, turn: &mut MapTurn<'_>, key: Data) {
        self.sweep_unlocked(turn, &key);
        turn.happened(MapSignal::Free(key));
    }
}
