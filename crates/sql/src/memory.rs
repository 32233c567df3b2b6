//! What queries hold: a bound for each, and one for all together.
//!
//! Operators ask before they grow. Refused, those that can spill do so and the others fail with an error that names the bound and its
//! setting. Small and shared state (`grow`) is counted but never refused, as DataFusion asks of a pool.

use datafusion::common::DataFusionError;
use datafusion::common::Result;
use datafusion::execution::memory_pool::{MemoryLimit, MemoryPool, MemoryReservation};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What all queries hold together.
#[derive(Debug)]
pub(crate) struct TotalMemory {
    limit: usize,
    held: AtomicUsize,
}

impl TotalMemory {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit, held: AtomicUsize::new(0) })
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
        Self { limit, held: AtomicUsize::new(0), total: Arc::clone(total) }
    }
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
        self.total.held.fetch_add(more, Ordering::Relaxed);
    }

    fn shrink(&self, _: &MemoryReservation, less: usize) {
        self.held.fetch_sub(less, Ordering::Relaxed);
        self.total.held.fetch_sub(less, Ordering::Relaxed);
    }

    fn try_grow(&self, reservation: &MemoryReservation, more: usize) -> Result<()> {
        let refused = |held: usize, limit: usize, whose: &str, setting: &str| {
            DataFusionError::ResourcesExhausted(format!(
                "{} asks for {more} bytes more; {whose} of the {limit} bytes that {setting} allows are in use: {held}. \
                 Ask for less at a time, or raise {setting}",
                reservation.consumer().name()
            ))
        };
        try_add(&self.held, more, self.limit)
            .map_err(|held| refused(held, self.limit, "by this query", "sql.query_memory_bytes"))?;
        if let Err(held) = try_add(&self.total.held, more, self.total.limit) {
            self.held.fetch_sub(more, Ordering::Relaxed);
            return Err(refused(held, self.total.limit, "by all queries", "sql.memory_bytes"));
        }
        Ok(())
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
        sort.free();
        join.try_grow(40).unwrap();
        drop(join);
        drop(sort);
        assert_eq!(total.held(), 0);
    }
}
