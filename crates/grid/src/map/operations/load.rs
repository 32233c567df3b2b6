//! Keys that have no entry and are asked of the store behind the map; and what comes back from there.

use super::MapTurn;
use crate::error::{GridError, GridResult};
use crate::map::behind::Errand;
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
}

/// How often a key is asked for whose entry goes again before anyone has seen it.
const MOST_ROUNDS: u8 = 8;

fn thrashes(operation: &'static str) -> GridError {
    let problem = "entries that are loaded go at once to make room for others; raise max_size of the map";
    GridError::BadState { operation, problem: problem.to_owned() }
}

impl Asked {
    /// `Some` while the store is asked for those of `keys` that have no entry, or when that failed; `None` when all entries are here that
    /// there will be. Without a store that is at once.
    #[inline]
    pub(super) fn wait<'k, O>(
        &mut self,
        map: &mut MapPartition,
        turn: &mut MapTurn<'_>,
        keys: impl IntoIterator<Item = &'k Data>,
    ) -> Option<Step<O>>
    where
        O: Operation<Target = MapPartition>,
    {
        map.context().behind.as_ref()?;
        self.wait_for(map, turn, keys, false, false)
    }

    fn wait_for<'k, O>(
        &mut self,
        map: &mut MapPartition,
        turn: &mut MapTurn<'_>,
        keys: impl IntoIterator<Item = &'k Data>,
        replace: bool,
        once: bool,
    ) -> Option<Step<O>>
    where
        O: Operation<Target = MapPartition>,
    {
        if let Some(errand) = &self.errand {
            match errand.brought.get() {
                None => return Some(waits(errand)),
                Some(Err(error)) => return Some(Step::failed(error.clone())),
                Some(Ok(brought)) if once || *brought == 0 => {
                    // Others may have asked for some of them before.
                    let other = keys.into_iter().find_map(|key| map.errand_for(key).cloned());
                    return other.map(|errand| waits(self.errand.insert(errand)));
                }
                // What came may have gone again to make room: then it is asked for once more.
                Some(Ok(_)) if self.rounds >= MOST_ROUNDS => return Some(Step::failed(thrashes(O::NAME))),
                Some(Ok(_)) => self.rounds += 1,
            }
        }
        match map.ask_store(turn, keys, replace) {
            Err(error) => Some(Step::failed(error)),
            Ok(None) => None,
            Ok(Some(errand)) => Some(waits(self.errand.insert(errand))),
        }
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
        self.asked.wait_for(map, turn, &self.keys, self.replace, true).unwrap_or_else(|| Step::done(()))
    }
}
