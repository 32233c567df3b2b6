//! What the member itself does with a partition.

use super::MapTurn;
use crate::map::events::MapEventKind;
use crate::map::partition::MapPartition;
use crate::operation::{Action, Operation, Step};
use serde::{Deserialize, Serialize};

/// Looks for entries whose time is over.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Sweep;

impl Operation for Sweep {
    type Target = MapPartition;
    type Output = ();
    const NAME: &'static str = "map.sweep";
    const ACTION: Action = Action::Remove;
    const PRIORITY: bool = true;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        map.sweep(turn);
        Step::done(())
    }
}

/// Gives up all that a partition of a destroyed map holds; whoever waits in it learns of it.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Destroy;

impl Operation for Destroy {
    type Target = MapPartition;
    type Output = ();
    const NAME: &'static str = "map.destroy";
    const ACTION: Action = Action::Destroy;
    const PRIORITY: bool = true;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        map.release_all_locks(turn);
        // Before the entries: nobody will read that they went.
        map.forget_journal(turn);
        map.clear(turn, MapEventKind::Removed);
        Step::done(())
    }
}
