//! Reads entries of a map page by page: the next page is asked for while the last one is decoded.
//!
//! Every page is one operation on the partition's strand, which others use in between. It runs on the fragment's own thread when the
//! strand is idle; otherwise the answer wakes the fragment. No thread waits.

use crate::error::SqlError;
use datafusion::error::DataFusionError;
use filbert_grid::map::operations::{FetchEntries, Page};
use filbert_grid::query::Predicate;
use filbert_grid::query::operations::{FetchWhere, Shared, WhereCursor, WherePage};
use filbert_grid::{GridError, GridResult, Invocation, Map};
use filbert_wire::{Data, PartitionId};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Entries that are asked for at once: some 50 microseconds of a strand's time, or slices of it where an index finds them.
const PAGE: u32 = 512;

/// Which entries are read.
#[derive(Debug, Clone)]
pub(crate) enum Reach {
    /// All.
    All,
    /// Those that match; indexes find them.
    Where(Shared<Predicate>),
    /// Those of these keys.
    Keys(Vec<Data>),
}

impl Reach {
    /// Tells if it reaches the same entries in the same way.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All, Self::All) => true,
            (Self::Where(one), Self::Where(other)) => **one == **other,
            (Self::Keys(one), Self::Keys(other)) => one == other,
            _ => false,
        }
    }
}

/// Some entries.
pub(crate) type EntryPage = Vec<(Data, Data)>;

/// What entries take in memory.
pub(crate) fn bytes_of(entries: &[(Data, Data)]) -> usize {
    entries.iter().map(|(key, value)| key.as_bytes().len() + value.as_bytes().len()).sum()
}

/// Entries on their way.
enum Asked {
    Page(PartitionId, Invocation<Page>),
    Matching(PartitionId, Invocation<WherePage>),
    Entries(Invocation<EntryPage>),
}

/// Where a partition that was begun goes on.
enum Place {
    At(u32),
    Matching(WhereCursor),
}

/// Reads pages.
pub(crate) struct Pages {
    map: Map,
    reach: Reach,
    /// Partitions that were not begun, the next one last.
    partitions: Vec<PartitionId>,
    /// Where the partition that was begun goes on.
    next: Option<(PartitionId, Place)>,
    asked: Option<Asked>,
}

impl Pages {
    /// The entries of share `number` of `shares`.
    pub(crate) fn new(map: Map, reach: Reach, number: usize, shares: usize) -> Self {
        let mut partitions: Vec<PartitionId> = match reach {
            Reach::Keys(_) => Vec::new(),
            _ => PartitionId::all().filter(|partition| partition.index() % shares.max(1) == number).collect(),
        };
        partitions.reverse();
        Self { map, reach, partitions, next: None, asked: None }
    }

    /// The next page; `None` when there is no more. A page may be empty.
    pub(crate) fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<GridResult<EntryPage>>> {
        if self.asked.is_none() {
            self.ask();
        }
        let (entries, next) = match &mut self.asked {
            None => return Poll::Ready(None),
            Some(Asked::Page(partition, invocation)) => match ready!(Pin::new(invocation).poll(context)) {
                Ok(page) => (Ok(page.entries), page.next.map(|cursor| (*partition, Place::At(cursor)))),
                Err(error) => (Err(error), None),
            },
            Some(Asked::Matching(partition, invocation)) => {
                match ready!(Pin::new(invocation).poll(context)) {
                    Ok(page) => {
                        let next = page.next.map(|cursor| (*partition, Place::Matching(cursor)));
                        (Ok(page.entries), next)
                    }
                    Err(error) => (Err(error), None),
                }
            }
            Some(Asked::Entries(invocation)) => (ready!(Pin::new(invocation).poll(context)), None),
        };
        (self.asked, self.next) = (None, next);
        if entries.is_ok() {
            self.ask();
        }
        Poll::Ready(Some(entries))
    }

    fn ask(&mut self) {
        if let Reach::Keys(keys) = &mut self.reach {
            let rest = keys.split_off(keys.len().min(PAGE as usize));
            let keys = std::mem::replace(keys, rest);
            self.asked = (!keys.is_empty()).then(|| Asked::Entries(self.map.get_all(keys)));
            return;
        }
        let begin = |partition| (partition, None);
        let begun = self.next.take().map(|(partition, place)| (partition, Some(place)));
        let Some((partition, place)) = begun.or_else(|| self.partitions.pop().map(begin)) else { return };
        let strands = self.map.strands();
        self.asked = Some(match (&self.reach, place) {
            (Reach::Where(predicate), place) => {
                let cursor = if let Some(Place::Matching(cursor)) = place { Some(cursor) } else { None };
                let fetch = FetchWhere::new(predicate.clone(), PAGE as usize, cursor);
                Asked::Matching(partition, strands.continue_with(partition, fetch))
            }
            (_, place) => {
                let cursor = if let Some(Place::At(cursor)) = place { cursor } else { 0 };
                Asked::Page(partition, strands.continue_with(partition, FetchEntries { cursor, batch: PAGE }))
            }
        });
    }
}

/// What went wrong with a map's operation, as the reader of the rows hears it.
pub(crate) fn failed(map: &str, error: &GridError) -> DataFusionError {
    let text = format!("map {map:?}: {error}");
    match error {
        GridError::OutOfMemory { .. } | GridError::ProcessOutOfMemory { .. } | GridError::MapFull { .. } => {
            SqlError::Full(text).into_plan()
        }
        GridError::Refused(refused) if refused.is_retryable() => SqlError::Busy(text).into_plan(),
        _ => SqlError::Refused(text).into_plan(),
    }
}

/// The failure of a statement that had changed so many entries.
pub(crate) fn after(error: DataFusionError, entries: u64) -> DataFusionError {
    match entries {
        0 => error,
        entries => SqlError::PartlyDone { cause: Box::new(error.into()), entries }.into_plan(),
    }
}
