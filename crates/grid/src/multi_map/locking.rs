//! Locks of keys, and those who wait for them.

use super::part::{Free, Part};
use crate::error::{GridError, GridResult};
use crate::keeper::{KeptTurn, acts, mail};
use crate::map::{Owner, Unlocked};
use crate::operation::Step;
use crate::strands::FARTHEST;
use filbert_wire::Data;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use uuid::Uuid;

/// How long an act waits for a key, from its first try on.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Patience {
    /// As long as the settings say when there is none.
    timeout_ms: Option<u64>,
    #[serde(skip)]
    deadline: Option<Duration>,
}

impl Patience {
    /// As long as the settings say.
    pub(super) fn of_map() -> Self {
        Self { timeout_ms: None, deadline: None }
    }

    /// What to wait for, and until when, if another owner has locked the key.
    pub(super) fn check(
        &mut self,
        part: &mut Part,
        turn: &mut KeptTurn<'_, Part>,
        key: &Data,
        owner: Owner,
    ) -> Option<(Free, Option<Duration>)> {
        part.end_lease(turn, key);
        if part.locks.may_change(key, owner) {
            return None;
        }
        Some((Free(key.clone()), self.until(part, turn.now())))
    }

    fn until(&mut self, part: &Part, now: Duration) -> Option<Duration> {
        if self.deadline.is_none() {
            let timeout = self.timeout_ms.map_or(part.shared.lock_wait, Duration::from_millis);
            self.deadline = now.checked_add(timeout);
        }
        self.deadline
    }
}

acts! {
    Part;
    /// Locks a key; whether it did.
    Lock "multimap.lock" Lock { key: Data, owner: Owner, lease_ms: Option<u64>, patience: Patience } -> bool
        = |self, part, turn| {
            part.end_lease(turn, &self.key);
            let growth = part.locks.growth(&self.key, self.lease_ms.is_some());
            if growth > 0 && let Err(refused) = part.shared.memory.admit("multimap.lock", growth) {
                return Step::failed(refused);
            }
            let lease = self.lease_ms.map(Duration::from_millis);
            let until = lease.and_then(|lease| turn.now().checked_add(lease));
            if part.locks.lock(&self.key, self.owner, until) {
                part.arm_leases(turn);
                return Step::done(true);
            }
            if self.patience.timeout_ms == Some(0) {
                return Step::done(false);
            }
            Step::Wait { event: Free(self.key.clone()), deadline: self.patience.until(part, turn.now()) }
        }, or |self, _part| Ok(false);
    /// Whether anyone has locked a key.
    Lock "multimap.is_locked" IsLocked { key: Data } -> bool = |self, part, turn| {
        part.end_lease(turn, &self.key);
        Step::done(part.locks.owner(&self.key).is_some())
    };
    /// Gives a lock back.
    Lock "multimap.unlock" Unlock { key: Data, owner: Owner } -> ()
        = |self, part, turn| Step::Done(part.unlock(turn, &self.key, self.owner));
    /// Frees a key, whoever has locked it.
    Lock "multimap.force_unlock" ForceUnlock { key: Data } -> () = |self, part, turn| {
        if part.locks.force_unlock(&self.key) {
            turn.happened(Free(self.key.clone()));
        }
        Step::done(())
    };
    /// Frees all keys of a client or member that is gone; how many.
    #[derive(Clone)]
    Lock "multimap.release_locks" ReleaseLocksOf { id: Uuid } -> usize = |self, part, turn| {
        let freed = part.locks.release(|owner| owner.id == self.id);
        let count = freed.len();
        freed.into_iter().for_each(|key| turn.happened(Free(key)));
        Step::done(count)
    };
    /// Gives back the locks whose lease is over.
    #[derive(Clone)]
    Lock "multimap.end_leases" EndLeases {
        /// When the timer that sent it was due.
        due: Duration,
    } -> () = |self, part, turn| {
        while let Some(key) = part.locks.next_over(turn.now()) {
            part.end_lease(turn, &key);
        }
        part.lease_alarms.came(self.due);
        part.arm_leases(turn);
        Step::done(())
    };
}

impl Lock {
    pub(super) fn new(key: Data, owner: Owner, timeout_ms: u64, lease_ms: Option<u64>) -> Self {
        Self { key, owner, lease_ms, patience: Patience { timeout_ms: Some(timeout_ms), deadline: None } }
    }
}

impl Part {
    /// Frees a key whose lease is over.
    fn end_lease(&mut self, turn: &mut KeptTurn<'_, Self>, key: &Data) {
        if self.locks.end_lease(key, turn.now()) {
            turn.happened(Free(key.clone()));
        }
    }

    /// Sees to it that a timer is set for the next end of a lease.
    fn arm_leases(&mut self, turn: &KeptTurn<'_, Self>) {
        let Some(next) = self.locks.next_end() else { return };
        if !self.lease_alarms.must_set(next) {
            return;
        }
        let (home, partition, clock) = (self.home.clone(), self.partition, turn.clock().clone());
        let pause = next.saturating_sub(turn.now()).min(FARTHEST);
        turn.clock().after(pause, move || mail(&home, partition, &clock, EndLeases { due: next }));
    }

    fn unlock(&mut self, turn: &mut KeptTurn<'_, Self>, key: &Data, owner: Owner) -> GridResult<()> {
        self.end_lease(turn, key);
        let owner = match self.locks.unlock(key, owner) {
            Unlocked::Free => {
                turn.happened(Free(key.clone()));
                return Ok(());
            }
            Unlocked::StillHeld => return Ok(()),
            Unlocked::By(owner) => owner.to_string(),
            Unlocked::WasFree => "nobody".to_owned(),
        };
        Err(GridError::NotLockOwner { operation: "multimap.unlock", owner })
    }
}
