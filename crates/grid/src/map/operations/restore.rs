//! Entries come back from disk when a member starts.

use super::MapTurn;
use crate::map::partition::MapPartition;
use crate::operation::{Action, Operation, Step};
use filbert_store::{Entry, Life};
use filbert_wire::Data;
use serde::{Deserialize, Serialize};

/// An entry that was on disk.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Restored {
    key: Data,
    value: Data,
    /// Time to live, idle time, and the end in calendar time.
    life: Option<[u64; 3]>,
}

impl Restored {
    /// `None` when it cannot be an entry of its partition.
    pub(crate) fn new(entry: Entry) -> Option<Self> {
        let life = entry.life.map(|life| [life.ttl_ms, life.max_idle_ms, life.ends_unix_ms]);
        let (key, value) = (Data::from_bytes(entry.key).ok()?, Data::from_bytes(entry.value).ok()?);
        (key.partition().number() == u32::from(entry.partition)).then_some(Self { key, value, life })
    }
}

/// Puts entries of one partition back.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Restore {
    pub(crate) entries: Vec<Restored>,
}

impl Operation for Restore {
    type Target = MapPartition;
    type Output = ();
    const NAME: &'static str = "map.restore";
    const ACTION: Action = Action::Put;
    // It was let in before.
    const NEEDS_ROOM: bool = false;
    const SHORT: bool = false;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        for Restored { key, value, life } in self.entries.drain(..) {
            let life =
                life.map(|[ttl_ms, max_idle_ms, ends_unix_ms]| Life { ttl_ms, max_idle_ms, ends_unix_ms });
            map.restore(turn, &key, &value, life);
        }
        Step::done(())
    }
}
