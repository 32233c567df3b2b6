//! Reads a map once for several parts of one statement.
//!
//! A correlated subquery becomes a join of its input with groups of that same input. Read twice, a
//! map could give two states of one entry: the groups lack the value that the row has by then, and
//! the row is lost. Here the scans of one input share their pages:
//!
//! ```text
//!   scan of the rows    --> page 0, page 1, page 2 ...   kept until the query ends
//!   scan of the groups  --> page 0, page 1               whoever wants the next one first asks the map
//! ```
//!
//! Every scan keeps its own place, so that one that stops early holds up nobody. Pages count as
//! memory of the query. Where the scans want different entries, all are read; the filters above
//! them choose. Rejected: to keep decoded rows, which differ by scan in their columns.
//! Runs on stage `fragment`; the lock of a share is held while its next page is asked for.

use super::pages::{EntryPage, Pages, Reach, bytes_of, failed};
use super::table::MapTable;
use crate::error::SqlError;
use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use datafusion::logical_expr::LogicalPlan;
use filbert_grid::Map;
use filbert_wire::Data;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Bytes of an entry beside its key and value.
const ENTRY_BYTES: usize = size_of::<(Data, Data)>();

/// Makes the copies of a plan read each of its maps once.
pub(crate) fn read_once(plan: LogicalPlan) -> Result<LogicalPlan> {
    let shared = plan.transform_up_with_subqueries(|plan| {
        let LogicalPlan::TableScan(mut scan) = plan else { return Ok(Transformed::no(plan)) };
        let table = source_as_provider(&scan.source).ok();
        let table = table.as_ref().and_then(|table| table.downcast_ref::<MapTable>());
        match table {
            Some(table) if table.reading.is_none() => {
                let reading = Some(Arc::<OneReading>::default());
                scan.source = provider_as_source(Arc::new(MapTable { reading, ..table.clone() }));
                Ok(Transformed::yes(LogicalPlan::TableScan(scan)))
            }
            _ => Ok(Transformed::no(LogicalPlan::TableScan(scan))),
        }
    })?;
    Ok(shared.data)
}

/// One reading of a map, for several scans.
#[derive(Default)]
pub(crate) struct OneReading {
    wanted: Mutex<Option<Reach>>,
    shares: OnceLock<Vec<Mutex<Share>>>,
}

impl fmt::Debug for OneReading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OneReading")
    }
}

impl OneReading {
    /// Adds the entries that a scan wants, while the statement is planned.
    pub(crate) fn add(&self, reach: &Reach) {
        let mut wanted = lock(&self.wanted);
        let is_other = wanted.as_ref().is_some_and(|wanted| !wanted.is_same(reach));
        *wanted = Some(if is_other { Reach::All } else { reach.clone() });
    }

    /// Begins to read share `number` of `shares`, when the statement is planned.
    pub(crate) fn pages(
        self: &Arc<Self>,
        map: &Map,
        (number, shares): (usize, usize),
        memory: &Arc<dyn MemoryPool>,
    ) -> SharedPages {
        let all = self.shares.get_or_init(|| {
            let wanted = lock(&self.wanted).clone().unwrap_or(Reach::All);
            (0..shares).map(|number| Mutex::new(Share::new(map, &wanted, (number, shares), memory))).collect()
        });
        assert_eq!(all.len(), shares, "scans that read together have the same shares");
        SharedPages { reading: Arc::clone(self), number, at: 0 }
    }
}

/// A share of the map's partitions.
struct Share {
    map: Arc<str>,
    /// `None` when all was read.
    rest: Option<Pages>,
    read: Vec<Arc<EntryPage>>,
    failure: Option<SqlError>,
    memory: MemoryReservation,
    waiting: Arc<Waiting>,
}

impl Share {
    fn new(map: &Map, reach: &Reach, (number, shares): (usize, usize), memory: &Arc<dyn MemoryPool>) -> Self {
        let reach = match reach {
            // Whoever has the first share looks them up.
            Reach::Keys(_) if number > 0 => Reach::Keys(Vec::new()),
            reach => reach.clone(),
        };
        Self {
            map: Arc::clone(map.name()),
            rest: Some(Pages::new(map.clone(), reach, number, shares)),
            read: Vec::new(),
            failure: None,
            memory: MemoryConsumer::new("entries of a map that are read once").register(memory),
            waiting: Arc::default(),
        }
    }

    fn poll_page(&mut self, at: usize, context: &Context<'_>) -> Poll<Option<Result<Arc<EntryPage>>>> {
        if let Some(page) = self.read.get(at) {
            return Poll::Ready(Some(Ok(Arc::clone(page))));
        }
        if let Some(failure) = &self.failure {
            return Poll::Ready(Some(Err(failure.clone().into_plan())));
        }
        let Some(rest) = &mut self.rest else { return Poll::Ready(None) };
        self.waiting.add(context.waker());
        let told = Waker::from(Arc::clone(&self.waiting));
        let Poll::Ready(page) = rest.poll_next(&mut Context::from_waker(&told)) else { return Poll::Pending };
        self.waiting.wake_others(context.waker());
        let page = page.map(|page| -> Result<_> {
            let page = page.map_err(|error| failed(&self.map, &error))?;
            self.memory.try_grow(bytes_of(&page) + page.len() * ENTRY_BYTES)?;
            Ok(Arc::new(page))
        });
        match page {
            Some(Ok(page)) => {
                self.read.push(Arc::clone(&page));
                Poll::Ready(Some(Ok(page)))
            }
            ended => {
                self.rest = None;
                self.failure = match ended {
                    Some(Err(failure)) => Some(SqlError::from(failure)),
                    _ => None,
                };
                Poll::Ready(self.failure.clone().map(|failure| Err(failure.into_plan())))
            }
        }
    }
}

/// The pages of one share, for one scan.
pub(crate) struct SharedPages {
    reading: Arc<OneReading>,
    number: usize,
    at: usize,
}

impl SharedPages {
    /// Gives the next page; `None` when there is no more. A page may be empty.
    pub(crate) fn poll_next(&mut self, context: &Context<'_>) -> Poll<Option<Result<Arc<EntryPage>>>> {
        let share = self.reading.shares.get().and_then(|shares| shares.get(self.number));
        let Some(share) = share else { return Poll::Ready(None) };
        let page = lock(share).poll_page(self.at, context);
        self.at += usize::from(page.is_ready());
        page
    }
}

/// The scans that wait for the next page of a share.
#[derive(Default)]
struct Waiting(Mutex<Vec<Waker>>);

impl Waiting {
    fn add(&self, waker: &Waker) {
        let mut waiting = lock(&self.0);
        if !waiting.iter().any(|known| known.will_wake(waker)) {
            waiting.push(waker.clone());
        }
    }

    fn wake_others(&self, own: &Waker) {
        let waiting = std::mem::take(&mut *lock(&self.0));
        waiting.iter().filter(|waker| !waker.will_wake(own)).for_each(Waker::wake_by_ref);
    }
}

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        let waiting = std::mem::take(&mut *lock(&self.0));
        waiting.into_iter().for_each(Waker::wake);
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
