//! Removals. Those of one key wait while someone else has locked it; those of all leave locked keys alone.

use super::{EntryFilter, EntryRef, MapTurn, Place, Slice};
use crate::error::{GridError, GridResult};
use crate::map::events::MapEventKind;
use crate::map::partition::MapPartition;
use crate::map::store::identity;
use crate::operation::{Action, Operation, Step};
use filbert_wire::Data;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Removes a key; the value it had.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Remove {
    /// The key.
    pub place: Place,
}

impl Operation for Remove {
    type Target = MapPartition;
    type Output = Option<Data>;
    const NAME: &'static str = "map.remove";
    const ACTION: Action = Action::Remove;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        if let Some(blocked) = self.place.blocked(map, turn) {
            return blocked;
        }
        if let Some(missing) = self.place.missing_to_remove(map, turn) {
            return missing;
        }
        map.count_remove();
        Step::Done(take_loaded(map, turn, &self.place, None, true).map(Option::flatten))
    }
}

/// Removes a key; whether it was there.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Delete {
    /// The key.
    pub place: Place,
}

impl Operation for Delete {
    type Target = MapPartition;
    type Output = bool;
    const NAME: &'static str = "map.delete";
    const ACTION: Action = Action::Remove;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        if let Some(blocked) = self.place.blocked(map, turn) {
            return blocked;
        }
        if let Some(missing) = self.place.missing_to_remove(map, turn) {
            return missing;
        }
        map.count_remove();
        Step::Done(take_loaded(map, turn, &self.place, None, false).map(|taken| taken.is_some()))
    }
}

/// Removes a key, if it has the value that is expected; what [`MapPartition::take`] gives, when it did. Without an entry it may have a value
/// that was loaded and that there was no room for.
fn take_loaded(
    map: &mut MapPartition,
    turn: &mut MapTurn<'_>,
    place: &Place,
    expected: Option<&Data>,
    want_old: bool,
) -> GridResult<Option<Option<Data>>> {
    let same = |value: &[u8]| expected.is_none_or(|expected| identity(value) == expected.identity());
    if let Some(slot) = map.find(turn, &place.key) {
        if !same(map.store().value(slot)) {
            return Ok(None);
        }
        return map.take(turn, slot, MapEventKind::Removed, want_old).map(Some);
    }
    match place.asked.unkept(&place.key) {
        Some(value) if same(value.as_bytes()) => map.take_unkept(turn, &place.key, value, want_old).map(Some),
        _ => Ok(None),
    }
}

/// Removes a key if it has exactly this value; whether it had.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RemoveIfSame {
    /// The key.
    pub place: Place,
    /// The value that it must have.
    pub expected: Data,
}

impl Operation for RemoveIfSame {
    type Target = MapPartition;
    type Output = bool;
    const NAME: &'static str = "map.remove_if_same";
    const ACTION: Action = Action::Remove;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        if let Some(blocked) = self.place.blocked_with(map, turn, [&mut self.expected]) {
            return blocked;
        }
        if let Some(missing) = self.place.missing_to_remove(map, turn) {
            return missing;
        }
        map.count_remove();
        let taken = take_loaded(map, turn, &self.place, Some(&self.expected), false);
        Step::Done(taken.map(|taken| taken.is_some()))
    }
}

/// Removes a key unless it stays locked for too long; whether the key was there and went.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TryRemove {
    /// The key, with the time to wait.
    pub place: Place,
}

impl Operation for TryRemove {
    type Target = MapPartition;
    type Output = bool;
    const NAME: &'static str = "map.try_remove";
    const ACTION: Action = Action::Remove;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        match self.place.blocked(map, turn) {
            Some(Step::Done(Err(GridError::TimedOut { .. }))) => return Step::done(false),
            Some(blocked) => return blocked,
            None => {}
        }
        if let Some(missing) = self.place.missing_to_remove(map, turn) {
            return missing;
        }
        map.count_remove();
        Step::Done(take_loaded(map, turn, &self.place, None, false).map(|taken| taken.is_some()))
    }

    fn expired(self, _: &mut MapPartition) -> GridResult<bool> {
        Ok(false)
    }
}

/// Evicts a key; whether it was there. The store behind the map keeps it; without one it is gone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Evict {
    /// The key.
    pub place: Place,
}

impl Operation for Evict {
    type Target = MapPartition;
    type Output = bool;
    const NAME: &'static str = "map.evict";
    const ACTION: Action = Action::Remove;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        if let Some(blocked) = self.place.blocked(map, turn) {
            return blocked;
        }
        Step::Done(match map.find(turn, &self.place.key) {
            Some(slot) => map.take(turn, slot, MapEventKind::Evicted, false).map(|_| true),
            None => Ok(false),
        })
    }
}

/// Removes all entries of a partition whose keys are not locked; how many. Whoever asked for it tells the listeners, once.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Clear {
    /// The journal says evicted, not removed.
    pub evicts: bool,
}

impl Operation for Clear {
    type Target = MapPartition;
    type Output = u64;
    const NAME: &'static str = "map.clear";
    const ACTION: Action = Action::Remove;
    const SHORT: bool = false;
    const SKIPS_UNUSED: bool = true;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        if let Some(refused) = map.refuses_changes() {
            return Step::failed(refused);
        }
        let kind = if self.evicts { MapEventKind::Evicted } else { MapEventKind::Removed };
        if !self.evicts {
            map.clear_store(turn);
        }
        Step::done(map.clear(turn, kind))
    }
}

/// Tells near caches that all partitions are cleared; on the partition of the map's name.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct TellCleared {
    /// The client that asked for it; `None` for the member.
    pub(crate) source: Option<Uuid>,
}

impl Operation for TellCleared {
    type Target = MapPartition;
    type Output = ();
    const NAME: &'static str = "map.tell_cleared";
    const ACTION: Action = Action::Remove;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        map.context().near.all_changed(turn, self.source);
        Step::done(())
    }
}

/// Removes all entries that a filter takes, whether they are locked or not; how many.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct RemoveAll<F: EntryFilter> {
    filter: F,
    #[serde(skip)]
    cursor: u32,
    #[serde(skip)]
    removed: u64,
}

impl<F: EntryFilter> RemoveAll<F> {
    /// Those that `filter` takes.
    pub fn new(filter: F) -> Self {
        Self { filter, cursor: 0, removed: 0 }
    }
}

impl<F: EntryFilter> Operation for RemoveAll<F> {
    type Target = MapPartition;
    type Output = u64;
    const NAME: &'static str = "map.remove_all";
    const ACTION: Action = Action::Remove;
    const SHORT: bool = false;
    const SKIPS_UNUSED: bool = true;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        if let Some(refused) = map.refuses_changes() {
            return Step::failed(refused);
        }
        let mut slice = Slice::begin(map, turn);
        while let Some(slot) = map.store().next(self.cursor) {
            self.cursor = slot.number() + 1;
            if !map.is_over(turn, slot) && self.filter.matches(&EntryRef::at(map.store(), slot)) {
                if let Err(error) = map.take(turn, slot, MapEventKind::Removed, false) {
                    return Step::failed(error);
                }
                self.removed += 1;
            }
            if slice.is_over(turn) {
                return Step::Again;
            }
        }
        Step::done(self.removed)
    }
}
