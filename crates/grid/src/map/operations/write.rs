//! Writes of one key. Each waits while someone else has locked the key.

use super::{MapTurn, Place};
use crate::error::{GridError, GridResult};
use crate::map::expiry::Lifetime;
use crate::map::partition::{MapPartition, Tells};
use crate::map::store::{copied, identity};
use crate::operation::{Action, Operation, Step};
use filbert_wire::Data;
use serde::{Deserialize, Serialize};

/// Gives a key a value; the one before.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Put {
    /// The key.
    pub place: Place,
    /// Its value.
    pub value: Data,
    /// How long it lives.
    pub lifetime: Lifetime,
}

impl Operation for Put {
    type Target = MapPartition;
    type Output = Option<Data>;
    const NAME: &'static str = "map.put";
    const ACTION: Action = Action::Put;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        if let Some(blocked) = self.place.blocked_with(map, turn, [&mut self.value]) {
            return blocked;
        }
        if let Some(missing) = self.place.missing(map, turn) {
            return missing;
        }
        map.count_put();
        Step::Done(map.write(turn, &self.place.key, &self.value, self.lifetime, true))
    }
}

/// Gives a key a value.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Set {
    /// The key.
    pub place: Place,
    /// Its value.
    pub value: Data,
    /// How long it lives.
    pub lifetime: Lifetime,
}

impl Operation for Set {
    type Target = MapPartition;
    type Output = ();
    const NAME: &'static str = "map.set";
    const ACTION: Action = Action::Put;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        if let Some(blocked) = self.place.blocked_with(map, turn, [&mut self.value]) {
            return blocked;
        }
        map.count_put();
        Step::Done(map.write(turn, &self.place.key, &self.value, self.lifetime, false).map(drop))
    }
}

/// Gives a key a value that the store behind the map is not to have; the one before, of those that are here.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PutTransient {
    /// The key.
    pub place: Place,
    /// Its value.
    pub value: Data,
    /// How long it lives.
    pub lifetime: Lifetime,
}

impl Operation for PutTransient {
    type Target = MapPartition;
    type Output = Option<Data>;
    const NAME: &'static str = "map.put_transient";
    const ACTION: Action = Action::Put;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        if let Some(blocked) = self.place.blocked_with(map, turn, [&mut self.value]) {
            return blocked;
        }
        map.count_put();
        Step::Done(map.write_here(turn, &self.place.key, &self.value, self.lifetime))
    }
}

/// Gives a key a value unless it stays locked for too long; whether it did.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TryPut {
    /// The key, with the time to wait.
    pub place: Place,
    /// Its value.
    pub value: Data,
}

impl Operation for TryPut {
    type Target = MapPartition;
    type Output = bool;
    const NAME: &'static str = "map.try_put";
    const ACTION: Action = Action::Put;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        match self.place.blocked_with(map, turn, [&mut self.value]) {
            Some(Step::Done(Err(GridError::TimedOut { .. }))) => return Step::done(false),
            Some(blocked) => return blocked,
            None => {}
        }
        map.count_put();
        Step::Done(map.write(turn, &self.place.key, &self.value, Lifetime::DEFAULT, false).map(|_| true))
    }

    fn expired(self, _: &mut MapPartition) -> GridResult<bool> {
        Ok(false)
    }
}

/// Gives a key a value if it has none; the one it has.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PutIfAbsent {
    /// The key.
    pub place: Place,
    /// Its value.
    pub value: Data,
    /// How long it lives.
    pub lifetime: Lifetime,
}

impl Operation for PutIfAbsent {
    type Target = MapPartition;
    type Output = Option<Data>;
    const NAME: &'static str = "map.put_if_absent";
    const ACTION: Action = Action::Put;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        if let Some(blocked) = self.place.blocked_with(map, turn, [&mut self.value]) {
            return blocked;
        }
        if let Some(missing) = self.place.missing(map, turn) {
            return missing;
        }
        if let Some(there) = map.get(turn, &self.place.key) {
            return Step::done(Some(copied(there)));
        }
        map.count_put();
        Step::Done(map.write(turn, &self.place.key, &self.value, self.lifetime, false))
    }
}

/// Gives a key another value if it has one; the one before.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Replace {
    /// The key.
    pub place: Place,
    /// Its new value.
    pub value: Data,
}

impl Operation for Replace {
    type Target = MapPartition;
    type Output = Option<Data>;
    const NAME: &'static str = "map.replace";
    const ACTION: Action = Action::Put;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        if let Some(blocked) = self.place.blocked_with(map, turn, [&mut self.value]) {
            return blocked;
        }
        if let Some(missing) = self.place.missing(map, turn) {
            return missing;
        }
        if map.find(turn, &self.place.key).is_none() {
            return Step::done(None);
        }
        map.count_put();
        Step::Done(map.write(turn, &self.place.key, &self.value, Lifetime::DEFAULT, true))
    }
}

/// Gives a key another value if it has exactly this one; whether it had.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReplaceIfSame {
    /// The key.
    pub place: Place,
    /// The value that it must have.
    pub expected: Data,
    /// Its new value.
    pub value: Data,
}

impl Operation for ReplaceIfSame {
    type Target = MapPartition;
    type Output = bool;
    const NAME: &'static str = "map.replace_if_same";
    const ACTION: Action = Action::Put;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        if let Some(blocked) = self.place.blocked_with(map, turn, [&mut self.expected, &mut self.value]) {
            return blocked;
        }
        if let Some(missing) = self.place.missing(map, turn) {
            return missing;
        }
        let found = map.find(turn, &self.place.key);
        let same = found.is_some_and(|slot| identity(map.store().value(slot)) == self.expected.identity());
        if !same {
            return Step::done(false);
        }
        map.count_put();
        Step::Done(map.write(turn, &self.place.key, &self.value, Lifetime::DEFAULT, false).map(|_| true))
    }
}

/// Says anew how long an entry lives from now on; whether there is one. How long it may be idle stays.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SetTtl {
    /// The key.
    pub place: Place,
    /// Milliseconds; 0 for ever, negative as the map's settings say.
    pub ttl_ms: i64,
}

impl Operation for SetTtl {
    type Target = MapPartition;
    type Output = bool;
    const NAME: &'static str = "map.set_ttl";
    const ACTION: Action = Action::Put;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        if let Some(blocked) = self.place.blocked(map, turn) {
            return blocked;
        }
        if let Some(missing) = self.place.missing(map, turn) {
            return missing;
        }
        let Some(slot) = map.find(turn, &self.place.key) else { return Step::done(false) };
        let idle = map.expiry(slot).map_or(0, |expiry| i64::try_from(expiry.max_idle_ms).unwrap_or(0));
        map.live_for(turn, slot, Lifetime { ttl_ms: self.ttl_ms, max_idle_ms: idle });
        map.store_entry(turn, slot, Tells::Nobody);
        Step::done(true)
    }
}
