//! Keys that have no entry and are asked of the store behind the map; and what comes back from there.

use super::MapTurn;
use crate::error::{GridError, GridResult};
use crate::map::behind::{Errand, Unkept};
use crate::map::partition::{MapPartition, MapSignal};
use crate::operation::{Action, Operation, Step};
use filbert_wire::Data;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What an operation has asked the store for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    errand: Option<Arc<Errand>>,
    rounds: u8,
    /// What was loaded of its keys and there was no room for.
    unkept: Unkept,
}

/// What an operation wants of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// Entries.
    Entries,
    /// Values, to read: without room for an entry too.
    Values,
    /// The same, to remove: nothing may have changed since they were loaded.
    CurrentValues,
    /// Entries, asked for once; with `replace` in the place of those that are here.
    Load { replace: bool },
}

/// How often a key is asked for whose entry goes again before anyone has seen it.
const MOST_ROUNDS: u8 = 8;

fn thrashes(operation: &'static str) -> GridError {
    let problem = "entries that are loaded go at once to make room for others; raise max_size of the map";
    GridError::BadState { operation, problem: problem.to_owned() }
}

impl Asked {
    /// `Some` while the store is asked for those of `keys` that have no entry, or when that failed; `None` when all entries are here that
    /// there will be. Without a store that is at once. Without room for an entry it fails.
    #[inline]
    pub(super) fn wait<'k, O>(
        &mut self,
        map: &mut MapPartition,
        turn: &mut MapTurn<'_>,
        keys: impl IntoIterator<Item = &'k Data> + Clone,
    ) -> Option<Step<O>>
    where
        O: Operation<Target = MapPartition>,
    {
        map.context().behind.as_ref()?;
        self.wait_for(map, turn, keys, Wanted::Entries)
    }

    /// As [`Asked::wait`], for a read: what there is no room for is in [`Asked::unkept`].
    #[inline]
    pub(super) fn wait_to_read<'k, O>(
        &mut self,
        map: &mut MapPartition,
        turn: &mut MapTurn<'_>,
        keys: impl IntoIterator<Item = &'k Data> + Clone,
    ) -> Option<Step<O>>
    where
        O: Operation<Target = MapPartition>,
    {
        map.context().behind.as_ref()?;
        self.wait_for(map, turn, keys, Wanted::Values)
    }

    /// As [`Asked::wait_to_read`], for a removal in the same turn.
    #[inline]
    pub(super) fn wait_to_remove<O>(
        &mut self,
        map: &mut MapPartition,
        turn: &mut MapTurn<'_>,
        key: &Data,
    ) -> Option<Step<O>>
    where
        O: Operation<Target = MapPartition>,
    {
        map.context().behind.as_ref()?;
        self.wait_for(map, turn, [key], Wanted::CurrentValues)
    }

    /// The value of `key` that was loaded and that there was no room for. An entry that is there counts before it.
    #[inline]
    pub(super) fn unkept(&self, key: &Data) -> Option<&Data> {
        self.unkept.get(key)
    }

    fn wait_for<'k, O>(
        &mut self,
        map: &mut MapPartition,
        turn: &mut MapTurn<'_>,
        keys: impl IntoIterator<Item = &'k Data> + Clone,
        wanted: Wanted,
    ) -> Option<Step<O>>
    where
        O: Operation<Target = MapPartition>,
    {
        if let Some(errand) = &self.errand {
            let brought = match errand.brought.get() {
                None => return Some(waits(errand)),
                Some(Err(error)) => return Some(Step::failed(error.clone())),
                Some(Ok(brought)) => brought,
            };
            let is_old = wanted == Wanted::CurrentValues
                && !brought.unkept.is_empty()
                && brought.changes != map.store_changes();
            if !is_old {
                self.unkept.add_of(&brought.unkept, keys.clone());
            }
            if matches!(wanted, Wanted::Load { .. }) || (brought.kept == 0 && !is_old) {
                // Others may have asked for some of them before.
                let mut missing = keys.clone().into_iter().filter(|key| self.unkept.get(key).is_none());
                let other = missing.find_map(|key| map.errand_for(key).cloned());
                return match other {
                    Some(errand) => Some(waits(self.errand.insert(errand))),
                    None => self.refused(map, turn, keys, wanted),
                };
            }
            // What came may have gone again to make room: then it is asked for once more.
            if self.rounds >= MOST_ROUNDS {
                return Some(Step::failed(thrashes(O::NAME)));
            }
            self.rounds += 1;
        }
        let replace = wanted == Wanted::Load { replace: true };
        let missing = keys.clone().into_iter().filter(|key| self.unkept.get(key).is_none());
        let asked = match map.ask_store(turn, missing, replace) {
            Err(error) => return Some(Step::failed(error)),
            Ok(asked) => asked,
        };
        self.unkept.add_of(&asked.unkept, keys.clone());
        match asked.errand {
            None => self.refused(map, turn, keys, wanted),
            Some(errand) => Some(waits(self.errand.insert(errand))),
        }
    }

    /// `Some` when there was no room for an entry that the operation cannot do without.
    fn refused<'k, O>(
        &self,
        map: &mut MapPartition,
        turn: &mut MapTurn<'_>,
        keys: impl IntoIterator<Item = &'k Data>,
        wanted: Wanted,
    ) -> Option<Step<O>>
    where
        O: Operation<Target = MapPartition>,
    {
        let refused = self.unkept.refused()?;
        let needed = match wanted {
            Wanted::Values | Wanted::CurrentValues => false,
            Wanted::Load { replace: true } => true,
            Wanted::Entries | Wanted::Load { replace: false } => {
                keys.into_iter().any(|key| self.unkept.get(key).is_some() && map.find(turn, key).is_none())
            }
        };
        needed.then(|| Step::failed(refused.clone()))
    }
}

fn waits<O: Operation<Target = MapPartition>>(errand: &Arc<Errand>) -> Step<O> {
    Step::Wait { event: MapSignal::Brought(errand.number), deadline: None }
}

/// What the store said, on its way to the entries.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct BringLoaded {
    /// The keys that were asked for.
    pub(crate) keys: Vec<Data>,
    /// What was found.
    #[serde(skip)]
    pub(crate) loaded: Option<GridResult<Vec<(Data, Data)>>>,
    /// In the place of what is there, too.
    pub(crate) replace: bool,
    #[serde(skip)]
    pub(crate) errand: Option<Arc<Errand>>,
}

impl Operation for BringLoaded {
    type Target = MapPartition;
    type Output = ();
    const NAME: &'static str = "map.bring_loaded";
    const ACTION: Action = Action::Put;
    const SHORT: bool = false;
    const PRIORITY: bool = true;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        if let Some(errand) = self.errand.take()
            && let Some(loaded) = self.loaded.take()
        {
            let gone = map.context().is_destroyed().then(|| super::destroyed(map));
            let loaded = gone.map_or(loaded, Err);
            map.end_errand(turn, &errand, &self.keys, loaded, self.replace);
            turn.happened(MapSignal::Brought(errand.number));
        }
        Step::done(())
    }
}

/// Evicts a key whose last change the store refused.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ForgetRefused {
    /// Which.
    pub(crate) key: Data,
}

impl Operation for ForgetRefused {
    type Target = MapPartition;
    type Output = ();
    const NAME: &'static str = "map.forget_refused";
    const ACTION: Action = Action::Remove;
    const PRIORITY: bool = true;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        map.forget_refused(turn, &self.key);
        Step::done(())
    }
}

/// Loads keys of one partition from the store behind the map.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LoadKeys {
    keys: Vec<Data>,
    replace: bool,
    #[serde(skip)]
    asked: Asked,
}

impl LoadKeys {
    /// Those of `keys` that have no entry; with `replace` the others too.
    pub fn new(keys: Vec<Data>, replace: bool) -> Self {
        Self { keys, replace, asked: Asked::default() }
    }
}

impl Operation for LoadKeys {
    type Target = MapPartition;
    type Output = ();
    const NAME: &'static str = "map.load_keys";
    const ACTION: Action = Action::Put;
    const SHORT: bool = false;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        let wanted = Wanted::Load { replace: self.replace };
        self.asked.wait_for(map, turn, &self.keys, wanted).unwrap_or_else(|| Step::done(()))
    }
}
