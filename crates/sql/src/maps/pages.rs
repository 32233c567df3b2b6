//! Reads entries of a map page by page: the next page is asked for while the last one is decoded.
//!
//! Every page is one operation on the partition's strand, which others use in between. It runs on the fragment's own thread when the
//! strand is idle; otherwise the answer wakes the fragment. No thread waits.

use crate::error::SqlError;
use datafusion::error::DataFusionError;
use filbert_grid::map::operations::{Entries, FetchEntries, Page};
use filbert_grid::query::Predicate;
use filbert_grid::query::operations::{FindWhere, Shared};
use filbert_grid::{GridResult, Invocation, Map};
use filbert_wire::{Data, PartitionId};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Entries that are asked for at once: some 50 microseconds of a strand's time.
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

/// Some entries.
pub(crate) type EntryPage = Vec<(Data, Data)>;

/// Entries on their way.
enum Asked {
    Page(PartitionId, Invocation<Page>),
    Entries(Invocation<EntryPage>),
}

/// Reads pages.
pub(crate) struct Pages {
    map: Map,
    reach: Reach,
    /// Partitions that were not begun, the next one last.
    partitions: Vec<PartitionId>,
    /// Where the partition that was begun goes on.
    next: Option<(PartitionId, u32)>,
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
        let entries = match &mut self.asked {
            None => return Poll::Ready(None),
            Some(Asked::Page(partition, invocation)) => {
                let page = ready!(Pin::new(invocation).poll(context));
                if let Ok(Page { next: Some(cursor), .. }) = &page {
                    self.next = Some((*partition, *cursor));
                }
                page.map(|page| page.entries)
            }
            Some(Asked::Entries(invocation)) => ready!(Pin::new(invocation).poll(context)),
        };
        self.asked = None;
        if entries.is_ok() {
            self.ask();
        }
        Poll::Ready(Some(entries))
    }

    fn ask(&mut self) {
        if let Reach::Keys(keys) = &mut self.reach {
            let keys = std::mem::take(keys);
            self.asked = (!keys.is_empty()).then(|| Asked::Entries(self.map.get_all(keys)));
            return;
        }
        let begun = self.next.take().or_else(|| self.partitions.pop().map(|partition| (partition, 0)));
        let Some((partition, cursor)) = begun else { return };
        self.asked = Some(match &self.reach {
            Reach::Where(predicate) => Asked::Entries(
                self.map.strands().call(partition, FindWhere::<Entries>::new(predicate.clone())),
            ),
            _ => {
                let fetch = FetchEntries { cursor, batch: PAGE };
                Asked::Page(partition, self.map.strands().call(partition, fetch))
            }
        });
    }
}

/// What went wrong with a map's operation, as the reader of the rows hears it.
pub(crate) fn failed(map: &str, error: &filbert_grid::GridError) -> DataFusionError {
    SqlError::Refused(format!("map {map:?}: {error}")).into_plan()
}
