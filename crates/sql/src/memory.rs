//! What queries hold: a bound for each, and one for all together.
//!
//! Operators ask before they grow. Refused, those that can spill do so and the others fail with an error that names the bound and its
//! setting. Where the process as a whole has more memory than it should, whoever holds it, no query begins, and those that hold at least as
//! much as the mean of all end: memory that nobody counts must not be the end of the member. Small and shared state (`grow`) is counted but
//! never refused, as DataFusion asks of a pool.

use datafusion::common::DataFusionError;
use datafusion::common::Result;
use datafusion::execution::memory_pool::{MemoryLimit, MemoryPool, MemoryReservation};
use filbert_pool::process_memory;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What all queries hold together, or those of one pool.
#[derive(Debug)]
pub(crate) struct TotalMemory {
    limit: usize,
    held: AtomicUsize,
    /// Accounts of queries, of those of pools too.
    queries: AtomicUsize,
    /// The part of all that tables hold, and no query.
    of_tables: AtomicUsize,
    /// Whether tables hold it.
    is_of_tables: bool,
    /// Who holds it, in messages.
    whose: String,
    setting: String,
    /// What it is a part of.
    above: Option<Arc<TotalMemory>>,
}

impl TotalMemory {
    /// Of all queries.
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        let (whose, setting) = ("by all queries".to_owned(), "sql.memory_bytes".to_owned());
        Self::account(limit, whose, setting, None, false)
    }

    /// Of the queries of a pool: a part of what all hold.
    pub(crate) fn of_pool(pool: &str, limit: usize, all: &Arc<Self>) -> Arc<Self> {
        let whose = format!("by all queries of pool {pool}");
        let setting = format!("sql.pools.{pool}.memory_bytes");
        Self::account(limit, whose, setting, Some(all), false)
    }

    /// Of tables in memory: a part of what all queries hold.
    pub(crate) fn of_tables(limit: usize, all: &Arc<Self>) -> Arc<Self> {
        let (whose, setting) = ("by all tables".to_owned(), "sql.table_bytes".to_owned());
        Self::account(limit, whose, setting, Some(all), true)
    }

    fn account(
        limit: usize,
        whose: String,
        setting: String,
        above: Option<&Arc<Self>>,
        is_of_tables: bool,
    ) -> Arc<Self> {
        let [held, queries, of_tables] = [0; 3].map(AtomicUsize::new);
        Arc::new(Self {
            limit,
            held,
            queries,
            of_tables,
            is_of_tables,
            whose,
            setting,
            above: above.cloned(),
        })
    }

    /// The most that it may hold.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// The setting that says so.
    pub(crate) fn setting(&self) -> &str {
        &self.setting
    }

    /// Adds up to all its bounds, or says which of them forbids it, and what is held there.
    pub(crate) fn try_add(&self, more: usize) -> Result<(), (usize, &Self)> {
        try_add(&self.held, more, self.limit).map_err(|held| (held, self))?;
        if let Some(above) = &self.above {
            above.try_add(more).inspect_err(|_| {
                self.held.fetch_sub(more, Ordering::Relaxed);
            })?;
        }
        if self.is_of_tables {
            self.root().of_tables.fetch_add(more, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Adds what is there already, whatever the bounds are.
    pub(crate) fn add(&self, more: usize) {
        self.held.fetch_add(more, Ordering::Relaxed);
        if let Some(above) = &self.above {
            above.add(more);
        }
        if self.is_of_tables {
            self.root().of_tables.fetch_add(more, Ordering::Relaxed);
        }
    }

    /// Gives back what was added.
    pub(crate) fn sub(&self, less: usize) {
        self.held.fetch_sub(less, Ordering::Relaxed);
        if let Some(above) = &self.above {
            above.sub(less);
        }
        if self.is_of_tables {
            self.root().of_tables.fetch_sub(less, Ordering::Relaxed);
        }
    }

    /// The account of all queries.
    fn root(&self) -> &Self {
        self.above.as_ref().map_or(self, |above| above.root())
    }

    /// Bytes that queries hold now.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }
}

/// What one query holds.
#[derive(Debug)]
pub(crate) struct QueryMemory {
    limit: usize,
    held: AtomicUsize,
    total: Arc<TotalMemory>,
}

impl QueryMemory {
    pub(crate) fn new(limit: usize, total: &Arc<TotalMemory>) -> Self {
        total.root().queries.fetch_add(1, Ordering::Relaxed);
        Self { limit, held: AtomicUsize::new(0), total: Arc::clone(total) }
    }

    /// Refuses a query that is about to begin while the process has too much memory.
    pub(crate) fn admit() -> Result<()> {
        if process_memory::is_over() { Err(over("no statement begins")) } else { Ok(()) }
    }

    /// An error when the process has too much memory and this query holds as much as others, or more.
    fn check_process(&self) -> Result<()> {
        if !process_memory::is_over() {
            return Ok(());
        }
        let all = self.total.root();
        let (held, queries) = (self.held.load(Ordering::Relaxed), all.queries.load(Ordering::Relaxed));
        let of_queries = all.held().saturating_sub(all.of_tables.load(Ordering::Relaxed));
        if held.saturating_mul(queries) < of_queries { Ok(()) } else { Err(over("this query ends")) }
    }
}

impl Drop for QueryMemory {
    fn drop(&mut self) {
        self.total.root().queries.fetch_sub(1, Ordering::Relaxed);
        process_memory::note_freed();
    }
}

/// The error of a process with too much memory, and what comes of it.
#[cold]
fn over(so: &str) -> DataFusionError {
    let (held, limit) = (process_memory::held(), process_memory::limit());
    DataFusionError::ResourcesExhausted(format!(
        "the process takes {held} bytes, more than the {limit} that follow from memory.limit_bytes, so that {so}. Try again later, ask for \
         less at a time, or raise memory.limit_bytes"
    ))
}

/// Adds unless that would exceed the limit.
fn try_add(held: &AtomicUsize, more: usize, limit: usize) -> Result<(), usize> {
    held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |held| {
        held.checked_add(more).filter(|sum| *sum <= limit)
    })
    .map(drop)
}

impl MemoryPool for QueryMemory {
    fn name(&self) -> &str {
        "query"
    }

    fn grow(&self, _: &MemoryReservation, more: usize) {
        self.held.fetch_add(more, Ordering::Relaxed);
        self.total.add(more);
    }

    fn shrink(&self, _: &MemoryReservation, less: usize) {
        self.held.fetch_sub(less, Ordering::Relaxed);
        self.total.sub(less);
    }

    fn try_grow(&self, reservation: &MemoryReservation, more: usize) -> Result<()> {
        self.check_process()?;
        let refused = |held: usize, limit: usize, whose: &str, setting: &str| {
            DataFusionError::ResourcesExhausted(format!(
                "{} asks for {more} bytes more; {whose} of the {limit} bytes that {setting} allows are in use: {held}. \
                 Ask for less at a time, or raise {setting}",
                reservation.consumer().name()
            ))
        };
        try_add(&self.held, more, self.limit)
            .map_err(|held| refused(held, self.limit, "by this query", "sql.query_memory_bytes"))?;
        self.total.try_add(more).map_err(|(held, total)| {
            self.held.fetch_sub(more, Ordering::Relaxed);
            refused(held, total.limit, &total.whose, &total.setting)
        })
    }

    fn reserved(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    fn memory_limit(&self) -> MemoryLimit {
        MemoryLimit::Finite(self.limit)
    }
}

impl fmt::Display for QueryMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "query memory, {} of {} bytes", self.reserved(), self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::execution::memory_pool::MemoryConsumer;

    #[test]
    fn both_bounds_hold_and_name_their_setting() {
        let total = TotalMemory::new(100);
        let pool = |limit| Arc::new(QueryMemory::new(limit, &total)) as Arc<dyn MemoryPool>;
        let (first, second) = (pool(80), pool(80));
        let sort = MemoryConsumer::new("sort").register(&first);
        let join = MemoryConsumer::new("join").register(&second);
        sort.try_grow(70).unwrap();
        let own = sort.try_grow(20).unwrap_err().to_string();
        assert!(own.contains("sort") && own.contains("sql.query_memory_bytes"), "{own}");
        let all = join.try_grow(40).unwrap_err().to_string();
        assert!(all.contains("join") && all.contains("sql.memory_bytes"), "{all}");
        assert_eq!((first.reserved(), second.reserved(), total.held()), (70, 0, 70));
        let reports = TotalMemory::of_pool("reports", 20, &total);
        let third = Arc::new(QueryMemory::new(80, &reports)) as Arc<dyn MemoryPool>;
        let group = MemoryConsumer::new("group").register(&third);
        group.try_grow(15).unwrap();
        let part = group.try_grow(10).unwrap_err().to_string();
        assert!(part.contains("pool reports") && part.contains("sql.pools.reports.memory_bytes"), "{part}");
        sort.try_grow(10).unwrap();
        let all = group.try_grow(5).map(|()| group.try_grow(1).is_err());
        assert!(all.is_ok_and(|is_full| is_full), "what a pool holds counts among all");
        assert_eq!((reports.held(), total.held()), (20, 100));
        let all = join.try_grow(1).unwrap_err().to_string();
        assert!(all.contains("sql.memory_bytes"), "{all}");
        drop(group);
        assert_eq!((reports.held(), total.held()), (0, 80));
        sort.free();
        join.try_grow(40).unwrap();
        drop(join);
        drop(sort);
        assert_eq!(total.held(), 0);
    }
}
