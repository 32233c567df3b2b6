//! What can be asked of the journal of a partition.

use super::{MapTurn, destroyed};
use crate::error::GridError;
use crate::map::journal::{JournalPage, JournalSpan};
use crate::map::partition::{MapPartition, MapSignal};
use crate::operation::{Action, Operation, Step};
use serde::{Deserialize, Serialize};

/// Changes of one page at most.
pub(super) const LARGEST_PAGE: u32 = 10_000;

/// Bytes after which a page is full, however few changes that are.
pub(super) const FULL_PAGE_BYTES: usize = 1 << 20;

/// The changes of a partition from a sequence on; waits, without a thread, until there is one.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct ReadJournal {
    /// The sequence of the first that is wanted.
    pub from: u64,
    /// How many at most; fewer when they are large.
    pub batch: u32,
}

impl Operation for ReadJournal {
    type Target = MapPartition;
    type Output = JournalPage;
    const NAME: &'static str = "map.read_journal";
    const ACTION: Action = Action::Listen;
    const SHORT: bool = false;

    fn run(&mut self, map: &mut MapPartition, _: &mut MapTurn<'_>) -> Step<Self> {
        if map.context().is_destroyed() {
            return Step::failed(destroyed(map));
        }
        let Some(journal) = map.journal_mut() else { return Step::failed(no_journal(map)) };
        match journal.read(self.from, self.batch.clamp(1, LARGEST_PAGE) as usize, FULL_PAGE_BYTES) {
            Some(page) => Step::done(page),
            None => {
                journal.awaited();
                Step::Wait { event: MapSignal::Journal, deadline: None }
            }
        }
    }
}

/// What the journal of a partition has now.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct SpanOfJournal;

impl Operation for SpanOfJournal {
    type Target = MapPartition;
    type Output = JournalSpan;
    const NAME: &'static str = "map.span_of_journal";
    const ACTION: Action = Action::Listen;

    fn run(&mut self, map: &mut MapPartition, _: &mut MapTurn<'_>) -> Step<Self> {
        if map.context().is_destroyed() {
            return Step::failed(destroyed(map));
        }
        match map.journal_mut() {
            Some(journal) => Step::done(journal.span()),
            None => Step::failed(no_journal(map)),
        }
    }
}

pub(super) fn no_journal(map: &MapPartition) -> GridError {
    GridError::NoJournal { map: map.context().name.to_string() }
}
