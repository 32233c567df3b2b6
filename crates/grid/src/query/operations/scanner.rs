//! `Scanner`: goes over the entries of a partition that a predicate matches, a slice per turn of the strand.
//!
//! In the first turn the indexes are asked. The candidates of an index are numbers of slots; when others had their turn in between, a slot may
//! be empty or hold another entry, so from the second turn on the whole predicate is asked, and not only what the index left open.
//! Bitmaps are asked in every turn anew, for the next slots only: what they say is never old, and no turn is longer for more entries.

use super::MapTurn;
use crate::map::MapPartition;
use crate::map::Slot;
use crate::map::operations::Slice;
use crate::query::error::QueryError;
use crate::query::extract::Entry;
use crate::query::index::{Indexes, Residual, Search};
use crate::query::predicate::Predicate;
use serde::{Deserialize, Serialize};
use std::sync::MutexGuard;

/// Where a scan stands.
#[derive(Debug, Default)]
pub(super) struct Scanner {
    state: State,
    /// The predicate takes long, so that the time is looked at after every entry.
    long: bool,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    New,
    All {
        cursor: u32,
    },
    Candidates {
        slots: Vec<u32>,
        at: usize,
        residual: Residual,
    },
    /// By bitmaps, from that slot on.
    Bitmaps {
        next: u32,
    },
}

/// Where a scan goes on that somebody else takes up again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Cursor {
    /// From that slot on.
    All(u32),
    /// With these slots.
    Candidates(Vec<u32>),
    /// By bitmaps, from that slot on.
    Bitmaps(u32),
}

/// What a turn ended with.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Scanned {
    /// There is more; others first.
    Again,
    /// That was all.
    Done,
}

impl Scanner {
    /// Goes on where another one stopped.
    pub(super) fn resume(cursor: Cursor, predicate: &Predicate) -> Self {
        let state = match cursor {
            Cursor::All(cursor) => State::All { cursor },
            Cursor::Candidates(slots) => State::Candidates { slots, at: 0, residual: Residual::Whole },
            Cursor::Bitmaps(next) => State::Bitmaps { next },
        };
        Self { state, long: predicate.is_long() }
    }

    /// Where it stands; at the begin of all entries when it was not begun.
    pub(super) fn into_cursor(self) -> Cursor {
        match self.state {
            State::New => Cursor::All(0),
            State::All { cursor } => Cursor::All(cursor),
            State::Candidates { mut slots, at, .. } => Cursor::Candidates(slots.split_off(at)),
            State::Bitmaps { next } => Cursor::Bitmaps(next),
        }
    }

    /// The slot from which it goes on over all entries, when it does.
    pub(super) fn slot(&self) -> Option<u32> {
        if let State::All { cursor } = self.state { Some(cursor) } else { None }
    }

    /// Gives the entries of the next slice that match to `visit`.
    pub(super) fn run(
        &mut self,
        map: &MapPartition,
        turn: &MapTurn<'_>,
        predicate: &Predicate,
        mut visit: impl FnMut(Slot, &Entry<'_>) -> Result<(), QueryError>,
    ) -> Result<Scanned, QueryError> {
        self.run_until(map, turn, predicate, |slot, entry| visit(slot, entry).map(|()| false))
    }

    /// The same; the turn also ends when `visit` says that it has enough.
    pub(super) fn run_until(
        &mut self,
        map: &MapPartition,
        turn: &MapTurn<'_>,
        predicate: &Predicate,
        mut visit: impl FnMut(Slot, &Entry<'_>) -> Result<bool, QueryError>,
    ) -> Result<Scanned, QueryError> {
        let mut slice = Slice::begin(map, turn);
        if matches!(self.state, State::New) {
            self.state = begin(map, predicate);
            self.long = predicate.is_long();
        }
        // Kept for as long as what it finds is: the whole turn.
        let indexes = if let State::Bitmaps { .. } = self.state { looked_again(map) } else { None };
        let search = indexes.as_deref().and_then(|indexes| Search::of(indexes, predicate));
        if let State::Bitmaps { next } = self.state
            && search.is_none()
        {
            // An index went, or cannot be used for now.
            self.state = State::All { cursor: next };
        }
        let long = self.long;
        let mut is_over = |now: bool| if long || now { slice.is_over_now(turn) } else { slice.is_over(turn) };
        let catalog = &map.context().catalog;
        let mut look = |slot: Slot, residual: &Residual| -> Result<bool, QueryError> {
            let entry = Entry::of_bytes(map.store().key(slot), map.store().value(slot), catalog);
            Ok(!map.is_over(turn, slot) && residual.matches(predicate, &entry)? && visit(slot, &entry)?)
        };
        match &mut self.state {
            State::New => {}
            State::All { cursor } => {
                while let Some(slot) = map.store().next(*cursor) {
                    *cursor = slot.number() + 1;
                    if look(slot, &Residual::Whole)? || is_over(false) {
                        return Ok(Scanned::Again);
                    }
                }
            }
            State::Candidates { slots, at, residual } => {
                while let Some(number) = slots.get(*at) {
                    *at += 1;
                    let enough = match map.store().at(*number) {
                        Some(slot) => look(slot, residual)?,
                        None => false,
                    };
                    if enough || is_over(false) {
                        *residual = Residual::Whole;
                        return Ok(Scanned::Again);
                    }
                }
            }
            State::Bitmaps { next } => {
                let residual = search.as_ref().map_or(Residual::Whole, Search::residual);
                while let Some(found) = search.as_ref().and_then(|search| search.step(*next)) {
                    for number in found.slots() {
                        *next = number + 1;
                        let enough = match map.store().at(number) {
                            Some(slot) => look(slot, &residual)?,
                            None => false,
                        };
                        if enough || is_over(false) {
                            return Ok(Scanned::Again);
                        }
                    }
                    *next = found.next();
                    if is_over(true) {
                        return Ok(Scanned::Again);
                    }
                }
            }
        }
        Ok(Scanned::Done)
    }
}

/// Chooses the way.
fn begin(map: &MapPartition, predicate: &Predicate) -> State {
    if let Some(indexes) = looked_again(map)
        && let Some(plan) = indexes.plan(predicate)
        && plan.is_worth(map.store().len())
    {
        if plan.search().is_some() {
            return State::Bitmaps { next: 0 };
        }
        let slots = plan.candidates(&indexes);
        return State::Candidates { slots, at: 0, residual: plan.residual().clone() };
    }
    State::All { cursor: 0 }
}

/// The indexes, if there are any, with what could not be read before.
fn looked_again(map: &MapPartition) -> Option<MutexGuard<'_, Indexes<u32>>> {
    let mut indexes = map.indexes()?.lock();
    indexes.read_again(|slot| {
        let (store, catalog) = (map.store(), &map.context().catalog);
        store.at(*slot).map(|slot| Entry::of_bytes(store.key(slot), store.value(slot), catalog))
    });
    Some(indexes)
}

#[cfg(test)]
mod tests;
