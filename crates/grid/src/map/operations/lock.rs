//! Locks. Who waits for one holds no thread: the operation is parked until the key is free.

use super::{MapTurn, Place};
use crate::error::{GridError, GridResult};
use crate::map::locks::{Owner, Unlocked};
use crate::map::partition::{Blocked, MapPartition, MapSignal};
use crate::operation::{Action, Operation, Step};
use filbert_wire::Data;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use uuid::Uuid;

/// Locks a key, waiting for whoever has it. The same owner may lock it several times, and unlocks it as often.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Lock {
    /// The key, with the time to wait.
    pub place: Place,
    /// After this time it is free again, whatever its owner does.
    pub lease_ms: Option<u64>,
}

/// Takes the lock, or says how to wait for it.
fn lock<O>(
    place: &mut Place,
    lease_ms: Option<u64>,
    map: &mut MapPartition,
    turn: &mut MapTurn<'_>,
) -> Option<Step<O>>
where
    O: Operation<Target = MapPartition>,
{
    if map.context().is_destroyed() {
        return Some(Step::failed(super::destroyed(map)));
    }
    if let Err(refused) = map.check_lock_room(turn, O::NAME, &place.key, lease_ms.is_some()) {
        return Some(Step::failed(refused));
    }
    match map.lock(turn, &place.key, place.owner, lease_ms.map(Duration::from_millis)) {
        Ok(()) => None,
        Err(Blocked) => Some(place.patience.wait(map, turn, MapSignal::Free(place.key.clone()))),
    }
}

impl Operation for Lock {
    type Target = MapPartition;
    type Output = ();
    const NAME: &'static str = "map.lock";
    const ACTION: Action = Action::Lock;
    const NEEDS_ROOM: bool = true;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        lock(&mut self.place, self.lease_ms, map, turn).unwrap_or_else(|| Step::done(()))
    }
}

/// Locks a key unless it stays locked for too long; whether it did.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TryLock {
    /// The key, with the time to wait.
    pub place: Place,
    /// After this time it is free again, whatever its owner does.
    pub lease_ms: Option<u64>,
}

impl Operation for TryLock {
    type Target = MapPartition;
    type Output = bool;
    const NAME: &'static str = "map.try_lock";
    const ACTION: Action = Action::Lock;
    const NEEDS_ROOM: bool = true;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        match lock(&mut self.place, self.lease_ms, map, turn) {
            None => Step::done(true),
            Some(Step::Wait { .. }) if self.place.patience.is_none() => Step::done(false),
            Some(step) => step,
        }
    }

    fn expired(self, _: &mut MapPartition) -> GridResult<bool> {
        Ok(false)
    }
}

/// Whether anyone has locked a key.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct IsLocked {
    /// The key.
    pub key: Data,
}

impl Operation for IsLocked {
    type Target = MapPartition;
    type Output = bool;
    const NAME: &'static str = "map.is_locked";
    const ACTION: Action = Action::Lock;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        Step::done(map.lock_owner(turn, &self.key).is_some())
    }
}

/// Gives a lock back.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Unlock {
    /// The key.
    pub key: Data,
    /// Who has it.
    pub owner: Owner,
}

impl Operation for Unlock {
    type Target = MapPartition;
    type Output = ();
    const NAME: &'static str = "map.unlock";
    const ACTION: Action = Action::Lock;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        let owner = match map.unlock(turn, &self.key, self.owner) {
            Unlocked::Free | Unlocked::StillHeld => return Step::done(()),
            Unlocked::By(owner) => owner.to_string(),
            Unlocked::WasFree => "nobody".to_owned(),
        };
        Step::failed(GridError::NotLockOwner { operation: Self::NAME, owner })
    }
}

/// Frees a key, whoever has locked it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ForceUnlock {
    /// The key.
    pub key: Data,
}

impl Operation for ForceUnlock {
    type Target = MapPartition;
    type Output = ();
    const NAME: &'static str = "map.force_unlock";
    const ACTION: Action = Action::Lock;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        map.force_unlock(turn, &self.key);
        Step::done(())
    }
}

/// Frees all keys of a client or member that is gone; how many. Not before other mail: a lock that the client asked for last may be on its way.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct ReleaseLocksOf {
    /// Who is gone.
    pub id: Uuid,
}

impl Operation for ReleaseLocksOf {
    type Target = MapPartition;
    type Output = u64;
    const NAME: &'static str = "map.release_locks";
    const ACTION: Action = Action::Lock;
    const SKIPS_UNUSED: bool = true;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        Step::done(map.release_locks_of(turn, self.id))
    }
}

/// Gives back the locks whose lease is over.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct EndLeases {
    /// When the timer that sent it was due.
    pub(crate) due: Duration,
}

impl Operation for EndLeases {
    type Target = MapPartition;
    type Output = ();
    const NAME: &'static str = "map.end_leases";
    const ACTION: Action = Action::Lock;
    const PRIORITY: bool = true;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        map.end_leases(turn, self.due);
        Step::done(())
    }
}
