//! Reads of one key, and of a partition's figures. They wait for nothing but the store behind the map, for a key that has no entry.

use super::{Asked, MapTurn};
use crate::map::partition::{EntryView, LocalMapStats, MapPartition};
use crate::operation::{Action, Operation, Step};
use filbert_wire::Data;
use serde::{Deserialize, Serialize};

/// The value of a key.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Get {
    /// The key.
    pub key: Data,
    #[serde(skip)]
    asked: Asked,
}

impl Get {
    /// The value of `key`.
    #[inline]
    pub fn new(key: Data) -> Self {
        Self { key, asked: Asked::default() }
    }
}

impl Operation for Get {
    type Target = MapPartition;
    type Output = Option<Data>;
    const NAME: &'static str = "map.get";
    const ACTION: Action = Action::Read;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        if let Some(missing) = self.asked.wait_to_read(map, turn, [&self.key]) {
            return missing;
        }
        Step::Done(map.read(turn, &self.key, self.asked.unkept(&self.key)))
    }
}

/// Whether a key is there; counts as a use.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ContainsKey {
    /// The key.
    pub key: Data,
    #[serde(skip)]
    asked: Asked,
}

impl ContainsKey {
    /// Whether `key` is there.
    pub fn new(key: Data) -> Self {
        Self { key, asked: Asked::default() }
    }
}

impl Operation for ContainsKey {
    type Target = MapPartition;
    type Output = bool;
    const NAME: &'static str = "map.contains_key";
    const ACTION: Action = Action::Read;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        if let Some(missing) = self.asked.wait_to_read(map, turn, [&self.key]) {
            return missing;
        }
        Step::done(map.get(turn, &self.key).is_some() || self.asked.unkept(&self.key).is_some())
    }
}

/// All that is known of an entry.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct GetEntryView {
    /// The key.
    pub key: Data,
}

impl Operation for GetEntryView {
    type Target = MapPartition;
    type Output = Option<EntryView>;
    const NAME: &'static str = "map.entry_view";
    const ACTION: Action = Action::Read;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        let slot = map.find(turn, &self.key);
        Step::done(slot.map(|slot| map.view(turn, slot)))
    }
}

/// How many entries a partition has; those whose time is over count until they are swept.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Size;

impl Operation for Size {
    type Target = MapPartition;
    type Output = u64;
    const NAME: &'static str = "map.size";
    const ACTION: Action = Action::Read;
    const SKIPS_UNUSED: bool = true;

    fn run(&mut self, map: &mut MapPartition, _: &mut MapTurn<'_>) -> Step<Self> {
        Step::done(map.store().len() as u64)
    }
}

/// What a partition counted.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Stats;

impl Operation for Stats {
    type Target = MapPartition;
    type Output = LocalMapStats;
    const NAME: &'static str = "map.stats";
    const ACTION: Action = Action::Read;
    const SKIPS_UNUSED: bool = true;
    /// Figures are read also when the member has too much to do.
    const PRIORITY: bool = true;

    fn run(&mut self, map: &mut MapPartition, _: &mut MapTurn<'_>) -> Step<Self> {
        Step::done(map.local_stats())
    }
}
