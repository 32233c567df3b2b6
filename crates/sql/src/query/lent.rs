//! Charges of buffers that may outlive the query which made them.
//!
//! A function's result is charged to its query as long as its buffer lives. A table that takes such a column keeps the buffer, and counts it in
//! an account of its own. So the query's charge ends with the query, whoever has the buffer then. Rejected: to copy what a table takes, which
//! would cost every `CREATE TABLE ... AS` a second pass over its rows.

use datafusion::execution::memory_pool::MemoryReservation;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// A charge that ends with its buffer or with its query, whichever is first.
#[derive(Debug)]
pub(crate) struct LentCharge(Mutex<Option<MemoryReservation>>);

impl LentCharge {
    fn end(&self) {
        drop(lock(&self.0).take());
    }
}

/// The charges that a query has lent to buffers.
#[derive(Debug, Default)]
pub(super) struct LentCharges(Mutex<Lent>);

#[derive(Debug, Default)]
struct Lent {
    charges: Vec<Weak<LentCharge>>,
    /// How many there are when those of buffers that are gone are next looked for.
    look_at: usize,
}

/// Charges that are kept before those of buffers that are gone are looked for.
const FEW: usize = 64;

impl LentCharges {
    /// Makes a charge one that ends with these at the latest.
    pub(super) fn lend(&self, held: MemoryReservation) -> Arc<LentCharge> {
        let charge = Arc::new(LentCharge(Mutex::new(Some(held))));
        let mut lent = lock(&self.0);
        if lent.charges.len() >= lent.look_at.max(FEW) {
            lent.charges.retain(|charge| charge.strong_count() > 0);
            lent.look_at = lent.charges.len() * 2;
        }
        lent.charges.push(Arc::downgrade(&charge));
        charge
    }
}

impl Drop for LentCharges {
    fn drop(&mut self) {
        lock(&self.0).charges.iter().filter_map(Weak::upgrade).for_each(|charge| charge.end());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryConsumer, MemoryPool};

    #[test]
    fn a_charge_ends_with_its_buffer_or_with_its_query() {
        let pool = Arc::new(GreedyMemoryPool::new(1_000_000)) as Arc<dyn MemoryPool>;
        let charges = LentCharges::default();
        let charge = |bytes: usize| {
            let held = MemoryConsumer::new("function").register(&pool);
            held.try_grow(bytes).unwrap();
            charges.lend(held)
        };
        let kept = charge(7);
        for _ in 0..10 * FEW {
            drop(charge(100));
        }
        assert_eq!(pool.reserved(), 7);
        assert!(lock(&charges.0).charges.len() <= 2 * FEW);
        drop(charges);
        assert_eq!(pool.reserved(), 0);
        drop(kept);
    }
}
