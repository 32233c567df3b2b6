//! Changes of the entries that match.

use super::scanner::Scanned;
use super::{MapTurn, Scanner, Shared};
use crate::map::operations::{EntryFilter, EntryRef};
use crate::map::{MapEventKind, MapPartition};
use crate::operation::{Action, Operation, Step};
use crate::query::catalog::Catalog;
use crate::query::extract::Entry;
use crate::query::predicate::Predicate;
use serde::{Deserialize, Serialize};

/// Removes the entries that match, locked or not; how many.
#[derive(Debug, Serialize, Deserialize)]
pub struct RemoveWhere {
    predicate: Shared<Predicate>,
    #[serde(skip)]
    scanner: Scanner,
    #[serde(skip)]
    removed: u64,
}

impl RemoveWhere {
    /// Those that `predicate` matches.
    pub fn new(predicate: Shared<Predicate>) -> Self {
        Self { predicate, scanner: Scanner::default(), removed: 0 }
    }
}

impl Operation for RemoveWhere {
    type Target = MapPartition;
    type Output = u64;
    const NAME: &'static str = "map.remove_all";
    const ACTION: Action = Action::Remove;
    const SHORT: bool = false;

    fn run(&mut self, map: &mut MapPartition, turn: &mut MapTurn<'_>) -> Step<Self> {
        if let Some(refused) = map.refuses_changes() {
            return Step::failed(refused);
        }
        let mut matching = Vec::new();
        let scanned = self.scanner.run(map, turn, &self.predicate, |slot, _| {
            matching.push(slot);
            Ok(())
        });
        // In the same turn: nothing has changed since they matched.
        for slot in matching {
            if let Err(error) = map.take(turn, slot, MapEventKind::Removed, false) {
                return Step::failed(error);
            }
            self.removed += 1;
        }
        match scanned {
            Ok(Scanned::Again) => Step::Again,
            Ok(Scanned::Done) => Step::done(self.removed),
            Err(error) => Step::failed(error.into()),
        }
    }
}

/// A predicate as the filter of operations that run code on entries. An entry with an attribute that cannot be read does not match.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Where {
    predicate: Shared<Predicate>,
    #[serde(skip)]
    catalog: Catalog,
}

impl Where {
    /// Those that `predicate` matches; Compact schemas are found in `catalog`.
    pub fn new(predicate: Shared<Predicate>, catalog: Catalog) -> Self {
        Self { predicate, catalog }
    }
}

impl EntryFilter for Where {
    fn matches(&self, entry: &EntryRef<'_>) -> bool {
        let entry = Entry::of_bytes(entry.key, entry.value, &self.catalog);
        self.predicate.matches(&entry).unwrap_or(false)
    }
}
